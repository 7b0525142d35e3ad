//! The packets that an experiment chooses to be recorded.

use fabricsim_engine::Prepared;
use fabricsim_model::Packet;
use fabricsim_spec::SpecError;
use fabricsim_units::{HostId, nearest};
use fabricsim_workload::matches;

/// Packets of `measure.packets`.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    all: Vec<Choice>,
}

/// An entry of the list.
#[derive(Clone, Debug)]
struct Choice {
    /// By host: true for those whose packets it chooses.
    sources: Vec<bool>,
    /// By host and by multicast group: true for those to which it chooses packets.
    hosts: Vec<bool>,
    groups: Vec<bool>,
    /// Number of the only packet among those of its source.
    number: Option<u32>,
}

impl Choices {
    /// The choices of an experiment. `file` names it in messages.
    ///
    /// # Errors
    ///
    /// An entry that has no arrow, names no host, or ends with no number.
    pub(super) fn new(prepared: &Prepared, file: &str) -> Result<Self, SpecError> {
        let texts = prepared.experiment.measure.packets.iter().enumerate();
        let all = texts.map(|(place, text)| {
            Choice::new(text, prepared)
                .map_err(|message| SpecError::at_key(file, &format!("measure.packets.{place}"), message))
        });
        Ok(Self { all: all.collect::<Result<_, _>>()? })
    }

    /// True if a packet is chosen.
    #[inline]
    pub(super) fn contain(&self, packet: &Packet) -> bool {
        self.all.iter().any(|choice| choice.contains(packet))
    }
}

impl Choice {
    fn new(text: &str, prepared: &Prepared) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}` is no choice of packets: write \"SOURCE -> DESTINATION\", or \"SOURCE -> DESTINATION #17\" for \
                 packet 17 of the source"
            )
        };
        let (source, rest) = text.split_once("->").ok_or_else(form)?;
        let (destination, number) = match rest.rsplit_once('#') {
            Some((before, number)) => (before, Some(number.trim().parse().map_err(|_| form())?)),
            None => (rest, None),
        };
        let (source, destination) = (source.trim(), destination.trim());
        let hosts: Vec<&str> = prepared.graph.hosts.iter().map(|host| host.name.as_str()).collect();
        let groups: Vec<&str> = prepared.workload.groups.iter().map(|group| group.name.as_str()).collect();
        let choice = Self {
            sources: chosen(source, &hosts),
            hosts: chosen(destination, &hosts),
            groups: chosen(destination, &groups),
            number,
        };
        let is_none = |of: &[bool]| !of.contains(&true);
        if is_none(&choice.sources) {
            return Err(unknown(source, &hosts));
        }
        if is_none(&choice.hosts) && is_none(&choice.groups) {
            return Err(unknown(destination, &[hosts, groups].concat()));
        }
        Ok(choice)
    }

    fn contains(&self, packet: &Packet) -> bool {
        let Packet { source, destination, sequence, .. } = *packet;
        let of_host = |hosts: &[bool], host: HostId| hosts.get(host.index()).copied().unwrap_or_default();
        let arrives = match destination.group() {
            Some(group) => self.groups.get(usize::from(group)).copied().unwrap_or_default(),
            None => of_host(&self.hosts, destination),
        };
        arrives && of_host(&self.sources, source) && self.number.is_none_or(|number| number == sequence)
    }
}

fn chosen(pattern: &str, names: &[&str]) -> Vec<bool> {
    names.iter().map(|name| matches(pattern, name)).collect()
}

fn unknown(pattern: &str, names: &[&str]) -> String {
    match nearest(pattern, names.iter().copied()) {
        Some(name) => format!("no host is named `{pattern}`; did you mean `{name}`?"),
        None => format!(
            "no host is named `{pattern}`: give a name such as `{}`, or a pattern with `*`",
            names.first().copied().unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fabricsim_model::PacketKind;
    use fabricsim_units::Time;

    use super::*;

    fn choices(packets: &str) -> Result<Choices, SpecError> {
        let text = format!(
            "[topology]\nsingle-switch = {{ hosts = 4 }}\n[run]\nduration = '1 us'\n[measure]\npackets = {packets}\n"
        );
        let experiment = fabricsim_spec::read(&text, "f.toml", &[]).unwrap();
        Choices::new(&Prepared::new(experiment, Path::new("."), "f.toml").unwrap(), "f.toml")
    }

    fn pairs(choices: &Choices, sequence: u32) -> Vec<(u32, u32)> {
        let all = (0..4).flat_map(|source| (0..4).map(move |destination| (source, destination)));
        all.filter(|&(source, destination)| {
            let ends = (HostId(source), HostId(destination));
            let packet = Packet::new(PacketKind::Data, ends, 1, Time::ZERO);
            choices.contain(&Packet { sequence, ..packet })
        })
        .collect()
    }

    #[test]
    fn names_patterns_and_numbers() {
        let of = |packets: &str, number| pairs(&choices(packets).unwrap(), number);
        assert_eq!(of("['H1 -> H3']", 5), [(1, 3)]);
        assert_eq!(of("['H1->*', '*  ->  H0']", 5), [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (3, 0)]);
        assert_eq!(of("['H1 -> H3 #17']", 17), [(1, 3)]);
        assert_eq!(of("['H1 -> H3 #17']", 5), []);
        assert_eq!(of("[]", 5), []);
    }

    #[test]
    fn wrong_choices_are_named() {
        for (packets, expected) in [
            ("['H1']", "f.toml: measure.packets.0: `H1` is no choice of packets: write"),
            ("['*->*', 'H1 -> H2 #x']", "measure.packets.1: `H1 -> H2 #x` is no choice"),
            ("['H1 -> H7']", "no host is named `H7`; did you mean `H"),
            ("['quite different -> *']", "no host is named `quite different`: give a name such as `H0`"),
        ] {
            let error = choices(packets).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
