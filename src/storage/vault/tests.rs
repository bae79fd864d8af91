//! Sealing, the forms of a key, and the key file.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Closed, Vault, VaultError, key_path};

const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

fn vault(key: &str) -> Vault {
    Vault::of_store(&PathBuf::from("/nowhere/at/all"), Some(key)).unwrap()
}

/// A folder of a test's own, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("switchtower-vault-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_sealed_opens_for_its_record_only() {
    let vault = vault(HEX);
    let sealed = vault.seal("c1", "sk-canary").unwrap();
    assert_eq!(vault.open("c1", &sealed).unwrap(), "sk-canary");
    assert_eq!(vault.open("c2", &sealed), Err(Closed::WrongKey));
    assert_ne!(vault.seal("c1", "sk-canary").unwrap(), sealed, "each has a nonce of its own");
}

#[test]
fn another_key_or_a_changed_byte_opens_nothing() {
    let sealed = vault(HEX).seal("c1", "sk-canary").unwrap();
    assert_eq!(vault(&HEX.replace("ff", "fe")).open("c1", &sealed), Err(Closed::WrongKey));
    let bytes = STANDARD.decode(&sealed).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let expected = if at == 0 { Closed::Form } else { Closed::WrongKey };
        assert_eq!(vault(HEX).open("c1", &STANDARD.encode(changed)), Err(expected), "byte {at}");
    }
    for form in ["", "AQ==", "not base64!"] {
        assert_eq!(vault(HEX).open("c1", form), Err(Closed::Form), "{form:?}");
    }
}

#[test]
fn a_key_is_hex_or_base64_of_exactly_32_bytes() {
    let sealed = vault(HEX).seal("c1", "x").unwrap();
    let bytes: Vec<u8> = (0..31).chain([255]).collect();
    let standard = STANDARD.encode(&bytes);
    let upper = HEX.to_uppercase();
    for key in
        [&upper, &format!(" {HEX}\n"), &standard, standard.trim_end_matches('='), &standard.replace('/', "_")]
    {
        assert_eq!(vault(key).open("c1", &sealed).as_deref(), Ok("x"), "{key}");
    }
    for key in
        ["secret", &HEX[2..], &format!("{HEX}00"), &HEX.replace('f', "g"), &STANDARD.encode(&bytes[1..])]
    {
        let error = Vault::of_store(&PathBuf::from("/nowhere"), Some(key)).unwrap_err();
        assert!(matches!(error, VaultError::Variable), "{key}");
        let told = error.to_string();
        assert!(told.contains("64 hex digits") && !told.contains(key), "{told}");
    }
}

#[test]
fn a_missing_key_is_made_once_for_its_owner_alone() {
    let folder = Folder::new("made");
    let store = folder.0.join("data");
    let sealed = Vault::of_store(&store, None).unwrap().seal("c1", "x").unwrap();
    let path = key_path(&store);
    assert_eq!(path, folder.0.join("data.key"));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap().trim().len(), 64);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing is left beside it");
    let again = Vault::of_store(&store, Some(" ")).unwrap();
    assert_eq!(again.open("c1", &sealed).as_deref(), Ok("x"), "an empty variable is none");
}

#[test]
fn a_key_file_that_holds_none_is_not_replaced() {
    let folder = Folder::new("garbage");
    let store = folder.0.join("data");
    fs::write(key_path(&store), b"\xff\xfe").unwrap();
    assert!(matches!(Vault::of_store(&store, None), Err(VaultError::File(_))));
    fs::write(key_path(&store), "half a k").unwrap();
    assert!(matches!(Vault::of_store(&store, None), Err(VaultError::File(_))));
    assert_eq!(fs::read_to_string(key_path(&store)).unwrap(), "half a k");
}

#[test]
fn a_half_made_key_of_a_crash_is_in_nobodys_way() {
    let folder = Folder::new("crash");
    let store = folder.0.join("data");
    fs::write(folder.0.join("data.key.new"), "half").unwrap();
    Vault::of_store(&store, None).unwrap();
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn a_key_that_others_may_read_is_still_used() {
    let folder = Folder::new("mode");
    let store = folder.0.join("data");
    let sealed = Vault::of_store(&store, None).unwrap().seal("c1", "x").unwrap();
    fs::set_permissions(key_path(&store), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(Vault::of_store(&store, None).unwrap().open("c1", &sealed).as_deref(), Ok("x"));
}

#[test]
fn without_a_key_nothing_is_sealed_or_opened_but_nothing_fails_before() {
    let vault = Vault::of_store(&PathBuf::from("/nowhere/at/all"), None).unwrap();
    let error = vault.seal("c1", "x").unwrap_err();
    assert!(matches!(error, VaultError::NoKey) && error.to_string().contains("SWITCHTOWER_STORE_KEY"));
    assert_eq!(vault.open("c1", "AQ=="), Err(Closed::NoKey));
}
