//! Rules between the values of an entry of the traffic list. Rules that depend on the network, such as the rate of a
//! source's link, are those of the sources.

use std::collections::BTreeMap;

use super::Found;
use crate::{Experiment, Injection, MessageSize, SizeDistribution, Traffic, WeightedSize};

/// Number of stream numbers: entries, responses to them, and jobs.
const MOST_STREAMS: usize = 1 << 16;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    let responses = experiment.traffic.iter().filter(|traffic| traffic.response.is_some()).count();
    let streams = experiment.traffic.len() + responses + experiment.jobs.len();
    if streams > MOST_STREAMS {
        let message = format!("{streams} entries are too many: at most {MOST_STREAMS} are allowed");
        return Err(("traffic".to_owned(), message));
    }
    names(&experiment.traffic)?;
    for (number, traffic) in experiment.traffic.iter().enumerate() {
        entry(traffic).map_err(|(key, message)| (format!("traffic.{number}.{key}"), message))?;
    }
    Ok(())
}

/// A name stands for its entry in keys, so that it must be of one entry, and not look like the number of another.
fn names(traffic: &[Traffic]) -> Result<(), Found> {
    let mut known = BTreeMap::new();
    for (number, entry) in traffic.iter().enumerate().filter(|(_, entry)| !entry.name.is_empty()) {
        let name = &entry.name;
        let found = |message: String| Err((format!("traffic.{number}.name"), message));
        if name.chars().all(|letter| letter.is_ascii_digit()) {
            return found(format!(
                "\"{name}\" is a number, which stands for the entry at that place: use letters"
            ));
        }
        if name.contains('"') {
            return found(format!("{name} contains a quotation mark: leave it out"));
        }
        if let Some(first) = known.insert(name, number) {
            return found(format!(
                "\"{name}\" is the name of traffic.{first}: give each entry a name of its own"
            ));
        }
    }
    Ok(())
}

/// Checks an entry; the key of an error is relative to it.
fn entry(traffic: &Traffic) -> Result<(), Found> {
    if let Some(stop) = traffic.stop.filter(|&stop| stop <= traffic.start) {
        return Err(refused("stop", &stop, "later than `start`"));
    }
    if let Some(load) = traffic.load.filter(|&load| load > 1.0 && traffic.injection == Injection::OnOff) {
        return Err(refused("load", &load, "at most the link rate: 1 as a load"));
    }
    let response = traffic.response.as_ref().map(|response| ("response.message", &response.message));
    for (key, message) in [("message", &traffic.message)].into_iter().chain(response) {
        sizes(message).map_err(|(below, message)| (format!("{key}.{below}"), message))?;
    }
    Ok(())
}

fn refused(key: &str, value: &dyn ToString, allowed: &str) -> Found {
    (key.to_owned(), format!("{} is out of range: it must be {allowed}", value.to_string()))
}

fn sizes(message: &MessageSize) -> Result<(), Found> {
    match message {
        MessageSize::Drawn(SizeDistribution::Uniform { min, max }) if min > max => {
            Err(refused("uniform.min", min, "at most `max`"))
        }
        MessageSize::Drawn(SizeDistribution::Choice(choices)) => weights(choices),
        MessageSize::Fixed(_) | MessageSize::Drawn(_) => Ok(()),
    }
}

fn weights(choices: &[WeightedSize]) -> Result<(), Found> {
    let total: f64 = choices.iter().map(|choice| choice.weight).sum();
    if total.is_finite() && total > 0.0 {
        return Ok(());
    }
    let message = "`choice` needs it: give at least one size a weight greater than 0, and weights whose sum is a number";
    Err(("choice".to_owned(), message.to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::{Experiment, Traffic};

    const SMALL: &str = "
[topology.mesh]
dimensions = [3, 3]
[[traffic]]
pattern = 'uniform'
message = '64 B'
[run]
duration = '1 ms'
";

    fn experiment(key: &str, value: &str) -> Experiment {
        crate::read(SMALL, "e.toml", &[(key.to_owned(), value.to_owned())]).unwrap()
    }

    fn checked(experiment: &Experiment) -> Result<(), String> {
        crate::check(experiment, "e.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn values_that_contradict_each_other_are_refused() {
        let entry = |rest: &str| format!("[{{ pattern = 'uniform', {rest} }}]");
        let cases = [
            (
                "message = '1 B', start = '1 us', stop = '1 us'",
                "stop: 1 us is out of range: it must be later than `start`",
            ),
            (
                "message = { uniform = { min = '9 B', max = '8 B' } }",
                "message.uniform.min: 9 B is out of range: it must be at most `max`",
            ),
            (
                "message = '1 B', response = { message = { uniform = { min = '9 B', max = '8 B' } } }",
                "response.message.uniform.min: 9 B is out of range: it must be at most `max`",
            ),
            (
                "message = '1 B', injection = 'on-off', on = '1 us', load = 1.5",
                "load: 1.5 is out of range: it must be at most the link rate: 1 as a load",
            ),
            (
                "message = { choice = [] }",
                "message.choice: `choice` needs it: give at least one size a weight",
            ),
            (
                "message = { choice = [{ size = '8 B', weight = 0.0 }] }",
                "message.choice: `choice` needs it: give at least one size a weight",
            ),
            (
                "message = { choice = [{ size = '8 B', weight = 1e308 }, { size = '8 B', weight = 1e308 }] }",
                "message.choice: `choice` needs it: give at least one size a weight",
            ),
        ];
        for (rest, expected) in cases {
            let error = checked(&experiment("traffic", &entry(rest))).unwrap_err();
            assert!(error.contains(&format!("e.toml: traffic.0.{expected}")), "{error}");
        }
        for rest in [
            "message = { uniform = { min = '8 B', max = '8 B' } }, stop = '1 ps'",
            "message = { choice = [{ size = '8 B', weight = 0.0 }, { size = '1 B', weight = 1e-9 }] }",
            "message = '1 B', injection = 'on-off', on = '1 us', load = 1.0",
            "message = '1 B', injection = 'poisson', load = 1.5",
        ] {
            assert_eq!(checked(&experiment("traffic", &entry(rest))), Ok(()), "{rest}");
        }
    }

    #[test]
    fn names_are_of_one_entry_and_no_numbers() {
        let named = |names: [&str; 3]| {
            let mut all = experiment("seed", "1");
            all.traffic = names
                .iter()
                .map(|name| Traffic { name: (*name).to_owned(), ..all.traffic[0].clone() })
                .collect();
            checked(&all)
        };
        assert_eq!(named(["", "", "victims"]), Ok(()));
        assert_eq!(named(["1st", "2nd", "a.b"]), Ok(()));
        for (names, expected) in [
            (["a", "b", "a"], "e.toml: traffic.2.name: \"a\" is the name of traffic.0"),
            (["", "7", ""], "e.toml: traffic.1.name: \"7\" is a number"),
            (["", "", "a\"b"], "e.toml: traffic.2.name: a\"b contains a quotation mark"),
        ] {
            let error = named(names).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn more_entries_than_stream_numbers_are_refused() {
        let mut all = experiment("traffic.0.response", "{ message = '1 B' }");
        let entry: Traffic = all.traffic[0].clone();
        all.traffic = vec![entry.clone(); 32_768];
        assert_eq!(checked(&all), Ok(()));
        all.traffic.push(Traffic { response: None, ..entry });
        let error = checked(&all).unwrap_err();
        assert!(error.contains("traffic: 65537 entries are too many: at most 65536 are allowed"), "{error}");
    }
}
