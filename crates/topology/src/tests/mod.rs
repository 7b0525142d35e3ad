//! Tests of the crate as a whole, by what they show.

mod common;
mod shapes;
