//! What commands tell of a subnet: its parts and oddities, and what an engine or given tables do with it.

mod cures;
mod import;
mod routed;

use serde::Serialize;
use thiserror::Error;

use crate::{
    Analysis, Cycle, Demand, Engine, Finding, LinkLoad, LinkUse, LostPath, Node, Options, Pairs, PathSls,
    RouteError, Sl2Vl, Spread, Subnet, Tables, Traffic, link_rows, traffic,
};
use routed::Answer;

pub use crate::guids::guids;
pub use crate::lids::assign_missing_lids;
pub use cures::Cure;
pub use import::{ImportReport, SubnetFiles, given, import};
pub use routed::Routed;

/// A file: its bytes, and its name for messages.
pub type Named<'a> = (&'a [u8], &'a str);

/// Where the tables of a subnet come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// An engine computes them.
    Engine(Engine, Options),
    /// They are given, with service levels of paths and their lanes if known.
    Given(Box<(Tables, Option<PathSls>, Option<Sl2Vl>)>),
}

impl Source {
    /// The same for what is left of the subnet `whole` after a failure. Tables of switches that are gone are left out.
    #[must_use]
    pub fn after(&self, whole: &Subnet, left: &Subnet) -> Self {
        let Self::Given(given) = self else { return self.clone() };
        let (tables, sls, sl2vl) = given.as_ref();
        let lanes = sl2vl.as_ref().map(|lanes| lanes.for_subnet(whole, left));
        Self::Given(Box::new((tables.for_subnet(whole, left), sls.clone(), lanes)))
    }

    /// Name for the report.
    fn name(&self) -> String {
        match self {
            Self::Engine(engine, _) => engine.to_string(),
            Self::Given(_) => "tables".to_owned(),
        }
    }

    /// Virtual lanes of all links.
    fn vls(&self) -> u8 {
        match self {
            Self::Engine(_, options) => options.vls,
            Self::Given(_) => Options::default().vls,
        }
    }
}

/// A deadlock verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// True if no dependency of channels is cyclic.
    pub free: bool,
    /// A cycle otherwise.
    pub cycle: Option<Cycle>,
    /// Then, engines without one within the virtual lanes, the one with the least `link_load_max` first.
    pub cures: Vec<Cure>,
    /// Engines that were not tried, since the subnet is large.
    pub untried: Vec<Engine>,
}

/// Figures of the same tables or engine before a failure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Before {
    /// Number of paths by their outcome.
    pub pairs: Pairs,
    /// Mean number of switches on a path.
    pub hops_mean: f64,
    /// Paths on each direction of each link between switches.
    pub link_load: Spread,
    /// Loads of patterns of traffic, and the effective bisection bandwidth.
    pub traffic: Traffic,
}

/// A failure: what was taken out, and its effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureReport {
    /// Names as they were given.
    pub failed: Vec<String>,
    /// Number of cables that were taken out.
    pub cables: usize,
    /// Descriptions of adapters and routers that have lost their last cable.
    pub cut_off: Vec<String>,
    /// Figures before the failure; none if the engine cannot route the whole subnet.
    pub before: Option<Before>,
}

/// What tables do with all paths between adapters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteReport {
    /// Name of the engine; `tables` if they were given.
    pub engine: String,
    /// Number of paths by their outcome.
    pub pairs: Pairs,
    /// Mean number of switches on a path.
    pub hops_mean: f64,
    /// Entries of the tables that lead to another port than that of the LID: tables and LIDs do not belong together.
    pub misdelivered: u64,
    /// Paths on each direction of each link between switches.
    pub link_load: Spread,
    /// Layers that the engine needs; none for given tables.
    pub layers: Option<usize>,
    /// Virtual lanes that the paths use: at least as many as layers, since engines spread their paths over the lanes that there are.
    pub lanes: usize,
    /// Deadlock verdict.
    pub deadlock: Verdict,
    /// The most loaded links.
    pub hot_links: Vec<LinkLoad>,
    /// Paths that do not arrive, at most five of them.
    pub lost_paths: Vec<LostPath>,
    /// Links and switches that no path crosses, and slow links.
    pub links: LinkUse,
    /// Loads of patterns of traffic, and the effective bisection bandwidth.
    pub traffic: Traffic,
    /// Number of ports whose LID was assigned or changed.
    pub assigned_lids: usize,
    /// What is odd about given tables, service levels and lanes: what they lack, and names or LIDs that are not those of the subnet.
    pub findings: Vec<Finding>,
    /// Largest LID mask control of the ports of adapters and routers.
    pub lmc: u8,
    /// Processor time of the engine alone, in seconds of all threads; none for given tables.
    pub engine_cpu_s: Option<f64>,
    /// The failure, if anything was taken out.
    pub failure: Option<FailureReport>,
}

/// Reason for which a subnet is not routed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutedError {
    /// The engine, or the subnet.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The matrix of demands.
    #[error("{0}")]
    Matrix(String),
    /// The name of a failed part.
    #[error("{0}")]
    Failed(String),
}

/// What is asked of a subnet.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Where its tables come from.
    pub source: &'a Source,
    /// Number of LIDs that [`assign_missing_lids`] has assigned, for the report.
    pub assigned_lids: usize,
    /// Nodes, cables or pairs of nodes to take out first, see [`Subnet::fail`].
    pub failed: &'a [String],
    /// Demands.
    pub matrix: &'a [NamedDemand],
    /// What was odd about given tables, for the report.
    pub findings: &'a [Finding],
    /// Clock of the caller: processor time of the process in seconds.
    pub clock: fn() -> f64,
}

/// A demand: sender and receiver (descriptions or GUIDs), weight, file and line for messages (may be empty).
pub type NamedDemand = (String, String, f64, String);

/// Takes out what has failed from a subnet with LIDs, routes the rest and analyses the tables. LIDs are those before the failure.
///
/// # Errors
///
/// The engine cannot route the subnet, or a name is wrong.
pub fn route(whole: &Subnet, question: &Question<'_>) -> Result<Routed, RoutedError> {
    let mut left = whole.clone();
    let mut cables = 0;
    for (place, name) in question.failed.iter().enumerate() {
        if question.failed[..place].contains(name) {
            continue;
        }
        cables += left.fail(name).map_err(RoutedError::Failed)?;
    }
    if question.failed.is_empty() {
        return Ok(cured(routed(whole, question.source, question)?, whole, question.source));
    }
    let cut_off = cut_off(whole, &left);
    let left = left.connected();
    let source = question.source.after(whole, &left);
    let mut after = cured(routed(&left, &source, question)?, &left, &source);
    // An engine may route what is left and not the whole: then there is nothing to compare.
    let alone = Question { matrix: &[], ..question.clone() };
    let before = routed(whole, question.source, &alone).ok().map(|before| Before {
        pairs: before.report.pairs,
        hops_mean: before.report.hops_mean,
        link_load: before.report.link_load,
        traffic: before.report.traffic,
    });
    after.report.failure = Some(FailureReport { failed: question.failed.to_vec(), cables, cut_off, before });
    Ok(after)
}

/// Adapters and routers that have lost their last cable.
fn cut_off(whole: &Subnet, left: &Subnet) -> Vec<String> {
    let is_cabled = |node: &Node| node.end_ports().next().is_some();
    let nodes = whole.nodes.iter().zip(&left.nodes).filter(|(_, after)| !after.is_switch());
    let lost = nodes.filter(|(before, after)| is_cabled(before) && !is_cabled(after));
    lost.map(|(node, _)| whole.unique_name(node)).collect()
}

/// Routes and analyses a subnet with LIDs.
fn routed(subnet: &Subnet, source: &Source, question: &Question<'_>) -> Result<Routed, RoutedError> {
    let matrix = demands(subnet, question.matrix).map_err(RoutedError::Matrix)?;
    let (engine, begin) = (source.name(), (question.clock)());
    let answer = Answer::of(subnet, source)?;
    let is_computed = matches!(source, Source::Engine(..));
    let engine_cpu_s = is_computed.then(|| (question.clock)() - begin);
    let analysis = answer.analyse(subnet)?;
    let traffic = traffic(subnet, answer.tables(), &matrix)?;
    let links = link_rows(subnet, &analysis, &traffic)?;
    let report = RouteReport {
        assigned_lids: question.assigned_lids,
        findings: question.findings.to_vec(),
        engine_cpu_s,
        ..report((engine, lmc(subnet)), answer.layers(), analysis, traffic)
    };
    Ok(Routed { report, links, answer, subnet: subnet.clone() })
}

/// With the engines that do not have the deadlock of an answer.
fn cured(mut routed: Routed, subnet: &Subnet, source: &Source) -> Routed {
    let verdict = &mut routed.report.deadlock;
    if !verdict.free {
        let switches = subnet.nodes.iter().filter(|node| node.is_switch()).count();
        let entries = switches * usize::from(routed.answer.tables().max_lid());
        (verdict.cures, verdict.untried) = cures::cures(subnet, source, entries);
    }
    routed
}

/// Demands between nodes by their names: the lowest port with a cable of each.
fn demands(subnet: &Subnet, matrix: &[NamedDemand]) -> Result<Vec<Demand>, String> {
    let demand = |(source, destination, weight, place): &NamedDemand| {
        let located = |message| if place.is_empty() { message } else { format!("{place}: {message}") };
        let port = |name| subnet.first_port(name).map_err(located);
        let (source, destination) = (port(source)?, port(destination)?);
        Ok(Demand { source, destination, weight: *weight })
    };
    matrix.iter().map(demand).collect()
}

/// Largest LID mask control of the ports of adapters and routers.
fn lmc(subnet: &Subnet) -> u8 {
    let nodes = subnet.nodes.iter().filter(|node| !node.is_switch());
    nodes.flat_map(|node| node.end_ports().map(|port| node.ports[usize::from(port)].lmc)).max().unwrap_or(0)
}

fn report(
    (engine, lmc): (String, u8),
    layers: Option<usize>,
    analysis: Analysis,
    traffic: Traffic,
) -> RouteReport {
    RouteReport {
        engine,
        pairs: analysis.pairs,
        hops_mean: analysis.hops_mean,
        misdelivered: analysis.misdelivered,
        link_load: analysis.link_load,
        layers,
        lanes: analysis.lanes,
        deadlock: Verdict {
            free: analysis.cycle.is_none(),
            cycle: analysis.cycle,
            cures: Vec::new(),
            untried: Vec::new(),
        },
        hot_links: analysis.hot_links,
        lost_paths: analysis.lost,
        links: analysis.link_use,
        traffic,
        assigned_lids: 0,
        findings: Vec::new(),
        lmc,
        engine_cpu_s: None,
        failure: None,
    }
}
