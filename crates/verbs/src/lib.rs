//! Channel adapters as programs see them, with the objects and rules of the verbs (IBA volume 1, chapter 11): protection domains, memory
//! regions, completion queues, queue pairs; and the times that an adapter takes.
//!
//! A [`Device`] is a state machine without clock, queue or network. A program calls it; a driver, which is an adapter of the simulation, takes
//! packets from it, gives it packets, and wakes it. `docs/design/verbs.md` shows the stages of a message.

mod access;
mod agent;
mod completion;
mod costs;
mod device;
mod error;
mod handles;
mod local;
mod memory;
mod multicast;
mod path;
mod queue_pair;
mod service;
mod shared_queue;
#[cfg(test)]
mod tests;
mod timers;
mod translations;
mod windows;
mod work;
mod zeros;

pub use access::AccessFlags;
pub use completion::{WcOpcode, WorkCompletion};
pub use costs::{Costs, LINE};
pub use device::{AsyncEvent, Device, DeviceCounters, Outgoing, Port};
pub use error::{Errno, VerbsError};
pub use handles::{Ah, Cq, Mr, Mw, Pd, Srq, Xrcd};
pub use local::{LocalOperation, LocalRequest};
pub use memory::{FIRST_ADDRESS, Sge};
pub use multicast::{SubnetView, group_gid, group_lid, group_of_lid};
pub use path::{AddressVector, AlternatePath, PACKET_LIFE_TIME, PathRecord};
pub use queue_pair::{Capacities, Counters, QueuePairAttributes, QueuePairInit};
pub use shared_queue::SharedQueueInit;
pub use timers::Timers;
pub use translations::TranslationCosts;
pub use windows::{Binding, WindowKind};
pub use work::{ReceiveRequest, SendRequest, To};
