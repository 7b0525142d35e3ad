//! Test: every public function of a crate is used somewhere. The compiler reports only functions that are not public.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Words of a program, without comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
}

/// Names of public functions that occur once in all texts: where they are defined.
fn without_callers(texts: &[String]) -> Vec<&str> {
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    for word in texts.iter().flat_map(|text| words(text)) {
        *count.entry(word).or_default() += 1;
    }
    let mut found = Vec::new();
    for text in texts {
        let all: Vec<&str> = words(text).collect();
        // `pub fn`, `pub const fn`; other visibilities are the compiler's business.
        let defined = all.windows(3).filter_map(|of| match of {
            ["pub" | "const", "fn", name] => Some(*name),
            _ => None,
        });
        found.extend(defined.filter(|name| count[name] == 1));
    }
    found
}

#[test]
fn every_public_function_has_a_caller() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    for folder in ["crates", "xtask", "fuzz", "benches"] {
        sources(&root.join(folder), &mut paths);
    }
    let texts: Vec<String> = paths.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    assert!(texts.len() > 500, "{} files", texts.len());
    // Python calls the functions of the binding.
    let python = |name: &&str| {
        texts.iter().any(|text| text.contains("#[pymethods]") && words(text).any(|word| word == *name))
    };
    // The compiler calls the functions that derive.
    let compiler = |name: &&str| {
        texts.iter().any(|text| text.contains("#[proc_macro_derive") && words(text).any(|word| word == *name))
    };
    let found: Vec<&str> =
        without_callers(&texts).into_iter().filter(|name| !python(name) && !compiler(name)).collect();
    assert!(found.is_empty(), "public functions that nothing calls: {found:?}");
}

#[test]
fn a_function_without_a_caller_is_found() {
    let text = "impl A { pub fn used(&self) {} pub const fn longest_wait(&self) -> u64 { self.used() } } // longest_wait";
    assert_eq!(without_callers(&[text.to_owned()]), ["longest_wait"]);
}
