use std::fmt;

use fabricsim_spec::SpecError;
use thiserror::Error;

/// Reason why there is no router.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RoutingError {
    /// The experiment requests something impossible.
    #[error(transparent)]
    Experiment(#[from] SpecError),
    /// The forwarding tables are wrong.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// A router that lets packets choose among ports has no forwarding tables.
    #[error(
        "at switch {switch} the routing offers several ports towards {destination}: forwarding tables hold one; \
         choose a deterministic algorithm (`up-down` instead of `up-down-adaptive`)"
    )]
    Adaptive {
        /// Switch at which there is a choice.
        switch: String,
        /// The receiver for which there is a choice.
        destination: String,
    },
    /// A router whose ports depend on where a packet comes from has no forwarding tables.
    #[error(
        "around the failed links the route of a packet depends on the port by which it comes in: forwarding tables for \
         each switch cannot hold that; the format `look-up-tables` can"
    )]
    ByInput,
}

/// Error in a file of forwarding tables, and its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct TablesError {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1, where there is one.
    pub line: Option<usize>,
    /// Description of the error.
    pub problem: Box<TablesProblem>,
}

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// Defects of forwarding tables. LIDs are numbers of hosts from 1, in the order of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TablesProblem {
    /// The file cannot be opened.
    #[error("the forwarding tables cannot be read: {0}")]
    Unreadable(String),
    /// Some bytes are not UTF-8.
    #[error("the file is not UTF-8 text; a forwarding table is lines like `11: 255 0 1 3 3`")]
    NotUtf8,
    /// A line without a colon.
    #[error(
        "there is no `:`; a row is the name or number of a switch, a colon, and a port for every LID from 0"
    )]
    NoColon,
    /// A row for a switch that is not there.
    #[error("there is no switch `{key}`{}; rows start with a switch's name, with or without `SW`, or its number \
             from 0 to {last}", hint(.nearest.as_deref()))]
    UnknownSwitch {
        /// As it is written.
        key: String,
        /// A name that may be meant.
        nearest: Option<String>,
        /// Highest number of a switch.
        last: usize,
    },
    /// A second row for a switch.
    #[error("switch {switch} already has its row on line {first}")]
    Repeated {
        /// The switch.
        switch: String,
        /// Line of the first row.
        first: usize,
    },
    /// Something that is not a number of a port.
    #[error("`{text}`, for LID {lid}, is not a port: a whole number from 0 to 254, or 255 for none")]
    NotAPort {
        /// As it is written.
        text: String,
        /// Its column, from 0.
        lid: usize,
    },
    /// A row of wrong length.
    #[error("the row of switch {switch} has {found} entries, not {expected}: one for LID 0, which no host has \
             (255), and one for each of the {} hosts", expected - 1)]
    Length {
        /// The switch.
        switch: String,
        /// Entries in the row.
        found: usize,
        /// Entries that there should be.
        expected: usize,
    },
    /// A port for LID 0.
    #[error(
        "the first entry of the row of switch {switch} is {found}; it is for LID 0, which no host has: write 255"
    )]
    LidZero {
        /// The switch.
        switch: String,
        /// Entry that was found.
        found: u32,
    },
    /// A port that the switch does not have.
    #[error("switch {switch} has no port {port} (for LID {lid}, host {host}): its ports are 0 to {}", ports - 1)]
    NoSuchPort {
        /// The switch.
        switch: String,
        /// The port.
        port: u32,
        /// Ports of the switch.
        ports: usize,
        /// The column.
        lid: usize,
        /// Its host.
        host: String,
    },
    /// Switches without a row.
    #[error("there is no row for {}", some(.0))]
    Missing(Vec<String>),
    /// An entry 255 for a host.
    #[error("switch {switch} has no port for LID {lid} (host {host}): the entry is 255")]
    NoRoute {
        /// The switch.
        switch: String,
        /// The column.
        lid: usize,
        /// Its host.
        host: String,
    },
    /// Packets go in circles.
    #[error("packets for LID {lid} (host {host}) never arrive: they go in a circle {}", .switches.join(" -> "))]
    Loop {
        /// The column.
        lid: usize,
        /// Its host.
        host: String,
        /// The switches of the circle; the last is the first again.
        switches: Vec<String>,
    },
    /// Packets arrive elsewhere.
    #[error(
        "packets for LID {lid} (host {host}) do not reach it: switch {switch} sends them to host {other} by \
             port {port}"
    )]
    WrongHost {
        /// The column.
        lid: usize,
        /// Its host.
        host: String,
        /// The switch.
        switch: String,
        /// Its port.
        port: u32,
        /// The host at that port.
        other: String,
    },
    /// A number of a port that the format has no room for.
    #[error("switch {switch} sends to host {host} by port {port}; the format has room for ports 0 to 254")]
    PortTooHigh {
        /// The switch.
        switch: String,
        /// Its port.
        port: u32,
        /// The receiver.
        host: String,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The first few names, and how many more.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    let word = if names.len() == 1 { "switch" } else { "switches" };
    match names.len().saturating_sub(SHOWN) {
        0 => format!("{word} {shown}"),
        more => format!("{word} {shown} and {more} more"),
    }
}
