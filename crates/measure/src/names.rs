//! Names of things in tables.

/// Names of things in tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Hosts, by [`HostId`].
    pub hosts: Vec<String>,
    /// Sending ports, by number.
    pub ports: Vec<PortName>,
    /// Entries, by the number of their stream of messages.
    pub entries: Vec<EntryName>,
    /// Jobs.
    pub jobs: Vec<JobName>,
    /// Ports of switches, if their performance counters are recorded.
    pub routers: Vec<RouterPort>,
    /// Directions of those ports, in the order of tables: `"+x"`, `"-x"`, ..., `"host"`.
    pub directions: Vec<String>,
}

/// A sending port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortName {
    /// The direction of a link: `"SW11->SW12"`.
    pub link: String,
    /// Kind of the link: `"host"`, `"dimension 0"`.
    pub class: String,
}

/// Name and ends of an entry (of the traffic list, the responses to one, or a job), for tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryName {
    /// Its name.
    pub name: String,
    /// Begin of the names of its metrics: `traffic.incast`.
    pub key: String,
    /// Kind of the entry, one word.
    pub kind: &'static str,
    /// What it sends, in a few words.
    pub text: String,
    /// Hosts that send.
    pub sources: usize,
    /// Sum of their link rates, Gb/s.
    pub source_gbps: f64,
    /// Hosts that may receive.
    pub destinations: usize,
    /// Sum of their link rates, Gb/s.
    pub destination_gbps: f64,
}

/// Name of a job in tables, and its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobName {
    /// Its name.
    pub name: String,
    /// Its ranks.
    pub ranks: u32,
    /// Iterations that it is to do.
    pub iterations: u32,
}

/// A port of a switch: an input and an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterPort {
    /// Name of the switch.
    pub router: String,
    /// Number of the port.
    pub port: u16,
    /// Direction in which it leads, as an index of [`Names::directions`].
    pub direction: usize,
    /// Sending port of the link into this port.
    pub input: u32,
    /// Sending port of this port.
    pub output: u32,
}
