//! Linear forwarding tables: InfiniBand's, by LID and physical port, as tables of the simulated fabric.

use fabricsim_spec::SpecError;
use fabricsim_subnet::{FileError, NO_PORT, TableFile, Tables};
use fabricsim_topology::{Graph, Identity};
use fabricsim_units::{HostId, PortNo};

use crate::fdbs::verify;
use crate::{ForwardingTables, RoutingError, TablesError, TablesProblem};

/// True if a file may hold such tables: its first line with text does not begin a row of `.fdbs`.
pub(crate) fn is_linear(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    text.contains("Unicast lids [") || text.contains("dump_ucast_routes: Switch")
}

/// Reads tables in any of the forms that OpenSM and the diagnostic tools write. Every switch must have an entry for every host.
///
/// # Errors
///
/// A file that does not parse or that is not of this subnet, a host without LID, a hole or a loop.
pub(crate) fn read(bytes: &[u8], file: &str, graph: &Graph) -> Result<ForwardingTables, RoutingError> {
    let Some(identity) = graph.identity.as_deref() else {
        let message =
            "tables by LID need a fabric with LIDs: a topology from a file of ibnetdiscover, ibsim or OpenSM";
        return Err(SpecError::at_key(file, "routing.tables", message).into());
    };
    let of_file = |error: FileError| TablesError {
        file: error.file,
        line: error.line,
        problem: Box::new(TablesProblem::Unreadable(error.problem.to_string())),
    };
    let (tables, _) =
        TableFile::read(bytes, file).and_then(|read| read.bind(&identity.subnet)).map_err(of_file)?;
    let found = convert(&tables, graph, identity, file)?;
    verify(&found, graph).map_err(|(_, problem)| TablesError {
        file: file.to_owned(),
        line: None,
        problem: Box::new(problem),
    })?;
    Ok(found)
}

/// The entries for the base LIDs of the hosts. Entries that lead nowhere are left out.
pub(crate) fn convert(
    tables: &Tables,
    graph: &Graph,
    identity: &Identity,
    file: &str,
) -> Result<ForwardingTables, RoutingError> {
    let mut found = ForwardingTables::empty(graph, file)?;
    let by_node = identity.by_node();
    for (row, node) in tables.switches().iter().enumerate() {
        let Some(&switch) = by_node.get(node) else { continue };
        for host in (0..graph.hosts.len() as u32).map(HostId) {
            let entry = tables.row(row).get(usize::from(identity.lid(host))).copied().unwrap_or(NO_PORT);
            let port: Option<PortNo> =
                Some(entry).filter(|&port| port != NO_PORT).and_then(|port| identity.port(switch, port));
            if let Some(port) = port {
                found.set(switch, host, port);
            }
        }
    }
    Ok(found)
}
