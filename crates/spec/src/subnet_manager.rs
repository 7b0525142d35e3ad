use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// InfiniBand's subnet manager, simulated in packets (chapter 14 of the specification; defaults are OpenSM's).
///
/// Its datagrams travel hop by hop on virtual lane 15 through the agents of switches and adapters, go before all data and are lost
/// where no buffer is free. The manager routes with `routing.engine`. Needs `routing.algorithm = "opensm"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SubnetManager {
    /// Hosts and switches on which managers run, the one with the highest priority first; by default the first host. The first becomes
    /// the master, the others are standbys. On a switch a manager is behind port 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// State of the subnet at the start.
    pub start: SubnetStart,
    /// Requests of a manager outstanding at most (`max_wire_smps`).
    #[schemars(range(min = 1, max = 65535), extend("x-unit" = "requests"))]
    pub smps_on_wire: u16,
    /// Time after which a request without answer is repeated (`transaction_timeout`).
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "60 s"))]
    pub timeout: Time,
    /// Repetitions of a request without answer (`transaction_retries`).
    #[schemars(range(max = 100), extend("x-unit" = "1"))]
    pub retries: u32,
    /// Time between light sweeps, in which the master asks every switch whether a port has changed (`sweep_interval`); 0 for none.
    #[schemars(extend("x-maximum" = "3600 s"))]
    pub sweep_interval: Time,
    /// Time between a standby's questions to the master (`sminfo_polling_timeout`).
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "3600 s"))]
    pub poll_interval: Time,
    /// Questions without an answer after which a standby takes over (`polling_retry_number`).
    #[schemars(range(max = 100), extend("x-unit" = "1"))]
    pub poll_retries: u32,
    /// True if switches report changed links with trap 128; else light sweeps find them.
    pub traps: bool,
    /// LID mask control of adapters: each has 2^`lmc` LIDs (`lmc`). `routing.paths` says which of them packets are sent to.
    #[schemars(range(max = 7), extend("x-unit" = "1"))]
    pub lmc: u8,
    /// Time of a manager for the computation of tables.
    #[schemars(extend("x-maximum" = "3600 s"))]
    pub routing_time: Time,
    /// Time of a manager for each answer, trap or question that arrives.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub manager_time: Time,
    /// Time of an agent for the answer to a request. Not in OpenSM, since it is a property of the hardware: the default is an assumption.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub response_time: Time,
    /// Time of a switch to pass on a datagram with a directed route. A property of the hardware like `response_time`.
    #[schemars(extend("x-exclusiveMinimum" = "0 s", "x-maximum" = "1 s"))]
    pub forwarding_time: Time,
    /// Datagrams from each port that wait for the agent of a node at most; further ones are lost.
    #[schemars(range(min = 1, max = 65535), extend("x-unit" = "datagrams"))]
    pub vl15_buffer: u16,
}

/// State of the subnet at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubnetStart {
    /// Links are up and nothing is configured: hosts send once their ports are active.
    #[default]
    Unconfigured,
    /// The manager has configured everything: traffic flows at once.
    Configured,
}

impl Default for SubnetManager {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            start: SubnetStart::default(),
            smps_on_wire: 4,
            timeout: Time::ms(200),
            retries: 3,
            sweep_interval: Time::ms(10_000),
            poll_interval: Time::ms(10_000),
            poll_retries: 4,
            traps: true,
            lmc: 0,
            routing_time: Time::ZERO,
            manager_time: Time::us(2),
            response_time: Time::us(10),
            forwarding_time: Time::us(2),
            vl15_buffer: 4,
        }
    }
}
