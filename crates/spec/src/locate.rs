//! Line of a key in the file.

use toml::de::{DeTable, DeValue};

/// The line, from 1, on which `text` sets the key; if it does not, that of the deepest table around it that the
/// text has. `None` if there is none, or the text is not TOML.
pub(crate) fn line_of_key(text: &str, parts: &[String]) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut at = None;
    let mut value: Option<&DeValue<'_>> = None;
    for part in parts {
        let table = match value {
            None => Some(root.get_ref()),
            Some(value) => value.as_table(),
        };
        let next = if let Some(table) = table {
            let entry = table.iter().find(|(key, _)| key.get_ref() == part.as_str());
            entry.map(|(key, value)| (key.span(), value))
        } else {
            let items = value.and_then(DeValue::as_array);
            let item = items.and_then(|items| items.get(part.parse::<usize>().ok()?));
            item.map(|item| (item.span(), item))
        };
        let Some((span, found)) = next else { break };
        at = Some(span.start);
        value = Some(found.get_ref());
    }
    let newlines = text.as_bytes().iter().take(at?).filter(|&&byte| byte == b'\n').count();
    Some(newlines + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
title = 'x'
host.mtu = '2 KiB'

[links.named.\"A-B\"]
rate = '1 Gb/s'

[[traffic]]
load = 0.1

[[traffic]]
load = 0.2
sources = [
  'H1',
  'H2',
]
";

    fn line(key: &str) -> Option<usize> {
        line_of_key(TEXT, &crate::overrides::split_key(key).unwrap())
    }

    #[test]
    fn keys_are_found_where_they_are_set() {
        assert_eq!(line("title"), Some(1));
        assert_eq!(line("host.mtu"), Some(2));
        assert_eq!(line("links.named.\"A-B\".rate"), Some(5));
        assert_eq!(line("traffic.0.load"), Some(8));
        assert_eq!(line("traffic.1.load"), Some(11));
        assert_eq!(line("traffic.1.sources.1"), Some(14));
    }

    #[test]
    fn what_is_not_set_is_where_it_would_be() {
        assert_eq!(line("traffic.1.rate"), Some(10));
        assert_eq!(line("traffic.7.rate"), line("traffic"));
        assert_eq!(line("switch.arbiter"), None);
        assert_eq!(line_of_key("= =", &["a".to_owned()]), None);
    }
}
