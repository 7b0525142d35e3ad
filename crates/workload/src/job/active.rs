//! Messages that a rank waits for.

use std::collections::BTreeMap;

use fabricsim_units::Time;

use crate::programs::Step;

/// A step in progress.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct Active {
    /// Messages that have not left.
    pub(super) sends: u32,
    /// Messages that have not arrived: sender and bytes.
    pub(super) receives: Vec<(u32, u64)>,
    /// Time of the latest departure or arrival among its messages; at first the step's begin.
    pub(super) at: Time,
    /// Time that the rank computes afterwards.
    pub(super) compute: Time,
}

impl Active {
    pub(super) fn is_complete(&self) -> bool {
        self.sends == 0 && self.receives.is_empty()
    }

    /// Bytes from a rank arrive at `at`. True if the step is complete by that.
    pub(super) fn arrived(&mut self, at: Time, from: u32, bytes: u64) -> bool {
        let Some(place) = self.receives.iter().position(|receive| receive.0 == from) else { return false };
        let left = &mut self.receives[place].1;
        *left -= bytes.min(*left);
        if *left > 0 {
            return false;
        }
        self.receives.swap_remove(place);
        self.at = self.at.max(at);
        self.is_complete()
    }

    /// A message leaves at `at`. True if the step is complete by that.
    pub(super) fn left(&mut self, at: Time) -> bool {
        self.sends -= 1;
        self.at = self.at.max(at);
        self.is_complete()
    }
}

/// Bytes of messages for steps that have not begun, by step and sender, and the time at which the last have arrived, or will: that of
/// messages on the same host is known before.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(super) struct Early(BTreeMap<(u32, u32), (u64, Time)>);

impl Early {
    pub(super) fn add(&mut self, at: Time, step: u32, from: u32, bytes: u64) {
        let found = self.0.entry((step, from)).or_default();
        *found = (found.0 + bytes, found.1.max(at));
    }

    /// Begins step `number` at `at`: its messages are to be sent, and those that have arrived are not waited for.
    pub(super) fn begin(&mut self, number: u32, at: Time, step: &Step) -> Active {
        let mut receives: Vec<(u32, u64)> = Vec::with_capacity(step.receives.len());
        for &(from, bytes) in &step.receives {
            match receives.iter_mut().find(|receive| receive.0 == from) {
                Some(receive) => receive.1 += bytes,
                None => receives.push((from, bytes)),
            }
        }
        let mut latest = at;
        receives.retain_mut(|(from, left)| {
            let (early, arrived) = self.0.remove(&(number, *from)).unwrap_or_default();
            *left -= early.min(*left);
            latest = latest.max(arrived);
            *left > 0
        });
        Active { sends: step.sends.len() as u32, receives, at: latest, compute: step.compute }
    }
}
