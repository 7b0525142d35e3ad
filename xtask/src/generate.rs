//! Files that are generated from the Rust types and committed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{reference, results};

/// Writes every generated file.
pub(crate) fn write() -> Result<String, String> {
    for (path, content) in all()? {
        let problem = |error| format!("{}: {error}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(problem)?;
        }
        fs::write(&path, content).map_err(problem)?;
    }
    Ok("generated files are written".to_owned())
}

/// Says which generated files are not what they would be written as.
pub(crate) fn check() -> Result<String, String> {
    let stale = stale(&all()?);
    if stale.is_empty() {
        return Ok("generated files are current".to_owned());
    }
    Err(format!("stale, write anew with `cargo run -p xtask -- generate`: {}", stale.join(", ")))
}

fn stale(files: &[(PathBuf, String)]) -> Vec<String> {
    let is_stale =
        |(path, content): &&(PathBuf, String)| fs::read_to_string(path).ok().as_ref() != Some(content);
    files.iter().filter(is_stale).map(|(path, _)| path.display().to_string()).collect()
}

fn all() -> Result<Vec<(PathBuf, String)>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = files();
    all.extend(results::files(&root, &results::source(&root)?));
    Ok(all)
}

fn files() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let schema = fabricsim_spec::json_schema();
    vec![
        (root.join("schema/experiment.schema.json"), format!("{schema:#}\n")),
        (root.join("docs/reference/experiment.md"), reference::page(&schema)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_missing_file_is_stale() {
        let folder = std::env::temp_dir().join(format!("fabricsim-xtask-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (same, changed, missing) = (folder.join("same"), folder.join("changed"), folder.join("missing"));
        fs::write(&same, "a").unwrap();
        fs::write(&changed, "b").unwrap();
        let files = [same, changed, missing].map(|path| (path, "a".to_owned()));
        let names: Vec<String> = stale(&files);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names.len(), 2);
        assert!(names[0].ends_with("changed") && names[1].ends_with("missing"), "{names:?}");
    }
}
