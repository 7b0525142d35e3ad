//! Reference files: subnets and tables of the real OpenSM.
#![allow(dead_code, reason = "every test binary uses a part")]

pub(crate) mod cases;
pub(crate) mod generate;
pub(crate) mod oracle;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fabricsim_subnet::{Subnet, read};

/// Folder of the reference material, or none after a loud message.
pub(crate) fn reference() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference");
    let folder = std::env::var_os("FABRICSIM_REFERENCE").map_or_else(|| default.into(), PathBuf::from);
    let folder = folder.join("opensm");
    if folder.is_dir() {
        return Some(folder);
    }
    // not by eprintln!, which the test harness captures
    let _ = writeln!(std::io::stderr(), "SKIPPED: there is no {}: set FABRICSIM_REFERENCE", folder.display());
    None
}

/// Bytes of a file, or of the same file with `.xz`.
pub(crate) fn bytes(path: &Path) -> Option<Vec<u8>> {
    if let Ok(bytes) = std::fs::read(path) {
        return Some(bytes);
    }
    let mut packed = path.as_os_str().to_owned();
    packed.push(".xz");
    if !Path::new(&packed).exists() {
        return None;
    }
    let output = Command::new("xz").arg("-dc").arg(&packed).output().expect("xz is installed");
    assert!(output.status.success(), "{}", Path::new(&packed).display());
    Some(output.stdout)
}

/// Text of a file, or of the same file with `.xz`.
pub(crate) fn text(path: &Path) -> Option<String> {
    bytes(path).map(|bytes| String::from_utf8(bytes).unwrap())
}

/// A subnet file.
pub(crate) fn subnet(path: &Path) -> Option<Subnet> {
    let name = path.display().to_string();
    bytes(path).map(|bytes| read(&bytes, &name).unwrap_or_else(|error| panic!("{error}")).subnet)
}

/// The first difference between two texts, for messages.
pub(crate) fn difference(ours: &str, theirs: &str) -> Option<String> {
    let mut count = 0;
    let mut first = None;
    for (line, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        if a != b {
            count += 1;
            first.get_or_insert_with(|| format!("line {}: {a:?}, OpenSM {b:?}", line + 1));
        }
    }
    let (a, b) = (ours.lines().count(), theirs.lines().count());
    if a != b {
        return Some(format!("{a} lines, OpenSM {b}; {count} differ; first {first:?}"));
    }
    first.map(|first| format!("{count} lines differ, {first}"))
}
