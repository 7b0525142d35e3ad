//! Tests of the crate as a whole, by what they show.

mod common;
mod direct;
mod edges;
mod facts;
mod files;
mod groups;
mod links;
mod per_link;
mod round_trip;
mod shapes;
mod thesis;
