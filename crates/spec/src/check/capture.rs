//! Checks of a capture.

use super::Found;
use crate::Capture;

pub(super) fn check(capture: &Capture) -> Result<(), Found> {
    let error = |key: &str, message: String| Err((format!("capture.{key}"), message));
    if capture.links.is_empty() {
        return error("links", "the list is empty: name at least one link, or a pattern with `*`".to_owned());
    }
    if !capture.has_file_name() {
        let message = format!(
            "{:?} is not allowed: give a name without folders that ends with `.pcapng`",
            capture.file
        );
        return error("file", message);
    }
    match capture.to {
        Some(to) if to <= capture.from => {
            let message = format!("{to} is not allowed: it must be after `capture.from` ({})", capture.from);
            error("to", message)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    fn problem(capture: &str) -> String {
        let text = format!(
            "[topology]\nsingle-switch = {{ hosts = 2 }}\n[run]\nduration = \"1 us\"\n[capture]\n{capture}"
        );
        match crate::read(&text, "f.toml", &[]).and_then(|experiment| crate::check(&experiment, "f.toml")) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn captures_that_make_no_sense() {
        for (capture, part) in [
            ("links = ['*']", ""),
            ("links = ['*']\nfrom = \"1 us\"\nto = \"2 us\"\npackets = 1\nfile = 'a b.pcapng'", ""),
            ("links = []", "name at least one link"),
            ("links = ['*']\nfile = '../a.pcapng'", "without folders"),
            ("links = ['*']\nfile = '.pcapng'", "without folders"),
            ("links = ['*']\nfile = 'manifest.json'", "ends with `.pcapng`"),
            ("links = ['*']\nfrom = \"2 us\"\nto = \"2 us\"", "after `capture.from` (2 us)"),
            ("links = ['*']\npackets = 0", "give at least 1"),
        ] {
            let found = problem(capture);
            assert!(found.contains(part) && found.is_empty() == part.is_empty(), "{capture}: {found}");
        }
    }
}
