//! The dragonfly (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008): groups of
//! `a` routers, each joined to each, with `p` hosts and `h` global links a router.
//!
//! Routers are numbered group by group. Ports of a router: its hosts, the other routers of its group in ascending order,
//! then its global links.

use fabricsim_spec::{Dragonfly, SpecError};
use fabricsim_units::{PortNo, SwitchId};

use super::global;
use crate::assemble::Assembler;
use crate::builder_input::BuilderInput;
use crate::limits::{links, nodes, ports};
use crate::links::Classes;
use crate::{DragonflyShape, Graph, LinkClass, Shape};

pub(crate) fn build(context: &BuilderInput<'_>, spec: &Dragonfly) -> Result<Graph, SpecError> {
    let key = |name: &str| format!("topology.dragonfly.{name}");
    let (p, a, h) = (spec.p, spec.a, spec.h);
    ports(context, &key("a"), u64::from(p) + u64::from(a - 1) + u64::from(h))?;
    let groups = global::groups(context, "topology.dragonfly.g", (a, "a", h), spec.g, spec.arrangement)?;
    let g = groups.count;
    let switches = nodes(context, &key("g"), [a, g].into_iter(), p, 0)?;
    let cables = u64::from(g) * (u64::from(a) * u64::from(a - 1) / 2) + u64::from(g) * u64::from(a * h) / 2;
    let count = links(context, &key("g"), u64::from(switches) * u64::from(p) + cables)?;
    let parameters = context.parameters(Classes::Groups)?;
    let shape = DragonflyShape { hosts: p, routers: a, globals: h, groups };
    let mut assembler = Assembler::new(switches as usize, (switches * p) as usize, count);
    for (group, router) in (0..g).flat_map(|group| (0..a).map(move |router| (group, router))) {
        assembler.switch(format!("R({group},{router})"), vec![group, router], (p + a - 1 + h) as usize);
    }
    for (switch, slot) in (0..switches).flat_map(|switch| (0..p).map(move |slot| (switch, slot))) {
        let name = format!("H({},{}).{slot}", switch / a, switch % a);
        assembler.host(name, (SwitchId(switch), slot), &parameters.hosts);
    }
    let at = |group: u32, router: u32| SwitchId(group * a + router);
    for group in 0..g {
        for (low, high) in (0..a).flat_map(|low| (low + 1..a).map(move |high| (low, high))) {
            let ends =
                [(low, high), (high, low)].map(|(from, to)| (at(group, from), shape.local_port(from, to)));
            assembler.cable(ends[0], ends[1], LinkClass::Local, &parameters.switches[0]);
        }
    }
    let end = |(group, k): (u32, u32)| (at(group, k / h), shape.global_port(k % h));
    global::cables(&mut assembler, &groups, &parameters.switches[1], end);
    let title = format!("dragonfly p={p} a={a} h={h} g={g}, {}", global::title(&groups));
    Ok(assembler.finish(title, Shape::Dragonfly(shape)))
}

impl DragonflyShape {
    /// Port of router `from` of a group to router `to` of the same group.
    pub fn local_port(&self, from: u32, to: u32) -> PortNo {
        PortNo((self.hosts + if to < from { to } else { to - 1 }) as u16)
    }

    /// Port of a router to its `i`-th global link.
    pub fn global_port(&self, i: u32) -> PortNo {
        PortNo((self.hosts + self.routers - 1 + i) as u16)
    }
}
