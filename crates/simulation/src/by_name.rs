//! Names of hosts and traffic entries, as a user of a session gives them.

use std::ops::Deref;

use fabricsim_engine::Prepared;
use fabricsim_session::Change;
use fabricsim_topology::{Failing, Graph, Node};
use fabricsim_units::{HostId, PortNo, SwitchId, nearest};
use fabricsim_workload::{StreamKind, select};

use crate::plan::Run;

/// A name without a match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No host has this name.
    #[error("no host is named {written:?}{}", hint(.nearest.as_deref()))]
    Host {
        /// The name.
        written: String,
        /// The most similar name of a host.
        nearest: Option<String>,
    },
    /// An invalid list of host names.
    #[error("{0}")]
    Hosts(String),
    /// No switch or link has the name, or the switch has no such neighbour.
    #[error("{0}")]
    Fabric(String),
    /// No entry of the traffic list has this name.
    #[error("no traffic entry is named {written:?}: the entries are {}{}", list(.names), hint(.nearest.as_deref()))]
    Entry {
        /// The name.
        written: String,
        /// Names of the entries.
        names: Vec<String>,
        /// The most similar of these.
        nearest: Option<String>,
    },
    /// No entry is without responses.
    #[error(
        "the experiment has no traffic entry without responses, to which a message could belong: add one with load = 0"
    )]
    NoEntry,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

fn unknown_switch(graph: &Graph, name: &str) -> String {
    let names = graph.switches.iter().map(|switch| switch.name.as_str());
    format!("no switch is named {name:?}{}", hint(nearest(name, names)))
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

impl<P: Deref<Target = Prepared>, B> Run<P, B> {
    /// The host of a name.
    pub fn host(&self, name: &str) -> Result<HostId, NameError> {
        let hosts = &self.prepared.graph.hosts;
        let found = hosts.iter().position(|host| host.name == name);
        found.map(|number| HostId(number as u32)).ok_or_else(|| NameError::Host {
            written: name.to_owned(),
            nearest: nearest(name, hosts.iter().map(|host| host.name.as_str())).map(str::to_owned),
        })
    }

    /// The hosts that a list stands for: names, patterns with `*`, and groups of the experiment.
    pub fn hosts(&self, list: &[String]) -> Result<Vec<HostId>, NameError> {
        let names: Vec<String> = self.prepared.graph.hosts.iter().map(|host| host.name.clone()).collect();
        select(list, &names, &self.prepared.experiment.groups)
            .map_err(|problem| NameError::Hosts(problem.to_string()))
    }

    /// The changes that let a switch, or the links between two nodes (`"S(0)-S(1)"`), fail or work again.
    pub fn failing(&self, name: &str, works: bool) -> Result<Vec<Change>, NameError> {
        let found = fabricsim_topology::failing(&self.prepared.graph, name).map_err(NameError::Fabric)?;
        Ok(match found {
            Failing::Switch(switch) => vec![Change::Switch { switch, works }],
            Failing::Links(links) | Failing::FlowControl(links) => {
                links.into_iter().map(|link| Change::Link { link, works }).collect()
            }
        })
    }

    /// The change that lets a switch send what is for a host to the neighbour named `towards`: a switch, or the host itself.
    pub fn route(&self, switch: &str, to: &str, towards: &str) -> Result<Change, NameError> {
        let graph = &self.prepared.graph;
        let Some(at) = graph.switches.iter().position(|node| node.name == switch) else {
            return Err(NameError::Fabric(unknown_switch(graph, switch)));
        };
        let to = self.host(to)?;
        let node = Node::Switch(SwitchId(at as u32));
        let ports = &graph.switches[at].ports;
        let port = ports.iter().position(|&link| graph.name(graph.far_end(link, node).node) == towards);
        match port {
            Some(port) => Ok(Change::Route { switch: SwitchId(at as u32), to, port: PortNo(port as u16) }),
            None => Err(NameError::Fabric(format!("no port of {switch} leads to `{towards}`"))),
        }
    }

    /// The first entry of the traffic list with a name; by default the first without responses.
    pub fn entry(&self, name: Option<&str>) -> Result<u16, NameError> {
        let count = self.prepared.experiment.traffic.len();
        let entries = &self.prepared.workload.streams[..count];
        let found = match name {
            Some(name) => entries.iter().position(|entry| entry.name == name),
            None => entries.iter().position(|entry| entry.kind == StreamKind::Traffic),
        };
        found.map(|number| number as u16).ok_or_else(|| match name {
            None => NameError::NoEntry,
            Some(name) => NameError::Entry {
                written: name.to_owned(),
                names: entries.iter().map(|entry| entry.name.clone()).collect(),
                nearest: nearest(name, entries.iter().map(|entry| entry.name.as_str())).map(str::to_owned),
            },
        })
    }
}
