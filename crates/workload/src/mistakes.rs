//! All mistakes in the traffic of an experiment at once.

use fabricsim_spec::{Experiment, Pattern};

use crate::{Hosts, Workload, WorkloadError, build};

/// The most mistakes that are listed.
const MOST: usize = 20;

/// The mistakes that [`build`] finds, the first of each entry, group and job; none if it finds none. What is wrong is replaced for the search for
/// others by what is right everywhere, so that what follows from it alone is not listed. The workload is the one with all that replaced, if there is one.
pub fn mistakes(
    experiment: &Experiment,
    hosts: &Hosts,
    file: &str,
) -> (Vec<WorkloadError>, Option<Workload>) {
    let mut rest = experiment.clone();
    let mut found: Vec<WorkloadError> = Vec::new();
    while found.len() < MOST {
        let error = match build(&rest, hosts, file) {
            Ok(workload) => return (found, Some(workload)),
            Err(error) => error,
        };
        let part = part(&error.key);
        if found.iter().any(|before| self::part(&before.key) == part) {
            break;
        }
        let is_replaced = replace(&mut rest, part);
        found.push(error);
        if !is_replaced {
            break;
        }
    }
    (found, None)
}

/// The list or table that a key is in, and the entry: `("traffic", "0")`.
fn part(key: &str) -> (&str, &str) {
    match key.split_once('.') {
        Some(("groups", name)) => ("groups", name.trim_matches('"')),
        Some((list, rest)) => (list, rest.split('.').next().unwrap_or(rest)),
        None => (key, ""),
    }
}

/// Replaces an entry, a group or the hosts of a job. False if it is none of these.
fn replace(experiment: &mut Experiment, (list, entry): (&str, &str)) -> bool {
    let all = || vec!["*".to_owned()];
    let number = entry.parse::<usize>();
    match (list, number) {
        ("groups", _) => experiment.groups.insert(entry.to_owned(), all()).is_some(),
        ("traffic", Ok(number)) => experiment.traffic.get_mut(number).is_some_and(|traffic| {
            (traffic.sources, traffic.destinations) = (all(), all());
            (traffic.pattern, traffic.partition) = (Pattern::Uniform, None);
            true
        }),
        ("jobs", Ok(number)) => experiment.jobs.get_mut(number).is_some_and(|job| {
            (job.hosts, job.ranks) = (all(), None);
            true
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{experiment, hosts};

    /// The lines, and the number of streams of the workload without the mistakes.
    fn found(text: &str) -> (Vec<String>, Option<usize>) {
        let (lines, workload) = mistakes(&experiment(text), &hosts(4), "f.toml");
        let streams = workload.map(|workload| workload.streams.len());
        (lines.iter().map(ToString::to_string).collect(), streams)
    }

    #[test]
    fn mistakes_of_all_entries_groups_and_jobs_are_listed() {
        let (found, streams) = found(
            "
groups.victims = ['H0', 'H99']
[[traffic]]
sources = ['H7']
pattern = 'uniform'
load = 0.1
message = '64 B'
[[traffic]]
pattern = { to = 'H8' }
load = 0.1
message = '64 B'
[[traffic]]
sources = ['victims']
pattern = { to = 'H1' }
load = 0.1
message = '64 B'
[[jobs]]
hosts = ['H9']
program = { barrier = {} }
",
        );
        let keys: Vec<&str> = found.iter().filter_map(|line| line.split(": ").nth(1)).collect();
        assert_eq!(
            keys,
            ["groups.victims", "traffic.0.sources", "traffic.1.pattern.to", "jobs.0.hosts"],
            "{found:#?}"
        );
        assert_eq!(streams, Some(4), "of all that is replaced");
    }

    #[test]
    fn right_traffic_has_none_and_an_entry_one() {
        let right = "[[traffic]]\npattern = 'uniform'\nload = 0.1\nmessage = '64 B'\n";
        assert_eq!(found(right), (vec![], Some(1)));
        let twice =
            "[[traffic]]\nsources = ['H7', 'H8']\npattern = { to = 'H9' }\nload = 0.1\nmessage = '64 B'\n";
        let (lines, streams) = found(twice);
        assert_eq!((lines.len(), streams), (1, Some(1)));
    }
}
