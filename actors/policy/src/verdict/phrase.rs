//! One tiny matcher for the texts of errors: literals, words in order with bounded gaps, two
//! words near each other. Linear in the text for every phrase, no backtracking.
//!
//! Distances count characters. A `|` at either end of a word asks for a word's border there,
//! so that "rate limit" is not found in "generate limited".

use std::fmt;

/// How far apart the words of a "daily … limit" may stand. The guide says "anything"; a
/// sentence is what it means, and a page of HTML is not one sentence.
pub(super) const FAR: usize = 160;

/// Any of these words.
type Words = &'static [&'static str];

/// What a text may hold; all in lower case.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phrase {
    /// This, literally.
    Text(&'static str),
    /// One word of each group, in this order, at most so many characters between neighbours.
    Order(usize, &'static [Words]),
    /// A word of each of two groups, in either order, at most so many characters between them.
    Near(usize, Words, Words),
    /// All of these, anywhere.
    All(&'static [Self]),
}

/// A named list of phrases with what speaks against them.
#[derive(Debug)]
pub(super) struct List {
    /// Its name in the specification, or ours.
    pub(super) id: &'static str,
    /// What it says.
    pub(super) about: &'static str,
    /// Any one is a hit,
    pub(super) any: &'static [Phrase],
    /// unless one of these stands there too.
    pub(super) unless: &'static [Phrase],
}

impl Phrase {
    pub(super) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Text(word) => spots(text, word).next().is_some(),
            Self::Order(gap, groups) => in_order(text, *gap, groups),
            Self::Near(gap, one, other) => {
                in_order(text, *gap, &[one, other]) || in_order(text, *gap, &[other, one])
            }
            Self::All(phrases) => phrases.iter().all(|phrase| phrase.is_in(text)),
        }
    }
}

/// For every group keeps where its words end when everything before them was in reach. The
/// nearest such end is the best one for what follows, so one pass per group is enough.
fn in_order(text: &str, gap: usize, groups: &[Words]) -> bool {
    let mut ends: Option<Vec<usize>> = None;
    for words in groups {
        let mut found: Vec<(usize, usize)> = words.iter().flat_map(|word| spots(text, word)).collect();
        found.sort_unstable();
        let reached = found
            .into_iter()
            .filter(|(start, _)| ends.as_ref().is_none_or(|ends| near(text, ends, *start, gap)));
        let mut reached: Vec<usize> = reached.map(|(_, end)| end).collect();
        if reached.is_empty() {
            return false;
        }
        reached.sort_unstable();
        ends = Some(reached);
    }
    true
}

/// Whether the last end before `start` is at most `gap` characters away.
fn near(text: &str, ends: &[usize], start: usize, gap: usize) -> bool {
    let before = ends.partition_point(|end| *end <= start);
    let Some(end) = before.checked_sub(1).map(|index| ends[index]) else { return false };
    // A character has at most four bytes.
    start - end <= gap.saturating_mul(4) && text[end..start].chars().count() <= gap
}

/// Where a word stands: start and end, in bytes.
fn spots<'t>(text: &'t str, word: &'static str) -> impl Iterator<Item = (usize, usize)> + 't {
    let (open, close) = (word.starts_with('|'), word.ends_with('|'));
    let bare = word.trim_matches('|');
    text.match_indices(bare).map(move |(start, _)| (start, start + bare.len())).filter(move |(start, end)| {
        let free = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        let bytes = text.as_bytes();
        (!open || free(start.checked_sub(1).and_then(|at| bytes.get(at))))
            && (!close || free(bytes.get(*end)))
    })
}

// === for people ===

fn show(words: Words) -> String {
    words.iter().map(|word| word.trim_matches('|')).collect::<Vec<_>>().join(" / ")
}

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(word) => f.write_str(word.trim_matches('|')),
            Self::Order(_, groups) => {
                let words: Vec<String> = groups.iter().map(|words| show(words)).collect();
                f.write_str(&words.join(" … "))
            }
            Self::Near(gap, one, other) => write!(f, "{} within {gap} of {}", show(one), show(other)),
            Self::All(phrases) => {
                let parts: Vec<String> = phrases.iter().map(Self::to_string).collect();
                f.write_str(&parts.join(" and "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Phrase;
    use Phrase::{All, Near, Order, Text};

    #[test]
    fn literals_and_borders_of_words() {
        for (phrase, text, hit) in [
            (Text("quota"), "a quota b", true),
            (Text("quota"), "quot a", false),
            (Text("|rate limit"), "could not generate limited", false),
            (Text("|rate limit"), "the rate limits", true),
            (Text("|rate limit|"), "the rate limits", false),
            (Text("|rate limit|"), "rate limit", true),
            (Text("|a|"), "ba a", true),
            (Text("频繁"), "请求过于频繁", true),
        ] {
            assert_eq!(phrase.is_in(text), hit, "{phrase:?} in {text}");
        }
    }

    #[test]
    fn gaps_are_bounded_and_counted_in_characters() {
        const AB: Phrase = Order(3, &[&["ab"], &["cd", "ef"]]);
        for (text, hit) in [
            ("abcd", true),
            ("ab...ef", true),
            ("ab....ef", false),
            ("ab额额额ef", true),
            ("ab额额额额ef", false),
            ("efab", false),
            // The nearest earlier word counts, not the first one.
            ("ab.......ab.ef", true),
            ("ab", false),
            ("", false),
        ] {
            assert_eq!(AB.is_in(text), hit, "{text}");
        }
    }

    #[test]
    fn a_later_chain_is_found_when_the_first_one_breaks() {
        const CHAIN: Phrase = Order(2, &[&["a"], &["b"], &["c"]]);
        assert!(CHAIN.is_in("a.b...c  a.b.c"));
        assert!(!CHAIN.is_in("a.b...c"));
        // Words never share letters.
        assert!(!Order(2, &[&["aa"], &["aa"]]).is_in("aaa"));
    }

    #[test]
    fn near_goes_both_ways_and_all_means_all() {
        const PAIR: Phrase = Near(2, &["x"], &["y"]);
        assert!(PAIR.is_in("x..y") && PAIR.is_in("y..x") && !PAIR.is_in("x...y"));
        const BOTH: Phrase = All(&[Text("x"), PAIR]);
        assert!(BOTH.is_in("yx") && !BOTH.is_in("x"));
    }

    #[test]
    fn a_repeated_word_costs_no_more_than_the_text() {
        let text = "quota ".repeat(20_000);
        assert!(!Order(160, &[&["quota"], &["quota"], &["exceed"]]).is_in(&text));
        assert!(Near(160, &["quota"], &["quota"]).is_in(&text));
    }
}
