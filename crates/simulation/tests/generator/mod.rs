//! A model of the space of experiments: dimensions with their choices, rules on which choices exclude each other, and the
//! text of an experiment for every point. A new topology, algorithm or feature is an entry in one of the parts.
#![allow(unreachable_pub)]

mod capture;
mod congestion;
pub mod cover;
mod draft;
pub mod draw;
mod engines;
mod faults;
mod host;
mod job;
mod links;
mod measure;
mod routing;
mod run;
pub mod schema;
pub mod shrink;
pub mod space;
mod subnet;
mod switch;
mod topology;
mod traffic;
mod training;
mod transport;

use std::fmt;
use std::path::Path;

use fabricsim_topology::{Graph, LinkClass};

pub use draft::Draft;
pub use draw::Draw;
pub use space::{Point, Space};

use space::Part;

/// The parts of the space, in the order in which their sections are written.
pub const PARTS: &[&Part] = &[
    &topology::PART,
    &switch::PART,
    &links::PART,
    &host::PART,
    &routing::PART,
    &faults::PART,
    &subnet::PART,
    &congestion::PART,
    &transport::PART,
    &traffic::PART,
    &job::PART,
    &run::PART,
    &measure::PART,
    // Last, so that the other sections are the same without it.
    &capture::PART,
    &training::PART,
];

/// An experiment under construction.
pub struct Build<'a> {
    pub space: &'a Space,
    pub point: &'a Point,
    pub draw: Draw,
    pub draft: Draft,
    /// Flow-control unit and MTU in bytes.
    pub unit: u32,
    pub mtu: u32,
    /// The fabric of `[topology]`.
    pub graph: Graph,
    /// True with `switch.sl2vl`.
    pub has_sl2vl: bool,
    /// Virtual lanes, once they are written.
    pub lanes: u8,
    /// LID mask control.
    pub lmc: u8,
}

impl Build<'_> {
    /// The choice of a dimension.
    pub fn choice(&self, dimension: &str) -> &'static str {
        self.space.choice(self.point, dimension)
    }

    pub fn is(&self, dimension: &str, choice: &str) -> bool {
        self.choice(dimension) == choice
    }

    pub fn classes(&self) -> u8 {
        if self.is("classes", "two") { 2 } else { 1 }
    }

    /// The name of a host.
    pub fn host(&mut self) -> String {
        let host = self.draw.below(self.graph.hosts.len());
        self.graph.hosts[host].name.clone()
    }

    /// The keys of `links`, or of an age bias, for classes of links of this fabric: `dimension.0`, `level.1`.
    pub fn classes_of_links(&self) -> Vec<String> {
        let mut keys: Vec<String> = self
            .graph
            .links
            .iter()
            .filter_map(|link| match link.class {
                LinkClass::Dimension(dimension) => Some(format!("dimension.{dimension}")),
                LinkClass::Level(level) => Some(format!("level.{level}")),
                LinkClass::Local => Some("kind.local".to_owned()),
                LinkClass::Global => Some("kind.global".to_owned()),
                LinkClass::Host | LinkClass::Plain => None,
            })
            .collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// Names of the links between switches.
    pub fn switch_links(&self) -> Vec<String> {
        let all = self.graph.links.iter().enumerate();
        let between = all.filter(|(_, link)| link.class != LinkClass::Host);
        between.map(|(number, _)| self.graph.link_name(fabricsim_units::LinkId(number as u32))).collect()
    }
}

/// An experiment with the point that it was created from.
#[derive(Clone)]
pub struct Case {
    pub point: Point,
    pub draft: Draft,
}

impl Case {
    pub fn new(space: &Space, point: Point, seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let mut draft = Draft::default();
        draft.section("");
        draft.key("seed", draw.below(1000));
        let (unit, mtu) = host::sizes(&mut draw);
        // Flow-control packets count blocks of 64 bytes.
        let unit = if space.choice(&point, "flow_control") == "packets" { 64 } else { unit };
        let has_queue_pairs = transport::QUEUE_PAIRS.contains(&space.choice(&point, "transport"));
        let mtu = if has_queue_pairs { mtu.max(transport::LEAST_MTU) } else { mtu };
        topology::write(space, &point, &mut draw, &mut draft);
        let graph = graph(&draft);
        let mut build =
            Build { space, point: &point, draw, draft, unit, mtu, graph, has_sl2vl: false, lanes: 1, lmc: 0 };
        for part in PARTS {
            (part.write)(&mut build);
        }
        let draft = faults::with_routes(build.draft);
        Self { point, draft }
    }

    pub fn text(&self) -> String {
        self.draft.to_string()
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.draft)
    }
}

/// The fabric of a draft that has its topology.
fn graph(draft: &Draft) -> Graph {
    let text = format!("{draft}[run]\nduration = \"1 us\"\n");
    let built = fabricsim_spec::read(&text, "generated.toml", &[])
        .and_then(|experiment| fabricsim_topology::build(&experiment, Path::new("."), "generated.toml"));
    built.unwrap_or_else(|error| panic!("{error}\n{text}"))
}
