//! Patterns of names: of models that an account serves, of aliases, of what leads to a combo.

/// Whether `text` fits `pattern`, in which `*` stands for any run of characters.
pub fn matches(pattern: &str, text: &str) -> bool {
    // Most accounts serve whatever there is.
    if pattern == "*" {
        return true;
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_run() {
        for (pattern, text, expected) in [
            ("*", "anything", true),
            ("*", "", true),
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5-mini", false),
            ("gpt-*", "gpt-5-mini", true),
            ("*-mini", "gpt-5-mini", true),
            ("g*5*i", "gpt-5-mini", true),
            ("a*a", "a", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
