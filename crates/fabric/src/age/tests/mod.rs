//! The aging against unbounded integers, against the printed procedures, and in a switch output.

mod arithmetic;
mod golden;
mod literal;
mod runs;
mod starvation;
