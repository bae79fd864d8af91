//! A walk over JSON that reads what is asked for and steps over the rest: no tree, no copies.
//!
//! It sees to it that everything that was opened is closed, so JSON that was cut is never taken for
//! whole; it does not judge the numbers and words that it steps over. Keys and words are compared
//! as they are written: nobody escapes the letters of `choices`.

use memchr::{memchr, memchr2};

/// No JSON, or only its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

pub(super) type Walked<T> = Result<T, Broken>;

/// Up to here a string is looked through eight bytes at a time: keys and words are short, and a
/// call for each would cost more than they do.
const SHORT: usize = 32;
/// One in each byte.
const ONES: u64 = u64::from_le_bytes([1; 8]);
const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
const ESCAPES: u64 = u64::from_le_bytes([b'\\'; 8]);

/// A place in JSON text.
pub(super) struct Walk<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(json: &'a [u8]) -> Self {
        Self { json, at: 0 }
    }

    /// The first byte of what comes next.
    #[inline]
    pub(super) fn peek(&mut self) -> Walked<u8> {
        loop {
            match self.json.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(Broken),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Walked<()> {
        if self.peek()? != byte {
            return Err(Broken);
        }
        self.at += 1;
        Ok(())
    }

    /// Nothing but white space is left.
    pub(super) fn end(&mut self) -> Walked<()> {
        if self.peek().is_err() { Ok(()) } else { Err(Broken) }
    }

    /// Each key of an object; `each` must take the value. Anything else is stepped over.
    pub(super) fn object<F>(&mut self, mut each: F) -> Walked<()>
    where
        F: FnMut(&'a [u8], &mut Self) -> Walked<()>,
    {
        if self.peek()? != b'{' {
            return self.skip().map(drop);
        }
        self.at += 1;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.expect(b'"')?;
            let key = self.string()?;
            self.expect(b':')?;
            each(key, self)?;
            if self.is_last(b'}')? {
                return Ok(());
            }
        }
    }

    /// Each value of an array; `each` must take it. Anything else is stepped over.
    pub(super) fn array<F>(&mut self, mut each: F) -> Walked<()>
    where
        F: FnMut(&mut Self) -> Walked<()>,
    {
        if self.peek()? != b'[' {
            return self.skip().map(drop);
        }
        self.at += 1;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            each(self)?;
            if self.is_last(b']')? {
                return Ok(());
            }
        }
    }

    fn is_last(&mut self, close: u8) -> Walked<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Ok(false),
            _ if byte == close => Ok(true),
            _ => Err(Broken),
        }
    }

    /// A string between its quotes, escapes as they are; `None` for anything else.
    pub(super) fn text(&mut self) -> Walked<Option<&'a [u8]>> {
        if self.peek()? != b'"' {
            self.skip()?;
            return Ok(None);
        }
        self.at += 1;
        self.string().map(Some)
    }

    /// The value, as it is written.
    pub(super) fn skip(&mut self) -> Walked<&'a [u8]> {
        let first = self.peek()?;
        let start = self.at;
        self.at += 1;
        match first {
            b'"' => drop(self.string()?),
            b'{' | b'[' => self.nested()?,
            // Some servers write NaN.
            b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => self.word(),
            _ => return Err(Broken),
        }
        Ok(&self.json[start..self.at])
    }

    /// Steps over a value; whether there is anything in it.
    pub(super) fn is_something(&mut self) -> Walked<bool> {
        Ok(match self.skip()? {
            b"null" | b"false" | b"\"\"" => false,
            [b'{' | b'[', inner @ .., _] => !inner.trim_ascii().is_empty(),
            _ => true,
        })
    }

    /// Behind an opening quote.
    #[inline]
    fn string(&mut self) -> Walked<&'a [u8]> {
        let start = self.at;
        let rest = &self.json[start..];
        let found = quote_or_escape(rest).ok_or(Broken)?;
        self.at += found + 1;
        if rest[found] == b'"' {
            return Ok(&rest[..found]);
        }
        self.escaped(start)
    }

    /// Behind a backslash in a string that began at `start`.
    fn escaped(&mut self, start: usize) -> Walked<&'a [u8]> {
        loop {
            let rest = self.json.get(self.at + 1..).ok_or(Broken)?;
            let found = quote_or_escape(rest).ok_or(Broken)?;
            self.at += found + 2;
            if rest[found] == b'"' {
                return Ok(&self.json[start..self.at - 1]);
            }
        }
    }

    /// Behind an opening quote: steps over the string; how many bytes it has when it is read.
    #[inline]
    pub(super) fn measure(&mut self) -> Walked<usize> {
        let mut length = 0;
        loop {
            let rest = self.json.get(self.at..).ok_or(Broken)?;
            let found = quote_or_escape(rest).ok_or(Broken)?;
            if rest[found] == b'"' {
                self.at += found + 1;
                return Ok(length + found);
            }
            let (written, read) = escape(&rest[found..]);
            // What looks like a unit may hold the quote that closes the string.
            if rest[found..].iter().take(written).skip(2).any(|byte| matches!(byte, b'"' | b'\\')) {
                let start = self.at;
                self.at += found + 1;
                return self.escaped(start).map(|raw| length + self::length(raw));
            }
            length += found + read;
            self.at += found + written;
        }
    }

    /// Exactly these bytes.
    #[inline]
    pub(super) fn literal(&mut self, bytes: &[u8]) -> Walked<()> {
        let found = self.json.get(self.at..).is_some_and(|rest| rest.starts_with(bytes));
        self.at += bytes.len();
        if found { Ok(()) } else { Err(Broken) }
    }

    /// A whole number.
    #[inline]
    pub(super) fn digits(&mut self) -> Walked<()> {
        let rest = self.json.get(self.at..).ok_or(Broken)?;
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += length;
        if length > 0 { Ok(()) } else { Err(Broken) }
    }

    /// Behind an opening bracket.
    fn nested(&mut self) -> Walked<()> {
        let mut depth = 1_usize;
        while depth > 0 {
            let byte = *self.json.get(self.at).ok_or(Broken)?;
            self.at += 1;
            match byte {
                b'"' => drop(self.string()?),
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn word(&mut self) {
        let rest = &self.json[self.at..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
        self.at += rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
    }
}

/// Where the first quote or backslash stands.
#[inline]
fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < SHORT
        && let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk)
    {
        let eight = u64::from_le_bytes(*eight);
        let found = zeros(eight ^ QUOTES) | zeros(eight ^ ESCAPES);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', &bytes[at..]).map(|found| at + found)
}

/// The high bit of each byte that is zero; those above the lowest one may be wrong.
fn zeros(eight: u64) -> u64 {
    eight.wrapping_sub(ONES) & !eight & (ONES << 7)
}

/// How many bytes of UTF-8 a string has when its escapes are read.
pub(super) fn length(raw: &[u8]) -> usize {
    let (mut rest, mut length) = (raw, 0);
    while let Some(at) = memchr(b'\\', rest) {
        let (written, read) = escape(&rest[at..]);
        length += at + read;
        rest = rest.get(at + written..).unwrap_or_default();
    }
    length + rest.len()
}

/// How many bytes an escape has as it is written, and when it is read.
#[inline]
fn escape(text: &[u8]) -> (usize, usize) {
    match *text {
        [_, b'u', a, b, c, d, ..] => (6, of_unit([a, b, c, d])),
        _ => (2, 1),
    }
}

/// The bytes of a UTF-16 unit in hex; each half of a pair has two.
fn of_unit(digits: [u8; 4]) -> usize {
    match digits.map(|digit| digit.to_ascii_lowercase()) {
        [b'0', b'0', b'0'..=b'7', _] => 1,
        [b'0', b'0'..=b'7', _, _] => 2,
        [b'd', b'8'..=b'9' | b'a'..=b'f', _, _] => 2,
        _ => 3,
    }
}
