//! Hosts and cables of a graph that is given as pairs of switches.

use std::collections::BTreeSet;

use fabricsim_units::{PortNo, SwitchId, number_of};

use crate::assemble::Assembler;
use crate::links::ByClass;
use crate::{Graph, LinkClass, Shape};

/// A direct network: every switch has the same number of hosts, and all its links lead to switches.
pub(super) struct Direct {
    pub(super) title: String,
    /// Switches: names without the letter, and coordinates.
    pub(super) switches: Vec<(String, Vec<u32>)>,
    pub(super) hosts_per_switch: u32,
    /// Pairs of switches, and the class of their link: its place in [`ByClass::switches`].
    pub(super) cables: Vec<Cable>,
}

/// A link between two switches.
pub(super) type Cable = (u32, u32, LinkClass);

impl Direct {
    /// Ports of a switch: its hosts, then for each class (in the order of `classes`) the switches that it is joined to,
    /// ascending.
    pub(super) fn plug(mut self, classes: &[LinkClass], parameters: &ByClass) -> Graph {
        let class = |class: LinkClass| classes.iter().position(|&c| c == class).unwrap_or(0);
        self.cables
            .iter_mut()
            .for_each(|cable| *cable = (cable.0.min(cable.1), cable.0.max(cable.1), cable.2));
        self.cables.sort_unstable_by_key(|&(a, b, c)| (class(c), a, b));
        let hosts = self.switches.len() * self.hosts_per_switch as usize;
        let mut assembler = Assembler::new(self.switches.len(), hosts, hosts + self.cables.len());
        let mut degree = vec![self.hosts_per_switch; self.switches.len()];
        for &(a, b, _) in &self.cables {
            degree[a as usize] += 1;
            degree[b as usize] += 1;
        }
        for ((name, coordinates), &ports) in self.switches.iter().zip(&degree) {
            assembler.switch(format!("S{name}"), coordinates.clone(), ports as usize);
        }
        for (switch, (name, _)) in (0..).zip(&self.switches) {
            for slot in 0..self.hosts_per_switch {
                assembler.host(format!("H{name}.{slot}"), (SwitchId(switch), slot), &parameters.hosts);
            }
        }
        let mut next = vec![self.hosts_per_switch as u16; self.switches.len()];
        let mut port = |switch: u32| {
            let port = PortNo(next[switch as usize]);
            next[switch as usize] += 1;
            (SwitchId(switch), port)
        };
        for &(a, b, c) in &self.cables {
            assembler.cable(port(a), port(b), c, &parameters.switches[class(c)]);
        }
        assembler.finish(self.title, Shape::Direct)
    }
}

/// " per switch", with the number of hosts.
pub(super) fn per_switch(hosts: u32) -> String {
    format!("{} per switch", number_of(u64::from(hosts), "host"))
}

/// True if there is a path between every two of `switches` switches.
pub(super) fn is_connected(switches: u32, pairs: &BTreeSet<(u32, u32)>) -> bool {
    let mut around = vec![Vec::new(); switches as usize];
    for &(a, b) in pairs {
        around[a as usize].push(b);
        around[b as usize].push(a);
    }
    let mut seen = vec![false; switches as usize];
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at as usize], true) {
            open.extend(&around[at as usize]);
        }
    }
    seen.into_iter().all(|seen| seen)
}
