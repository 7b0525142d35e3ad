//! Types shared by all parts of the simulator: packets, lanes, hops, random streams, the observer, tables.

mod crossing;
mod extensions;
mod loss;
mod observer;
mod packet;
mod random;
mod route;
mod table;
mod transport;

pub use crossing::{Crossing, CrossingContent};
pub use extensions::{ByteLine, Echo, ExtensionHeaders, HopTelemetry};
pub use loss::LossCause;
pub use observer::{Exchange, ExchangeStep, Grant, Iteration, NullObserver, Observer};
pub use packet::{Label, Packet, PacketKind};
pub use random::Random;
pub use route::{Hop, Lanes, RouteState};
pub use table::{Column, Data, Table};
pub use transport::TransportHeaders;
