//! Two adapters at a wire, with a clock of the tests.

mod bench;
mod changes;
mod completions;
mod connections;
mod loss;
mod multicast;
mod pair;
mod paths;
mod protection;
mod rules;
mod services;
mod shared_queues;
mod times;
mod windows;

use pair::{Pair, connected, remote, sge};
