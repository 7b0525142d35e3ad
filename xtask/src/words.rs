//! Phrases that code, messages, comments and pages do not use, with their replacements.

use std::fs;
use std::path::{Path, PathBuf};

/// Two words that are refused in every file, and their replacement.
const SPELLINGS: [(&str, &str); 1] = [("can\u{20}not", "cannot")];

/// Refused phrases in lower case, and their replacements. `|` separates alternatives of a word.
const PHRASES: [(&str, &str); 28] = [
    ("anybody|nobody|somebody|whoever|whomever", "no ..., one ..., any ..."),
    ("reckon|reckoned|reckons|reckoning", "compute"),
    ("worked|works|work out", "computed, computes, compute"),
    ("at the least", "at least"),
    ("at the most", "at most"),
    ("for want of", "because ... is full, because ... is missing"),
    ("on its|their way", "in flight; or the path, the route"),
    ("under way", "in progress, in flight"),
    ("held back", "rate-limited (by congestion control), blocked (by credits)"),
    ("holds back", "rate-limits (congestion control), blocks (credits)"),
    ("sent again", "retransmitted"),
    ("asked for", "requested, configured"),
    ("is|are told", "is notified, is reported"),
    ("was|were told", "was notified, was reported"),
    ("is|are wanted", "is requested, is required"),
    ("who looks", "the observer, measurement hooks"),
    ("who waits for whom", "waiting packets"),
    ("what becomes of", "the outcome of"),
    ("goes|go|went astray", "is misrouted"),
    ("in whatever order", "in any order"),
    ("whatever order", "any order"),
    ("not to be had", "not available; cannot ..."),
    ("what|who is wanted", "the objectives, the requested ..."),
    ("of one's own", "own"),
    ("has|have to be", "must be"),
    ("in the hands of", "controlled by"),
    ("the making of", "the creation of"),
    ("wait|waits for each other in a circle", "cyclic dependency"),
];

const FOLDERS: [&str; 11] = [
    "benches",
    "crates",
    "docs",
    "examples",
    "experiments",
    "fuzz",
    "python",
    "schema",
    "scripts",
    "tests",
    "xtask",
];
const ENDINGS: [&str; 8] = ["md", "py", "pyi", "rs", "toml", "json", "txt", "yml"];
/// Tokens at the start of a line of a comment: a sentence may continue after them.
const LEADERS: [&str; 5] = ["//", "///", "//!", "#", "*"];

/// Paths whose phrases are not checked: generated pages, inputs of published numbers (their digests are on those pages),
/// expected outputs, this list itself, and a crate whose names and comments are still to be revised.
const EXEMPT: [&str; 7] = [
    "docs/reproduction/",
    "experiments/age-based-arbitration/",
    "experiments/thesis/",
    "experiments/wire-speed-ordering/",
    "tests/golden/",
    "xtask/src/words.rs",
    "crates/routing/",
];

/// A place of a refused phrase.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// From 1.
    line: usize,
    phrase: String,
    better: &'static str,
}

/// Lists every place of a refused phrase: file, line, phrase, replacement.
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
        let shown = path.strip_prefix(&root).unwrap_or(path).display().to_string();
        let found = refused(&text, is_exempt(&shown));
        places.extend(
            found
                .into_iter()
                .map(|found| format!("{shown}:{}: \"{}\": write {}", found.line, found.phrase, found.better)),
        );
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

fn is_exempt(path: &str) -> bool {
    EXEMPT.iter().any(|start| path.starts_with(start))
}

/// Returns the refused phrases of a text, also those that continue on the next line. With `spellings_only`, without
/// [`PHRASES`].
fn refused(text: &str, spellings_only: bool) -> Vec<Found> {
    let lines = text.lines().enumerate();
    let words: Vec<(usize, String)> = lines
        .flat_map(|(i, line)| line.split_whitespace().map(move |word| (i + 1, word)))
        .filter(|(_, word)| !LEADERS.contains(word))
        .map(|(line, word)| (line, word.to_lowercase()))
        .collect();
    let phrases = if spellings_only { &PHRASES[..0] } else { &PHRASES[..] };
    let all = SPELLINGS.iter().chain(phrases);
    let mut found: Vec<Found> = all.flat_map(|&(phrase, better)| places(&words, phrase, better)).collect();
    found.sort_by_key(|found| found.line);
    found
}

fn places(words: &[(usize, String)], phrase: &str, better: &'static str) -> Vec<Found> {
    let wanted: Vec<Vec<&str>> = phrase.split(' ').map(|word| word.split('|').collect()).collect();
    let matches = |place: &[(usize, String)]| {
        let last = wanted.len() - 1;
        wanted.iter().zip(place).enumerate().all(|(i, (allowed, (_, word)))| {
            // Signs before the first word and after the last one are no part of the phrase.
            let word = match (i == 0, i == last) {
                (true, true) => word.trim_matches(is_no_letter),
                (true, false) => word.rsplit(is_no_letter).next().unwrap_or_default(),
                (false, true) => word.split(is_no_letter).next().unwrap_or_default(),
                (false, false) => word,
            };
            allowed.contains(&word)
        })
    };
    let found = words.windows(wanted.len()).filter(|place| matches(place));
    let shown = |place: &[(usize, String)]| {
        let shown: Vec<&str> = place.iter().map(|(_, word)| word.as_str()).collect();
        shown.join(" ")
    };
    found.map(|place| Found { line: place[0].0, phrase: shown(place), better }).collect()
}

fn is_no_letter(c: char) -> bool {
    !c.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        refused(text, false).iter().map(|found| found.line).collect()
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
    fn every_phrase_is_found_where_it_is_planted_with_its_replacement() {
        for (phrase, better) in PHRASES {
            let planted: Vec<&str> =
                phrase.split(' ').map(|word| word.split('|').next_back().unwrap_or_default()).collect();
            let text = format!("first\n/// (It {}, then", planted.join("\n/// "));
            let found = refused(&text, false);
            assert!(found.iter().any(|found| found.line == 2 && found.better == better), "{text}: {found:?}");
            assert_eq!(refused(&text, true), [], "{text}");
        }
    }

    #[test]
    fn a_phrase_is_whole_words() {
        for allowed in ["held_back", "withheld backwards", "task for", "sent, again", "NOBODY_HOME"] {
            assert_eq!(lines(allowed), [0; 0], "{allowed}");
        }
        assert_eq!(lines("1\n2 (Nobody) waits"), [2]);
    }

    #[test]
    fn exempt_paths_are_generated_or_bound_to_digests() {
        assert!(is_exempt("docs/reproduction/thesis.md") && is_exempt("experiments/thesis/expected.toml"));
        assert!(!is_exempt("docs/guide/transport.md") && !is_exempt("experiments/README.md"));
    }

    #[test]
    fn no_file_has_a_refused_phrase() {
        check().unwrap();
    }
}
