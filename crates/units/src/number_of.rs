//! Counts with their nouns.

/// "1 switch", "2 switches": a count with its noun, which forms its plural with "s" or "es".
pub fn number_of(count: u64, noun: &str) -> String {
    let ending = match noun {
        _ if count == 1 => "",
        _ if ["s", "x", "ch", "sh"].iter().any(|end| noun.ends_with(end)) => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn one_has_no_plural() {
        let texts =
            [(0, "host"), (1, "switch"), (2, "switch"), (3, "source")].map(|(n, noun)| number_of(n, noun));
        assert_eq!(texts, ["0 hosts", "1 switch", "2 switches", "3 sources"]);
    }
}
