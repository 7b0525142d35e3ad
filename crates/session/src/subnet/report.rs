//! What managers did.

use fabricsim_management::Sweep;
use fabricsim_units::Time;

use super::SubnetState;

/// A sweep of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepReport {
    /// Host or switch of the manager.
    pub node: String,
    /// The sweep.
    pub sweep: Sweep,
}

/// Subnet management of a session up to now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubnetReport {
    /// Hosts and switches of the masters at present: one for each part of the subnet that has a manager.
    pub masters: Vec<String>,
    /// Time at which a first sweep had activated all ports; none if that has not happened.
    pub up_at: Option<Time>,
    /// All sweeps in the order of their begins.
    pub sweeps: Vec<SweepReport>,
    /// Requests of managers, repetitions included.
    pub requests: u64,
    /// Repetitions.
    pub repeated: u64,
    /// Requests given up.
    pub given_up: u64,
    /// Light sweeps.
    pub light_sweeps: u64,
    /// Traps of switches, repetitions included.
    pub traps: u64,
    /// Links that datagrams crossed.
    pub crossed: u64,
    /// Datagrams lost in full buffers.
    pub overflowed: u64,
    /// Those of them at each port, by node of the plan's identity and number of the port.
    pub vl15_dropped: Vec<Vec<u64>>,
    /// Datagrams lost on failed links, at failed nodes, or without a route.
    pub lost: u64,
}

impl SubnetState {
    /// The report.
    pub(crate) fn report(&self) -> SubnetReport {
        let managers = || self.managers.iter().map(|of| &of.manager);
        let count = |of: fn(&fabricsim_management::Counters) -> u64| {
            managers().map(|manager| of(&manager.counters())).sum()
        };
        let named = || self.managers.iter().zip(&self.plan.managers);
        let mut sweeps: Vec<SweepReport> = named()
            .flat_map(|(of, plan)| {
                let sweeps = of.manager.sweeps().iter();
                sweeps.map(|sweep| SweepReport { node: plan.name.clone(), sweep: sweep.clone() })
            })
            .collect();
        sweeps.sort_by_key(|found| found.sweep.begin);
        let up_at = if self.plan.is_configured {
            Some(Time::ZERO)
        } else {
            sweeps.iter().filter(|found| found.sweep.is_master).filter_map(|found| found.sweep.end).min()
        };
        let masters = named().filter(|(of, _)| of.manager.is_master());
        SubnetReport {
            masters: masters.map(|(_, plan)| plan.name.clone()).collect(),
            up_at,
            sweeps,
            requests: count(|counters| counters.sent),
            repeated: count(|counters| counters.repeated),
            given_up: count(|counters| counters.given_up),
            light_sweeps: count(|counters| counters.light_sweeps),
            traps: self.datagrams.traps,
            crossed: self.datagrams.crossed,
            overflowed: self.datagrams.overflowed,
            vl15_dropped: self.nodes.iter().map(|node| node.vl15_dropped.clone()).collect(),
            lost: self.datagrams.lost,
        }
    }
}
