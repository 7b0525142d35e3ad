//! Check of the contributor's page on adding parts: files, registries and commits that it names are there.

use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = "docs/design/adding-parts.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Texts in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Problems of a row: kind, trait, folder of its files, registry, example.
fn problems(row: &str) -> Vec<String> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [kind, _, files, registry, example] = cells[..] else { return vec![format!("{row}: five cells")] };
    let Some(first) = quoted(files).next() else { return vec![format!("{kind}: no file")] };
    let is_file = Path::new(first).extension().is_some();
    let folder = if is_file { Path::new(first).parent() } else { Some(Path::new(first)) };
    let folder = folder.unwrap_or(Path::new("")).to_owned();
    let place =
        |name: &str| if name.starts_with("crates/") { PathBuf::from(name) } else { folder.join(name) };
    let is_path = |name: &&str| name.contains('/') || Path::new(name).extension().is_some_and(|e| e == "rs");
    let mut problems = Vec::new();
    for name in quoted(files).chain(quoted(registry)).chain(quoted(example)).filter(is_path) {
        if !root().join(place(name)).exists() {
            problems.push(format!("{kind}: no {}", place(name).display()));
        }
    }
    let texts: String = quoted(registry)
        .chain(quoted(files))
        .filter(is_path)
        .filter_map(|name| std::fs::read_to_string(root().join(place(name))).ok())
        .collect();
    for name in quoted(registry).filter(|name| !is_path(name)) {
        let last = name.rsplit("::").next().unwrap_or(name);
        if !texts.contains(last) {
            problems.push(format!("{kind}: no `{name}` in its registry"));
        }
    }
    let is_hash = |text: &&str| text.len() == 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for hash in quoted(example).filter(is_hash).filter(|_| has_history()) {
        if git(&["cat-file", "-e", &format!("{hash}^{{commit}}")]).is_none() {
            problems.push(format!("{kind}: no commit {hash}"));
        }
    }
    if quoted(example).next().is_none() && !example.contains("fail") {
        problems.push(format!("{kind}: no example"));
    }
    problems
}

/// The output of git; `None` if it fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root()).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// True in a clone with all commits; copies of the sources and shallow clones have none to look at.
fn has_history() -> bool {
    git(&["rev-parse", "--is-shallow-repository"]).is_some_and(|answer| answer == "false")
}

fn rows(page: &str) -> Vec<&str> {
    let table = page.lines().skip_while(|line| !line.starts_with("| kind |")).skip(2);
    table.take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn the_page_on_adding_parts_is_true() {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let rows = rows(&page);
    for kind in ["topology", "routing algorithm", "lane policy", "arbiter", "pacer", "endpoint", "collector"]
    {
        assert!(rows.iter().any(|row| row.starts_with(&format!("| {kind}"))), "{kind}");
    }
    let problems: Vec<String> = rows.into_iter().flat_map(problems).collect();
    assert_eq!(problems, [""; 0]);
}

#[test]
fn what_is_not_there_is_named() {
    let row = "| part | `Part` | `crates/fabric/src/arbiter.rs` | `nowhere!` in `missing.rs` | `none.rs`: `0000000` |";
    let found = problems(row).join("\n");
    for part in ["no crates/fabric/src/missing.rs", "no crates/fabric/src/none.rs", "no `nowhere!`"] {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert!(!has_history() || found.contains("no commit 0000000"), "{found}");
}
