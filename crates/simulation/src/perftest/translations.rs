//! Closed form of address translations: each message uses the same memory, page after page.

use fabricsim_units::Time;
use fabricsim_verbs::{Costs, FIRST_ADDRESS, TranslationCosts};

/// Translations of one message's memory at one adapter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Translations {
    costs: Option<TranslationCosts>,
    /// Bytes before the message in its first page.
    before: u64,
    /// Pages of the message.
    pages: u64,
    /// Pages of it that were looked for.
    seen: u64,
    /// Time at which the last translation that was lacking is there.
    free: Time,
}

impl Translations {
    /// Of a message of `bytes` that begins `offset` bytes behind the first address.
    pub(super) fn new(costs: &Costs, offset: u32, bytes: u32) -> Self {
        let page = costs.translation.map_or(1, |costs| costs.page);
        let before = (FIRST_ADDRESS + u64::from(offset)) % page;
        let pages = (before + u64::from(bytes)).div_ceil(page);
        Self { costs: costs.translation, before, pages, seen: 0, free: Time::ZERO }
    }

    /// Time from which the adapter knows the place of a part of the message that it wants from `since` on.
    pub(super) fn known(&mut self, since: Time, offset: u32, length: u32) -> Time {
        let Some(costs) = self.costs.filter(|_| length > 0) else { return since };
        let last = (self.before + u64::from(offset) + u64::from(length) - 1) / costs.page;
        let mut at = since;
        while self.seen <= last {
            if self.is_lacking(self.seen) {
                self.free = self.free.max(since) + costs.miss;
                at = self.free;
            }
            self.seen += 1;
        }
        at
    }

    /// Time of all translations that are lacking.
    pub(super) fn all(&self) -> Time {
        let lacking = (0..self.pages).filter(|&page| self.is_lacking(page)).count() as u64;
        self.costs.map_or(Time::ZERO, |costs| Time(costs.miss.0 * lacking))
    }

    /// True if other pages of its set have taken the place of a page since the last message: all of a set that has more pages than
    /// places are used in turn.
    fn is_lacking(&self, page: u64) -> bool {
        let Some(costs) = self.costs else { return false };
        let (sets, ways) = costs.sets();
        let of_set = (self.pages - page % sets.min(self.pages)).div_ceil(sets);
        of_set > ways
    }
}
