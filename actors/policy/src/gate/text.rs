//! Caps of models as a form has them: one `model=cap` a line (flow 1.1, 1.2).

use std::collections::BTreeMap;
use std::fmt;

use crate::ids::ModelId;

/// What is wrong with such a text, and in which line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CapsFault {
    /// Not `model=cap`.
    Shape(usize),
    /// The cap is no positive whole number.
    Cap(usize),
    /// The model has a line already.
    Twice(usize),
}

impl fmt::Display for CapsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, what) = match self {
            Self::Shape(line) => (line, "is not model=cap"),
            Self::Cap(line) => (line, "has a cap that is no whole number from 1"),
            Self::Twice(line) => (line, "names a model once more"),
        };
        write!(f, "line {line} {what}")
    }
}

/// Reads the text; an empty one has no caps. A model's name may hold `=`: the last one counts.
pub fn caps_of_text(text: &str) -> Result<BTreeMap<ModelId, u32>, CapsFault> {
    let mut caps = BTreeMap::new();
    let lines = text.lines().map(str::trim).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let at = index + 1;
        let (model, cap) = line.rsplit_once('=').ok_or(CapsFault::Shape(at))?;
        let (model, cap) = (model.trim_end(), cap.trim_start());
        if model.is_empty() {
            return Err(CapsFault::Shape(at));
        }
        let is_whole = cap.bytes().all(|byte| byte.is_ascii_digit());
        let cap: Option<u32> = cap.parse().ok().filter(|cap| is_whole && *cap > 0);
        let cap = cap.ok_or(CapsFault::Cap(at))?;
        if caps.insert(model.into(), cap).is_some() {
            return Err(CapsFault::Twice(at));
        }
    }
    Ok(caps)
}

#[cfg(test)]
mod tests {
    use super::{CapsFault, caps_of_text};

    fn read(text: &str) -> Result<Vec<(String, u32)>, CapsFault> {
        caps_of_text(text).map(|caps| caps.into_iter().map(|(id, cap)| (id.to_string(), cap)).collect())
    }

    #[test]
    fn flow_1_2_lines_are_trimmed_blank_ones_skipped_and_split_at_the_last_sign() {
        let pair = |model: &str, cap| (model.to_owned(), cap);
        let seed = " glm-5 = 1 \r\n\n  glm-4.7=3\n";
        assert_eq!(read(seed), Ok(vec![pair("glm-4.7", 3), pair("glm-5", 1)]));
        assert_eq!(read("a=b=2"), Ok(vec![pair("a=b", 2)]));
        assert_eq!(read("GLM=1\nglm=2"), Ok(vec![pair("GLM", 1), pair("glm", 2)]), "flow 1.3: exact");
        for empty in ["", "\n \n"] {
            assert_eq!(read(empty), Ok(Vec::new()), "it clears the map");
        }
    }

    #[test]
    fn flow_1_2_a_text_that_is_wrong_anywhere_is_refused_whole_and_says_where() {
        for (text, fault) in [
            ("a=1\nglm-5", CapsFault::Shape(2)),
            ("a=1\n\n=2", CapsFault::Shape(3)),
            ("a=0", CapsFault::Cap(1)),
            ("a=-1", CapsFault::Cap(1)),
            ("a=+1", CapsFault::Cap(1)),
            ("a=1.5", CapsFault::Cap(1)),
            ("a=", CapsFault::Cap(1)),
            ("a=4294967296", CapsFault::Cap(1)),
            ("a=1\nb=2\n a =3", CapsFault::Twice(3)),
        ] {
            assert_eq!(read(text), Err(fault), "{text}");
        }
        assert_eq!(CapsFault::Twice(3).to_string(), "line 3 names a model once more");
    }
}
