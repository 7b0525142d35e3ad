//! The sending end of a link: a lane is open, and its whole buffer counts as free, or paused, and nothing does.

use fabricsim_units::Vl;

use crate::Ports;

impl Ports {
    pub(super) fn pause_lane(&mut self, port: u32, lane: Vl) {
        let credits = &mut self.lanes[port as usize * self.lane_count + lane.index()];
        let free = credits.free;
        self.ramps.take(credits, free);
    }

    pub(super) fn resume_lane(&mut self, port: u32, lane: Vl) {
        let credits = &mut self.lanes[port as usize * self.lane_count + lane.index()];
        let used = self.capacities[port as usize] - credits.free;
        self.ramps.put_back(credits, used);
    }

    /// True if a lane of a sending port is paused.
    pub fn is_paused(&self, port: u32, lane: Vl) -> bool {
        self.pause.is_some() && self.lanes[port as usize * self.lane_count + lane.index()].free == 0
    }

    /// True if the ends of links tell each other what they may send in frames of their own.
    #[inline]
    pub fn have_control_frames(&self) -> bool {
        self.flow.is_some() || self.pause.is_some()
    }
}
