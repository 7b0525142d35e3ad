//! Endpoint protocols over UDP. The ordering protocols: the state machines of `fabricsim_protocols::ordering`, driven by sockets and a real
//! clock instead of the simulator. A [`Proxy`] between the two endpoints delays, reorders and drops.
//!
//! All sockets are bound to the loopback address. Every process of the machine can send to them, so that a datagram
//! counts only with the session's [`Token`], from the address that presented it first, and within the agreed transfer
//! ([`Settings`]). All others are counted as ignored. Memory does not depend on datagrams: a target holds the agreed
//! bytes, a flag for each part and its reorder buffer, a proxy at most `queue_bytes`.

mod clock;
mod datagram;
mod error;
mod port;
mod proxy;
mod roce;
mod settings;
mod source;
mod target;
mod token;

pub use error::SocketError;
pub use proxy::{Proxy, ProxyReport, ProxySettings};
pub use roce::{
    FrameRecorder, Incoming, Permissions, PortCounters, ReceivedMessage, Region, RocePort, RoceQueuePair,
    RoceSettings, SendDone,
};
pub use settings::{DemoMode, Settings};
pub use source::{SourceReport, run_source};
pub use target::{TargetReport, run_target};
pub use token::Token;

#[cfg(test)]
mod tests;
