//! Messages of MPI between two ranks: matching, and the protocols of Open MPI 2.0.0 (PML ob1 over the BTLs openib and vader) over verbs.
//!
//! A [`World`] is all ranks of a run. It is a state machine without clock, queue or network: its driver says which rank goes on at which time, gives it the
//! adapters and the buffers of programs by [`Environment`], and gets what the rank waits for. `docs/design/mpi.md` has the protocols.

pub mod header;
pub mod matching;
mod noise;
mod request;
mod results;
mod slab;
#[cfg(test)]
mod tests;
mod world;

pub use matching::{ANY, Pattern};
pub use request::{Arrival, Mode, ReceiveCall, SendCall};
pub use results::{Counts, LogEntry, PROTOCOLS, Protocol};
pub use world::{Awaited, Environment, MpiError, Turn, World};
