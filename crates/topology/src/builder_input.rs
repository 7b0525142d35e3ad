//! Input that all builders of topologies share.

use std::path::Path;

use fabricsim_spec::{Experiment, SpecError};

use crate::links::{ByClass, Classes, Defaults, by_class};

/// Input of a builder: the experiment, and the path of its file.
pub(crate) struct BuilderInput<'a> {
    pub(crate) experiment: &'a Experiment,
    /// Folder that relative paths start from.
    pub(crate) base_dir: &'a Path,
    /// The experiment file, as the user named it.
    pub(crate) file: &'a str,
    /// Whether a number of links is too many.
    pub(crate) size_check: SizeCheck<'a>,
}

/// Asked before a regular topology is built, with its number of links: the reason why it is not to be built.
pub type SizeCheck<'a> = &'a dyn Fn(u64) -> Option<String>;

impl BuilderInput<'_> {
    /// An error about a key of the experiment.
    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> SpecError {
        SpecError::at_key(self.file, key, message)
    }

    /// Defaults from `[links]`.
    pub(crate) fn defaults(&self) -> Defaults<'_> {
        let flow_control_unit = self.experiment.switch.flow_control_unit;
        Defaults { links: &self.experiment.links, flow_control_unit, file: self.file }
    }

    /// Parameters of the links, for the classes that the topology has.
    pub(crate) fn parameters(&self, classes: Classes) -> Result<ByClass, SpecError> {
        by_class(&self.defaults(), classes)
    }
}
