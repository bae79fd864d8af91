//! The last resort when the money is out (rules 8.3, decision 31b): when it is one, and how much
//! the model may say then.

/// What an answer says when the account has to be paid (rules 8.3.2).
const SAYS: [&str; 15] = [
    "insufficient funds",
    "insufficient_funds",
    "budget exceeded",
    "budget_exceeded",
    "quota exceeded",
    "quota_exceeded",
    "billing",
    "payment required",
    "out of credits",
    "no credits",
    "credit limit",
    "spending limit",
    "saldo insuficiente",
    "limite de gastos",
    "cota excedida",
];
/// The most tokens that it lets the model say.
const MAX_TOKENS: u64 = 4_096;

/// Whether a failure is about money.
pub fn is_about_money(status: u16, text: &str) -> bool {
    let text = text.to_lowercase();
    status == 402 || SAYS.iter().any(|words| text.contains(words))
}

/// How many tokens are asked for instead of what the client wanted (rules 8.3.3).
pub fn tokens(wanted: Option<u64>) -> u64 {
    wanted.unwrap_or(MAX_TOKENS).min(MAX_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::{SAYS, is_about_money, tokens};

    #[test]
    fn d6_d8_a_402_or_a_text_is_about_money() {
        assert!(is_about_money(402, ""));
        assert!(is_about_money(429, r#"{"error":"Quota exceeded"}"#), "D8");
        assert!(!is_about_money(429, "slow down") && !is_about_money(500, ""));
        for words in SAYS {
            assert!(is_about_money(400, &words.to_uppercase()), "{words}");
        }
    }

    #[test]
    fn d6_d8_the_answer_is_bounded() {
        for (wanted, asked) in [(Some(9_000), 4_096), (Some(100), 100), (None, 4_096)] {
            assert_eq!(tokens(wanted), asked, "{wanted:?}");
        }
    }
}
