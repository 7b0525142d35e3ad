//! Times at which a plan acts, and at which nothing of the run's state is needed: several processes do not exchange it then.

use std::ops::Deref;

use fabricsim_engine::{Advance, Prepared, Totals};
use fabricsim_units::Time;

use super::{Run, Stage};
use crate::control::Control;
use crate::recording::Recording;

impl<P: Deref<Target = Prepared>, B: Recording> Run<P, B> {
    /// True if nothing looks at the state of the run at a checkpoint, unless the run is idle then.
    pub(super) fn is_quiet_at(&self, checkpoint: Time) -> bool {
        let (from, to) = self.window.unwrap_or((Time::MAX, Time::MAX));
        let ends_stage = match self.stage {
            Stage::WarmUp => checkpoint >= from,
            Stage::Measurement => checkpoint >= to,
            Stage::Start | Stage::Steady | Stage::Drain | Stage::Over => true,
        };
        let is_looked_at =
            self.packets.is_some() || checkpoint >= self.trees.due() || self.watch.looks_next(&self.prepared);
        !ends_stage && !is_looked_at
    }

    pub(super) fn advance_session(&mut self, until: Time, quietly: bool, control: &Control) -> Advance {
        let mut look = |now, totals: &Totals| {
            control.tell(now, totals.packet_hops);
            !control.is_cancelled()
        };
        let how = if quietly {
            self.session.advance_quietly_to(until, &mut look)
        } else {
            self.session.advance_to(until, &mut look)
        };
        control.tell(self.session.now(), self.session.totals().packet_hops);
        // Processes stop together: as the engine says.
        let is_alone = self.session.engine().exchanged().processes == 0;
        if is_alone && control.is_cancelled() { Advance::Stopped } else { how }
    }
}
