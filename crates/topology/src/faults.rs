//! The failures of an experiment's plan, with the links and switches that it names.

use std::collections::BTreeMap;

use fabricsim_spec::{Fault, Losing, SpecError};
use fabricsim_units::{LinkId, SwitchId, Time, nearest};

use crate::Graph;
use crate::links::find_named;

/// Something that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failing {
    /// All links between two nodes.
    Links(Vec<LinkId>),
    /// A switch with its links.
    Switch(SwitchId),
    /// The flow-control packets of all links between two nodes.
    FlowControl(Vec<LinkId>),
}

/// A failure from `at` until `until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What fails.
    pub what: Failing,
    /// Time at which it fails.
    pub at: Time,
    /// Time from which on it works again; [`Time::MAX`] if it never does.
    pub until: Time,
}

/// The switches of `switches.failed`, in its order: they have failed before the run, and never work. `file` names the experiment in messages.
///
/// # Errors
///
/// A name that no switch has.
pub fn failed_switches(graph: &Graph, names: &[String], file: &str) -> Result<Vec<Failure>, SpecError> {
    let failed = names.iter().enumerate().map(|(number, name)| {
        let found = find_switch(graph, name);
        let switch = found
            .map_err(|message| SpecError::at_key(file, &format!("switches.failed.{number}"), message))?;
        Ok(Failure { what: Failing::Switch(switch), at: Time::ZERO, until: Time::MAX })
    });
    failed.collect()
}

/// The failures of `plan`, in its order. `file` names the experiment in messages.
///
/// # Errors
///
/// A name that no link or switch has, or two failures of the same at the same time.
pub fn failures(graph: &Graph, plan: &[Fault], file: &str) -> Result<Vec<Failure>, SpecError> {
    let names: Vec<&str> = plan.iter().filter_map(|fault| fault.link.as_deref()).collect();
    let found = find_named(graph, names.iter().copied()).map_err(|(key, message)| {
        let number = plan.iter().position(|fault| fault.link.as_deref() == Some(key)).unwrap_or(0);
        SpecError::at_key(file, &format!("faults.plan.{number}.link"), format!("`{key}`: {message}"))
    })?;
    let mut links: BTreeMap<&str, Vec<LinkId>> = BTreeMap::new();
    for (index, name) in found {
        let of_name = links.entry(name).or_default();
        if of_name.last() != Some(&LinkId(index as u32)) {
            of_name.push(LinkId(index as u32));
        }
    }
    let mut all = Vec::new();
    for (number, fault) in plan.iter().enumerate() {
        let what = match (&fault.link, &fault.switch) {
            (Some(link), _) => {
                let links = links.get(link.as_str()).cloned().unwrap_or_default();
                match fault.loses {
                    Losing::All => Failing::Links(links),
                    Losing::FlowControl => Failing::FlowControl(links),
                }
            }
            (None, switch) => {
                let name = switch.as_deref().unwrap_or_default();
                Failing::Switch(find_switch(graph, name).map_err(|message| {
                    SpecError::at_key(file, &format!("faults.plan.{number}.switch"), message)
                })?)
            }
        };
        all.push(Failure { what, at: fault.at, until: fault.until.unwrap_or(Time::MAX) });
    }
    refuse_overlaps(&all, file)?;
    Ok(all)
}

/// What a name stands for: a switch, or the links between two nodes (`"S(0)-S(1)"`, in either order).
///
/// # Errors
///
/// A text: no switch or link has the name.
pub fn failing(graph: &Graph, name: &str) -> Result<Failing, String> {
    if let Some(index) = graph.switches.iter().position(|switch| switch.name == name) {
        return Ok(Failing::Switch(SwitchId(index as u32)));
    }
    if !name.contains('-') {
        return find_switch(graph, name).map(Failing::Switch);
    }
    let found = find_named(graph, std::iter::once(name));
    let mut links: Vec<LinkId> = found
        .map_err(|(_, message)| format!("`{name}`: {message}"))?
        .into_iter()
        .map(|(index, _)| LinkId(index as u32))
        .collect();
    links.dedup();
    Ok(Failing::Links(links))
}

fn find_switch(graph: &Graph, name: &str) -> Result<SwitchId, String> {
    if let Some(index) = graph.switches.iter().position(|switch| switch.name == name) {
        return Ok(SwitchId(index as u32));
    }
    let names = graph.switches.iter().map(|switch| switch.name.as_str());
    Err(match nearest(name, names) {
        Some(near) => format!("`{name}`: there is no switch of this name; did you mean `{near}`?"),
        None => format!("`{name}`: there is no switch of this name: `fabricsim describe` lists them"),
    })
}

fn refuse_overlaps(failures: &[Failure], file: &str) -> Result<(), SpecError> {
    let mut order: Vec<usize> = (0..failures.len()).collect();
    order.sort_by_key(|&number| (failures[number].at, number));
    let mut last: BTreeMap<(bool, u32), usize> = BTreeMap::new();
    for number in order {
        let ids = match &failures[number].what {
            Failing::Links(links) | Failing::FlowControl(links) => {
                links.iter().map(|link| (false, link.0)).collect()
            }
            Failing::Switch(switch) => vec![(true, switch.0)],
        };
        for id in ids {
            if let Some(before) = last.insert(id, number)
                && failures[before].until >= failures[number].at
            {
                let message = format!(
                    "it fails at {}, and by entry {before} it has failed at {} and is not back before: leave a time between",
                    failures[number].at, failures[before].at
                );
                return Err(SpecError::at_key(file, &format!("faults.plan.{number}"), message));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(plan: &str) -> Result<Vec<Failure>, String> {
        let text =
            format!("topology.ring = {{ switches = 4 }}\nrun.duration = \"1 us\"\n[faults]\nplan = {plan}");
        let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
        let graph = crate::build(&experiment, std::path::Path::new("."), "e.toml").unwrap();
        failures(&graph, &experiment.faults.plan, "e.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn names_in_either_order_become_links_and_switches() {
        let both = "[{ link = \"S(1)-S(0)\", at = \"2 us\" }, { link = \"S(0)-S(1)\", at = \"1 us\", until = \"1500 ns\" }, \
                    { switch = \"S(2)\", at = \"0 s\" }]";
        let found = resolved(both).unwrap();
        assert_eq!(found[0].what, found[1].what);
        assert!(matches!(&found[0].what, Failing::Links(links) if links.len() == 1));
        assert_eq!((found[0].until, found[1].until), (Time::MAX, Time::ns(1500)));
        assert_eq!(found[2].what, Failing::Switch(SwitchId(2)));
    }

    #[test]
    fn unknown_names_and_overlaps_are_refused() {
        for (plan, part) in [
            ("[{ link = \"S(0)-S(9)\", at = \"1 us\" }]", "faults.plan.0.link: `S(0)-S(9)`: "),
            ("[{ link = \"S(0)-S(2)\", at = \"1 us\" }]", "S(0) and S(2) are not joined by a link"),
            ("[{ switch = \"S(9)\", at = \"1 us\" }]", "faults.plan.0.switch: `S(9)`: there is no switch"),
            (
                "[{ switch = \"S(1)\", at = \"2 us\" }, { switch = \"S(1)\", at = \"1 us\" }]",
                "faults.plan.0: it fails at 2 us, and by entry 1 it has failed at 1 us",
            ),
            (
                "[{ link = \"S(0)-S(1)\", at = \"1 us\", until = \"3 us\" }, { link = \"S(1)-S(0)\", at = \"3 us\" }]",
                "faults.plan.1: it fails at 3 us",
            ),
        ] {
            let message = resolved(plan).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
