//! Spellings that messages, comments and pages do not use.

use std::fs;
use std::path::{Path, PathBuf};

/// Two words, and what to write instead.
const REFUSED: [(&str, &str, &str); 1] = [("can", "not", "cannot")];

const FOLDERS: [&str; 10] =
    ["benches", "crates", "docs", "experiments", "fuzz", "python", "schema", "scripts", "tests", "xtask"];
const ENDINGS: [&str; 8] = ["md", "py", "pyi", "rs", "toml", "json", "txt", "yml"];
/// What begins a line of a comment: a sentence may go on after it.
const LEADERS: [&str; 5] = ["//", "///", "//!", "#", "*"];

/// Names each place of a refused spelling.
pub(crate) fn check() -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut files)?;
    }
    let top = entries(&root)?;
    files.extend(top.into_iter().filter(|path| path.is_file() && has_text(path)));
    let mut places = Vec::new();
    for path in &files {
        // bytes that are no text have no words
        let Ok(text) = fs::read_to_string(path) else { continue };
        let shown = path.strip_prefix(&root).unwrap_or(path).display();
        places
            .extend(refused(&text).map(|(line, found, better)| format!("{shown}:{line}: {found}: {better}")));
    }
    if places.is_empty() {
        return Ok(format!("no refused words in {} files", files.len()));
    }
    Err(places.join("\n"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            collect(&path, files)?;
        } else if has_text(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let problem = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(problem)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>().map_err(problem)?;
    paths.sort();
    Ok(paths)
}

fn has_text(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|text| ending == *text))
}

/// Line, spelling and what to write instead; also where a spelling goes on in the next line.
fn refused(text: &str) -> impl Iterator<Item = (usize, String, &'static str)> {
    let lines = text.lines().enumerate();
    let words: Vec<(usize, &str)> = lines
        .flat_map(|(i, line)| line.split_whitespace().map(move |word| (i + 1, word)))
        .filter(|(_, word)| !LEADERS.contains(word))
        .collect();
    let pairs: Vec<_> = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter().filter_map(|((line, first), (_, second))| {
        let is_end = |word: &str| first.to_lowercase().rsplit(is_no_letter).next() == Some(word);
        let is_begin = |word: &str| second.to_lowercase().split(is_no_letter).next() == Some(word);
        let (first, second, better) = REFUSED.iter().find(|(a, b, _)| is_end(a) && is_begin(b))?;
        Some((line, format!("{first} {second}"), *better))
    })
}

fn is_no_letter(c: char) -> bool {
    !c.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        refused(text).map(|(line, ..)| line).collect()
    }

    #[test]
    fn refused_spellings_are_found_across_lines_and_beside_signs() {
        let spelling = ["can", "not"].join(" ");
        assert_eq!(lines(&format!("it {spelling} be")), [1]);
        assert_eq!(lines(&format!("a\n\"{}, b", spelling.to_uppercase())), [2]);
        assert_eq!(lines(&spelling.replace(' ', "\n    /// ")), [1]);
        for allowed in ["cannot", "it can, not", "can note", "pelican not", "can\nno"] {
            assert_eq!(lines(allowed), [0; 0], "{allowed}");
        }
    }

    #[test]
    fn no_file_has_a_refused_spelling() {
        check().unwrap();
    }
}
