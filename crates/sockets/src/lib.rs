//! The ordering protocols over UDP: the state machines of `fabricsim_protocols::ordering`, driven by sockets and a real
//! clock instead of the simulator. A [`Proxy`] between the two endpoints delays, reorders and drops.

mod clock;
mod datagram;
mod port;
mod proxy;
mod settings;
mod source;
mod target;

pub use proxy::{Proxy, ProxyReport, ProxySettings};
pub use settings::{Settings, SocketError};
pub use source::{SourceReport, run_source};
pub use target::{TargetReport, run_target};

#[cfg(test)]
mod tests;
