//! The link layer over links that flip bits.

mod channel;
mod crc;
mod errors;
mod lossy;
mod throughput;
