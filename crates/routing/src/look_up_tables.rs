//! The tables of Cray's SeaStar router (Abts, Weisser 2007, sections 1.1 and 1.2) for meshes, tori and mixtures of any
//! radices with up to 32 768 switches, which the paper calls nodes.
//!
//! A switch has a number of 15 bits: bits 14 to 12 are its global partition, bits 11 to 0 its entry there. A router
//! sends what is for another partition by the entry of its global table (GLUT, 8 entries), and what is for its own by
//! the entry of its local table (4096). Without failed links packets go in dimension order, `x` first, and never turn
//! back; to another partition by the shorter direction to it, which is not always the shorter route to the destination.
//!
//! In a dimension that wraps, the link over the dateline, between the highest coordinate and 0, has the role
//! [`LinkRole::Dateline`]. (With `dimension-order` those before it have it, too.)
//!
//! Failed links are avoided where there is need, in three steps: the other direction round a ring, in dimension order still;
//! detours by turns that the rules of [`turns`] allow; an error. A SeaStar router has a table for each input port.
//! Here all share one, except that an entry can be a rule, which holds a direction for each input port.

use fabricsim_model::Hop;
use fabricsim_spec::{Experiment, SpecError};
use fabricsim_topology::{Graph, GridShape};
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};

use crate::dimension_order::{SMALLEST_SPLIT_RING, checked_order};
use crate::failed::check_whole;
use crate::lanes::{AnyPolicy, Dateline, Exit, LanePolicy, LinkRole};
use crate::route::{NO_PORT, Route};
use crate::route_table::RouteTable;
use crate::{At, PortRouting};

mod detour;
mod grid;
mod layout;
mod lines;
mod search;
mod sides;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod trouble;
mod turns;

use detour::{Detourer, NoWay};
use grid::Grid;
use layout::Layout;
use lines::Lines;
use sides::Sides;
use tables::{GLOBAL, HERE, RULE, Tables};

/// Place of the local entry in a number.
const ENTRY_BITS: u32 = 12;

/// Routing by SeaStar's tables. Needs a byte for each entry; routers at the same place of partitions alike share their
/// local table, so that a whole 32x32x32 torus takes about 20 MB, and at most 134 MB with failed links.
#[derive(Clone, Debug)]
pub struct LookUpTables {
    destinations: Vec<Destination>,
    routers: Vec<Place>,
    local: Vec<u8>,
    global: Vec<u8>,
    /// Directions by rule and input port.
    rules: Vec<u8>,
    /// Length of a rule.
    ports: usize,
    /// By switch and direction: the exits, with their lanes.
    routes: Vec<Route>,
    roles: Vec<RingRole>,
    directions: usize,
    /// By switch and host, in small fabrics where no entry is a rule.
    by_host: RouteTable,
    /// Blocks of each dimension.
    blocks: Vec<usize>,
    /// Links between switches that are not used.
    failed: usize,
    lanes: AnyPolicy,
}

/// Role of a direction's link on its ring, without the port that it continues from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RingRole {
    None,
    Within,
    Dateline,
}

/// A host.
#[derive(Clone, Copy, Debug)]
struct Destination {
    /// Number of its switch.
    number: u16,
    /// Its port there.
    port: PortNo,
}

/// A router's number, and where its local table and its rules begin.
#[derive(Clone, Copy, Debug)]
struct Place {
    local: u32,
    rules: u32,
    number: u16,
}

/// Input of [`LookUpTables::new`], besides the grid.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableRequest<'a> {
    /// Order in which dimensions are corrected; `None`: ascending.
    pub order: Option<&'a [u32]>,
    /// Blocks of each dimension; `None`: as few partitions as will do.
    pub partitions: Option<&'a [u32]>,
    /// Links that are not to be used, in order.
    pub failed: &'a [LinkId],
}

/// The tables that `experiment` requests, around the links `failed`.
pub(crate) fn table_request<'a>(experiment: &'a Experiment, failed: &'a [LinkId]) -> TableRequest<'a> {
    let routing = &experiment.routing;
    TableRequest { order: routing.order.as_deref(), partitions: routing.partitions.as_deref(), failed }
}

impl LookUpTables {
    /// Tables for the grid `shape` of `graph` with a lane policy whose hops can be [compiled](LanePolicy::compile).
    ///
    /// # Errors
    ///
    /// They name the experiment `file` and the key: a machine or partition that is too large, partitions that do not fit the
    /// machine, failed links that cut it or that the turn rules cannot avoid.
    pub fn new(
        graph: &Graph,
        shape: &GridShape,
        request: TableRequest<'_>,
        lanes: AnyPolicy,
        file: &str,
    ) -> Result<Self, SpecError> {
        let order = checked_order(request.order, shape.dimensions.len(), file)?;
        let layout = Layout::new(shape, &order, request.partitions, file)?;
        check_whole(graph, request.failed, file)?;
        let grid = Grid::new(graph, shape, request.failed);
        let plain = Tables::new(&Lines { grid: &grid, layout: &layout, order: &order });
        let tables = if grid.is_hurt {
            avoid(&grid, &layout, &order, request.failed, &plain)
                .map_err(|no_way| trouble::no_way(graph, &plain, no_way, file))?
        } else {
            plain
        };
        let mut routing = Self {
            destinations: Vec::new(),
            routers: Vec::new(),
            rules: Vec::new(),
            ports: graph.switches.iter().map(|switch| switch.ports.len()).max().unwrap_or(0),
            routes: Vec::new(),
            roles: Vec::new(),
            directions: grid.directions,
            by_host: RouteTable::none(Dateline::new(lanes.all().count)),
            blocks: layout.blocks(),
            failed: request.failed.len(),
            lanes,
            local: Vec::new(),
            global: Vec::new(),
        };
        routing.fill(&grid, tables);
        Ok(routing)
    }

    fn fill(&mut self, grid: &Grid<'_>, tables: Tables) {
        for at in (0..grid.len() as u32).map(SwitchId) {
            for direction in 0..grid.directions as u8 {
                let (port, role) = ring_role(grid, at, direction);
                let back = grid.port(at, direction ^ 1).unwrap_or(NO_PORT);
                let route = self.lanes.compile(Exit { port, role: role.of(back) });
                self.routes.push(route.unwrap_or_else(|| unreachable!("a policy that cannot be compiled")));
                self.roles.push(role);
            }
            let (partition, entry) = tables.numbers[at.index()];
            let rules = (self.rules.len() / self.ports.max(1)) as u32;
            for rule in tables.rules.get(&at).into_iter().flatten() {
                self.rules.extend(by_port(grid, at, rule, self.ports));
            }
            let local = tables.begins[at.index()] as u32;
            self.routers.push(Place { local, rules, number: partition << ENTRY_BITS | entry });
        }
        let routers = &self.routers;
        let destination = |host: &fabricsim_topology::HostNode| Destination {
            number: routers[host.switch.index()].number,
            port: host.port,
        };
        self.destinations = grid.graph.hosts.iter().map(destination).collect();
        (self.local, self.global) = (tables.local, tables.global);
        if self.rules.is_empty() {
            let (switches, hosts) = (self.routers.len(), self.destinations.len());
            let route = |at, to| Some(self.route(at, PortNo(0), to));
            self.by_host = RouteTable::new(switches, hosts, self.by_host.dateline, route);
        }
    }

    /// The direction from a router to a host; [`HERE`] at its own.
    #[inline]
    fn direction(&self, at: SwitchId, in_port: PortNo, to: Destination) -> u8 {
        let router = &self.routers[at.index()];
        let is_local = (router.number ^ to.number) >> ENTRY_BITS == 0;
        let entry = if is_local {
            self.local[router.local as usize + usize::from(to.number & ((1 << ENTRY_BITS) - 1))]
        } else {
            self.global[GLOBAL * at.index() + usize::from(to.number >> ENTRY_BITS)]
        };
        if entry >= RULE {
            let rule = router.rules as usize + usize::from(entry - RULE);
            return self.rules[rule * self.ports + in_port.index()];
        }
        entry
    }

    /// The route from a router to a host.
    #[inline]
    fn route(&self, at: SwitchId, in_port: PortNo, to: HostId) -> Route {
        let to = self.destinations[to.index()];
        let direction = self.direction(at, in_port, to);
        if direction == HERE {
            let hop = Hop { port: to.port, lanes: self.by_host.dateline.all() };
            return Route { hop, continues_from: NO_PORT };
        }
        self.routes[at.index() * self.directions + usize::from(direction)]
    }

    /// True if the route of a packet depends on the port by which it comes in, anywhere.
    pub fn depends_on_input(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Number of links between switches that are not used.
    pub fn failed_links(&self) -> usize {
        self.failed
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        let routes = self.routes.len() * (size_of::<Route>() + size_of::<RingRole>());
        let places = self.routers.len() * size_of::<Place>();
        self.local.len() + self.global.len() + self.rules.len() + routes + places
    }

    /// Number of a host's switch: its partition in bits 14 to 12, its entry in bits 11 to 0.
    pub fn destination(&self, host: HostId) -> u16 {
        self.destinations[host.index()].number
    }
}

/// The tables with detours around failed links; the first reason if there are none with any choice of sides.
fn avoid(
    grid: &Grid<'_>,
    layout: &Layout,
    order: &[usize],
    failed: &[LinkId],
    plain: &Tables,
) -> Result<Tables, NoWay> {
    let mut first = None;
    for choice in 0..sides::CHOICES {
        let mut tables = plain.clone();
        let sides = Sides::new(grid, failed, choice);
        match Detourer::new(grid, layout, order, sides, &mut tables).avoid() {
            Ok(()) => return Ok(tables),
            Err(no_way) => first = first.or(Some(no_way)),
        }
    }
    Err(first.unwrap_or_else(|| unreachable!("there are choices")))
}

impl RingRole {
    /// The role of a link that packets take around the ring if they come in by `continues_from`.
    const fn of(self, continues_from: PortNo) -> LinkRole {
        match self {
            Self::None => LinkRole::Between,
            Self::Within => LinkRole::Ring { continues_from },
            Self::Dateline => LinkRole::Dateline,
        }
    }
}

/// The port in a direction, and the role of its link.
fn ring_role(grid: &Grid<'_>, at: SwitchId, direction: u8) -> (PortNo, RingRole) {
    let Some(port) = grid.port(at, direction) else { return (NO_PORT, RingRole::None) };
    let dimension = usize::from(direction / 2);
    // Detours may be longer than half a ring, and so close small ones, too.
    let closes = grid.shape.wrap[dimension] && (grid.is_hurt || grid.radix(dimension) >= SMALLEST_SPLIT_RING);
    let role = match (closes, grid.crosses(at, direction)) {
        (false, _) => RingRole::None,
        (true, false) => RingRole::Within,
        (true, true) => RingRole::Dateline,
    };
    (port, role)
}

/// A rule by input port, of which hosts' ports are those that no direction has.
fn by_port(grid: &Grid<'_>, at: SwitchId, rule: &[u8], ports: usize) -> Vec<u8> {
    let mut list = vec![rule[grid.directions]; ports];
    for direction in 0..grid.directions as u8 {
        if let Some(port) = grid.port(at, direction) {
            // Who comes in at the lower side moves up.
            list[port.index()] = rule[usize::from(direction ^ 1)];
        }
    }
    list
}

impl PortRouting for LookUpTables {
    type Lanes = AnyPolicy;

    fn lanes(&self) -> &AnyPolicy {
        &self.lanes
    }

    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        let to = self.destinations[to.index()];
        let direction = self.direction(at.switch, at.in_port, to);
        if direction == HERE {
            return each(Exit { port: to.port, role: LinkRole::ToHost });
        }
        let place = at.switch.index() * self.directions + usize::from(direction);
        let back = self.routes[place ^ 1].hop.port;
        each(Exit { port: self.routes[place].hop.port, role: self.roles[place].of(back) });
    }

    #[inline]
    fn only_hop(&self, at: At, to: HostId) -> Option<Hop> {
        let route = self.route(at.switch, at.in_port, to);
        Some(self.by_host.dateline.hop(route, at.in_port, at.lane))
    }

    fn route_table(&self) -> Option<&RouteTable> {
        Some(&self.by_host)
    }
}
