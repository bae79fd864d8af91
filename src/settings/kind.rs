//! What a key may hold: the kinds of values, their bounds and how they are described.
//!
//! A kind reads a value from TOML and from the text of an environment variable alike
//! (`value.rs`), so both are refused for the same reasons in the same words.

use std::time::Duration;

use super::schedule;

/// What a key may hold. Bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// A duration string; bounds in milliseconds.
    Span(u64, u64),
    /// A whole number of milliseconds or a duration string.
    Millis(u64, u64),
    /// A size string; bounds in bytes.
    Size(u64, u64),
    /// A text of some shape.
    Text(Shape),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A list of texts.
    List(Items),
    /// A list of HTTP status codes.
    Codes,
    /// `env:NAME`, `file:PATH` or the secret itself.
    Secret,
    /// A table of header names and values.
    Headers,
    /// A table of names and whole numbers from the first to the second.
    Counts(u64, u64),
    /// A value with an inner structure of its own.
    Data(Data),
}

/// What a structured value holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Operators' error rules by provider.
    Rules,
    /// Operators' catch-all defaults by provider.
    Defaults,
    /// Percentages by provider and window.
    Windows,
    /// A text, a number or a flag.
    Scalar,
    /// Names of models by other names.
    Aliases,
    /// What answers to names say of their model.
    Naming,
    /// The hours of a key.
    Schedule,
}

/// Texts that an answer may be searched for (routing 1.3).
pub(super) const MOST_SUBSTRINGS: usize = 50;

/// Tags of a combo's target (routing 1.2).
pub(super) const MOST_TAGS: usize = 20;

/// The shape of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Anything without control characters, not empty.
    Plain,
    /// 1 to 200 characters without control characters.
    Name,
    /// 1 to 2000 characters, possibly on several lines.
    Note,
    /// 1 to 20000 characters, possibly on several lines.
    Prompt,
    /// 1 to 50000 characters, possibly on several lines.
    Message,
    /// 1 to 1000 characters without control characters.
    Expression,
    /// A model as clients and combos name it: 1 to 300 characters without control characters.
    Model,
    /// 1 to 64 of `A-Z a-z 0-9 . _ -`.
    Id,
    /// The name of a combo: 1 to 100 of `A-Z a-z 0-9 _ / . - [ ]` and blank.
    ComboName,
    /// An http or https address without credentials, query or fragment.
    Url,
    /// `IP:PORT`.
    Address,
    /// `IP:PORT` or empty.
    OptionalAddress,
    /// A path, not empty.
    Path,
    /// A path or empty.
    OptionalPath,
    /// An RFC 3339 instant.
    Instant,
    /// A number and a unit of time: `1m`, `1h`, `1d`.
    Window,
}

/// What a list of texts holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// Each one of these, at least one; a single one may stand without a list.
    Of(&'static [&'static str]),
    /// Patterns with `*`, at least one.
    Patterns,
    /// Ids, possibly none.
    Ids,
    /// Scopes of an OAuth token, possibly none.
    Scopes,
    /// Short texts, possibly none.
    Signals,
    /// Up to 50 texts, possibly none.
    Substrings,
    /// Patterns with `*`, possibly none.
    Globs,
    /// Each one of these, possibly none.
    Among(&'static [&'static str]),
    /// Up to 20 names, possibly none.
    Tags,
}

impl Kind {
    /// What is accepted, in words: `a whole number from 0 to 10`.
    pub fn accepted(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Self::Number(low, high) => format!("a number from {low} to {high}"),
            Self::Span(low, high) => {
                format!("a duration such as \"30s\" from {} to {}", show_ms(*low), show_ms(*high))
            }
            Self::Millis(low, high) => {
                format!("whole milliseconds from {low} to {high}, or a duration such as \"30s\"")
            }
            Self::Size(low, high) => {
                format!("a size such as \"32MiB\" from {} to {}", show_size(*low), show_size(*high))
            }
            Self::Text(shape) => shape.accepted().to_owned(),
            Self::Choice(texts) => texts.join(" | "),
            Self::List(items) => items.accepted(),
            Self::Codes => "a list of status codes from 100 to 599".to_owned(),
            Self::Secret => "\"env:NAME\", \"file:PATH\" or the secret itself".to_owned(),
            Self::Headers => "a table of header names and texts".to_owned(),
            Self::Counts(low, high) => format!("a table of names and whole numbers from {low} to {high}"),
            Self::Data(Data::Rules) => {
                "lists of { status, match, scope, reason, cooldown_ms } by provider".to_owned()
            }
            Self::Data(Data::Defaults) => "{ cooldown_ms, scope, reason } by provider".to_owned(),
            Self::Data(Data::Windows) => "percentages by provider and window".to_owned(),
            Self::Data(Data::Aliases) => "a table of names and the models they stand for".to_owned(),
            Self::Data(Data::Naming) => "a table of names, each upstream or requested".to_owned(),
            Self::Data(Data::Schedule) => schedule::ACCEPTED.to_owned(),
            Self::Data(Data::Scalar) => "a text, a number, true or false".to_owned(),
        }
    }
}

impl Shape {
    /// What is accepted, in words.
    pub fn accepted(self) -> &'static str {
        match self {
            Self::Plain => "a text without control characters",
            Self::Name => "1 to 200 characters without control characters",
            Self::Note => "1 to 2000 characters",
            Self::Prompt => "1 to 20000 characters",
            Self::Message => "1 to 50000 characters",
            Self::Expression => "1 to 1000 characters without control characters",
            Self::Model => "1 to 300 characters without control characters",
            Self::Id => "1 to 64 characters of A-Z a-z 0-9 . _ -",
            Self::ComboName => "1 to 100 characters of A-Z a-z 0-9 _ / . - [ ] and blank",
            Self::Url => "an http:// or https:// address without credentials, query or fragment",
            Self::Address => "an address such as \"127.0.0.1:20128\"",
            Self::OptionalAddress => "an address such as \"127.0.0.1:20129\", or \"\"",
            Self::Path => "a path",
            Self::OptionalPath => "a path, or \"\"",
            Self::Instant => "an RFC 3339 time such as \"2026-01-31T12:00:00Z\"",
            Self::Window => "a window from \"1s\" to \"31d\", such as \"1m\", \"1h\" or \"1d\"",
        }
    }

    /// Whether the text has this shape.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Plain => !text.trim().is_empty() && !text.contains(char::is_control),
            Self::Name => Self::Plain.fits(text) && text.chars().count() <= 200,
            Self::Note => is_prose(text, 2_000),
            Self::Prompt => is_prose(text, 20_000),
            Self::Message => is_prose(text, 50_000),
            Self::Expression => Self::Plain.fits(text) && text.chars().count() <= 1_000,
            Self::Model => Self::Plain.fits(text) && text.chars().count() <= 300,
            Self::Id => is_name(text, 64, b"._-"),
            Self::ComboName => is_name(text, 100, b"_/.-[] ") && !text.trim().is_empty(),
            Self::Url => is_base_url(text),
            Self::Address => text.parse::<std::net::SocketAddr>().is_ok(),
            Self::OptionalAddress => text.is_empty() || Self::Address.fits(text),
            Self::Path => !text.is_empty() && !text.contains('\0'),
            Self::OptionalPath => !text.contains('\0'),
            Self::Window => window_ms(text).is_some(),
            Self::Instant => text.parse::<jiff::Timestamp>().is_ok_and(|at| at.as_millisecond() >= 0),
        }
    }
}

impl Items {
    /// What is accepted, in words.
    pub fn accepted(self) -> String {
        match self {
            Self::Of(texts) => format!("a list of {}", texts.join(" | ")),
            Self::Patterns => "a list of models such as [\"gpt-*\"], not empty".to_owned(),
            Self::Ids => "a list of ids".to_owned(),
            Self::Globs => "a list of names, in which * stands for any text".to_owned(),
            Self::Among(texts) => format!("a list of {}, or an empty one", texts.join(" | ")),
            Self::Scopes => "a list of texts without blanks".to_owned(),
            Self::Signals => "a list of texts of 1 to 200 characters".to_owned(),
            Self::Substrings => {
                format!("a list of at most {MOST_SUBSTRINGS} texts of 1 to 1000 characters")
            }
            Self::Tags => format!("a list of at most {MOST_TAGS} texts of 1 to 200 characters"),
        }
    }
}

/// A window in ms: a number and one of s, m, h, d; from a second to 31 days.
pub(super) fn window_ms(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        _ => return None,
    };
    let number = &text[..text.len() - 1];
    let plain = (1..=7).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let ms = number.parse::<u64>().ok().filter(|_| plain)? * unit;
    (1_000..=31 * 86_400_000).contains(&ms).then_some(ms)
}

/// Whether an entity may have this id (contract 8).
pub fn is_id(text: &str) -> bool {
    Shape::Id.fits(text)
}

/// Whether a combo may have this name (routing 1.1).
pub fn fits_combo_name(text: &str) -> bool {
    Shape::ComboName.fits(text)
}

fn is_name(text: &str, most: usize, others: &[u8]) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
    (1..=most).contains(&text.len()) && text.bytes().all(fits)
}

/// Lines of people; blank ones say nothing.
fn is_prose(text: &str, most: usize) -> bool {
    let plain = |letter: char| !letter.is_control() || matches!(letter, '\n' | '\r' | '\t');
    !text.trim().is_empty() && text.chars().count() <= most && text.chars().all(plain)
}

fn is_base_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let host = rest.split('/').next().unwrap_or_default();
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    known && is_host(host) && rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#@\\".contains(&byte))
}

/// `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inner, port)) if inner.parse::<std::net::Ipv6Addr>().is_ok() => {
            (inner, port.strip_prefix(':').or_else(|| port.is_empty().then_some("1")))
        }
        Some(_) => return false,
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("1")),
        },
    };
    let port_fits = port.is_some_and(|port| port.parse::<u16>().is_ok_and(|number| number > 0));
    let host_fits = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte));
    !host.is_empty() && host_fits && port_fits
}

/// A span in words: `1m 30s`.
pub(super) fn show_ms(ms: u64) -> String {
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

/// The units of sizes, the largest of each family first.
pub(super) const SIZE_UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// A size in the largest unit that divides it: `32MiB`.
pub(super) fn show_size(bytes: u64) -> String {
    let fits = |unit: &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(unit.1);
    let (name, unit) = SIZE_UNITS.iter().find(fits).unwrap_or(&("B", 1));
    format!("{}{name}", bytes / unit)
}
