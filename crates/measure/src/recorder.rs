use fabricsim_model::{Exchange, Grant, LossCause, Observer, Packet};
use fabricsim_units::{HostId, Time, Vl};

use crate::collectors::{
    Collector, Collectors, Delivery, Timeline, each, plain_events, report_to_each, rows_of_hosts,
};
use crate::grid::{Axis, capacity};
use crate::{RecorderConfig, Window};

/// Counts the reports of a partition of a run, in bounded space.
///
/// Accepted throughput is that of packets *delivered* within the window. Latency and hops are those of packets
/// *created* within the window, even if they are delivered in the drain.
#[derive(Clone, Debug)]
pub struct Recorder {
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
