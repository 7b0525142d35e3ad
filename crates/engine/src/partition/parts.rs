use std::sync::Arc;

use fabricsim_fabric::{Ports, Switch, Table};

use super::Owner;
use crate::adapter::Adapter;
use crate::p_keys::PKeys;
use crate::switch_errors::SwitchErrors;

/// Components of a partition.
pub(crate) struct Parts {
    pub(crate) switches: Table<Switch>,
    pub(crate) adapters: Vec<Adapter>,
    pub(crate) owners: Table<Owner>,
    pub(crate) ports: Ports,
    pub(crate) switch_errors: Option<SwitchErrors>,
    pub(crate) p_keys: Option<Arc<PKeys>>,
}
