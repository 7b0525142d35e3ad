//! The HyperX (Ahn, Binkert, Davis, McLaren, Schreiber: HyperX: Topology, Routing, and Packaging of Efficient Large-Scale
//! Networks, SC09), with one link between any two switches that differ in one coordinate.
//!
//! Switches are numbered with the first coordinate running fastest. Ports of a switch: its hosts, then for each dimension
//! the other switches of its line in ascending order.

use fabricsim_spec::SpecError;
use fabricsim_units::{PortNo, SwitchId};

use crate::assemble::Assembler;
use crate::builder_input::BuilderInput;
use crate::limits::{MAX_DIMENSIONS, links, nodes, ports};
use crate::links::Classes;
use crate::{Graph, HyperXShape, LinkClass, Shape};

const KEY: &str = "topology.hyperx.dimensions";

pub(crate) fn build(
    context: &BuilderInput<'_>,
    dimensions: &[u32],
    hosts_per_switch: u32,
) -> Result<Graph, SpecError> {
    let count = dimensions.len();
    if !(1..=MAX_DIMENSIONS).contains(&count) {
        let message = format!("{count} dimensions are not allowed: give 1 to {MAX_DIMENSIONS} sizes");
        return Err(context.error(KEY, message));
    }
    let towards = dimensions.iter().map(|&size| u64::from(size - 1)).sum::<u64>();
    ports(context, KEY, u64::from(hosts_per_switch) + towards)?;
    let switches = nodes(context, KEY, dimensions.iter().copied(), hosts_per_switch, 0)?;
    let hosts = u64::from(switches) * u64::from(hosts_per_switch);
    let total = links(context, KEY, hosts + u64::from(switches) * towards / 2)?;
    let parameters = context.parameters(Classes::Dimensions(count))?;
    let shape = HyperXShape { dimensions: dimensions.to_vec(), hosts: hosts_per_switch };
    let mut assembler = Assembler::new(switches as usize, hosts as usize, total);
    let name = |switch: u32| {
        let digits = shape.coordinates(SwitchId(switch)).into_iter();
        digits.map(|c| c.to_string()).collect::<Vec<_>>().join(",")
    };
    for switch in 0..switches {
        let at = shape.coordinates(SwitchId(switch));
        assembler.switch(
            format!("S({})", name(switch)),
            at,
            (u64::from(hosts_per_switch) + towards) as usize,
        );
    }
    for switch in 0..switches {
        for slot in 0..hosts_per_switch {
            let name = format!("H({}).{slot}", name(switch));
            assembler.host(name, (SwitchId(switch), slot), &parameters.hosts);
        }
    }
    let mut stride = 1;
    for (d, &size) in dimensions.iter().enumerate() {
        for switch in 0..switches {
            let place = switch / stride % size;
            for other in place + 1..size {
                let near = (SwitchId(switch), shape.port(d, place, other));
                let far = (SwitchId(switch + (other - place) * stride), shape.port(d, other, place));
                assembler.cable(near, far, LinkClass::Dimension(d as u8), &parameters.switches[d]);
            }
        }
        stride *= size;
    }
    let sizes = dimensions.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    let plural = if hosts_per_switch == 1 { "" } else { "s" };
    let title = format!("{sizes} HyperX, {hosts_per_switch} host{plural} per switch");
    Ok(assembler.finish(title, Shape::HyperX(shape)))
}

impl HyperXShape {
    /// The coordinates of a switch.
    pub fn coordinates(&self, switch: SwitchId) -> Vec<u32> {
        let mut rest = switch.0;
        let digit = |&size: &u32| {
            let digit = rest % size;
            rest /= size;
            digit
        };
        self.dimensions.iter().map(digit).collect()
    }

    /// Port along dimension `d` from coordinate `from` to another coordinate `to`.
    pub fn port(&self, d: usize, from: u32, to: u32) -> PortNo {
        let before: u32 = self.dimensions[..d].iter().map(|size| size - 1).sum();
        PortNo((self.hosts + before + if to < from { to } else { to - 1 }) as u16)
    }
}
