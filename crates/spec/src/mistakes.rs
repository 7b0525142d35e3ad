//! All mistakes of an experiment's file at once.

use crate::check::{check_values, out_of_ranges};
use crate::overrides::{set, split_key};
use crate::read::at_path;
use crate::{Experiment, SpecError};

/// The most mistakes that are listed.
const MOST: usize = 20;

/// The mistakes of an experiment, as far as they can be told apart; empty if [`crate::read`] and [`crate::check`] accept it. First of names, types and ranges;
/// where there are none, of values that do not go together, the first of each part. A value that is wrong is left out for the search for
/// others, so that what follows from it alone is not listed.
pub fn mistakes(text: &str, file: &str, overrides: &[(String, String)]) -> Vec<SpecError> {
    let mut table: toml::Table = match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => return vec![SpecError::of_toml(&error, text, file)],
    };
    let mut found = Vec::new();
    let mut left_out: Vec<Vec<String>> = Vec::new();
    let mut supplied: Vec<Vec<String>> = Vec::new();
    for (key, value) in overrides {
        if let Err(message) = set(&mut table, key, value) {
            found.push(SpecError::at_key(file, key, message));
        }
    }
    while found.len() < MOST {
        let (error, key) = match next(&table, text, file) {
            Ok(experiment) => {
                found.extend(out_of_ranges(&experiment, file));
                if found.is_empty() {
                    found = check_values(&experiment, file);
                }
                break;
            }
            Err(wrong) => wrong,
        };
        // What follows from a value that is left out is not a mistake: more is left out.
        let missing = quoted(&error.message, "missing field `").map(str::to_owned);
        let place: Vec<String> = key.iter().cloned().chain(missing.clone()).collect();
        let follows = left_out.iter().any(|out| out.starts_with(&place));
        if !follows {
            found.push(error);
        }
        // Once, since a value that does not fit would be left out again.
        if !supplied.contains(&place) && missing.is_some_and(|field| supply(&mut table, &key, &field)) {
            supplied.push(place);
            continue;
        }
        if !leave_out(&mut table, &key) {
            // The rest cannot be read without what is missing, but numbers can be compared with the ranges of their fields.
            found.extend(out_of_ranges(&table, file));
            break;
        }
        left_out.push(key);
    }
    let found = found.into_iter().take(MOST);
    let mut found: Vec<SpecError> = found.map(|error| error.located(text, overrides)).collect();
    found.sort_by_key(|error| error.line);
    found
}

/// The first mistake in names and types, with the parts of its key.
fn next(table: &toml::Table, text: &str, file: &str) -> Result<Experiment, (SpecError, Vec<String>)> {
    serde_path_to_error::deserialize(table.clone()).map_err(|error| {
        let at = at_path(&error, text, file);
        let mut key = at.key.as_deref().map_or_else(Vec::new, |key| split_key(key).unwrap_or_default());
        if let Some(name) = quoted(error.inner().message(), "unknown field `")
            && key.last().is_none_or(|last| last != name)
        {
            key.push(name.to_owned());
        }
        (at, key)
    })
}

/// The name after `begin` in "unknown field `name`".
fn quoted<'a>(message: &'a str, begin: &str) -> Option<&'a str> {
    message.strip_prefix(begin)?.split('`').next()
}

/// Gives a required field a value with which the search can go on. False if it has none here, or there is no such table.
fn supply(table: &mut toml::Table, key: &[String], field: &str) -> bool {
    let value = match field {
        "topology" => "{ single-switch = { hosts = 2 } }",
        "run" => "{ duration = '1 us' }",
        "duration" => "'1 us'",
        "pattern" => "'uniform'",
        "message" => "'1 B'",
        "program" => "{ barrier = {} }",
        _ => return false,
    };
    let value =
        toml::from_str::<toml::Table>(&format!("value = {value}")).ok().and_then(|mut of| of.remove("value"));
    let Some((within, value)) = table_at(table, key).zip(value) else { return false };
    within.insert(field.to_owned(), value);
    true
}

/// Removes the value at a key, or the list that it is in, so that the numbers of other entries stay. False if there is none.
fn leave_out(table: &mut toml::Table, key: &[String]) -> bool {
    let mut place = key.len();
    while place > 0 {
        place -= 1;
        if let Some(within) = table_at(table, &key[..place])
            && within.remove(&key[place]).is_some()
        {
            return true;
        }
        // An entry of a list, or a value that is not written.
    }
    false
}

fn table_at<'a>(table: &'a mut toml::Table, key: &[String]) -> Option<&'a mut toml::Table> {
    let Some((first, rest)) = key.split_first() else { return Some(table) };
    let mut at = table.get_mut(first)?;
    for part in rest {
        at = match at {
            toml::Value::Table(inner) => inner.get_mut(part)?,
            toml::Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    at.as_table_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG: &str = r#"
[topology.mesh]
dimensions = [3, 3]

[links.all]
rate = "8 furlongs"
colour = 1

[switch]
virtual_lanes = 99

[[traffic]]
pattern = "uniform"
laod = 0.1
load = -1
message = "2 KiB"

[[traffic]]
pattern = "unifrom"

[run]
duration = "1 ms"
"#;

    fn told(text: &str, overrides: &[(String, String)]) -> Vec<String> {
        mistakes(text, "a.toml", overrides).iter().map(ToString::to_string).collect()
    }

    /// What is required and missing does not hide other mistakes.
    #[test]
    fn missing_fields_are_listed_with_others() {
        let found = told(
            "[[traffic]]\nload = 0.1\n[[traffic]]\nlaod = 1\npattern = \"uniform\"\n[switch]\nvirtual_lanes = 99\n",
            &[],
        );
        for part in [
            "`topology`",
            "`run`",
            "traffic.0: missing field `pattern`",
            "traffic.1: missing field `message`",
            "`laod`",
            "virtual_lanes",
        ] {
            assert!(found.iter().any(|line| line.contains(part)), "{part}: {found:#?}");
        }
        assert_eq!(found.len(), 7, "{found:#?}");
        assert_eq!(told("", &[]).len(), 2);
    }

    /// Fields that are missing everywhere, also where their usual values do not fit, end the search.
    #[test]
    fn the_search_ends_where_everything_is_missing() {
        let lists = ["traffic", "jobs", "partitions", "multicast_groups", "adapter.costs"];
        let tables =
            ["topology", "run", "tune", "sweep", "queue_pairs", "subnet_manager", "mpi", "run.steady_state"];
        let entries = lists.map(|list| format!("[[{list}]]\n")).concat();
        let rest = tables.map(|table| format!("[{table}]\n")).concat();
        assert!(!told(&(entries + &rest), &[]).is_empty());
        for program in ["all-reduce", "all-to-all-v", "sequence", "training", "fft", "shift", "broadcast"] {
            let job = format!(
                "[[jobs]]\nprogram = {{ {program} = {{}} }}\n[[traffic]]\nresponse = {{}}\nmessage = {{}}\n"
            );
            assert!(told(&job, &[]).len() > 2, "{program}");
        }
    }

    #[test]
    fn all_are_listed_with_their_lines() {
        let found = told(WRONG, &[]);
        let places: Vec<&str> = found.iter().map(|line| line.split(": ").next().unwrap()).collect();
        assert_eq!(
            places,
            ["a.toml:6", "a.toml:7", "a.toml:10", "a.toml:14", "a.toml:15", "a.toml:18", "a.toml:19"],
            "{found:#?}"
        );
        assert!(found[3].contains("did you mean `load`?"), "{found:#?}");
    }

    #[test]
    fn that_of_reading_is_among_them() {
        for (from, to) in [("rate = \"8 furlongs\"", "rate = \"fast\""), ("colour = 1", "colour = 2")] {
            let text = "[links.all]\nrate = \"8 furlongs\"\ncolour = 1\n".replace(from, to);
            let first = crate::read(&text, "a.toml", &[]).unwrap_err().to_string();
            assert!(told(&text, &[]).contains(&first), "{first}");
        }
        assert_eq!(told("not toml", &[]), [crate::read("not toml", "a.toml", &[]).unwrap_err().to_string()]);
    }

    /// Values as they are written are in their ranges exactly if they are as they are read.
    #[test]
    fn ranges_hold_as_written() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/experiment");
        let mut tried = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let Ok(experiment) = crate::read(&text, "a.toml", &[]) else { continue };
            let written: toml::Table = toml::from_str(&text).unwrap();
            assert_eq!(out_of_ranges(&written, "a.toml"), out_of_ranges(&experiment, "a.toml"), "{text}");
            tried += 1;
        }
        assert!(tried > 5, "{tried} files");
    }

    #[test]
    fn what_follows_from_one_is_not_listed() {
        let text = "[topology]\nmesh = 3\n[[traffic]]\npattern = 'uniform'\nload = 0.1\nmessage = '1 KiB'\n[run]\nduration = '1 ms'\n";
        assert_eq!(told(text, &[]).len(), 1, "{:?}", told(text, &[]));
    }

    #[test]
    fn what_is_required_and_wrong_hides_no_range() {
        let text =
            "[topology.mesh]\ndimensions = [2, 2]\n[switch]\nvirtual_lanes = 99\n[run]\nduration = 'soon'\n";
        let found = told(text, &[]);
        let places: Vec<&str> = found.iter().map(|line| line.split(": ").next().unwrap()).collect();
        assert_eq!(places, ["a.toml:4", "a.toml:6"], "{found:#?}");
    }

    #[test]
    fn overrides_have_theirs() {
        let set =
            [("run.duration".to_owned(), "soon".to_owned()), ("traffic.7.load".to_owned(), "1".to_owned())];
        let found = told(
            "[topology.mesh]\ndimensions = [2, 2]\n[[traffic]]\npattern = 'uniform'\nmessage = '1 KiB'\n[run]\nduration = '1 ms'\n",
            &set,
        );
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(
            found[0].contains("traffic.7.load") && found[1].contains("set on top of the file"),
            "{found:#?}"
        );
    }

    #[test]
    fn values_that_do_not_go_together_are_listed_by_part() {
        let text = r#"
[topology.mesh]
dimensions = [2, 2]
[host]
sink.pause_every = "1 us"
[[traffic]]
pattern = "uniform"
load = 0.1
message = "1 KiB"
[run]
duration = "7 min"
warmup = "20000 min"
"#;
        let found = told(text, &[]);
        assert!(found.len() >= 2, "{found:#?}");
        assert!(found.iter().any(|line| line.contains("pause_for")), "{found:#?}");
    }
}
