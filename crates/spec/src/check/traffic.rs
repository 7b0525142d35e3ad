//! Rules between the values of an entry of the traffic list. Rules that depend on the network, such as the rate of a
//! source's link, are those of the sources.

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
    for (number, traffic) in experiment.traffic.iter().enumerate() {
        entry(traffic).map_err(|(key, message)| (format!("traffic.{number}.{key}"), message))?;
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
