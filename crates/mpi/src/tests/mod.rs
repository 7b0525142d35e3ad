//! Tests of the whole crate: ranks on adapters that wires connect.

mod cluster;
mod credits;
mod headers;
mod matching;
mod protocols;
mod semantics;
