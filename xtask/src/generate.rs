//! Files that are generated from the Rust types and committed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{options, python, reference, results};

/// Folder of reference pages, all of which are generated.
const REFERENCE: &str = "docs/reference/experiment";

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
    let files = all()?;
    let mut stale = stale(&files);
    stale.extend(superfluous(&files));
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

/// Reference pages that are not generated any more.
fn superfluous(files: &[(PathBuf, String)]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root().join(REFERENCE)) else { return Vec::new() };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let old = paths.filter(|path| files.iter().all(|(known, _)| known != path));
    old.map(|path| format!("{} (remove it)", path.display())).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn all() -> Result<Vec<(PathBuf, String)>, String> {
    let mut all = files();
    all.extend(results::files(&root(), &results::source(&root())?));
    Ok(all)
}

fn files() -> Vec<(PathBuf, String)> {
    let root = root();
    let schema = fabricsim_spec::json_schema();
    let mut files = vec![(root.join("schema/experiment.schema.json"), format!("{schema:#}\n"))];
    let below = |folder: &str, of: Vec<(String, String)>| {
        let folder = root.join(folder);
        of.into_iter().map(move |(path, content)| (folder.join(path), content)).collect::<Vec<_>>()
    };
    files.extend(below(REFERENCE, reference::pages(&schema)));
    files.extend(below("python/fabricsim/spec", python::files(&schema)));
    files.extend(below("python/fabricsim", options::files()));
    files
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
