//! Engines that route a subnet without the cyclic dependency that another engine or given tables have.

use serde::Serialize;

use super::Source;
use crate::{Engine, Options, Subnet, analyse};

/// Engines that may cure a deadlock, and the most entries of forwarding tables (switches x LIDs) for which they are tried: some seconds of
/// processor time for all of them.
const ENGINES: [(Engine, usize); 4] = [
    (Engine::UpDown, 5_000_000),
    (Engine::Dfsssp, 5_000_000),
    (Engine::Lash, 1_000_000),
    (Engine::Nue, 1_000_000),
];

/// An engine that routes the same subnet without a cyclic dependency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cure {
    /// Engine.
    pub engine: Engine,
    /// Virtual lanes that its paths use.
    pub lanes: usize,
    /// Most paths on a link between switches.
    pub link_load_max: u64,
}

/// Engines whose paths are free of cyclic dependencies, with the options of the source, and all lanes for Nue: the one with the least
/// `link_load_max` first. Then those that were not tried, since the subnet is large.
pub(super) fn cures(subnet: &Subnet, source: &Source, entries: usize) -> (Vec<Cure>, Vec<Engine>) {
    let options = match source {
        Source::Engine(_, options) => options.clone(),
        Source::Given(_) => Options::default(),
    };
    let options = Options { nue_vls: 0, vls: source.vls(), ..options };
    let cure = |engine: Engine| {
        let found = engine.route(subnet, &options).ok()?;
        let analysis = analyse(subnet, &found.tables, found.sls.as_ref(), &found.sl2vl).ok()?;
        let is_cure = analysis.cycle.is_none() && analysis.pairs.unreachable == 0;
        let lanes = usize::from(found.layers).max(1);
        is_cure.then_some(Cure { engine, lanes, link_load_max: analysis.link_load.max })
    };
    let (tried, untried): (Vec<_>, Vec<_>) = ENGINES.into_iter().partition(|&(_, most)| entries <= most);
    let mut cures: Vec<Cure> = tried.into_iter().filter_map(|(engine, _)| cure(engine)).collect();
    cures.sort_by_key(|cure| cure.link_load_max);
    (cures, untried.into_iter().map(|(engine, _)| engine).collect())
}
