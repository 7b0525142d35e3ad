//! Latency and bandwidth of SEND, RDMA WRITE and RDMA READ between two hosts, as the tools of the suite perftest measure them.

mod expected;
mod figures;
mod programs;
mod setup;
mod translations;
mod window;

use fabricsim_engine::Prepared;
use fabricsim_model::NullObserver;
use fabricsim_session::{Ended, Programs, Session};
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::VerbsError;
use serde::Deserialize;

pub use expected::{Expected, expected};
pub use figures::{Bandwidth, Figures, Latency};
pub use setup::costs;

use figures::figures;
use programs::{Role, Test};
use setup::connect;

/// Operation of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// SEND to a receive request.
    Send,
    /// RDMA WRITE.
    Write,
    /// RDMA READ.
    Read,
}

/// Quantity that a test measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// Time of a message: half of a ping-pong of SEND or WRITE, a whole READ.
    Latency,
    /// Data rate with many messages outstanding.
    Bandwidth,
}

/// Transport service of a test (`--connection`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Connection {
    /// Reliable connection.
    #[default]
    #[serde(rename = "RC")]
    Rc,
    /// Unreliable connection: SEND and WRITE.
    #[serde(rename = "UC")]
    Uc,
    /// Unreliable datagram: SEND of one packet.
    #[serde(rename = "UD")]
    Ud,
}

/// How a program waits for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// It polls all the time.
    Busy,
    /// It sleeps until an event (`--use-event`).
    Event,
}

/// Options of a test, with the names of perftest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Operation.
    pub operation: Operation,
    /// Quantity.
    pub quantity: Quantity,
    /// Bytes of a message (`--size`), 1 to 2^30.
    pub bytes: u32,
    /// Messages that are measured (`--iters`), at least 2.
    pub iterations: u32,
    /// Messages outstanding, of bandwidth (`--tx-depth`).
    pub tx_depth: u32,
    /// Receive requests (`--rx-depth`).
    pub rx_depth: u32,
    /// Messages for each completion, of bandwidth (`--cq-mod`).
    pub cq_mod: u32,
    /// Largest message that a work request holds itself (`--inline_size`).
    pub inline: u32,
    /// READs outstanding (`--outs`), 1 to 16.
    pub outstanding_reads: u8,
    /// Path MTU (`--mtu`) in bytes.
    pub mtu: u32,
    /// Queue pairs (`--qp`), of bandwidth.
    pub queue_pairs: u32,
    /// Messages begin this many bytes behind a multiple of 64.
    pub offset: u32,
    /// How both sides wait.
    pub waiting: Waiting,
    /// Transport service.
    #[serde(default)]
    pub connection: Connection,
}

/// A test that cannot be run, or did not end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PerftestError {
    /// A call failed.
    #[error(transparent)]
    Verbs(#[from] VerbsError),
    /// An option is out of its range.
    #[error("{0}")]
    Option(String),
    /// A work request failed.
    #[error("{0}")]
    Failed(String),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Runs a test from `client` to `server`. `goes_on` is called now and then.
pub fn perftest(
    prepared: &Prepared,
    (client, server): (HostId, HostId),
    options: &Options,
    goes_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Figures, PerftestError> {
    setup::check(prepared, (client, server), options)?;
    let costs = costs(&prepared.experiment);
    let prepared = prepared.clone().with_devices(&[(client, costs), (server, costs)].into());
    let mut session = Session::new(&prepared, || NullObserver);
    let [here, there] = connect(&mut session, (client, server), options)?;
    let mut programs: Programs<Test> = Programs::default();
    programs.add(server, Test::new(Role::Server, there, options));
    programs.add(client, Test::new(Role::Client, here, options));
    match programs.run(&mut session, Time::MAX, goes_on) {
        Ended::Done => {}
        Ended::Stopped => return Err(PerftestError::Interrupted),
        Ended::Reached | Ended::Blocked => {
            let waiting: Vec<String> =
                programs.waiting().map(|(host, wait)| format!("{host:?}: {wait:?}")).collect();
            let loses = match options.connection {
                Connection::Rc => "",
                _ => " (without acknowledgements, messages that find no receive request are lost)",
            };
            let text = format!("the test stands still at {}{loses}: {}", session.now(), waiting.join(", "));
            return Err(PerftestError::Failed(text));
        }
    }
    let tests: Vec<Test> = programs.into_programs().collect();
    if let Some(problem) = tests.iter().find_map(|test| test.problem.clone()) {
        return Err(PerftestError::Failed(problem));
    }
    Ok(figures(&tests[1].times, options))
}
