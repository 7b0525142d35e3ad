//! Procedure 3 as it is printed, one call for each tick of the router clock.

/// The variables of table 2.
#[derive(Clone, Debug)]
pub(super) struct Procedure3 {
    pub(super) timestamp: u32,
    pub(super) epoch: u32,
    pub(super) inhibit: bool,
    pub(super) packet_count: [u32; 2],
    age_clock_period_reg: u32,
    age_clk_period: u32,
    /// Not in the paper: how often the timestamp was incremented, without bounds.
    pub(super) increments: u64,
    /// Not in the paper: the clock runs freely. The epoch changes whatever it holds, and nothing is inhibited.
    pub(super) free_running: bool,
}

impl Procedure3 {
    pub(super) fn new(age_clk_period: u32) -> Self {
        Self {
            timestamp: 0,
            epoch: 0,
            inhibit: false,
            packet_count: [0; 2],
            age_clock_period_reg: age_clk_period,
            age_clk_period,
            increments: 0,
            free_running: false,
        }
    }

    fn other_epoch_has_packets(&self) -> bool {
        !self.free_running
            && ((self.epoch == 1 && self.packet_count[0] > 0)
                || (self.epoch == 0 && self.packet_count[1] > 0))
    }

    fn increment_timestamp(&mut self) {
        self.timestamp = (self.timestamp + 1) % 256;
        self.increments += 1;
    }

    pub(super) fn tick(&mut self) {
        if self.inhibit {
            self.inhibit = false;
            if self.other_epoch_has_packets() {
                self.inhibit = true;
            }
        } else {
            self.age_clock_period_reg = self.age_clock_period_reg.wrapping_sub(1);
            if self.age_clock_period_reg == 0 {
                self.age_clock_period_reg = self.age_clk_period;
                if self.timestamp == 255 {
                    self.inhibit = false;
                    if self.other_epoch_has_packets() {
                        self.inhibit = true;
                    } else {
                        self.increment_timestamp();
                        self.epoch = 1 - self.epoch;
                    }
                } else {
                    self.increment_timestamp();
                }
            }
        }
    }
}
