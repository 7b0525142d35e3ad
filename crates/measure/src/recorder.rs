use fabricsim_model::{Exchange, Grant, Iteration, LossCause, Observer, Packet};
use fabricsim_units::{HostId, Time, Vl};

use crate::collectors::{Collector, Collectors, each, plain_events, report_to_each, rows_of_hosts};
use crate::grid::{Axis, capacity};
use crate::timeline::{Delivery, Timeline};
use crate::{DeliveredBatch, RecorderConfig, Window};

/// Counts the reports of a partition of a run, in bounded space.
///
/// Accepted throughput is that of packets *delivered* within the window. Latency and hops are those of packets
/// *created* within the window, even if they are delivered in the drain.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Recorder {
    #[state(fixed)]
    pub(crate) config: RecorderConfig,
    pub(crate) timeline: Timeline,
    pub(crate) collectors: Collectors,
}

impl Recorder {
    /// An empty recorder.
    pub fn new(config: &RecorderConfig) -> Self {
        let capacity = capacity(config.expected_bins(), rows_of_hosts(config.hosts));
        let timeline = Timeline { window: config.window, axis: Axis::new(config.bin, capacity) };
        Self { config: *config, collectors: Collectors::new(config, &timeline), timeline }
    }

    /// Opens a window that was [`Window::CLOSED`] at `from`. The same in all partitions. No interval that was reported ends
    /// later, except transmissions in progress: each must be reported by [`Recorder::reach_into`].
    pub fn open_window(&mut self, from: Time) {
        self.timeline.window = Window { from, to: Time::MAX };
        each!(self, window_changed());
    }

    /// Sets the window's end to `to`. The same in all partitions. No interval that was reported ends later, but for
    /// transmissions in progress: [`Recorder::cut_off`] must be called for each before.
    pub fn close_window(&mut self, to: Time) {
        self.timeline.window.to = to;
        each!(self, window_changed());
    }

    /// The window of measurement.
    pub const fn window(&self) -> Window {
        self.timeline.window
    }

    /// Adds the counts of another partition's recorder. Both have the same configuration.
    pub fn merge(&mut self, other: &Self) {
        self.collectors.merge(&other.collectors);
        self.timeline.axis.merge(&other.timeline.axis);
    }

    /// The packets delivered since the last call, the input of [`Steady`](crate::Steady) when summed over all
    /// partitions.
    pub fn take_batch(&mut self) -> DeliveredBatch {
        let latencies = self.collectors.batch_latencies.as_mut().map(|of| of.take());
        DeliveredBatch { sums: self.collectors.run.take_batch(), latencies: latencies.unwrap_or_default() }
    }

    /// Number of iterations of jobs that single ranks have completed so far, and the end of the last.
    pub fn job_progress(&self) -> (u64, Time) {
        self.collectors.jobs.as_ref().map_or((0, Time::ZERO), |jobs| jobs.progress())
    }

    /// The window has just been opened: counts the part of a transmission in progress that lies within it.
    pub fn reach_into(&mut self, port: u32, lane: Vl, end: Time) {
        self.collectors.links.reach_into(self.timeline.window, port, lane, end);
    }

    /// The window will be closed at `to`: drops the part of a transmission in progress that lies beyond.
    pub fn cut_off(&mut self, to: Time, port: u32, lane: Vl, end: Time) {
        self.collectors.links.cut_off(self.timeline.window, to, (port, lane), end);
    }

    /// The run ends at `now`, before a transmission on `port` that ends at `end`: drops the rest of it in series.
    pub fn cut_off_series(&mut self, port: u32, now: Time, end: Time) {
        self.collectors.links.cut_off_series(port, now, end);
    }

    /// The run has ended at `now`; [`Recorder::cut_off_series`] was called for each transmission in progress.
    pub fn end_series(&mut self, now: Time) {
        self.collectors.links.end_series(now);
    }

    /// [`Observer::transmitted`] but for the usual case.
    #[inline(never)]
    fn transmitted_anywhere(&mut self, port: u32, lane: Vl, bytes: u32, start: Time, end: Time) {
        if self.collectors.transmitted(&self.timeline, (port, lane), bytes, start, end) {
            self.collectors.links.report_each();
        }
    }
}

/// Events that are reported to each collector.
macro_rules! reported {
    ($($(#[$hint:meta])* $event:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$hint])*
            fn $event(&mut self, $($argument: $type),*) {
                each!(self, $event(&mut self.timeline, $($argument),*));
            }
        )*
    };
}

impl Observer for Recorder {
    plain_events!(reported);

    #[inline]
    fn delivered(&mut self, now: Time, packet: &Packet) {
        let delivery = Delivery::new(&mut self.timeline, now, packet);
        each!(self, delivered(&mut self.timeline, now, packet, &delivery));
    }

    #[inline(always)]
    fn transmitted(&mut self, port: u32, lane: Vl, bytes: u32, start: Time, end: Time) {
        if !self.collectors.links.transmitted_inside((port, lane), bytes, start, end) {
            self.transmitted_anywhere(port, lane, bytes, start, end);
        }
    }
}
