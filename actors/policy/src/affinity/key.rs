//! What a session is called (rules 6.2 to 6.4, decision 27).

/// The headers that name a session, in the order in which they count.
pub const HEADERS: [&str; 3] = ["x-session-id", "x-codex-session-id", "x-omniroute-session"];

/// The longest value that names a session, characters; of a text so many count.
const LONGEST: usize = 4096;
/// The longest value that is kept as it is, characters.
const LONGEST_KEPT: usize = 180;

/// What a client tells of its session; what it does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told<'a> {
    /// The values of `HEADERS`.
    pub headers: [Option<&'a str>; 3],
    /// `metadata.session_id`, then `metadata.sessionId`.
    pub metadata: [Option<&'a str>; 2],
    /// `conversation_id`.
    pub conversation: Option<&'a str>,
    /// `session_id`.
    pub session: Option<&'a str>,
    /// `prompt_cache_key`.
    pub prompt_cache: Option<&'a str>,
    /// The first text of the user; only where that may name a session (decision 23).
    pub text: Option<&'a str>,
}

/// The key of the session, by the first value that can be used; `hash` is a SHA-256 in hex.
pub fn key(told: &Told<'_>, hash: &dyn Fn(&str) -> String) -> Option<String> {
    let headers = told.headers.into_iter().map(|value| ("header", value));
    let metadata = told.metadata.into_iter().map(|value| ("metadata", value));
    let others =
        [("conversation", told.conversation), ("session", told.session), ("prompt-cache", told.prompt_cache)];
    let mut named = headers.chain(metadata).chain(others);
    let named = named.find_map(|(prefix, value)| Some(format!("{prefix}:{}", usable(value?, hash)?)));
    named.or_else(|| {
        let text = told.text.map(start).filter(|text| !text.trim().is_empty())?;
        Some(format!("input:{}", hash(text)))
    })
}

/// Rules 6.3.
fn usable(value: &str, hash: &dyn Fn(&str) -> String) -> Option<String> {
    let value = value.trim();
    // A character is a byte at least: most values need not be counted.
    if value.is_empty() || (value.len() > LONGEST && value.chars().count() > LONGEST) {
        return None;
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
    let kept = value.len() <= LONGEST_KEPT && value.bytes().all(is_plain);
    Some(if kept { value.to_owned() } else { hash(value) })
}

fn start(text: &str) -> &str {
    text.char_indices().nth(LONGEST).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{Told, key};

    fn hash(text: &str) -> String {
        format!("#{}", text.chars().count())
    }

    fn of(told: Told<'_>) -> Option<String> {
        key(&told, &hash)
    }

    /// Rules A6 as decision 27 has it.
    #[test]
    fn a6_the_first_header_counts() {
        let headers = [Some("b"), Some("a"), Some("c")];
        assert_eq!(of(Told { headers, ..Told::default() }).as_deref(), Some("header:b"));
        let headers = [None, Some("a"), Some("c")];
        assert_eq!(of(Told { headers, ..Told::default() }).as_deref(), Some("header:a"));
        let headers = [None, None, Some("c")];
        assert_eq!(of(Told { headers, ..Told::default() }).as_deref(), Some("header:c"));
    }

    #[test]
    fn a9_long_values_are_hashed_or_no_key() {
        let header = |value: &str| of(Told { headers: [Some(value), None, None], ..Told::default() });
        assert_eq!(header(&"x".repeat(180)), Some(format!("header:{}", "x".repeat(180))));
        assert_eq!(header(&"x".repeat(200)).as_deref(), Some("header:#200"));
        assert_eq!(header(&"x".repeat(4096)).as_deref(), Some("header:#4096"));
        assert_eq!(header(&"x".repeat(5000)), None);
        assert_eq!(header(&"ü".repeat(4096)).as_deref(), Some("header:#4096"));
        assert_eq!(header(&"ü".repeat(4097)), None);
    }

    /// Rules 6.3: other letters are hashed; the borders of the value do not count.
    #[test]
    fn only_plain_values_are_kept() {
        for (value, expected) in [
            ("aZ9._:-", Some("header:aZ9._:-")),
            (" s1 ", Some("header:s1")),
            ("a b", Some("header:#3")),
            ("a/b", Some("header:#3")),
            ("ü", Some("header:#1")),
            ("", None),
            ("  ", None),
        ] {
            let told = Told { headers: [Some(value), None, None], ..Told::default() };
            assert_eq!(of(told).as_deref(), expected, "{value}");
        }
    }

    /// Decision 27: the next header, then the body, in the order of rules 6.2.
    #[test]
    fn an_unusable_value_falls_to_the_next_source() {
        let long = "x".repeat(5000);
        let mut told = Told {
            headers: [Some(long.as_str()), Some(" "), Some("h3")],
            metadata: [Some("m1"), Some("m2")],
            conversation: Some("c"),
            session: Some("s"),
            prompt_cache: Some("p"),
            text: Some("hello"),
        };
        let mut keys = Vec::new();
        let steps: [fn(&mut Told<'_>); 7] = [
            |_| {},
            |told| told.headers[2] = None,
            |told| told.metadata[0] = Some(""),
            |told| told.metadata[1] = None,
            |told| told.conversation = None,
            |told| told.session = None,
            |told| told.prompt_cache = None,
        ];
        for step in steps {
            step(&mut told);
            keys.extend(of(told));
        }
        assert_eq!(
            keys,
            [
                "header:h3",
                "metadata:m1",
                "metadata:m2",
                "conversation:c",
                "session:s",
                "prompt-cache:p",
                "input:#5"
            ]
        );
        told.text = Some(" ");
        assert_eq!(of(told), None);
        assert_eq!(of(Told::default()), None);
    }

    #[test]
    fn of_a_text_only_the_beginning_counts() {
        let text = format!("{}tail", "ü".repeat(4096));
        let told = Told { text: Some(&text), ..Told::default() };
        assert_eq!(of(told).as_deref(), Some("input:#4096"));
    }
}
