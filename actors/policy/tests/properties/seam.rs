//! Properties of the seam of a continuation (flow 6.6.30): whatever the texts are, nothing of the
//! sent one is told twice and nothing of the new one is lost.

use super::config;
use policy::stream::continuation::{MIN_OVERLAP, SEAM, Seam, seam};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

/// Few letters, so that texts repeat themselves; some of more than one byte, some that belong
/// together on a screen.
fn text(most: usize) -> impl Strategy<Value = String> {
    let letters = prop_oneof![
        8 => Just("a"), 4 => Just("b"), 2 => Just("é"), 2 => Just("è"), 1 => Just("北"),
        1 => Just("🙂"), 1 => Just("👩\u{200d}👩\u{200d}👧"), 1 => Just("e\u{301}"),
    ];
    proptest::collection::vec(letters, 0..most).prop_map(|letters| letters.concat())
}

/// The beginning of `more` of so many characters, if it has that many.
fn prefix(more: &str, characters: usize) -> Option<&str> {
    let mut ends = more.char_indices().map(|(at, _)| at).chain([more.len()]);
    ends.nth(characters).map(|end| &more[..end])
}

/// The rule, word by word.
fn longest(sent: &str, more: &str) -> usize {
    let repeats = |n: &usize| prefix(more, *n).is_some_and(|prefix| sent.ends_with(prefix));
    (0..=SEAM).rev().find(repeats).unwrap_or(0)
}

fn check(sent: &str, more: &str) -> Result<(), proptest::test_runner::TestCaseError> {
    let overlap = longest(sent, more);
    match seam(sent, more) {
        Seam::Nothing => prop_assert!(more.is_empty()),
        Seam::Restart => {
            prop_assert!(overlap < MIN_OVERLAP && !sent.is_empty() && !more.is_empty());
        }
        Seam::Suffix(suffix) => {
            prop_assert!(sent.is_empty() || overlap >= MIN_OVERLAP);
            prop_assert!(more.ends_with(suffix));
            let repeated = &more[..more.len() - suffix.len()];
            prop_assert_eq!(repeated.chars().count(), overlap);
            // Both told once: what is before the repetition, and then all that came.
            let before = sent.strip_suffix(repeated).expect("the end of what was sent");
            prop_assert_eq!(format!("{sent}{suffix}"), format!("{before}{more}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn whatever_came_is_told_once(sent in text(30), more in text(30)) {
        check(&sent, &more)?;
    }

    #[test]
    fn a_true_continuation_is_joined(before in text(40), repeated in text(40), new in text(40)) {
        let (sent, more) = (format!("{before}{repeated}"), format!("{repeated}{new}"));
        check(&sent, &more)?;
        if repeated.chars().count() >= MIN_OVERLAP {
            prop_assert!(matches!(seam(&sent, &more), Seam::Suffix(_)));
        }
    }

    #[test]
    fn so_is_one_with_a_long_repetition(repeated in text(700), new in text(20)) {
        check(&repeated, &format!("{repeated}{new}"))?;
    }

    #[test]
    fn no_text_at_all_breaks_it(sent in any::<String>(), more in any::<String>()) {
        check(&sent, &more)?;
        check(&sent, &format!("{sent}{more}"))?;
    }
}
