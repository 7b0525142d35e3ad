//! Record of a sweep.

use fabricsim_units::Time;

/// Reason for a sweep of the whole subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepCause {
    /// The manager has started.
    Start,
    /// An agent reported a changed link.
    Trap,
    /// A light sweep found a changed port, or a switch that does not answer.
    Change,
    /// Another manager handed over.
    HandOver,
    /// The master does not answer any more.
    MasterLost,
    /// Something did not answer while the last sweep was programming it.
    NoAnswer,
}

impl SweepCause {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Trap => "trap",
            Self::Change => "change",
            Self::HandOver => "hand_over",
            Self::MasterLost => "master_lost",
            Self::NoAnswer => "no_answer",
        }
    }
}

/// A sweep of the whole subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Its reason.
    pub cause: SweepCause,
    /// Its begin.
    pub begin: Time,
    /// Time at which all nodes had answered.
    pub discovered: Option<Time>,
    /// Time at which all ports had their LIDs.
    pub addressed: Option<Time>,
    /// Time at which all tables were set.
    pub programmed: Option<Time>,
    /// Time at which all ports were active, or at which the manager became a standby.
    pub end: Option<Time>,
    /// True if the manager found itself to be the master.
    pub is_master: bool,
    /// Switches found.
    pub switches: u32,
    /// Adapters and routers found.
    pub adapters: u32,
    /// Cables found.
    pub cables: u32,
    /// Requests sent, repetitions included.
    pub requests: u64,
    /// Repetitions.
    pub repeated: u64,
    /// Requests given up.
    pub given_up: u64,
    /// Blocks of forwarding tables that changed.
    pub blocks: u32,
    /// Ports that were activated.
    pub activated: u32,
    /// Reason for which the chosen engine did not route the subnet: then `minhop` did, as with OpenSM.
    pub fallback: Option<String>,
}

impl Sweep {
    pub(super) fn new(cause: SweepCause, begin: Time) -> Self {
        Self {
            cause,
            begin,
            discovered: None,
            addressed: None,
            programmed: None,
            end: None,
            is_master: false,
            switches: 0,
            adapters: 0,
            cables: 0,
            requests: 0,
            repeated: 0,
            given_up: 0,
            blocks: 0,
            activated: 0,
            fallback: None,
        }
    }
}
