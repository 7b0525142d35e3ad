//! Checks of the reliable connection over all schedules of small configurations, and of the checks themselves by deliberate defects.

mod configurations;
mod far;
mod local;
mod model;
mod mutants;
mod plan;
mod world;
