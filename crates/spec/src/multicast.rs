use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A multicast group (InfiniBand specification, section 10.5): a packet that is sent to it reaches all members, and crosses every link of the
/// group's spanning tree once at most. Traffic names it as `pattern = { multicast = "name" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MulticastGroup {
    /// Its name, for patterns of traffic.
    pub name: String,
    /// Hosts that receive its packets: names, patterns with `*`, groups. A member that sends does not receive its own packets; hosts that are not
    /// members may send.
    pub members: Vec<String>,
}
