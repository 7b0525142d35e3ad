use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A partition of an InfiniBand subnet (section 10.9 of the specification): hosts outside it lose its packets. All hosts are full members of the
/// default partition, 0x7fff, to which traffic belongs that names no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Its name, for `partition` of traffic.
    pub name: String,
    /// The lower 15 bits of its P_Key.
    #[schemars(range(min = 1, max = 32766), extend("x-unit" = "1"))]
    pub key: u16,
    /// Full members: names, patterns with `*`, groups.
    #[serde(default)]
    pub members: Vec<String>,
    /// Limited members: two of them do not accept packets of each other.
    #[serde(default)]
    pub limited: Vec<String>,
}
