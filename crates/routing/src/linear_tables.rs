//! Linear forwarding tables: InfiniBand's, by LID and physical port, as tables of the simulated fabric.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fabricsim_spec::{Experiment, SpecError};
use fabricsim_subnet::{FileError, NO_PORT, NodeId, PathSls, Sl2Vl, TableFile, Tables};
use fabricsim_topology::{Graph, Identity};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::fdbs::verify_paths;
use crate::lanes::AnyPolicy;
use crate::lids::{Paths, identity_of};
use crate::service_levels::of_subnet;
use crate::{ForwardingTables, RoutingError, TablesError, TablesProblem};

/// True if a file may hold such tables: its first line with text does not begin a row of `.fdbs`.
pub(crate) fn is_linear(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]);
    text.contains("Unicast lids [") || text.contains("dump_ucast_routes: Switch")
}

/// Reads tables in any of the forms that OpenSM and the diagnostic tools write. Packets of every host must arrive at every other.
///
/// # Errors
///
/// A file that does not parse or that is not of this subnet, a host without LID, a hole or a loop on the way of packets.
pub(crate) fn read(
    bytes: &[u8],
    file: &str,
    experiment: &Experiment,
    graph: &Graph,
) -> Result<Vec<ForwardingTables>, RoutingError> {
    let paths = Paths::of(experiment);
    let identity = with_lids(experiment, graph, "routing.tables", file)?;
    let (tables, _) =
        TableFile::read(bytes, file).and_then(|read| read.bind(&identity.subnet)).map_err(of_file)?;
    let found = convert(&tables, &identity.by_node(), graph, (&identity, paths), file)?;
    for (path, tables) in (0..).zip(&found) {
        let lid = |to| usize::from(identity.lid(to)) + path;
        verify_paths(tables, graph, &lid).map_err(|(_, problem)| TablesError {
            file: file.to_owned(),
            line: None,
            problem: Box::new(problem),
        })?;
    }
    Ok(found)
}

/// A file and its name for messages.
pub(crate) type Named = (Vec<u8>, String);

/// Reads the service levels of paths and the SL2VL tables that are given, and returns the lanes. `experiment_file` names the experiment.
///
/// # Errors
///
/// A file that does not parse or that is not of this subnet, or a lane that does not exist.
pub(crate) fn read_levels(
    (levels, tables): (Option<Named>, Option<Named>),
    experiment: &Experiment,
    graph: &Graph,
    experiment_file: &str,
) -> Result<AnyPolicy, RoutingError> {
    let key = if levels.is_some() { "routing.path_sls" } else { "routing.sl2vl" };
    let identity = with_lids(experiment, graph, key, experiment_file)?;
    let levels = levels.map(|(bytes, name)| PathSls::read(&bytes, &name, &identity.subnet));
    let tables = tables.map(|(bytes, name)| Sl2Vl::read(&bytes, &name, &identity.subnet));
    let (levels, tables) = (levels.transpose().map_err(of_file)?, tables.transpose().map_err(of_file)?);
    let (levels, tables) = (levels.map(|(levels, _)| levels), tables.map(|(tables, _)| tables));
    let given = (levels.as_ref(), tables.as_ref());
    Ok(of_subnet(experiment, graph, &identity, given, experiment_file)?)
}

/// The identity of the fabric. One that is not from a subnet has the LIDs with which `fabricsim route` and `fabricsim export` write it.
fn with_lids<'a>(
    experiment: &Experiment,
    graph: &'a Graph,
    key: &str,
    file: &str,
) -> Result<Cow<'a, Identity>, SpecError> {
    identity_of(experiment, graph).map_err(|message| SpecError::at_key(file, key, message))
}

fn of_file(error: FileError) -> TablesError {
    let problem = Box::new(TablesProblem::Unreadable(error.problem.to_string()));
    TablesError { file: error.file, line: error.line, problem }
}

/// The entries for the LIDs of the hosts, tables for the first LIDs first, with the `switches` of the tables' nodes. Entries that lead nowhere are
/// left out.
pub(crate) fn convert(
    tables: &Tables,
    switches: &BTreeMap<NodeId, SwitchId>,
    graph: &Graph,
    (identity, paths): (&Identity, Paths),
    file: &str,
) -> Result<Vec<ForwardingTables>, RoutingError> {
    (0..paths.used).map(|path| of_path(tables, switches, graph, (identity, path), file)).collect()
}

/// The entries for one of the LIDs of each host.
fn of_path(
    tables: &Tables,
    switches: &BTreeMap<NodeId, SwitchId>,
    graph: &Graph,
    (identity, path): (&Identity, u8),
    file: &str,
) -> Result<ForwardingTables, RoutingError> {
    let mut found = ForwardingTables::empty(graph, file)?;
    for (row, node) in tables.switches().iter().enumerate() {
        let Some(&switch) = switches.get(node) else { continue };
        for host in (0..graph.hosts.len() as u32).map(HostId) {
            let lid = usize::from(identity.lid(host)) + usize::from(path);
            let entry = tables.row(row).get(lid).copied().unwrap_or(NO_PORT);
            let port: Option<PortNo> =
                Some(entry).filter(|&port| port != NO_PORT).and_then(|port| identity.port(switch, port));
            if let Some(port) = port {
                found.set(switch, host, port);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fabricsim_subnet::{Engine, Format, Options};

    use crate::deadlock::{Verdict, check};
    use crate::samples::{experiment, graph, hosts};
    use crate::{Router, RoutingFunction, TableRouting};

    const TORUS: &str = "torus = { dimensions = [5, 5] }";

    /// Tables and service levels that were written to files route as the engine does, on the same lanes.
    #[test]
    fn files_of_an_engine_route_as_the_engine() {
        let folder = std::env::temp_dir().join(format!("fabricsim-levels-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let torus = graph(TORUS);
        let identity = crate::identity(&torus, 0, None).unwrap();
        std::fs::write(folder.join("torus.txt"), identity.subnet.to_text(Format::Ibnetdiscover)).unwrap();
        let found = Engine::Dfsssp.route(&identity.subnet, &Options::default()).unwrap();
        std::fs::write(folder.join("lfts"), found.tables.to_dump(&identity.subnet)).unwrap();
        std::fs::write(folder.join("sls"), found.sls.unwrap().to_dump(&identity.subnet)).unwrap();
        let torus_2qos = crate::opensm::engine(
            &experiment(TORUS, "algorithm = \"opensm\"\nengine = \"torus-2QoS\"", 8),
            &torus,
            &identity,
            "sample.toml",
        );
        let (engine, options) = torus_2qos.unwrap();
        let by_levels = engine.route(&identity.subnet, &options).unwrap();
        std::fs::write(folder.join("qos"), by_levels.tables.to_dump(&identity.subnet)).unwrap();
        std::fs::write(folder.join("qos-sls"), by_levels.sls.unwrap().to_dump(&identity.subnet)).unwrap();
        std::fs::write(folder.join("sl2vl"), by_levels.sl2vl.to_dump(&identity.subnet)).unwrap();
        let of_file = "file = { path = \"torus.txt\" }";
        let build_on = |topology: &str, routing: &str| {
            let experiment = experiment(topology, routing, 8);
            let graph = fabricsim_topology::build(&experiment, &folder, "sample.toml").unwrap();
            let router = crate::build(&experiment, &graph, &folder, "sample.toml");
            (graph, router)
        };
        let build = |routing: &str| build_on(of_file, routing);
        let files = "algorithm = \"table\"\ntables = \"lfts\"\npath_sls = \"sls\"";
        let with_sl2vl = "algorithm = \"table\"\ntables = \"qos\"\npath_sls = \"qos-sls\"\nsl2vl = \"sl2vl\"";
        for (topology, files, engine) in
            [(of_file, files, "dfsssp"), (TORUS, files, "dfsssp"), (TORUS, with_sl2vl, "torus-2QoS")]
        {
            let (graph, read) = build_on(topology, files);
            let (_, computed) = build_on(topology, &format!("algorithm = \"opensm\"\nengine = \"{engine}\""));
            let (Router::TableRouting(read), Router::TableRouting(computed)) =
                (read.unwrap(), computed.unwrap())
            else {
                panic!("no tables")
            };
            assert!(read.tables() == computed.tables(), "{topology} {engine}");
            let of_path = |routing: &TableRouting, from, to: fabricsim_units::HostId| {
                let to = to.into();
                (routing.injection_lanes(from, to, 0), routing.service_level(from, to, 0))
            };
            for from in hosts(&graph) {
                for to in hosts(&graph).filter(|&to| to != from) {
                    assert_eq!(of_path(&read, from, to), of_path(&computed, from, to), "{from:?} {to:?}");
                }
            }
            let verdict = check(&read.into(), &graph);
            assert!(matches!(verdict, Verdict::Free { .. }), "{topology} {engine}: {verdict:?}");
        }
        let (from_files, level) = build("algorithm = \"table\"\ntables = \"lfts\"");
        assert!(matches!(check(&level.unwrap(), &from_files), Verdict::Cyclic { .. }));
        let refused = |routing: &str| build(routing).1.unwrap_err().to_string();
        assert!(refused(&format!("{files}\nlane_policy = \"hops\"")).contains("use \"layers\""));
        assert!(
            refused("algorithm = \"table\"\ntables = \"lfts\"\npath_sls = \"none\"")
                .contains("none: the forwarding tables cannot be read")
        );
        std::fs::remove_dir_all(&folder).unwrap();
        let missing = crate::build(&experiment(TORUS, files, 8), &torus, Path::new("."), "sample.toml");
        assert!(missing.is_err());
    }
}
