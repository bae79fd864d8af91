//! A scratch folder that goes with its value.

use std::io::Result;
use std::path::PathBuf;
use std::{env, fs};

/// A folder of this process's own below the system's temporary one.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Makes it; `name` tells the programs apart.
    pub fn make(name: &str) -> Result<Self> {
        let path = env::temp_dir().join(format!("switchtower-{name}-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in a temporary folder is no failure of the measurement.
        let _ = fs::remove_dir_all(&self.0);
    }
}
