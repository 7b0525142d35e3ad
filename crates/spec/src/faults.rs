use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Links and switches that fail while traffic flows, and come back.
///
/// A packet whose head has arrived at the far end of a link is received whole; one whose head has not is lost. From then on the link
/// carries nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// The links and switches that fail, in any order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<Fault>,
    /// Packets that a switch has routed to a failed link.
    pub waiting: WaitingPackets,
    /// Time after each failure and each return at which the routes are those of the fabric as it is then: the time of a subnet
    /// manager's sweep. By default routes stay as they are. Only for algorithms that find routes around failed links
    /// (`shortest-path`, `opensm`, and `look-up-tables` while no switch is cut off). Hosts that cannot be reached keep their old routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "60 s"))]
    pub reroute_after: Option<Time>,
}

/// Switches that have failed before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switches {
    /// Their names. They and all their links carry nothing: `shortest-path` and `opensm` find routes around them, other algorithms are
    /// refused. Their hosts send nothing, and packets for these are lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl Switches {
    /// True if all work.
    pub fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }
}

/// A link or a switch that fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Link, by the names of its ends in either order: `"SW11-SW12"`. Several links between the two fail together; one of them is named by a
    /// port of a switch, its physical number: `"SW11/3"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Switch, by its name: it fails with all its links, and the packets in its buffers are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// What a link loses that fails.
    #[serde(default)]
    pub loses: Losing,
    /// Time at which it fails.
    #[schemars(extend("x-maximum" = "1209600 s"))]
    pub at: Time,
    /// Time from which on it works again; by default it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1209600 s"))]
    pub until: Option<Time>,
}

/// What a link loses that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Losing {
    /// Everything: it carries nothing.
    #[default]
    All,
    /// The flow-control packets of both directions, with `switch.flow_control = "packets"`, up to `until`: credits run out, and when an end has heard
    /// none for 400 000 symbol times the link is trained anew (`switch.retraining_time`).
    FlowControl,
}

/// Packets that a switch has routed to a failed link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaitingPackets {
    /// They are lost, as InfiniBand's are behind a port that is down. Adaptive routing takes other
    /// links of the switch, where it may.
    #[default]
    Discard,
    /// They wait until the link is back, and those behind them as well.
    Hold,
}
