//! Checks of the state machines as a whole: by hand-written schedules, by the model checker over all schedules of small
//! configurations, by random schedules of larger ones, and of the checks themselves by deliberate defects.

mod anything;
mod configurations;
mod figures;
mod model;
mod mutants;
mod plan;
mod scenarios;
mod schedules;
mod stage;
mod windows;
mod world;
