//! Suggestions for names that are not known.

/// Longer names are not compared: they are never typing errors, and comparing takes the product of the lengths.
const LONGEST_NAME: usize = 200;

/// The name among `names` that is written most like `written`, if one is near enough to be meant: at most 2 letters or a third of it
/// differ, and at least one does not.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = written.chars().count();
    if length > LONGEST_NAME {
        return None;
    }
    let lower = written.to_lowercase();
    names
        .into_iter()
        .map(|name| (name, 2.max(name.len() / 3)))
        .filter(|&(name, allowed)| {
            name.len() <= LONGEST_NAME && name.chars().count().abs_diff(length) <= allowed
        })
        .map(|(name, allowed)| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), allowed, name))
        .filter(|&(distance, allowed, name)| {
            distance <= allowed && distance < length.max(name.chars().count())
        })
        .map(|(distance, _, name)| (distance, name))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["uniform", "transpose", "to"];
        assert_eq!(nearest("unifrom", names), Some("uniform"));
        assert_eq!(nearest("TRANSPOSE", names), Some("transpose"));
        assert_eq!(nearest("bernoulli", names), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), ["x".repeat(1_000_000).as_str()]), None);
    }

    #[test]
    fn a_name_without_a_letter_in_common_is_not_suggested() {
        assert_eq!(nearest("", ["a", "to"]), None);
        assert_eq!(nearest("b", ["a", "to"]), None);
        assert_eq!(nearest("t", ["a", "to"]), Some("to"));
    }
}
