//! Automatic path migration (IBA volume 1, section 17.2.8): a queue pair with a second path, and the bit in BTH by which both ends agree.

/// State of a queue pair's second path: the values of `ibv_mig_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MigrationState {
    /// It uses the only path that it has.
    #[default]
    Migrated,
    /// A second path is loaded; the other end is to do the same.
    Rearm,
    /// Both ends are ready to use their second paths.
    Armed,
}

/// What a step of the migration means for the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MigrationEvent {
    /// The second path is now the only one: `IBV_EVENT_PATH_MIG`.
    Migrated,
    /// The second path cannot be used: `IBV_EVENT_PATH_MIG_ERR`.
    Failed,
}

/// A change that `ibv_modify_qp` does not allow (`EINVAL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "path migration cannot go from {from:?} to {to:?}: Migrated to Rearm with an alternate path, or Armed to Migrated"
)]
pub struct MigrationError {
    /// State now.
    pub from: MigrationState,
    /// Requested state.
    pub to: MigrationState,
}

/// Path migration of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathMigration {
    state: MigrationState,
    has_alternate: bool,
}

impl PathMigration {
    /// State.
    pub const fn state(self) -> MigrationState {
        self.state
    }

    /// BTH.M of packets that are sent: true in the state migrated.
    pub fn bit(self) -> bool {
        self.state == MigrationState::Migrated
    }

    /// A second path is loaded (`IBV_QP_ALT_PATH`).
    pub fn load(&mut self) {
        self.has_alternate = true;
    }

    /// The user asks for a state (`IBV_QP_PATH_MIG_STATE`).
    pub fn request(&mut self, to: MigrationState) -> Result<Option<MigrationEvent>, MigrationError> {
        let from = self.state;
        match (from, to) {
            (MigrationState::Migrated, MigrationState::Rearm) if self.has_alternate => {
                self.state = MigrationState::Rearm;
                Ok(None)
            }
            (MigrationState::Armed, MigrationState::Migrated) => Ok(Some(self.migrate())),
            _ => Err(MigrationError { from, to }),
        }
    }

    /// A packet with this BTH.M has arrived, by the second path or not.
    pub fn receive(&mut self, bit: bool) -> Option<MigrationEvent> {
        match (self.state, bit) {
            // The other end has loaded its second path as well.
            (MigrationState::Rearm, false) => {
                self.state = MigrationState::Armed;
                None
            }
            // The other end has migrated.
            (MigrationState::Armed, true) => Some(self.migrate()),
            _ => None,
        }
    }

    /// The path has failed: retries are exceeded, or the port is down. Armed, the queue pair migrates instead of going to the error state.
    pub fn fail(&mut self) -> MigrationEvent {
        if self.state == MigrationState::Armed { self.migrate() } else { MigrationEvent::Failed }
    }

    fn migrate(&mut self) -> MigrationEvent {
        self.state = MigrationState::Migrated;
        self.has_alternate = false;
        MigrationEvent::Migrated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MigrationState::{Armed, Migrated, Rearm};

    /// Ends tell each other by BTH.M; packets that were sent before do not disturb.
    #[test]
    fn both_ends_arm_and_migrate_together() {
        let (mut here, mut there) = (PathMigration::default(), PathMigration::default());
        assert!(here.bit() && here.request(Rearm).is_err(), "there is no second path");
        here.load();
        there.load();
        assert_eq!(here.request(Rearm), Ok(None));
        assert_eq!(here.receive(there.bit()), None);
        assert_eq!((here.state(), here.bit()), (Rearm, false));
        assert_eq!(there.request(Rearm), Ok(None));
        there.receive(here.bit());
        here.receive(there.bit());
        assert_eq!((here.state(), there.state()), (Armed, Armed));
        assert_eq!(here.fail(), MigrationEvent::Migrated);
        assert_eq!(there.receive(here.bit()), Some(MigrationEvent::Migrated));
        assert_eq!(here.receive(false), None, "a packet from before");
        assert_eq!((here.state(), there.state()), (Migrated, Migrated));
        assert!(here.request(Rearm).is_err(), "the second path is used up");
    }

    #[test]
    fn without_a_second_path_there_is_no_way_out() {
        let mut here = PathMigration::default();
        assert_eq!(here.fail(), MigrationEvent::Failed);
        here.load();
        here.request(Rearm).unwrap();
        assert_eq!((here.fail(), here.state()), (MigrationEvent::Failed, Rearm));
        for to in [Migrated, Rearm, Armed] {
            assert_eq!(here.request(to), Err(MigrationError { from: Rearm, to }));
        }
        here.receive(false);
        assert_eq!(here.request(Migrated), Ok(Some(MigrationEvent::Migrated)));
    }
}
