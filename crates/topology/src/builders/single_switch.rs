//! Hosts `H0`, `H1`, ... on one switch `S0`; host i is at port i.

use fabricsim_spec::SpecError;
use fabricsim_units::number_of;

use crate::assemble::Assembler;
use crate::builder_input::BuilderInput;
use crate::links::Classes;
use crate::{Graph, Shape};

pub(crate) fn build(context: &BuilderInput<'_>, hosts: u32) -> Result<Graph, SpecError> {
    let parameters = context.parameters(Classes::Plain)?;
    let mut assembler = Assembler::new(1, hosts as usize, hosts as usize);
    let switch = assembler.switch("S0".to_owned(), vec![0], hosts as usize);
    for host in 0..hosts {
        assembler.host(format!("H{host}"), (switch, host), &parameters.hosts);
    }
    Ok(assembler.finish(format!("{} on one switch", number_of(u64::from(hosts), "host")), Shape::Irregular))
}
