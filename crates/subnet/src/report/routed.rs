//! A routed subnet, and its files: they are written when they are needed, since those of a large subnet have gigabytes.

use std::borrow::Cow;

use super::{RouteReport, Source};
use crate::{
    Analysis, Format, LinkRow, PathSls, RouteError, Routing, Sl2Vl, Subnet, TableForm, Tables, analyse,
};

/// A routed subnet.
#[derive(Clone, Debug)]
pub struct Routed {
    /// The report.
    pub report: RouteReport,
    /// Loads of all directions of links between switches.
    pub links: Vec<LinkRow>,
    pub(super) answer: Answer,
    /// The subnet with its LIDs, without what has failed.
    pub(super) subnet: Subnet,
}

impl Routed {
    /// Text of the forwarding tables in a form.
    ///
    /// # Errors
    ///
    /// Hops are in the form, and given tables are of a subnet that has no shortest paths.
    pub fn tables(&self, form: TableForm) -> Result<String, RouteError> {
        match (&self.answer, form) {
            (Answer::Computed(routing), TableForm::Fdbs) => routing.to_fdbs(&self.subnet),
            (answer, _) => answer.tables().to_text(&self.subnet, form),
        }
    }

    /// Lanes of service levels, in the form of `opensm-sl2vl.dump`.
    #[must_use]
    pub fn sl2vl(&self) -> String {
        self.answer.sl2vl().to_dump(&self.subnet)
    }

    /// Service levels of paths, in the form of `opensm-path-records.dump`; empty if all are 0.
    #[must_use]
    pub fn path_sls(&self) -> String {
        self.answer.sls().map(|sls| sls.to_dump(&self.subnet)).unwrap_or_default()
    }

    /// Text of the subnet with its LIDs in a form.
    #[must_use]
    pub fn fabric(&self, form: Format) -> String {
        self.subnet.to_text(form)
    }

    /// Base LIDs of the ports of adapters and routers, in the order of the subnet.
    #[must_use]
    pub fn lids(&self) -> Vec<u16> {
        let nodes = self.subnet.nodes.iter().filter(|node| !node.is_switch());
        nodes.flat_map(|node| node.end_ports().map(|port| node.ports[usize::from(port)].lid)).collect()
    }
}

/// Tables with service levels of paths and their lanes.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Of an engine.
    Computed(Box<Routing>),
    /// Given ones.
    Given(Box<(Tables, Option<PathSls>, Option<Sl2Vl>)>),
}

impl Answer {
    /// Routes a subnet, if tables are not given.
    pub(super) fn of(subnet: &Subnet, source: &Source) -> Result<Self, RouteError> {
        Ok(match source {
            Source::Engine(engine, options) => Self::Computed(Box::new(engine.route(subnet, options)?)),
            Source::Given(given) => Self::Given(given.clone()),
        })
    }

    pub(super) fn tables(&self) -> &Tables {
        match self {
            Self::Computed(routing) => &routing.tables,
            Self::Given(given) => &given.0,
        }
    }

    /// The number of layers that an engine needs.
    pub(super) fn layers(&self) -> Option<usize> {
        match self {
            Self::Computed(routing) => Some(usize::from(routing.layers)),
            Self::Given(_) => None,
        }
    }

    pub(super) fn analyse(&self, subnet: &Subnet) -> Result<Analysis, RouteError> {
        analyse(subnet, self.tables(), self.sls(), &self.sl2vl())
    }

    fn sls(&self) -> Option<&PathSls> {
        match self {
            Self::Computed(routing) => routing.sls.as_ref(),
            Self::Given(given) => given.1.as_ref(),
        }
    }

    /// Lanes of service levels; without any OpenSM's usual ones for eight lanes.
    fn sl2vl(&self) -> Cow<'_, Sl2Vl> {
        match self {
            Self::Computed(routing) => Cow::Borrowed(&routing.sl2vl),
            Self::Given(given) => match &given.2 {
                Some(sl2vl) => Cow::Borrowed(sl2vl),
                None => Cow::Owned(Sl2Vl::modulo(8)),
            },
        }
    }
}
