//! Headers, found without a name being made for the search.
//!
//! A message has a dozen of them: walking past them costs less than the allocation and the hash of
//! a look-up by text.

use super::{HeaderMap, HeaderValue};

/// The first value of the header of this lower-case name.
pub fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a HeaderValue> {
    headers.iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
}

/// The same as bytes, as rules want to be handed their headers.
pub fn finder<'a>(headers: &'a HeaderMap) -> impl Fn(&str) -> Option<&'a [u8]> + Copy {
    |name| header(headers, name).map(HeaderValue::as_bytes)
}

/// A message says that events come in it.
pub fn is_event_stream(headers: &HeaderMap) -> bool {
    const KIND: &[u8] = b"text/event-stream";
    let kind = header(headers, "content-type").map(|value| value.as_bytes().trim_ascii_start());
    kind.and_then(|kind| kind.get(..KIND.len())).is_some_and(|kind| kind.eq_ignore_ascii_case(KIND))
}

#[cfg(test)]
mod tests {
    use super::{finder, header, is_event_stream};
    use crate::upstream::{HeaderMap, HeaderName, HeaderValue};

    #[test]
    fn the_first_value_is_found_by_name() {
        let mut headers = HeaderMap::new();
        for value in ["1", "2"] {
            headers.append(HeaderName::from_static("x-a"), HeaderValue::from_static(value));
        }
        headers.insert(HeaderName::from_static("x-ab"), HeaderValue::from_static("3"));
        assert_eq!(header(&headers, "x-a").map(HeaderValue::as_bytes), Some(b"1".as_slice()));
        assert_eq!(finder(&headers)("x-ab"), Some(b"3".as_slice()));
        assert_eq!(finder(&headers)("x-"), None);
    }

    #[test]
    fn events_are_told_by_their_type_alone() {
        let rows: [(&'static str, bool); 6] = [
            ("text/event-stream", true),
            ("  Text/Event-Stream; charset=utf-8", true),
            ("text/event-strea", false),
            ("application/json", false),
            ("x text/event-stream", false),
            ("", false),
        ];
        for (kind, is) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static("content-type"), HeaderValue::from_static(kind));
            assert_eq!(is_event_stream(&headers), is, "{kind}");
        }
        assert!(!is_event_stream(&HeaderMap::new()));
    }
}
