//! Descriptions of streams for tables: names, keys, texts, and the hosts at their ends.

use fabricsim_spec::{Injection, MessageSize, Pattern, SizeDistribution, Traffic, name};
use fabricsim_units::{HostId, Rate};

use crate::multicast::MulticastGroup;
use crate::pattern::{Draw, DrawState};
use crate::stream_info::StreamEnd;

/// Hosts of a list that a text names.
const NAMED: usize = 3;

/// Names of the entries of a traffic list: each its own, or else its pattern, with ` #1`, ` #2` and so on if several have
/// the same.
pub(crate) fn names(traffic: &[Traffic]) -> Vec<String> {
    let plain = |entry: &Traffic| match entry.name.as_str() {
        "" => name(&entry.pattern).to_owned(),
        given => given.to_owned(),
    };
    let all: Vec<String> = traffic.iter().map(plain).collect();
    let mut sorted: Vec<&String> = all.iter().collect();
    sorted.sort_unstable();
    let is_shared = |name: &String| {
        let at = sorted.partition_point(|other| *other < name);
        sorted.get(at + 1) == Some(&name)
    };
    let mut seen = std::collections::BTreeMap::<&String, usize>::new();
    let numbered = |name| {
        if !is_shared(name) {
            return name.clone();
        }
        let number = seen.entry(name).or_default();
        *number += 1;
        format!("{name} #{number}")
    };
    all.iter().map(numbered).collect()
}

/// Key of an entry of the list `list`: by its name, else by its number.
pub(crate) fn key(list: &str, given: &str, number: usize) -> String {
    match given {
        "" => format!("{list}.{number}"),
        _ if given.contains('.') => format!("{list}.\"{given}\""),
        _ => format!("{list}.{given}"),
    }
}

/// What an entry sends, in a few words: `"H1, H2 to H3, load 0.5, 4 KiB"`.
pub(crate) fn text(traffic: &Traffic) -> String {
    let from =
        if traffic.sources == ["*"] { String::new() } else { format!("{} ", listed(&traffic.sources)) };
    let to = match &traffic.pattern {
        Pattern::To(host) => format!("to {host}"),
        Pattern::Multicast(group) => format!("to multicast group {group}"),
        Pattern::HotSpot(hot) => format!("hot-spot, {} to {}", hot.fraction, listed(&hot.hosts)),
        Pattern::Permutation(list) => format!("to {}", listed(list)),
        other => name(other).to_owned(),
    };
    let rate = match (traffic.load, traffic.rate, traffic.window) {
        (Some(load), ..) => format!("load {load}"),
        (_, Some(rate), _) => rate.to_string(),
        (.., Some(window)) if traffic.injection == Injection::Window => format!("window {window}"),
        _ => name(&traffic.injection).to_owned(),
    };
    format!("{from}{to}, {rate}, {}", size(&traffic.message))
}

/// The size of a message in a few words.
pub(crate) fn size(message: &MessageSize) -> String {
    match message {
        MessageSize::Fixed(bytes) => bytes.to_string(),
        MessageSize::Drawn(SizeDistribution::Uniform { min, max }) => format!("{min} to {max}"),
        MessageSize::Drawn(SizeDistribution::Choice(choices)) => format!("{} sizes", choices.len()),
        MessageSize::Drawn(SizeDistribution::Exponential { mean, .. }) => format!("{mean} in the mean"),
    }
}

fn listed(names: &[String]) -> String {
    match names.len() {
        0..=NAMED => names.join(", "),
        all => format!("{} and {} more", names[..NAMED].join(", "), all - NAMED),
    }
}

/// The hosts to which sources of the states `marks` may send.
pub(crate) fn destinations(
    draw: &Draw,
    marks: &[Option<DrawState>],
    groups: &[MulticastGroup],
    rates: &[Rate],
) -> StreamEnd {
    let mut states: Vec<DrawState> = marks.iter().flatten().copied().collect();
    states.sort_unstable();
    states.dedup();
    let mut hosts = Vec::new();
    match draw {
        Draw::Fixed | Draw::Range => {
            for &state in &states {
                draw.shares(state, |host, _| match host.group() {
                    Some(group) => hosts.extend_from_slice(&groups[usize::from(group)].members),
                    None => hosts.push(host),
                });
            }
        }
        // Two sources leave out different members of a set, so that those of two are those of all.
        Draw::Uniform(_) | Draw::HotSpot(_) => {
            for &state in states.iter().take(2) {
                draw.shares(state, |host, _| hosts.push(host));
            }
        }
    }
    hosts.sort_unstable();
    hosts.dedup();
    StreamEnd::of(hosts.into_iter(), rates)
}

/// The sources that have a destination.
pub(crate) fn sources(hosts: &[HostId], marks: &[Option<DrawState>], rates: &[Rate]) -> StreamEnd {
    StreamEnd::of(hosts.iter().zip(marks).filter_map(|(&host, mark)| mark.map(|_| host)), rates)
}

#[cfg(test)]
mod tests {
    use crate::StreamKind;
    use crate::testing::{build_all, hosts};

    const THREE: &str = "
[[traffic]]
pattern = 'uniform'
load = 0.25
message = { uniform = { min = '100 B', max = '200 B' } }
[[traffic]]
sources = ['H0', 'H1']
pattern = { to = 'H1' }
injection = 'saturating'
message = '64 B'
[[traffic]]
name = 'get'
sources = ['H0', 'H1', 'H2', 'H3']
pattern = { hot-spot = { hosts = ['H1'], fraction = 0.4 } }
destinations = ['H2']
injection = 'window'
window = 3
message = '16 KiB'
response = { message = '8 B' }
[[traffic]]
sources = ['H4']
pattern = { to = 'H1' }
rate = '1 Gb/s'
message = '64 B'
";

    #[test]
    fn entries_have_names_keys_and_texts() {
        let streams = build_all(&hosts(5), THREE).streams;
        let found: Vec<(&str, &str, &str)> = streams
            .iter()
            .map(|stream| (stream.name.as_str(), stream.key.as_str(), stream.text.as_str()))
            .collect();
        let expected = [
            ("uniform", "traffic.0", "uniform, load 0.25, 100 B to 200 B"),
            ("to #1", "traffic.1", "H0, H1 to H1, saturating, 64 B"),
            ("get", "traffic.get", "H0, H1, H2 and 1 more hot-spot, 0.4 to H1, window 3, 16 KiB"),
            ("to #2", "traffic.3", "H4 to H1, 1 Gb/s, 64 B"),
            ("get response", "traffic.get.response", "answers to get, 8 B"),
        ];
        assert_eq!(found, expected);
    }

    /// The hosts of both ends, with links of 8 Gb/s: one that only sends to itself is no source.
    #[test]
    fn ends_are_the_hosts_that_send_and_may_receive() {
        let streams = build_all(&hosts(5), THREE).streams;
        let found: Vec<(usize, usize)> =
            streams.iter().map(|stream| (stream.sources.hosts, stream.destinations.hosts)).collect();
        // Four hosts send to the hot one or to the other destination, and these two answer them.
        assert_eq!(found, [(5, 5), (1, 1), (4, 2), (1, 1), (2, 4)]);
        assert!(streams.iter().all(|stream| stream.sources.gbps == 8.0 * stream.sources.hosts as f64));
        assert_eq!(streams[4].kind, StreamKind::Response);
        let alone = "[[traffic]]\nsources = ['H2']\npattern = 'uniform'\nload = 0.1\nmessage = '64 B'\n";
        assert_eq!(build_all(&hosts(5), alone).streams[0].destinations.hosts, 4);
    }
}
