//! Meshes, tori and mixtures of any number of dimensions, each with its radix.
//!
//! A torus dimension of radix 2 has two links between its two switches, as a machine that is cabled as a torus
//! has: towards higher coordinates and towards lower ones are different ports. (A [hypercube](super::hypercube) has
//! one.) A dimension of radix 1 has no links.

use fabricsim_spec::{Grid, Naming, SpecError};
use fabricsim_units::{PortNo, SwitchId};

use super::naming::Scheme;
use super::thesis::Layout;
use crate::assemble::Assembler;
use crate::builder_input::BuilderInput;
use crate::limits::{MAX_DIMENSIONS, links, nodes, ports};
use crate::links::{ByClass, Classes};
use crate::{Graph, GridShape, LinkClass, Shape};

/// `topology.mesh`
pub(crate) fn mesh(context: &BuilderInput<'_>, spec: &Grid) -> Result<Graph, SpecError> {
    from_spec(context, spec, "mesh", Some(false))
}

/// `topology.torus`
pub(crate) fn torus(context: &BuilderInput<'_>, spec: &Grid) -> Result<Graph, SpecError> {
    from_spec(context, spec, "torus", Some(true))
}

/// `topology.grid`
pub(crate) fn mixed(context: &BuilderInput<'_>, spec: &Grid) -> Result<Graph, SpecError> {
    from_spec(context, spec, "grid", None)
}

fn from_spec(
    context: &BuilderInput<'_>,
    spec: &Grid,
    kind: &'static str,
    all: Option<bool>,
) -> Result<Graph, SpecError> {
    let count = spec.dimensions.len();
    let key = |name: &str| format!("topology.{kind}.{name}");
    if !(1..=MAX_DIMENSIONS).contains(&count) {
        let message = format!("{count} dimensions are not allowed: give 1 to {MAX_DIMENSIONS} radices");
        return Err(context.error(&key("dimensions"), message));
    }
    let wrap = match (&spec.wrap, all) {
        (None, Some(wrap)) => vec![wrap; count],
        (Some(wrap), None) if wrap.len() == count => wrap.clone(),
        (Some(wrap), None) => {
            let message =
                format!("it has {} entries: give one for each of the {count} dimensions", wrap.len());
            return Err(context.error(&key("wrap"), message));
        }
        (None, None) => {
            let message = "it is missing: give true (torus) or false (mesh) for each dimension";
            return Err(context.error(&key("wrap"), message));
        }
        (Some(_), Some(_)) => {
            let message =
                format!("it is only for kind `grid`: remove it, or write [topology.grid] for {kind}");
            return Err(context.error(&key("wrap"), message));
        }
    };
    let scheme = match spec.naming {
        Naming::Coordinates => Scheme::Coordinates,
        Naming::Thesis => Layout::new(&spec.dimensions, &wrap, spec.hosts_per_switch)
            .map(Scheme::Thesis)
            .map_err(|message| context.error(&key("naming"), message))?,
    };
    let radices: Vec<_> = spec.dimensions.iter().map(u32::to_string).collect();
    let plan = Plan {
        kind,
        size_key: "dimensions",
        title: format!("{} {kind}", radices.join("x")),
        dimensions: spec.dimensions.clone(),
        wrap,
        hosts_per_switch: spec.hosts_per_switch,
        sink: false,
        scheme,
    };
    plan.build(context)
}

/// Parameters of a grid. Radices are 1 or more.
pub(crate) struct Plan {
    /// Name of the topology in the experiment.
    pub(crate) kind: &'static str,
    /// Key that gives the size, for messages.
    pub(crate) size_key: &'static str,
    /// Description, without the hosts.
    pub(crate) title: String,
    pub(crate) dimensions: Vec<u32>,
    pub(crate) wrap: Vec<bool>,
    pub(crate) hosts_per_switch: u32,
    /// True if the last switch has one host more.
    pub(crate) sink: bool,
    pub(crate) scheme: Scheme,
}

impl Plan {
    pub(crate) fn build(self, context: &BuilderInput<'_>) -> Result<Graph, SpecError> {
        let key = |name: &str| format!("topology.{}.{name}", self.kind);
        let hosts_key = key("hosts_per_switch");
        let dimensions = self.dimensions.len();
        let sink = u32::from(self.sink);
        let most_ports = u64::from(self.hosts_per_switch) + u64::from(sink) + 2 * dimensions as u64;
        ports(context, &hosts_key, most_ports)?;
        let factors = self.dimensions.iter().copied();
        let switches = nodes(context, &key(self.size_key), factors, self.hosts_per_switch, sink)?;
        let hosts = u64::from(switches) * u64::from(self.hosts_per_switch) + u64::from(sink);
        let count = links(context, &key(self.size_key), hosts + self.cables(switches))?;
        let parameters = context.parameters(Classes::Dimensions(dimensions))?;
        Ok(self.assemble(switches, hosts as usize, count, &parameters))
    }

    /// Links between switches.
    fn cables(&self, switches: u32) -> u64 {
        let sides = self.dimensions.iter().zip(&self.wrap);
        let cables = sides.map(|(&radix, &wrap)| match (radix, wrap) {
            (1, _) => 0,
            (_, true) => u64::from(switches),
            (_, false) => u64::from(switches - switches / radix),
        });
        cables.sum()
    }

    fn assemble(self, switches: u32, hosts: usize, links: usize, parameters: &ByClass) -> Graph {
        let dimensions = self.dimensions.len();
        let mut assembler = Assembler::new(switches as usize, hosts, links);
        let mut towards = Vec::with_capacity(switches as usize * dimensions * 2);
        let stride = self.strides();
        for switch in 0..switches {
            let at = self.coordinates(switch, &stride);
            let present = self.present(&at);
            let hosts = self.hosts_on(switch, switches);
            let ports = self.scheme.ports(&at, &present, hosts as u16);
            towards.extend(ports.iter().flatten().map(|port| port.map(PortNo)));
            let count = hosts as usize + present.iter().flatten().filter(|&&there| there).count();
            assembler.switch(self.scheme.switch(&at), at, count);
        }
        for switch in 0..switches {
            let at = self.coordinates(switch, &stride);
            for slot in 0..self.hosts_on(switch, switches) {
                assembler.host(self.scheme.host(&at, slot), (SwitchId(switch), slot), &parameters.hosts);
            }
        }
        let shape = GridShape { dimensions: self.dimensions.clone(), wrap: self.wrap.clone(), towards };
        for (d, (&radix, &step)) in self.dimensions.iter().zip(&stride).enumerate() {
            for switch in (0..switches).map(SwitchId) {
                let place = switch.0 / step % radix;
                let next = if place + 1 < radix { switch.0 + step } else { switch.0 - place * step };
                let next = SwitchId(next);
                if let (Some(up), Some(down)) = (shape.port(switch, d, true), shape.port(next, d, false)) {
                    let class = LinkClass::Dimension(d as u8);
                    assembler.cable((switch, up), (next, down), class, &parameters.switches[d]);
                }
            }
        }
        let extra = if self.sink { ", one more on the last" } else { "" };
        let plural = if self.hosts_per_switch == 1 { "" } else { "s" };
        let title = format!("{}, {} host{plural} per switch{extra}", self.title, self.hosts_per_switch);
        assembler.finish(title, Shape::Grid(shape))
    }

    fn hosts_on(&self, switch: u32, switches: u32) -> u32 {
        self.hosts_per_switch + u32::from(self.sink && switch + 1 == switches)
    }

    /// Distance in the numbering between two neighbours along each dimension.
    fn strides(&self) -> Vec<u32> {
        let mut stride = vec![1; self.dimensions.len()];
        let mut product = 1;
        for d in self.scheme.slowest_first(self.dimensions.len()).into_iter().rev() {
            stride[d] = product;
            product *= self.dimensions[d];
        }
        stride
    }

    fn coordinates(&self, switch: u32, stride: &[u32]) -> Vec<u32> {
        self.dimensions.iter().zip(stride).map(|(radix, step)| switch / step % radix).collect()
    }

    /// True for each neighbour that a switch has: towards lower and higher coordinates of each dimension.
    fn present(&self, at: &[u32]) -> Vec<[bool; 2]> {
        let sides = self.dimensions.iter().zip(&self.wrap).zip(at);
        sides
            .map(|((&radix, &wrap), &place)| {
                let around = wrap && radix > 1;
                [place > 0 || around, place + 1 < radix || around]
            })
            .collect()
    }
}
