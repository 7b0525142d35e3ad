//! Shared test code of this crate.

use fabricsim_spec::{Experiment, check};
use fabricsim_units::{Rate, Time};

use crate::{HostGrid, Hosts, Message, Source, Workload, build};

/// `n` hosts H0, H1, ... with links of 8 Gb/s (1 ns per byte), without coordinates.
pub(crate) fn hosts(n: u32) -> Hosts {
    let rate = Rate::new(8_000_000_000).unwrap();
    let names = (0..n).map(|i| format!("H{i}")).collect();
    Hosts { names, rates: vec![rate; n as usize], grid: None, group: None }
}

/// A grid with x fastest and `per_switch` hosts on each switch.
pub(crate) fn grid(dimensions: &[u32], per_switch: u32) -> Hosts {
    let switches: u32 = dimensions.iter().product();
    let coordinates = |switch: u32| {
        let mut rest = switch;
        dimensions
            .iter()
            .map(|k| {
                let x = rest % k;
                rest /= k;
                x
            })
            .collect::<Vec<_>>()
    };
    let n = switches * per_switch;
    let grid = HostGrid {
        dimensions: dimensions.to_vec(),
        coordinates: (0..n).map(|h| coordinates(h / per_switch)).collect(),
        slot: (0..n).map(|h| h % per_switch).collect(),
    };
    Hosts { grid: Some(grid), ..hosts(n) }
}

/// An experiment with the given entries (and groups) in place of its traffic.
pub(crate) fn experiment(traffic: &str) -> Experiment {
    let text = format!("{traffic}\n[topology.single-switch]\nhosts = 2\n[run]\nduration = '1 ms'");
    fabricsim_spec::read(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// One entry, completed where it lacks a load or a message size.
fn entry(rest: &str) -> String {
    let message = if rest.contains("message =") { "" } else { "message = '64 B'" };
    let without_load = ["load", "rate =", "injection"].iter().all(|key| !rest.contains(key));
    let load = if without_load && rest.contains("pattern =") { "load = 0.5" } else { "" };
    format!("[[traffic]]\n{rest}\n{message}\n{load}\n")
}

pub(crate) fn workload(hosts: &Hosts, rest: &str) -> Workload {
    build(&experiment(&entry(rest)), hosts, "test.toml").unwrap_or_else(|e| panic!("{e}\n{rest}"))
}

/// All the traffic of an experiment.
pub(crate) fn build_all(hosts: &Hosts, traffic: &str) -> Workload {
    build(&experiment(traffic), hosts, "test.toml").unwrap_or_else(|e| panic!("{e}\n{traffic}"))
}

/// The error message for an entry.
pub(crate) fn refused(hosts: &Hosts, rest: &str) -> String {
    let experiment = experiment(&entry(rest));
    match check(&experiment, "test.toml") {
        Ok(()) => {
            build(&experiment, hosts, "test.toml").err().unwrap_or_else(|| panic!("{rest}")).to_string()
        }
        Err(error) => error.to_string(),
    }
}

/// Hosts that the entry silences.
pub(crate) fn silent(hosts: &Hosts, rest: &str) -> Vec<u32> {
    workload(hosts, rest).silent.iter().map(|s| s.host.0).collect()
}

/// The first destination of each host.
pub(crate) fn destinations(hosts: &Hosts, rest: &str) -> Vec<Option<u32>> {
    let first = |mut source: Source| source.next(Time::ZERO).map(|at| source.take(at).destination.0);
    workload(hosts, rest).sources.into_iter().map(first).collect()
}

/// Destinations of the first `n` messages of a host.
pub(crate) fn draws(hosts: &Hosts, rest: &str, source: usize, n: u32) -> impl Iterator<Item = u32> {
    let mut source = workload(hosts, rest).sources.swap_remove(source);
    (0..n).map(move |_| take(&mut source, 1)[0].destination.0)
}

/// Takes `n` messages, each when it is created.
pub(crate) fn take(source: &mut Source, n: u32) -> Vec<Message> {
    let one = |source: &mut Source| source.next(Time::ZERO).map(|at| source.take(at));
    (0..n).map_while(|_| one(source)).collect()
}

/// Time of the first message of host 0 of two, and the `n` intervals after it, in picoseconds.
pub(crate) fn gaps(rest: &str, n: u32) -> (f64, Vec<f64>) {
    let mut workload = workload(&hosts(2), rest);
    let messages = take(&mut workload.sources[0], n + 1);
    let gaps = messages.windows(2).map(|w| (w[1].created - w[0].created).0 as f64).collect();
    (messages[0].created.0 as f64, gaps)
}

pub(crate) fn nominal_load(rest: &str) -> f64 {
    workload(&hosts(2), rest).sources[0].nominal_load()
}
