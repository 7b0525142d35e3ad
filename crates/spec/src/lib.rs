//! The types of an experiment file, and nothing that acts on them.
//!
//! An experiment is TOML with units in its values. [`read`] turns text into an [`Experiment`]; whatever is wrong
//! is one [`SpecError`] that names the file, the line, the key, what is wrong and what is allowed. Checks that
//! need the built network (does this host exist?) are made by the layers that build it.

mod experiment;
mod host;
mod link;
mod read;
mod routing;
mod run;
mod switch;
mod topology;
mod traffic;

pub use experiment::Experiment;
pub use host::{Host, Sink};
pub use link::{LinkOverride, LinkParameters, Links};
pub use read::{SpecError, nearest, read};
pub use routing::{Algorithm, Routing, Selection};
pub use run::{Drain, FlowDetail, Measure, Run, SteadyState};
pub use switch::{Arbiter, CreditReturn, Queueing, Switch, Switching};
pub use topology::{Grid, Naming, Topology};
pub use traffic::{DrawPer, HotSpot, Injection, MessageSize, Pattern, SizeDistribution, Traffic, WeightedSize};

/// The JSON Schema of an experiment file (draft 2020-12), for editors that complete and check.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Experiment).to_value()
}
