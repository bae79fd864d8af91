//! Values that must not be seen, and where they come from.
//!
//! A [`Secret`] prints as `[redacted]` whatever formats it. In the config it is
//! `env:NAME`, `file:PATH` or the literal itself ([`Reference`]); the first two are
//! looked up once, when the config is loaded.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are read of a file.
const LONGEST: u64 = 64 * 1024;

/// A credential, a key or a token. It cannot be printed or serialised by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The text itself: only for sending or hashing it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// How a secret was written in the config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// `env:NAME`
    Env(String),
    /// `file:PATH`, relative to the config's folder
    File(String),
    /// the secret itself
    Literal(Secret),
}

/// Why a reference gives no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Missing {
    /// No such variable, or an empty one.
    #[error("the environment variable {0} is not set")]
    Variable(String),
    /// What follows `env:` cannot be a name; it may be a secret and is not repeated.
    #[error("what follows `env:` is no name of an environment variable")]
    Name,
    /// The file does not exist or may not be read.
    #[error("the file {path} cannot be read ({reason})")]
    File {
        /// as it was written
        path: String,
        /// what the system said
        reason: std::io::ErrorKind,
    },
    /// Nothing but blanks.
    #[error("is empty")]
    Empty,
    /// It would be left out of the request without a word.
    #[error("holds a line break, a letter that is not ASCII or another character which no header can carry")]
    Control,
}

impl Reference {
    /// Reads the three forms.
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("env", name)) => Self::Env(name.trim().to_owned()),
            Some(("file", path)) => Self::File(path.trim().to_owned()),
            _ => Self::Literal(Secret::from(text)),
        }
    }

    /// The secret behind the reference; blanks around a file's contents are dropped.
    pub fn resolve(&self, env: &dyn Fn(&str) -> Option<String>, folder: &Path) -> Result<Secret, Missing> {
        let text = match self {
            Self::Literal(secret) => secret.expose().to_owned(),
            Self::Env(name) if !is_variable_name(name) => return Err(Missing::Name),
            Self::Env(name) => env(name)
                .filter(|text| !text.trim().is_empty())
                .ok_or_else(|| Missing::Variable(name.clone()))?,
            Self::File(path) => read(&folder.join(path))
                .map_err(|error| Missing::File { path: path.clone(), reason: error.kind() })?,
        };
        match text.trim() {
            "" => Err(Missing::Empty),
            text if !fits_header(text) => Err(Missing::Control),
            text => Ok(Secret::from(text)),
        }
    }
}

/// A file that is no secret (a device, a dump) must not be read without end.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// A header value that HTTP clients and servers agree on: visible ASCII and blanks.
pub(super) fn fits_header(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn is_variable_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(fits)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) if is_variable_name(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Env(_) | Self::Literal(_) => f.write_str("[redacted]"),
        }
    }
}
