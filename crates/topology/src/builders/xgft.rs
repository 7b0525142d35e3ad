//! Extended generalised fat trees XGFT(h; m1..mh; w1..wh) (Öhring, Ibel, Das, Kumar 1995).
//!
//! A node of level l has the label (l, a_h, ..., a_1): digit a_i is below m_i for i > l and below w_i for i <= l. It
//! is joined to the nodes of level l + 1 whose labels differ from its own in digit l + 1 at most. Level 0 are the
//! hosts. Switches are numbered level by level from the leaves, within a level by label, a_h most significant; they
//! are named `L<level>S<number>`, hosts `H<number>`. Ports are the children by a_l, then the parents by their digit.

use fabricsim_spec::SpecError;
use fabricsim_units::{PortNo, SwitchId};

use crate::assemble::Assembler;
use crate::builder_input::BuilderInput;
use crate::limits::{MAX_DIMENSIONS, MAX_NODES, links, ports, product};
use crate::links::{ByClass, Classes};
use crate::{Graph, LinkClass, Shape, TreeShape};

pub(crate) fn build(
    context: &BuilderInput<'_>,
    children: &[u32],
    parents: &[u32],
) -> Result<Graph, SpecError> {
    let keys = ["topology.xgft.children", "topology.xgft.parents"];
    if !(1..=MAX_DIMENSIONS).contains(&children.len()) {
        let message = format!("{} levels are not allowed: give 1 to {MAX_DIMENSIONS}", children.len());
        return Err(context.error(keys[0], message));
    }
    if parents.len() != children.len() {
        let message =
            format!("{} levels of parents do not fit {} of children", parents.len(), children.len());
        return Err(context.error(keys[1], message));
    }
    if parents[0] != 1 {
        let message = format!("{} is not allowed as the first: a host has one link", parents[0]);
        return Err(context.error(keys[1], message));
    }
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let title = format!("XGFT({}; {}; {})", children.len(), list(children), list(parents));
    Plan { keys, title, children: children.to_vec(), parents: parents.to_vec() }.build(context)
}

/// Parameters of a tree. All numbers are 1 or more.
pub(crate) struct Plan {
    /// Keys that give children and parents, for messages.
    pub(crate) keys: [&'static str; 2],
    pub(crate) title: String,
    pub(crate) children: Vec<u32>,
    pub(crate) parents: Vec<u32>,
}

impl Plan {
    pub(crate) fn build(self, context: &BuilderInput<'_>) -> Result<Graph, SpecError> {
        let height = self.children.len();
        for level in 1..=height {
            let up = self.parents.get(level).copied().unwrap_or(0);
            ports(context, self.keys[0], u64::from(self.children[level - 1]) + u64::from(up))?;
        }
        let counts: Vec<f64> = (0..=height).map(|level| product(self.radices(level).into_iter())).collect();
        let all: f64 = counts.iter().sum();
        if all > MAX_NODES as f64 {
            let message =
                format!("{all:.3e} switches and hosts are too many: at most {MAX_NODES} are allowed");
            return Err(context.error(self.keys[0], message));
        }
        let parameters = context.parameters(Classes::Levels(height))?;
        let counts: Vec<u32> = counts.into_iter().map(|count| count as u32).collect();
        let above = |level: usize| u64::from(counts[level]) * u64::from(self.parents[level]);
        let links = links(context, self.keys[1], (0..height).map(above).sum())?;
        Ok(self.assemble(&counts, links, &parameters))
    }

    /// Number of values that digit i (in place i - 1) of a label of `level` has.
    fn radices(&self, level: usize) -> Vec<u32> {
        (0..self.children.len()).map(|i| if i < level { self.parents[i] } else { self.children[i] }).collect()
    }

    /// The digits of node `index` of `level`, a_1 first.
    fn digits(&self, level: usize, index: u32) -> Vec<u32> {
        let mut rest = index;
        let digit = |radix: u32| {
            let digit = rest % radix;
            rest /= radix;
            digit
        };
        self.radices(level).into_iter().map(digit).collect()
    }

    fn index(&self, level: usize, digits: &[u32]) -> u32 {
        let places = digits.iter().zip(self.radices(level));
        places.rev().fold(0, |index, (digit, radix)| index * radix + digit)
    }

    fn assemble(self, counts: &[u32], links: usize, parameters: &ByClass) -> Graph {
        let height = self.children.len();
        let first: Vec<u32> = (0..=height).map(|level| counts[1..level.max(1)].iter().sum()).collect();
        let switches: u32 = counts[1..].iter().sum();
        let hosts = counts[0];
        let mut assembler = Assembler::new(switches as usize, hosts as usize, links);
        let (mut levels, mut down) = (Vec::new(), Vec::new());
        for (level, &count) in counts.iter().enumerate().skip(1) {
            let children = self.children[level - 1];
            let up = self.parents.get(level).copied().unwrap_or(0);
            for index in 0..count {
                let label = self.digits(level, index).into_iter().rev();
                let coordinates = std::iter::once(level as u32).chain(label).collect();
                assembler.switch(format!("L{level}S{index}"), coordinates, (children + up) as usize);
                levels.push(level as u8);
                down.push(PortNo(children as u16));
            }
        }
        for host in 0..hosts {
            let leaf = SwitchId(host / self.children[0]);
            assembler.host(format!("H{host}"), (leaf, host % self.children[0]), &parameters.hosts);
        }
        for level in 1..height {
            let class = LinkClass::Level(level as u8);
            for index in 0..counts[level] {
                let mut digits = self.digits(level, index);
                let child = digits[level];
                for parent in 0..self.parents[level] {
                    digits[level] = parent;
                    let above = SwitchId(first[level + 1] + self.index(level + 1, &digits));
                    let below = SwitchId(first[level] + index);
                    let up = PortNo((self.children[level - 1] + parent) as u16);
                    let ends = ((below, up), (above, PortNo(child as u16)));
                    assembler.cable(ends.0, ends.1, class, &parameters.switches[level - 1]);
                }
            }
        }
        let shape = TreeShape { children: self.children, parents: self.parents, level: levels, down };
        assembler.finish(self.title, Shape::Tree(shape))
    }
}
