use fabricsim_units::Time;

use super::{Credits, LaneCounters};

/// Symbol times in which a flow-control packet is sent for every lane at least once.
const REFRESH: u64 = 65_536;

/// Symbol times without a flow-control packet for a lane after which the link is trained anew: nominal, least and most.
pub(super) const WATCHDOG: u64 = 400_000;
const WATCHDOG_RANGE: std::ops::RangeInclusive<u64> = 196_000..=412_000;

/// Times of the flow control of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTimes {
    /// Least time between two flow-control packets for a lane.
    pub period: Time,
    /// Longest time between two flow-control packets for a lane.
    pub refresh: Time,
    /// Time without a flow-control packet for a lane after which the link is trained anew.
    pub watchdog: Time,
}

impl FlowTimes {
    /// The times of the specification, with a period that is its implementer's choice; none if that is longer than the specification allows.
    pub fn new(symbol: Time, period: Time) -> Option<Self> {
        let refresh = symbol * REFRESH;
        (period <= refresh).then_some(Self { period, refresh, watchdog: symbol * WATCHDOG })
    }

    /// The same with a watchdog of another number of symbol times; none if that is out of the specification's range.
    pub fn with_watchdog(self, symbol: Time, symbols: u64) -> Option<Self> {
        WATCHDOG_RANGE.contains(&symbols).then_some(Self { watchdog: symbol * symbols, ..self })
    }
}

/// A virtual lane of an end of a link.
#[derive(Clone, Copy, Debug)]
struct Lane {
    counters: LaneCounters,
    /// The last flow-control packet that was sent, and when.
    announced: Option<(Credits, Time)>,
    /// Time of the last one that arrived, or of the link's initialisation.
    heard_at: Time,
}

/// Flow control of an end of a link, without queue or clock of its own.
#[derive(Clone, Debug)]
pub struct LinkEnd {
    times: FlowTimes,
    lanes: Vec<Lane>,
    /// Lane for which a flow-control packet was sent last.
    last: usize,
}

impl LinkEnd {
    /// An end of a link that is initialised at `now`, with the free blocks of the input buffer of each lane.
    pub fn new(times: FlowTimes, free_blocks: impl IntoIterator<Item = u32>, now: Time) -> Self {
        let lane = |free| Lane { counters: LaneCounters::new(free), announced: None, heard_at: now };
        Self { times, lanes: free_blocks.into_iter().map(lane).collect(), last: 0 }
    }

    /// Counters of a lane.
    pub fn lane(&self, lane: usize) -> &LaneCounters {
        &self.lanes[lane].counters
    }

    /// Counters of a lane.
    pub fn lane_mut(&mut self, lane: usize) -> &mut LaneCounters {
        &mut self.lanes[lane].counters
    }

    /// Earliest time at which a flow-control packet is due, as things stand.
    pub fn next_due(&self) -> Time {
        self.lanes.iter().map(|lane| self.due(lane)).min().unwrap_or(Time::MAX)
    }

    fn due(&self, lane: &Lane) -> Time {
        match lane.announced {
            None => Time::ZERO,
            Some((last, at)) if last.credit_limit != lane.counters.announce().credit_limit => {
                at + self.times.period
            }
            Some((_, at)) => at + self.times.refresh,
        }
    }

    /// The flow-control packet that is sent at `now`, with its lane: of the lanes for which one is due the next in turn.
    pub fn send(&mut self, now: Time) -> Option<(usize, Credits)> {
        let count = self.lanes.len();
        let turn = (1..=count).map(|i| (self.last + i) % count);
        let number = turn.into_iter().find(|&lane| self.due(&self.lanes[lane]) <= now)?;
        self.last = number;
        let lane = &mut self.lanes[number];
        let credits = lane.counters.announce();
        lane.announced = Some((credits, now));
        Some((number, credits))
    }

    /// A flow-control packet has arrived.
    pub fn hear(&mut self, lane: usize, credits: Credits, now: Time) {
        let lane = &mut self.lanes[lane];
        lane.counters.hear(credits);
        lane.heard_at = now;
    }

    /// Time at which the link is trained anew, unless a flow-control packet arrives for the lane that has waited longest.
    pub fn expires(&self) -> Time {
        let heard = self.lanes.iter().map(|lane| lane.heard_at).min();
        heard.map_or(Time::MAX, |heard| heard.saturating_add(self.times.watchdog))
    }

    /// The link has been trained anew, at both ends: what was on it is lost, and the counters begin at zero. Packets in the input buffers stay
    /// there.
    pub fn retrain(&mut self, now: Time) {
        for lane in &mut self.lanes {
            let counters = LaneCounters::new(lane.counters.free_blocks());
            *lane = Lane { counters, announced: None, heard_at: now };
        }
    }
}
