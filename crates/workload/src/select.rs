//! Resolution of names, patterns and groups to hosts.

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_units::{HostId, nearest};

use crate::{Problem, WorkloadError};

/// Maximum depth of nested groups.
const DEPTH: usize = 64;

/// Resolves lists of host names, patterns with `*`, and groups.
pub(crate) struct Selector<'a> {
    file: &'a str,
    names: &'a [String],
    numbers: BTreeMap<&'a str, HostId>,
    groups: &'a BTreeMap<String, Vec<String>>,
}

/// Hosts in the order in which the list names them, each once; those of one `*` by number.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) hosts: Vec<HostId>,
    /// The first host that the list names more than once.
    pub(crate) twice: Option<HostId>,
}

/// A selection under construction.
#[derive(Default)]
struct Expansion<'a> {
    selection: Selection,
    chosen: BTreeSet<HostId>,
    /// Groups that are complete, with a host of each.
    complete: BTreeMap<&'a str, HostId>,
    /// Groups that are being expanded.
    open: Vec<&'a str>,
}

impl Expansion<'_> {
    fn add(&mut self, host: HostId) {
        if self.chosen.insert(host) {
            self.selection.hosts.push(host);
        } else {
            self.selection.twice.get_or_insert(host);
        }
    }
}

impl<'a> Selector<'a> {
    /// Checks all groups, whether or not they are used.
    pub(crate) fn new(
        file: &'a str,
        names: &'a [String],
        groups: &'a BTreeMap<String, Vec<String>>,
    ) -> Result<Self, WorkloadError> {
        let numbers = names.iter().enumerate().map(|(i, name)| (name.as_str(), HostId(i as u32))).collect();
        let selector = Self { file, names, numbers, groups };
        let mut expansion = Expansion::default();
        for name in groups.keys() {
            if selector.numbers.contains_key(name.as_str()) {
                return Err(selector.error(&format!("groups.{name}"), Problem::Ambiguous(name.clone())));
            }
            selector.expand_group(name, &mut expansion)?;
        }
        Ok(selector)
    }

    /// The hosts that `list`, found at `key`, stands for: one or more.
    pub(crate) fn select<'b>(&self, list: &'b [String], key: &str) -> Result<Selection, WorkloadError>
    where
        'a: 'b,
    {
        let mut expansion = Expansion::<'b>::default();
        self.expand(list, key, &mut expansion)?;
        Ok(expansion.selection)
    }

    /// The one host that `item`, found at `key`, stands for.
    pub(crate) fn one(&self, item: &str, key: &str) -> Result<HostId, WorkloadError> {
        let hosts = self.select(&[item.to_owned()], key)?.hosts;
        match hosts[..] {
            [host] => Ok(host),
            _ => Err(self.error(key, Problem::NotOneHost { written: item.to_owned(), count: hosts.len() })),
        }
    }

    fn error(&self, key: &str, problem: Problem) -> WorkloadError {
        WorkloadError { file: self.file.to_owned(), key: key.to_owned(), problem }
    }

    fn expand<'b>(&self, list: &'b [String], key: &str, into: &mut Expansion<'b>) -> Result<(), WorkloadError>
    where
        'a: 'b,
    {
        if list.is_empty() {
            return Err(self.error(key, Problem::EmptyList));
        }
        for item in list {
            if self.groups.contains_key(item) {
                self.expand_group(item, into)?;
            } else if item.contains('*') {
                self.expand_pattern(item, key, into)?;
            } else if let Some(&host) = self.numbers.get(item.as_str()) {
                into.add(host);
            } else {
                let names = self.groups.keys().chain(self.names).map(String::as_str);
                let known = match (nearest(item, names), self.names.first()) {
                    (Some(name), _) => format!("did you mean \"{name}\"?"),
                    (None, first) => {
                        format!("hosts have names like \"{}\"", first.map_or("", String::as_str))
                    }
                };
                return Err(self.error(key, Problem::UnknownName { written: item.clone(), known }));
            }
        }
        Ok(())
    }

    fn expand_pattern(&self, item: &str, key: &str, into: &mut Expansion<'_>) -> Result<(), WorkloadError> {
        let mut none = true;
        for (number, _) in self.names.iter().enumerate().filter(|(_, name)| matches(item, name)) {
            into.add(HostId(number as u32));
            none = false;
        }
        if none {
            let example = self.names.first().cloned().unwrap_or_default();
            return Err(self.error(key, Problem::NoMatch { pattern: item.to_owned(), example }));
        }
        Ok(())
    }

    fn expand_group<'b>(&self, name: &'b str, into: &mut Expansion<'b>) -> Result<(), WorkloadError>
    where
        'a: 'b,
    {
        if let Some(&host) = into.complete.get(name) {
            into.add(host);
            return Ok(());
        }
        let key = format!("groups.{name}");
        if let Some(at) = into.open.iter().position(|open| *open == name) {
            let path = [&into.open[at..], &[name]].concat().join(" -> ");
            return Err(self.error(&key, Problem::GroupCycle(path)));
        }
        if into.open.len() == DEPTH {
            return Err(self.error(&key, Problem::GroupDepth(DEPTH)));
        }
        into.open.push(name);
        self.expand(&self.groups[name], &key, into)?;
        into.open.pop();
        if let Some(&host) = into.selection.hosts.last() {
            into.complete.insert(name, host);
        }
        Ok(())
    }
}

/// The hosts that a list of names, patterns with `*`, and groups stands for, each once. `names` are those of all hosts.
pub fn select(
    list: &[String],
    names: &[String],
    groups: &BTreeMap<String, Vec<String>>,
) -> Result<Vec<HostId>, Problem> {
    let selector = Selector::new("", names, groups).map_err(|error| error.problem)?;
    Ok(selector.select(list, "").map_err(|error| error.problem)?.hosts)
}

/// True if `name` matches `pattern`, in which `*` stands for any text.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut inner) = name.strip_prefix(first).and_then(|n| n.strip_suffix(last)) else { return false };
    middle.split('*').all(|part| {
        let found = inner.find(part);
        inner = found.map_or("", |at| &inner[at + part.len()..]);
        found.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|&s| s.to_owned()).collect()
    }

    fn groups(list: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        list.iter().map(|&(name, items)| (name.to_owned(), strings(items))).collect()
    }

    fn select(list: &[&str], named: &[(&str, &[&str])]) -> Result<Vec<u32>, String> {
        let names = strings(&["H11", "H12", "H21", "H22", "IO1"]);
        let groups = groups(named);
        let list = strings(list);
        let selector = Selector::new("f.toml", &names, &groups).map_err(|e| e.to_string())?;
        let hosts = selector.select(&list, "traffic.0.sources").map_err(|e| e.to_string())?.hosts;
        Ok(hosts.iter().map(|h| h.0).collect())
    }

    #[test]
    fn names_patterns_and_groups() {
        assert_eq!(select(&["*"], &[]), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(select(&["IO1", "H1*", "H12", "*"], &[]), Ok(vec![4, 0, 1, 2, 3]));
        assert_eq!(select(&["*2*"], &[]), Ok(vec![1, 2, 3]));
        assert_eq!(select(&["H*1"], &[]), Ok(vec![0, 2]));
        let nested: &[(&str, &[&str])] = &[("a", &["b", "H11"]), ("b", &["H2*"]), ("c", &["b", "a"])];
        assert_eq!(select(&["a"], nested), Ok(vec![2, 3, 0]));
        assert_eq!(select(&["H22", "c", "b"], nested), Ok(vec![3, 2, 0]));
    }

    #[test]
    fn misuse_is_named() {
        let message = |list: &[&str], named: &[(&str, &[&str])]| select(list, named).unwrap_err();
        assert_eq!(
            message(&["H13"], &[]),
            "f.toml: traffic.0.sources: \"H13\" is neither a host nor a group; did you mean \"H11\"?"
        );
        assert!(message(&["victim"], &[("victims", &["H11"])]).contains("did you mean \"victims\"?"));
        assert!(message(&["X*"], &[]).contains("no host matches \"X*\"; hosts have names like \"H11\""));
        assert!(message(&[], &[]).contains("the list is empty"));
        assert!(message(&["*"], &[("a", &[])]).contains("groups.a: the list is empty"));
        assert!(message(&["*"], &[("H11", &["H12"])]).contains("groups.H11: \"H11\" is a host as well"));
        let cycle: &[(&str, &[&str])] = &[("a", &["b"]), ("b", &["H11", "c"]), ("c", &["b"])];
        assert!(message(&["*"], cycle).contains("a group contains itself: b -> c -> b"));
    }

    #[test]
    fn duplicates_are_told() {
        let names = strings(&["H1", "H2"]);
        let groups = groups(&[("a", &["H1"]), ("b", &["a"])]);
        let selector = Selector::new("", &names, &groups).unwrap();
        let twice = |list: &[&str]| selector.select(&strings(list), "").unwrap().twice;
        assert_eq!(twice(&["H2", "H1"]), None);
        assert_eq!(twice(&["H2", "a", "H2"]), Some(HostId(1)));
        assert_eq!(twice(&["b", "a"]), Some(HostId(0)));
    }

    #[test]
    fn deep_and_wide_groups_end() {
        let chain = |n: usize| -> BTreeMap<String, Vec<String>> {
            let group = |i: usize| (format!("g{i:03}"), vec![format!("g{:03}", i + 1); 2]);
            (0..n).map(group).chain([(format!("g{n:03}"), strings(&["*"]))]).collect()
        };
        let names = strings(&["H1"]);
        assert!(Selector::new("", &names, &chain(60)).is_ok());
        let error = Selector::new("", &names, &chain(100)).err().unwrap();
        assert_eq!(error.problem, Problem::GroupDepth(DEPTH));
    }

    /// `*` as a regular expression would have it, by trying every split.
    fn matches_slowly(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|skip| matches_slowly(rest, &name[skip..])),
            Some((c, rest)) => name.first() == Some(c) && matches_slowly(rest, &name[1..]),
        }
    }

    proptest::proptest! {
        #[test]
        fn matching_is_that_of_every_split(pattern in "[ab*]{0,6}", name in "[ab]{0,8}") {
            proptest::prop_assert_eq!(matches(&pattern, &name), matches_slowly(pattern.as_bytes(), name.as_bytes()));
        }

        #[test]
        fn no_list_panics(
            list in proptest::collection::vec("[gH*12é]{0,3}", 0..4),
            groups in proptest::collection::btree_map("g[12]?", proptest::collection::vec("[gH*12]{0,3}", 0..4), 0..4),
        ) {
            let names = strings(&["H1", "H2", "H12"]);
            if let Ok(selector) = Selector::new("f", &names, &groups)
                && let Ok(selection) = selector.select(&list, "k") {
                proptest::prop_assert!(!selection.hosts.is_empty());
                let distinct: BTreeSet<_> = selection.hosts.iter().collect();
                proptest::prop_assert_eq!(distinct.len(), selection.hosts.len());
            }
        }
    }
}
