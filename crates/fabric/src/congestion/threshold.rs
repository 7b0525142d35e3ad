/// Parameters of an output's virtual lane, named as in annex A10 of the InfiniBand Architecture Specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThresholdRule {
    /// Congested when more blocks wait than these; `None`: never (threshold 0).
    pub enter: Option<u32>,
    /// No longer congested when no more wait than these.
    pub leave: u32,
    /// Packets sent unmarked between two marked ones.
    pub unmarked: u16,
    /// Smallest packet that is marked, in blocks.
    pub packet_size: u32,
    /// True if packets are marked even if the port has no credits, and so is a victim of congestion elsewhere.
    pub victim_mask: bool,
}

/// Blocks of a buffer of `capacity` that threshold `w` (1 to 16) stands for: (16 - w)/16. The specification says that
/// the fill falls uniformly from 1 to 15; this is the even division.
pub fn fill(capacity: u32, w: u8) -> u32 {
    let sixteenths = u64::from(16 - w.min(16));
    (u64::from(capacity) * sixteenths / 16) as u32
}

/// A lane in or out of the congested state, and its marking.
#[derive(Clone, Copy, Debug, fabricsim_state::State)]
pub struct Threshold {
    #[state(fixed)]
    rule: ThresholdRule,
    congested: bool,
    /// Eligible packets to send unmarked before the next mark.
    unmarked: u16,
}

impl Threshold {
    /// A lane that is not congested.
    pub fn new(rule: ThresholdRule) -> Self {
        Self { rule, congested: false, unmarked: 0 }
    }

    /// Now `waiting` blocks wait, more than before.
    #[inline]
    pub fn grown(&mut self, waiting: u32) {
        if !self.congested && self.rule.enter.is_some_and(|enter| waiting > enter) {
            self.congested = true;
            self.unmarked = 0;
        }
    }

    /// Now `waiting` blocks wait, fewer than before.
    #[inline]
    pub fn shrunk(&mut self, waiting: u32) {
        if waiting <= self.rule.leave {
            self.congested = false;
        }
    }

    /// Number of blocks up to which the state cannot change.
    #[inline]
    pub fn quiet_up_to(&self) -> u32 {
        if self.congested { 0 } else { self.rule.enter.unwrap_or(u32::MAX) }
    }

    /// A packet leaves; true if it is marked. Only where the lane is the root of congestion (it had credits), or is
    /// masked.
    #[inline]
    pub fn marks(&mut self, blocks: u32, had_credits: bool) -> bool {
        let rule = &self.rule;
        if !self.congested || blocks < rule.packet_size || !(had_credits || rule.victim_mask) {
            return false;
        }
        if self.unmarked > 0 {
            self.unmarked -= 1;
            return false;
        }
        self.unmarked = rule.unmarked;
        true
    }

    /// True if it is congested.
    pub fn is_congested(&self) -> bool {
        self.congested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: ThresholdRule =
        ThresholdRule { enter: Some(875), leave: 812, unmarked: 2, packet_size: 2, victim_mask: false };

    #[test]
    fn thresholds_divide_a_buffer_evenly() {
        assert_eq!([1, 2, 3, 8, 15, 16].map(|w| fill(1000, w)), [937, 875, 812, 500, 62, 0]);
        assert_eq!(fill(u32::MAX, 8), u32::MAX / 2);
    }

    #[test]
    fn the_state_has_hysteresis() {
        let mut lane = Threshold::new(RULE);
        let mut congested = Vec::new();
        for (waiting, grows) in
            [(875, true), (876, true), (850, false), (813, false), (812, false), (875, true)]
        {
            if grows {
                lane.grown(waiting);
            } else {
                lane.shrunk(waiting);
            }
            congested.push(lane.is_congested());
        }
        assert_eq!(congested, [false, true, true, true, false, false]);
    }

    #[test]
    fn every_third_eligible_packet_is_marked() {
        let mut lane = Threshold::new(RULE);
        lane.grown(876);
        // From 2 blocks on packets are marked.
        let packets = [34, 34, 1, 2, 34, 34, 34, 34];
        let marks = packets.map(|blocks| lane.marks(blocks, true));
        assert_eq!(marks, [true, false, false, false, true, false, false, true]);
        lane.shrunk(0);
        assert!(!lane.marks(34, true));
        lane.grown(876);
        assert!(lane.marks(34, true), "the first packet of the next congestion is marked");
    }

    #[test]
    fn a_victim_marks_only_where_it_is_masked() {
        for (victim_mask, had_credits, marked) in
            [(false, false, false), (false, true, true), (true, false, true), (true, true, true)]
        {
            let mut lane = Threshold::new(ThresholdRule { victim_mask, ..RULE });
            lane.grown(876);
            assert_eq!(lane.marks(34, had_credits), marked);
        }
    }

    #[test]
    fn threshold_zero_marks_nothing() {
        let mut lane = Threshold::new(ThresholdRule { enter: None, ..RULE });
        lane.grown(u32::MAX);
        assert!(!lane.marks(34, true));
    }
}
