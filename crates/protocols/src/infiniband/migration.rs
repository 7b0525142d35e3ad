//! Automatic path migration (IBA volume 1, section 17.2.8): a queue pair with a second path, and the bit in BTH by which both ends agree.

use super::mutation::{Mutation, mutations};

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
    "path_mig_state cannot go from {from:?} to {to:?}: must be Migrated to Rearm with an alternate path, or Armed to Migrated"
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
    #[cfg(test)]
    mutation: Option<Mutation>,
}

mutations!(PathMigration);

impl PathMigration {
    /// State.
    pub const fn state(&self) -> MigrationState {
        self.state
    }

    /// BTH.M of packets that are sent: true in the state migrated.
    pub fn bit(&self) -> bool {
        match self.state {
            MigrationState::Migrated => !self.mutated(Mutation::MigrateSilently),
            MigrationState::Rearm | MigrationState::Armed => false,
        }
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
                let at_once = self.mutated(Mutation::ArmAtOnce);
                self.state = if at_once { MigrationState::Armed } else { MigrationState::Rearm };
                Ok(None)
            }
            (MigrationState::Armed, MigrationState::Migrated) => Ok(Some(self.migrate())),
            _ => Err(MigrationError { from, to }),
        }
    }

    /// A packet with this BTH.M has arrived, by the second path or not. A packet from before the other end was armed may be late; it came by the
    /// first path. The other end may be armed, and migrate, before its packets have armed this one.
    pub fn receive(&mut self, bit: bool, by_alternate: bool) -> Option<MigrationEvent> {
        let has_migrated = bit && (by_alternate || self.mutated(Mutation::FollowOldPackets));
        match self.state {
            MigrationState::Rearm if !bit => {
                self.state = MigrationState::Armed;
                None
            }
            MigrationState::Rearm if self.mutated(Mutation::StayWhileRearmed) => None,
            MigrationState::Rearm | MigrationState::Armed
                if has_migrated && !self.mutated(Mutation::StayOnPath) =>
            {
                Some(self.migrate())
            }
            _ => None,
        }
    }

    /// The path has failed: retries are exceeded. Armed, the queue pair migrates instead of going to the error state.
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

    fn loaded() -> PathMigration {
        let mut end = PathMigration::default();
        end.load();
        assert_eq!(end.request(Rearm), Ok(None));
        end
    }

    /// Ends tell each other by BTH.M; packets that were sent before do not disturb.
    #[test]
    fn both_ends_arm_and_migrate_together() {
        let (mut here, mut there) = (PathMigration::default(), PathMigration::default());
        assert!(here.bit() && here.request(Rearm).is_err(), "there is no second path");
        here.load();
        there.load();
        assert_eq!(here.request(Rearm), Ok(None));
        assert_eq!(here.receive(there.bit(), false), None);
        assert_eq!((here.state(), here.bit()), (Rearm, false));
        assert_eq!(there.request(Rearm), Ok(None));
        there.receive(here.bit(), false);
        here.receive(there.bit(), false);
        assert_eq!((here.state(), there.state()), (Armed, Armed));
        assert_eq!(there.receive(true, false), None, "a packet from before");
        assert_eq!(here.fail(), MigrationEvent::Migrated);
        assert_eq!(there.receive(here.bit(), true), Some(MigrationEvent::Migrated));
        assert_eq!(here.receive(false, false), None, "a packet from before");
        assert_eq!((here.state(), there.state()), (Migrated, Migrated));
        assert!(here.request(Rearm).is_err(), "the second path is used up");
    }

    /// An end that is armed first may migrate before its packets have armed the other one.
    #[test]
    fn an_end_that_waits_follows_one_that_has_migrated() {
        for (bit, by_alternate, event, state) in [
            (true, true, Some(MigrationEvent::Migrated), Migrated),
            (true, false, None, Rearm),
            (false, true, None, Armed),
            (false, false, None, Armed),
        ] {
            let mut end = loaded();
            assert_eq!((end.receive(bit, by_alternate), end.state()), (event, state), "{bit} {by_alternate}");
        }
    }

    #[test]
    fn without_a_second_path_there_is_no_way_out() {
        assert_eq!(PathMigration::default().fail(), MigrationEvent::Failed);
        let mut here = loaded();
        assert_eq!((here.fail(), here.state()), (MigrationEvent::Failed, Rearm));
        for to in [Migrated, Rearm, Armed] {
            assert_eq!(here.request(to), Err(MigrationError { from: Rearm, to }));
        }
        here.receive(false, false);
        assert_eq!(here.request(Migrated), Ok(Some(MigrationEvent::Migrated)));
    }
}
