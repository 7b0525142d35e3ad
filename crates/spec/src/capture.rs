use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets that cross chosen links, as a file for Wireshark in the folder of a run. Sweeps and tuning write none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The links, by names or patterns with `*`: `"SW11->SW12"` is one direction, `"SW11-SW12"` both; `"SW11:3 -> *"` is by
    /// physical port.
    pub links: Vec<String>,
    /// Name of the file; it ends with `.pcapng`.
    #[serde(default = "default_file")]
    pub file: String,
    /// Time from which on packets are captured.
    #[serde(default)]
    #[schemars(extend("x-maximum" = "1209600 s"))]
    pub from: Time,
    /// Time at which the capture ends; by default with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1209600 s"))]
    pub to: Option<Time>,
    /// Maximum number of packets. Later ones are counted and not written.
    #[serde(default = "default_packets")]
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    pub packets: u64,
}

/// Ending of a capture's file.
const ENDING: &str = ".pcapng";

impl Capture {
    /// True if the file's name is one that a folder of results may have.
    pub(crate) fn has_file_name(&self) -> bool {
        let stem = self.file.strip_suffix(ENDING).unwrap_or_default();
        let is_plain = |c: char| !matches!(c, '/' | '\\' | ':') && !c.is_control();
        !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(is_plain)
    }
}

fn default_file() -> String {
    format!("capture{ENDING}")
}

const fn default_packets() -> u64 {
    1_000_000
}
