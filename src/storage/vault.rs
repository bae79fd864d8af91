//! Secrets at rest: sealed with a key that does not lie in the store.
//!
//! XChaCha20-Poly1305 with a random nonce for each record; the record's id is bound to it, so
//! that a sealed secret moved to another record does not open. The key is
//! `SWITCHTOWER_STORE_KEY`, or the file `<store.path>.key` that is made beside the store.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

/// The variable that holds the key.
pub const KEY_VARIABLE: &str = "SWITCHTOWER_STORE_KEY";
/// First byte of what is sealed; another one is another recipe.
const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// What others may do with the key file: nothing.
const OTHERS: u32 = 0o077;
const ACCEPTED: &str = "32 bytes as 64 hex digits or as base64";

/// Why there is no key. No text of it holds one.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The variable holds something else.
    #[error("{KEY_VARIABLE} is no key of the store, accepted: {ACCEPTED}")]
    Variable,
    /// The file holds something else.
    #[error("{} holds no key of the store, accepted: {ACCEPTED}; bring the right file back, or move this one away and enter the credentials again", .0.display())]
    File(PathBuf),
    /// The file cannot be read.
    #[error("the key of the store {} cannot be read: {}; set {KEY_VARIABLE} instead", .0.display(), .1)]
    Unread(PathBuf, io::Error),
    /// There is none and none could be made.
    #[error("there is no key of the store; set {KEY_VARIABLE}")]
    NoKey,
    /// No random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(getrandom::Error),
}

/// Why something sealed stays closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// There is no key at all.
    #[error("there is no key of the store")]
    NoKey,
    /// It was sealed with another key, for another record, or was changed.
    #[error("its secrets were sealed with another key")]
    WrongKey,
    /// It is not what this switchtower seals.
    #[error("its secrets are not sealed as this version does")]
    Form,
}

/// Seals and opens; without a key it does neither.
#[derive(Clone)]
pub struct Vault(Option<XChaCha20Poly1305>);

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

impl Vault {
    /// The vault of a store: with the key of the variable, else of the file, which is made if there is none.
    /// The store must be open, so that no other process makes one too.
    pub fn of_store(store: &Path, variable: Option<&str>) -> Result<Self, VaultError> {
        if let Some(vault) = Self::at_hand(store, variable)? {
            return Ok(vault);
        }
        let path = key_path(store);
        let mut key = [0_u8; KEY_BYTES];
        getrandom::fill(&mut key).map_err(VaultError::Random)?;
        if let Err(error) = make(&path, &key) {
            // Nobody needs one who stores no secrets.
            tracing::warn!(path = %path.display(), %error, "no key of the store could be made; set {KEY_VARIABLE} to store credentials");
            return Ok(Self(None));
        }
        tracing::info!(path = %path.display(), "a key for the store was made; back it up with the store");
        Ok(Self::new(key))
    }

    /// The vault with the key that is there, in the variable or the file; `None`: there is none.
    pub fn at_hand(store: &Path, variable: Option<&str>) -> Result<Option<Self>, VaultError> {
        if let Some(text) = variable.filter(|text| !text.trim().is_empty()) {
            return parse_key(text).map(|key| Some(Self::new(key))).ok_or(VaultError::Variable);
        }
        let path = key_path(store);
        match fs::read_to_string(&path) {
            Ok(text) => {
                warn_of_mode(&path);
                parse_key(&text).map(|key| Some(Self::new(key))).ok_or(VaultError::File(path))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(VaultError::File(path)),
            Err(error) => Err(VaultError::Unread(path, error)),
        }
    }

    fn new(key: [u8; KEY_BYTES]) -> Self {
        Self(Some(XChaCha20Poly1305::new(&key.into())))
    }

    /// Seals a text for the record `id`.
    pub fn seal(&self, id: &str, plain: &str) -> Result<String, VaultError> {
        let mut nonce = [0_u8; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(VaultError::Random)?;
        let bound = bound(id);
        let payload = Payload { msg: plain.as_bytes(), aad: &bound };
        let cipher = self.0.as_ref().ok_or(VaultError::NoKey)?;
        let sealed = cipher.encrypt(XNonce::from_slice(&nonce), payload);
        let sealed = sealed.expect("a text in memory is shorter than the cipher's limit");
        Ok(STANDARD.encode([&[VERSION], &nonce[..], &sealed].concat()))
    }

    /// Opens what was sealed for the record `id`.
    pub fn open(&self, id: &str, sealed: &str) -> Result<String, Closed> {
        let cipher = self.0.as_ref().ok_or(Closed::NoKey)?;
        let bytes = STANDARD.decode(sealed).map_err(|_| Closed::Form)?;
        let (version, rest) = bytes.split_first().ok_or(Closed::Form)?;
        if *version != VERSION || rest.len() < NONCE_BYTES {
            return Err(Closed::Form);
        }
        let (nonce, sealed) = rest.split_at(NONCE_BYTES);
        let bound = bound(id);
        let payload = Payload { msg: sealed, aad: &bound };
        let plain = cipher.decrypt(XNonce::from_slice(nonce), payload).map_err(|_| Closed::WrongKey)?;
        String::from_utf8(plain).map_err(|_| Closed::Form)
    }
}

/// What a sealed text is bound to.
fn bound(id: &str) -> Vec<u8> {
    [&[VERSION], id.as_bytes()].concat()
}

/// The key file of a store.
pub fn key_path(store: &Path) -> PathBuf {
    super::rewrite::beside(store, "key")
}

fn parse_key(text: &str) -> Option<[u8; KEY_BYTES]> {
    let text = text.trim();
    if text.len() == 2 * KEY_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let digits = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok();
        let bytes: Option<Vec<u8>> = (0..KEY_BYTES).map(digits).collect();
        return bytes?.try_into().ok();
    }
    let forms: [&GeneralPurpose; 4] = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD];
    forms.iter().find_map(|form| <[u8; KEY_BYTES]>::try_from(form.decode(text).ok()?).ok())
}

/// Written whole under another name first: a crash leaves no half key.
fn make(path: &Path, key: &[u8; KEY_BYTES]) -> io::Result<()> {
    let fresh = super::rewrite::beside(path, "new");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(file, "{text}")?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    super::rewrite::sync_folder_of(path)
}

/// Somebody may have a reason; that others can read it is still worth a word.
fn warn_of_mode(path: &Path) {
    let mode = fs::metadata(path).map_or(0, |about| about.mode());
    if mode & OTHERS != 0 {
        let mode = format!("{:o}", mode & 0o777);
        tracing::warn!(path = %path.display(), mode, "others may read the key of the store; chmod 600 it");
    }
}

#[cfg(test)]
mod tests;
