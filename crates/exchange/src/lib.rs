//! Several threads advance the partitions of a run in windows of time.
//!
//! A window is no longer than the time after which an event affects another partition, so that what one does in a window affects the others only in later ones.
//! A thread has some of the partitions. At the end of a window it puts their letters into boxes, one for each pair of partitions, and waits
//! for the other threads; then it takes what is for its own. Letters of two windows that follow each other are in different boxes, so that one
//! barrier a window is enough. Partitions have the same events at the same times in any number of threads.
//!
//! This crate knows nothing of fabrics: it is small enough for all orders of its threads to be tried (`tests/loom.rs`).

mod barrier;
mod sync;
mod windows;

#[cfg(feature = "loom")]
pub use windows::Defect;
pub use windows::{End, Exchange, Post, Stop, Windows};
