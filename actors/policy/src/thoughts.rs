//! Thoughts of a model that are sent back with its next turn (FC-045): they are signed or sealed for
//! the account that made them, and any other refuses the whole request for them.

/// The words of such a refusal, all of a row in any order; lower case.
const REFUSALS: [&[&str]; 3] =
    [&["signature", "thinking"], &["invalid_encrypted_content"], &["encrypted content", "could not be"]];

/// Whether an answer refuses a request for thoughts that are not its account's own.
pub fn are_refused(status: u16, text: &str) -> bool {
    if status != 400 {
        return false;
    }
    let text = text.to_lowercase();
    REFUSALS.iter().any(|words| words.iter().all(|word| text.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::are_refused;

    #[test]
    fn fc_045_a_refusal_for_thoughts_is_told_from_others() {
        let anthropic = "messages.1.content.0: Invalid `signature` in `thinking` block";
        assert!(are_refused(400, anthropic));
        assert!(!are_refused(403, anthropic));
        assert!(are_refused(400, r#"{"error":{"code":"invalid_encrypted_content"}}"#));
        assert!(are_refused(400, "The encrypted content gAAA could not be verified."));
        for other in ["", "max_tokens must be larger than thinking.budget_tokens", "bad signature"] {
            assert!(!are_refused(400, other), "{other}");
        }
    }
}
