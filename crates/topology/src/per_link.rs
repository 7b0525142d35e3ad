//! A value for every link: of all links, then of its class, then of its name; the more specific wins.

use std::collections::BTreeMap;

use fabricsim_spec::SpecError;

use crate::links::{dimension_number, find_named, level_number, unknown_class};
use crate::{Graph, LinkClass};

/// Values as an experiment gives them, for `[links]`-like sections.
#[derive(Clone, Copy, Debug)]
pub struct PerLink<'a, T> {
    /// Of all links.
    pub all: T,
    /// Of links between a host and a switch.
    pub hosts: Option<T>,
    /// Along a dimension: `"0"` or `"x"`, ...
    pub dimension: &'a BTreeMap<String, T>,
    /// Between level n and n + 1: `"1"`, ...
    pub level: &'a BTreeMap<String, T>,
    /// Of single links, by the names of their ends.
    pub named: &'a BTreeMap<String, T>,
}

impl<T: Copy> PerLink<'_, T> {
    /// The value of each link of `graph`, by number. `key` is the section's key in the experiment `file`.
    ///
    /// # Errors
    ///
    /// A dimension, level or link that the graph does not have: the error names the key.
    pub fn resolve(&self, graph: &Graph, key: &str, file: &str) -> Result<Vec<T>, SpecError> {
        let classes = |of: fn(LinkClass) -> Option<usize>| {
            graph.links.iter().filter_map(|link| of(link.class)).max().map_or(0, |most| most + 1)
        };
        let of_dimension =
            Self::of_class("dimension", self.dimension, dimension_number, classes(dimension), (key, file))?;
        let of_level = Self::of_class("level", self.level, level_number, classes(level), (key, file))?;
        let of_link = |class| match class {
            LinkClass::Host => self.hosts.unwrap_or(self.all),
            other => {
                let given = dimension(other).and_then(|d| of_dimension[d]);
                given.or_else(|| level(other).and_then(|l| of_level[l])).unwrap_or(self.all)
            }
        };
        let mut values: Vec<T> = graph.links.iter().map(|link| of_link(link.class)).collect();
        let found = find_named(graph, self.named.keys().map(String::as_str)).map_err(|(name, message)| {
            SpecError::at_key(file, &format!("{key}.named.\"{name}\""), message)
        })?;
        for (index, name) in found {
            values[index] = self.named[name];
        }
        Ok(values)
    }

    /// The values of the classes of a kind, by number.
    fn of_class(
        kind: &str,
        given: &BTreeMap<String, T>,
        number: fn(&str) -> Option<usize>,
        count: usize,
        (section, file): (&str, &str),
    ) -> Result<Vec<Option<T>>, SpecError> {
        let mut values = vec![None; count];
        for (key, &value) in given {
            let error = |message| SpecError::at_key(file, &format!("{section}.{kind}.{key}"), message);
            let Some(place) = number(key).and_then(|n| values.get_mut(n)) else {
                return Err(error(unknown_class(kind, key, count)));
            };
            if place.replace(value).is_some() {
                return Err(error(format!("this {kind} has another name as well: give it once")));
            }
        }
        Ok(values)
    }
}

fn dimension(class: LinkClass) -> Option<usize> {
    match class {
        LinkClass::Dimension(d) => Some(usize::from(d)),
        _ => None,
    }
}

fn level(class: LinkClass) -> Option<usize> {
    match class {
        LinkClass::Level(level) => usize::from(level).checked_sub(1),
        _ => None,
    }
}
