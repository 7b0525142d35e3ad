//! Files of forwarding tables and service levels that an experiment names.

use std::io::Read;
use std::path::Path;

use fabricsim_spec::{Experiment, SpecError};
use fabricsim_topology::Graph;

use crate::lanes::AnyPolicy;
use crate::{ForwardingTables, RoutingError, TablesError, TablesProblem};

/// The forwarding tables of each path.
pub(super) fn read_tables(
    experiment: &Experiment,
    graph: &Graph,
    base_dir: &Path,
    file: &str,
) -> Result<Vec<ForwardingTables>, RoutingError> {
    let Some(name) = &experiment.routing.tables else {
        let message = "routing by `table` needs the key `tables`: a file of forwarding tables (.fdbs)";
        return Err(SpecError::at_key(file, "routing", message).into());
    };
    let (bytes, name) = read_file(&base_dir.join(name), largest_file(graph) << experiment.lmc())?;
    if crate::linear_tables::is_linear(&bytes) {
        return crate::linear_tables::read(&bytes, &name, experiment, graph);
    }
    if experiment.lmc() > 0 {
        let message = "only for tables by LID, not for `.fdbs`";
        return Err(SpecError::at_key(file, "routing.lmc", message).into());
    }
    Ok(vec![crate::fdbs::read(&bytes, &name, graph)?])
}

/// The lanes of service levels in files: those of paths, and SL2VL tables.
pub(super) fn read_levels(
    experiment: &Experiment,
    graph: &Graph,
    base_dir: &Path,
    file: &str,
) -> Result<AnyPolicy, RoutingError> {
    let routing = &experiment.routing;
    let read = |name: &Option<String>, most| {
        name.as_ref().map(|name| read_file(&base_dir.join(name), (1 << 20) + most)).transpose()
    };
    // A line for each pair of adapters, or of ports of a switch, of about 40 and 60 bytes at most.
    let levels = read(&routing.path_sls, 64 * (graph.hosts.len() as u64).pow(2))?;
    let pairs: u64 = graph.switches.iter().map(|switch| (switch.ports.len() as u64 + 1).pow(2)).sum();
    let tables = read(&routing.sl2vl, 128 * (pairs + graph.hosts.len() as u64))?;
    crate::linear_tables::read_levels((levels, tables), experiment, graph, file)
}

/// Bytes of a file of at most `most` bytes, and its name for messages.
fn read_file(path: &Path, most: u64) -> Result<(Vec<u8>, String), RoutingError> {
    let unreadable = |why: String| TablesError {
        file: path.display().to_string(),
        line: None,
        problem: Box::new(TablesProblem::Unreadable(why)),
    };
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    opened.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > most {
        let why = format!("the file has more than {most} bytes, far more than the tables of this network");
        return Err(unreadable(why).into());
    }
    Ok((bytes, path.display().to_string()))
}

/// More bytes than a file of forwarding tables for `graph` has: an entry has up to four, a row its name; twice that and
/// a mebibyte leave room for spaces and comments.
fn largest_file(graph: &Graph) -> u64 {
    // A line for each LID, with the name of its port.
    let row = 256 * (graph.hosts.len() + graph.switches.len()) as u64 + 256;
    (1 << 20) + 2 * row * graph.switches.len() as u64
}
