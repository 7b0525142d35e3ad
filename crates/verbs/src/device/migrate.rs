//! Path migration of queue pairs (IBA volume 1, section 17.2.8): their second paths, and the change to them.

use fabricsim_protocols::infiniband::{MigrationEvent, MigrationState, PathMigration};
use fabricsim_wire::ids::Qpn;

use super::{AsyncEvent, Device};
use crate::error::VerbsError;
use crate::path::{AddressVector, AlternatePath};
use crate::queue_pair::{QueuePair, QueuePairAttributes};

impl Device {
    /// State of a queue pair's path migration (`path_mig_state` of `ibv_query_qp`).
    pub fn migration_state(&self, qp: Qpn) -> Result<MigrationState, VerbsError> {
        Ok(self.qp(qp)?.migration.state())
    }

    /// Path on which the packets of a queue pair go (`ah_attr` of `ibv_query_qp`); `None` before it is known.
    pub fn address_vector(&self, qp: Qpn) -> Result<Option<AddressVector>, VerbsError> {
        Ok(self.qp(qp)?.attributes.address)
    }

    /// Checks a second path, and the state that is requested. Returns the migration after both.
    pub(super) fn check_migration(
        &self,
        qp: &QueuePair,
        given: &QueuePairAttributes,
    ) -> Result<(PathMigration, Option<MigrationEvent>), String> {
        let mut migration = qp.migration;
        if given.alternate.is_some()
            && given.path_mig_state.is_none()
            && migration.state() != MigrationState::Migrated
        {
            return Err(format!(
                "path_mig_state is {:?}: an alternate path is loaded in the state Migrated",
                migration.state()
            ));
        }
        if let Some(path) = given.alternate {
            let primary = given.address.or(qp.attributes.address);
            self.check_alternate(path, primary)?;
            migration.load();
        }
        let requested = given.path_mig_state.filter(|&to| to != migration.state());
        let event = match requested {
            Some(to) => migration.request(to).map_err(|error| error.to_string())?,
            None => None,
        };
        Ok((migration, event))
    }

    pub(super) fn check_alternate(
        &self,
        path: AlternatePath,
        primary: Option<AddressVector>,
    ) -> Result<(), String> {
        let AlternatePath { address, p_key_index, port, timeout } = path;
        self.check_address(address, "alt_ah_attr")?;
        self.p_key(p_key_index).map_err(|text| format!("alt_{text}"))?;
        if primary.is_some_and(|primary| primary.host != address.host) {
            return Err("alt_ah_attr.dlid: must be a LID of the host at the other end".to_owned());
        }
        if port != 1 {
            return Err(format!("alt_port_num = {port}: the adapter has port 1"));
        }
        if timeout > 31 {
            return Err(format!("alt_timeout = {timeout}: at most 31"));
        }
        Ok(())
    }

    /// A packet has arrived whose answer goes to `reverse`, with this BTH.M: the other end is ready to migrate, or has.
    pub(super) fn follow_migration(&mut self, index: u32, is_migrated: bool, reverse: AddressVector) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let alternate = qp.attributes.alternate.map(|path| path.address);
        let is_by_alternate = alternate.is_some_and(|path| path.is_reverse(reverse));
        if qp.migration.receive(is_migrated, is_by_alternate).is_some() {
            self.use_alternate(index);
        }
    }

    /// A queue pair goes on over its second path, which is its only one from now on.
    pub(super) fn use_alternate(&mut self, index: u32) {
        let Some(qp) = &self.qps[index as usize] else { return };
        let Some(AlternatePath { address, p_key_index, timeout, .. }) = qp.attributes.alternate else {
            return;
        };
        let p_key = self.p_key(p_key_index).unwrap_or_default();
        let Some(qp) = &mut self.qps[index as usize] else { return };
        qp.attributes.address = Some(address);
        qp.attributes.p_key_index = Some(p_key_index);
        qp.attributes.timeout = Some(timeout);
        qp.attributes.alternate = None;
        qp.set_p_key(p_key);
        self.events.push_back(AsyncEvent::PathMigrated(qp.number));
    }

    /// The path of a connection has failed: no answer has come.
    pub(super) fn fail_path(&mut self, index: u32) {
        let Some(qp) = &mut self.qps[index as usize] else { return };
        let was_loaded = qp.migration.state() != MigrationState::Migrated;
        match qp.migration.fail() {
            MigrationEvent::Migrated => self.use_alternate(index),
            MigrationEvent::Failed if was_loaded => {
                self.events.push_back(AsyncEvent::PathMigrationFailed(qp.number));
            }
            MigrationEvent::Failed => {}
        }
    }
}
