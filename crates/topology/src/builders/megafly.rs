//! The megafly (Flajslik, Borch, Parker 2018), also called dragonfly+ (Shpiner et al. 2017): a group is a two-level tree,
//! with hosts on its leaves, every leaf joined to every spine, and global links on its spines.
//!
//! Switches are numbered group by group, leaves before spines. Ports of a leaf: its hosts, then the spines; of a spine:
//! the leaves, then its global links.

use fabricsim_spec::{Megafly, SpecError};
use fabricsim_units::{PortNo, SwitchId};

use super::global;
use crate::assemble::Assembler;
use crate::builder_input::BuilderInput;
use crate::limits::{MAX_NODES, links, ports};
use crate::links::Classes;
use crate::{Graph, LinkClass, MegaflyShape, Shape};

pub(crate) fn build(context: &BuilderInput<'_>, spec: &Megafly) -> Result<Graph, SpecError> {
    let key = |name: &str| format!("topology.megafly.{name}");
    let (p, leaves, spines, h) = (spec.p, spec.leaves, spec.spines, spec.h);
    ports(context, &key("spines"), u64::from(p) + u64::from(spines))?;
    ports(context, &key("leaves"), u64::from(leaves) + u64::from(h))?;
    let groups =
        global::groups(context, "topology.megafly.g", (spines, "spines", h), spec.g, spec.arrangement)?;
    let g = groups.count;
    let [hosts, cables] = [leaves * p, leaves * spines].map(|each| u64::from(g) * u64::from(each));
    let switches = u64::from(g) * u64::from(leaves + spines);
    if switches + hosts > MAX_NODES {
        let message =
            format!("{} switches and hosts are too many: at most {MAX_NODES} are allowed", switches + hosts);
        return Err(context.error(&key("g"), message));
    }
    let count = links(context, &key("g"), hosts + cables + u64::from(g) * u64::from(spines * h) / 2)?;
    let parameters = context.parameters(Classes::Groups)?;
    let shape = MegaflyShape { hosts: p, leaves, spines, globals: h, groups };
    let mut assembler = Assembler::new(switches as usize, hosts as usize, count);
    for group in 0..g {
        for leaf in 0..leaves {
            assembler.switch(format!("L({group},{leaf})"), vec![group, 0, leaf], (p + spines) as usize);
        }
        for spine in 0..spines {
            assembler.switch(format!("S({group},{spine})"), vec![group, 1, spine], (leaves + h) as usize);
        }
    }
    for (group, leaf) in (0..g).flat_map(|group| (0..leaves).map(move |leaf| (group, leaf))) {
        for slot in 0..p {
            let name = format!("H({group},{leaf}).{slot}");
            assembler.host(name, (shape.leaf(group, leaf), slot), &parameters.hosts);
        }
    }
    for (group, leaf) in (0..g).flat_map(|group| (0..leaves).map(move |leaf| (group, leaf))) {
        for spine in 0..spines {
            let up = (shape.leaf(group, leaf), PortNo((p + spine) as u16));
            let down = (shape.spine(group, spine), PortNo(leaf as u16));
            assembler.cable(up, down, LinkClass::Local, &parameters.switches[0]);
        }
    }
    let end = |(group, k): (u32, u32)| (shape.spine(group, k / h), PortNo((leaves + k % h) as u16));
    global::cables(&mut assembler, &groups, &parameters.switches[1], end);
    let title =
        format!("megafly p={p} leaves={leaves} spines={spines} h={h} g={g}, {}", global::title(&groups));
    Ok(assembler.finish(title, Shape::Megafly(shape)))
}

impl MegaflyShape {
    /// A leaf of a group.
    pub fn leaf(&self, group: u32, leaf: u32) -> SwitchId {
        SwitchId(group * (self.leaves + self.spines) + leaf)
    }

    /// A spine of a group.
    pub fn spine(&self, group: u32, spine: u32) -> SwitchId {
        SwitchId(group * (self.leaves + self.spines) + self.leaves + spine)
    }
}
