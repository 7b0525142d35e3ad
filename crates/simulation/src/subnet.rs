//! Subnet managers: the table `subnet_sweeps`, the figures of the summary, and warnings.

use fabricsim_model::Table;
use fabricsim_session::{SubnetReport, SweepReport};
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

/// Subnet management of the whole run in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SubnetSummary {
    /// Time at which the first sweep of a master had activated all ports; none if that did not happen.
    #[schemars(title = "subnet up", extend("x-unit" = "ns"))]
    pub up_ns: Option<f64>,
    /// Hosts and switches of the masters at the end: one for each part of the subnet that has a manager.
    #[schemars(title = "master subnet managers")]
    pub masters: Vec<String>,
    /// Sweeps of the whole subnet by all managers.
    #[schemars(title = "sweeps")]
    pub sweeps: u64,
    /// Light sweeps.
    #[schemars(title = "light sweeps")]
    pub light_sweeps: u64,
    /// Requests of managers, repetitions included.
    #[schemars(title = "requests of managers")]
    pub requests: u64,
    /// Of these, repetitions.
    #[schemars(title = "repeated requests")]
    pub repeated: u64,
    /// Requests that were given up.
    #[schemars(title = "requests given up")]
    pub given_up: u64,
    /// Traps of switches, repetitions included.
    #[schemars(title = "traps")]
    pub traps: u64,
    /// Links that datagrams of subnet management crossed.
    #[schemars(title = "links crossed by datagrams")]
    pub crossed: u64,
    /// Datagrams lost because the buffer of virtual lane 15 was full.
    #[schemars(title = "datagrams lost in full buffers")]
    pub overflowed: u64,
    /// Datagrams lost on failed links, at failed nodes, or without a route.
    #[schemars(title = "datagrams lost otherwise")]
    pub lost: u64,
}

/// Thing that has a row.
pub(crate) const ROW: &str = "sweep of a subnet manager over the whole subnet";

/// The table without rows.
pub(crate) fn empty() -> Table {
    table(&[])
}

/// A row per sweep, in the order of their begins.
pub(crate) fn table(sweeps: &[SweepReport]) -> Table {
    let mut table = Table::new("subnet_sweeps");
    let text = |of: &dyn Fn(&SweepReport) -> String| sweeps.iter().map(of).collect::<Vec<_>>();
    let time = |of: &dyn Fn(&SweepReport) -> Option<Time>| {
        sweeps.iter().map(|sweep| of(sweep).map_or(f64::NAN, Time::as_ns_f64)).collect::<Vec<_>>()
    };
    let whole =
        |of: &dyn Fn(&SweepReport) -> u64| sweeps.iter().map(|sweep| of(sweep) as i64).collect::<Vec<_>>();
    table.text("manager", "Host or switch of the manager", text(&|of| of.node.clone()));
    table.text(
        "cause",
        "start, trap (of a switch), change (found by a light sweep), hand_over (by another manager), master_lost, no_answer (to a setting)",
        text(&|of| of.sweep.cause.name().to_owned()),
    );
    table.real("begin_ns", "ns", "Begin", time(&|of| Some(of.sweep.begin)));
    table.real("discovered_ns", "ns", "All nodes have answered", time(&|of| of.sweep.discovered));
    table.real("addressed_ns", "ns", "All ports have their LIDs", time(&|of| of.sweep.addressed));
    table.real("programmed_ns", "ns", "All forwarding tables are set", time(&|of| of.sweep.programmed));
    table.real(
        "end_ns",
        "ns",
        "All ports are active, or the manager has become a standby; none if the run ended before",
        time(&|of| of.sweep.end),
    );
    table.whole(
        "is_master",
        "",
        "1 if the manager is the master",
        whole(&|of| u64::from(of.sweep.is_master)),
    );
    table.whole("switches", "", "Switches found", whole(&|of| of.sweep.switches.into()));
    table.whole("adapters", "", "Adapters and routers found", whole(&|of| of.sweep.adapters.into()));
    table.whole("cables", "", "Cables found", whole(&|of| of.sweep.cables.into()));
    table.whole("requests", "", "Requests sent, repetitions included", whole(&|of| of.sweep.requests));
    table.whole("repeated", "", "Of these, repetitions", whole(&|of| of.sweep.repeated));
    table.whole("given_up", "", "Requests given up", whole(&|of| of.sweep.given_up));
    table.whole(
        "blocks",
        "",
        "Blocks of 64 entries of forwarding tables set",
        whole(&|of| of.sweep.blocks.into()),
    );
    table.whole("activated", "", "Ports activated", whole(&|of| of.sweep.activated.into()));
    table.text(
        "fallback",
        "Reason for which routing.engine did not route the subnet, so that minhop did, as with OpenSM; else empty",
        text(&|of| of.sweep.fallback.clone().unwrap_or_default()),
    );
    table
}

/// The figures.
pub(crate) fn summary(report: &SubnetReport) -> SubnetSummary {
    SubnetSummary {
        up_ns: report.up_at.map(Time::as_ns_f64),
        masters: report.masters.clone(),
        sweeps: report.sweeps.len() as u64,
        light_sweeps: report.light_sweeps,
        requests: report.requests,
        repeated: report.repeated,
        given_up: report.given_up,
        traps: report.traps,
        crossed: report.crossed,
        overflowed: report.overflowed,
        lost: report.lost,
    }
}

/// What a user should know about it.
pub(crate) fn warnings(report: &SubnetReport) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.up_at.is_none() {
        warnings.push(
            "the subnet did not come up within the run: hosts whose ports are not active send nothing"
                .to_owned(),
        );
    }
    if let Some(reason) = report.sweeps.iter().find_map(|found| found.sweep.fallback.as_ref()) {
        warnings.push(format!("the routing engine did not route the subnet in a sweep, so that minhop did, as with OpenSM: {reason}"));
    }
    warnings
}
