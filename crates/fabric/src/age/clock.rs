use fabricsim_units::Time;

/// Procedure 3: timestamp, epoch and inhibit flag, computed on demand.
///
/// The countdown is not kept as a number but as the time at which it expires. It stands still while inhibited; the
/// time is then that of the tick that ends this, or never while packets of the previous epoch are there.
#[derive(Clone, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(super) struct Clock {
    pub(super) timestamp: u8,
    pub(super) epoch: bool,
    pub(super) inhibited: bool,
    /// Time up to which ticks have been processed.
    now: Time,
    /// The next tick that changes anything but the countdown.
    next: Time,
    /// AGE_CLOCK_PERIOD as a duration.
    period: Time,
    /// Duration of a router cycle.
    cycle: Time,
}

impl Clock {
    /// A clock that began `before` router cycles before time 0.
    pub(super) fn new(period: u32, cycle: Time, before: u64) -> Self {
        assert!(cycle > Time::ZERO, "a router clock has a cycle of at least 1 ps");
        let cycles = super::cycles(period);
        let (ticks, rest) = (before / cycles, before % cycles);
        let next = Time(cycle.0.saturating_mul(cycles - rest));
        let period = Time(cycle.0.saturating_mul(cycles));
        let (timestamp, epoch) = (ticks as u8, ticks >> 8 & 1 == 1);
        Self { timestamp, epoch, inhibited: false, now: Time::ZERO, next, period, cycle }
    }

    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time, counts: [u32; 2]) {
        debug_assert!(now >= self.now, "the clock goes back");
        self.now = now;
        if now >= self.next {
            self.tick(counts);
        }
    }

    /// The last packet of an epoch has left.
    pub(super) fn drained(&mut self, counts: [u32; 2]) {
        if self.inhibited && counts[usize::from(!self.epoch)] == 0 {
            self.next = self.now + self.cycle - Time(self.now.0 % self.cycle.0);
        }
    }

    /// Processes the ticks from `self.next` to `self.now`, of which there is at least one.
    #[cold]
    fn tick(&mut self, counts: [u32; 2]) {
        if self.inhibited {
            // Lines 1 to 5. This tick does nothing else; the countdown was reloaded when inhibition began.
            self.inhibited = false;
            self.next = self.next.saturating_add(self.period);
            if self.now < self.next {
                return;
            }
        }
        let later = (self.now - self.next).0;
        let expired = if later < self.period.0 { 1 } else { 1 + later / self.period.0 };
        let until_inhibited = self.expirations_until_inhibited(counts);
        let steps = expired.min(until_inhibited.saturating_sub(1));
        let ticks = u64::from(self.timestamp) + steps;
        self.timestamp = ticks as u8;
        self.epoch ^= ticks >> 8 & 1 == 1;
        if expired >= until_inhibited {
            self.inhibited = true;
            self.next = Time::MAX;
        } else {
            self.next = self.next.saturating_add(Time(self.period.0.saturating_mul(expired)));
        }
    }

    /// Number of expirations of the countdown until arbitration by age is inhibited, if no packet comes or goes:
    /// the roll-over out of 255 into an epoch that has packets (lines 10 to 13).
    fn expirations_until_inhibited(&self, counts: [u32; 2]) -> u64 {
        let rollover = 256 - u64::from(self.timestamp);
        let [current, other] = [counts[usize::from(self.epoch)], counts[usize::from(!self.epoch)]];
        match (current, other) {
            (_, 1..) => rollover,
            (1.., 0) => rollover + 256,
            (0, 0) => u64::MAX,
        }
    }
}
