use fabricsim_model::{Exchange, Grant, Observer, Packet};
use fabricsim_spec::{CongestionAlgorithm, Switch};
use fabricsim_units::{HostId, Time, Vl};

use crate::congestion::Congestion;
use crate::flows::{Delivery, Flows};
use crate::grid::{Axis, Cells, Grid, capacity};
use crate::hosts::Hosts;
use crate::jobs::Jobs;
use crate::latency::Latencies;
use crate::ports::Ports;
use crate::routers::Routers;
use crate::streams::Streams;
use crate::transport::Transport;
use crate::{Batch, RecorderConfig, Window};

/// Maximum number of batches of a measurement; then neighbours are merged.
const MOST_BATCHES: usize = 2048;

/// Counts the reports of a partition of a run, in bounded space.
///
/// Accepted throughput is that of packets *delivered* within the window. Latency and hops are those of packets
/// *created* within the window, even if they are delivered in the drain.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub(crate) config: RecorderConfig,
    pub(crate) window: Window,
    pub(crate) latencies: Latencies,
    pub(crate) flows: Flows,
    pub(crate) hosts: Hosts,
    pub(crate) ports: Ports,
    /// The bins of all series but those of ports.
    pub(crate) axis: Axis,
    /// Packets by time of delivery, over the whole run.
    pub(crate) course: Cells<Batch>,
    /// Packets created within the window, by their age in it.
    pub(crate) batches: Grid<Batch>,
    taken: Batch,
    /// Record of congestion control, if there is any.
    pub(crate) congestion: Option<Box<Congestion>>,
    /// Streams of messages, if messages follow from others.
    pub(crate) streams: Option<Box<Streams>>,
    /// Record of jobs, if there are any.
    pub(crate) jobs: Option<Box<Jobs>>,
    /// Performance counters of routers, if requested.
    pub(crate) routers: Option<Box<Routers>>,
    /// Record of transports, if there are any.
    pub(crate) transport: Option<Box<Transport>>,
}

impl Recorder {
    /// An empty recorder.
    pub fn new(config: &RecorderConfig) -> Self {
        let expected = config.expected_bins();
        let axis = Axis::new(config.bin, capacity(expected, Hosts::rows(config.hosts)));
        let series = config.link_series.then_some((config.bin, expected));
        Self {
            config: *config,
            window: config.window,
            latencies: Latencies::default(),
            flows: Flows::new(config.flows, config.hosts, &axis),
            ports: Ports::new(config.ports, config.lanes, series),
            hosts: Hosts::new(config.hosts, &axis),
            course: Cells::new(&axis, 1),
            batches: Grid::new(config.batch, MOST_BATCHES, 1),
            axis,
            taken: Batch::default(),
            congestion: None,
            streams: None,
            jobs: None,
            routers: None,
            transport: None,
        }
    }

    /// Keeps `count` streams of messages apart, and records jobs. No cost otherwise.
    pub fn with_streams(mut self, count: usize) -> Self {
        self.streams = Some(Box::new(Streams::new(count)));
        self.jobs = Some(Box::default());
        self
    }

    /// Number of iterations of jobs that single ranks have completed so far, and the end of the last.
    pub fn job_progress(&self) -> (u64, Time) {
        self.jobs.as_ref().map_or((0, Time::ZERO), |jobs| jobs.progress())
    }

    /// Records congestion control as well. No cost without an algorithm.
    pub fn with_congestion(mut self, algorithm: CongestionAlgorithm) -> Self {
        if algorithm != CongestionAlgorithm::None {
            self.congestion = Some(Box::new(Congestion::new(algorithm, &self.config, &self.axis)));
        }
        self
    }

    /// Records the performance counters of routers as well. No cost otherwise.
    pub fn with_router_counters(mut self, switch: &Switch) -> Self {
        self.routers = Some(Box::new(Routers::new(switch, self.config.ports, self.config.lanes)));
        self
    }

    /// Records transports, for `streams` streams of messages, and `exchanges` exchanges one by one.
    pub fn with_transport(mut self, streams: usize, exchanges: u32) -> Self {
        self.transport = Some(Box::new(Transport::new(&self.config, streams, exchanges)));
        self
    }

    /// Opens a window that was [`Window::CLOSED`] at `from`. The same in all partitions. No interval that was reported ends
    /// later, except transmissions in progress: each must be reported by [`Recorder::reach_into`].
    pub fn open_window(&mut self, from: Time) {
        self.window = Window { from, to: Time::MAX };
        self.ports.window_changed();
    }

    /// The window has just been opened: counts the part of a transmission in progress that lies within it.
    pub fn reach_into(&mut self, port: u32, lane: Vl, end: Time) {
        self.ports.reach_into(self.window, (port, lane.0), end);
    }

    /// The window will be closed at `to`: drops the part of a transmission in progress that lies beyond.
    pub fn cut_off(&mut self, to: Time, port: u32, lane: Vl, end: Time) {
        self.ports.cut_off(self.window, to, (port, lane.0), end);
    }

    /// Sets the window's end to `to`. The same in all partitions. No interval that was reported ends later, but for
    /// transmissions in progress: [`Recorder::cut_off`] must be called for each before.
    pub fn close_window(&mut self, to: Time) {
        self.window.to = to;
        self.ports.window_changed();
    }

    /// The run ends at `now`, before a transmission on `port` that ends at `end`: drops the rest of it in series.
    pub fn cut_off_series(&mut self, port: u32, now: Time, end: Time) {
        self.ports.cut_off_series(port, now, end);
    }

    /// The run has ended at `now`; [`Recorder::cut_off_series`] was called for each transmission in progress.
    pub fn end_series(&mut self, now: Time) {
        self.ports.end_series(now);
    }

    /// The window of measurement.
    pub const fn window(&self) -> Window {
        self.window
    }

    /// The packets delivered since the last call, the input of [`Steady`](crate::Steady) when summed over all
    /// partitions.
    pub fn take_batch(&mut self) -> Batch {
        let before = self.taken;
        self.taken = self.course.total();
        Batch {
            packets: self.taken.packets - before.packets,
            latency: self.taken.latency - before.latency,
            bytes: self.taken.bytes - before.bytes,
        }
    }

    /// Adds the counts of another partition's recorder. Both have the same configuration.
    pub fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.flows.merge(&other.flows);
        self.hosts.merge(&other.hosts);
        self.ports.merge(&other.ports);
        self.axis.merge(&other.axis);
        self.course.merge(&other.course);
        self.batches.merge(&other.batches);
        self.taken += other.taken;
        if let (Some(mine), Some(theirs)) = (&mut self.congestion, &other.congestion) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.streams, &other.streams) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.jobs, &other.jobs) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.routers, &other.routers) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.transport, &other.transport) {
            mine.merge(theirs);
        }
    }

    /// [`Observer::transmitted`] but for the usual case.
    #[inline(never)]
    fn transmitted_anywhere(&mut self, port: u32, lane: Vl, bytes: u32, start: Time, end: Time) {
        self.ports.transmitted_anywhere(self.window, (port, lane.0), bytes, start, end);
        if let Some(routers) = &mut self.routers {
            routers.transmitted(self.window, (port, lane.0), bytes, start);
            self.ports.window_changed();
        }
    }

    /// A packet with a mark is delivered.
    #[inline(never)]
    fn delivered_marked(&mut self, now: Time, packet: &Packet) {
        if let Some(congestion) = &mut self.congestion {
            congestion.delivered(self.window, now, packet);
        }
    }
}

impl Observer for Recorder {
    #[inline]
    fn injected(&mut self, now: Time, packet: &Packet) {
        let bin = self.axis.bin(now);
        self.hosts.injected(self.window.contains(now), bin, packet.source, packet.bytes);
    }

    #[inline]
    fn delivered(&mut self, now: Time, packet: &Packet) {
        let (total, network) = ((now - packet.created).0, (now - packet.injected).0);
        let one = Batch { packets: 1, latency: u128::from(total), bytes: u64::from(packet.bytes) };
        let accepted = self.window.contains(now);
        let made_within = self.window.contains(packet.created);
        let bin = self.axis.bin(now);
        self.course.add(0, bin, one);
        self.hosts.delivered(accepted, bin, packet.destination, packet.bytes);
        if made_within {
            self.batches.add(0, packet.created - self.window.from, one);
            self.latencies.record(total, network, packet.hops);
        }
        let latency = made_within.then_some((total, network));
        self.flows.delivered(bin, packet, &Delivery { accepted, latency });
        if packet.fecn {
            self.delivered_marked(now, packet);
        }
        if let Some(streams) = &mut self.streams {
            streams.delivered(packet, accepted, latency);
        }
    }

    fn answered(&mut self, now: Time, stream: u16, created: Time) {
        if let Some(streams) = &mut self.streams {
            streams.answered(self.window, now, stream, created);
        }
    }

    fn completed(&mut self, now: Time, packet: &Packet) {
        if let Some(transport) = &mut self.transport {
            transport.completed(self.window, now, packet);
        }
    }

    fn exchanged(&mut self, now: Time, exchange: &Exchange) {
        if let Some(transport) = &mut self.transport {
            transport.exchanged(now, exchange);
        }
    }

    fn reordering(&mut self, now: Time, host: HostId, packets: u32, connections: u32) {
        if let Some(transport) = &mut self.transport {
            transport.reordering(now, host, packets, connections);
        }
    }

    fn iterated(&mut self, job: u16, iteration: u32, start: Time, end: Time, bytes: u64) {
        if let Some(jobs) = &mut self.jobs {
            jobs.iterated(job, iteration, start, end, bytes);
        }
    }

    #[inline(always)]
    fn transmitted(&mut self, port: u32, lane: Vl, bytes: u32, start: Time, end: Time) {
        if !self.ports.transmitted_inside((port, lane.0), bytes, start, end) {
            self.transmitted_anywhere(port, lane, bytes, start, end);
        }
    }

    #[inline]
    fn stalled(&mut self, port: u32, lane: Vl, start: Time, end: Time) {
        self.ports.stalled(self.window, (port, lane.0), start, end);
    }

    fn retried(&mut self, now: Time, port: u32, lane: Vl, times: u32) {
        self.ports.retried(self.window, (port, lane.0), now, times);
    }

    #[inline]
    fn forwarded(&mut self, now: Time, grant: &Grant) {
        if let Some(routers) = &mut self.routers {
            routers.forwarded(self.window, now, grant);
        }
    }

    #[inline]
    fn blocked(&mut self, port: u32, lane: Vl, start: Time, end: Time) {
        if let Some(routers) = &mut self.routers {
            routers.blocked(self.window, (port, lane.0), start, end);
        }
    }

    fn marked(&mut self, now: Time, port: u32, lane: Vl, _packet: &Packet) {
        if let Some(congestion) = &mut self.congestion {
            congestion.marked(self.window, &mut self.axis, now, (port, lane.0));
        }
    }

    fn controlled(&mut self, now: Time, packet: &Packet) {
        if let Some(congestion) = &mut self.congestion {
            congestion.controlled(self.window, &mut self.axis, now, packet);
        }
    }

    fn notified(&mut self, now: Time, source: HostId, destination: HostId) {
        if let Some(congestion) = &mut self.congestion {
            congestion.notified(self.window, &mut self.axis, now, (source, Some(destination)));
        }
    }

    fn rate_limited(
        &mut self,
        source: HostId,
        destination: Option<HostId>,
        start: Time,
        end: Time,
        level: u32,
    ) {
        if let Some(congestion) = &mut self.congestion {
            congestion.rate_limited(self.window, &mut self.axis, (source, destination), (start, end), level);
        }
    }

    fn blocked_by_cc(&mut self, source: HostId, destination: HostId, start: Time, end: Time) {
        if let Some(congestion) = &mut self.congestion {
            congestion.blocked_by_cc(self.window, &mut self.axis, (source, Some(destination)), (start, end));
        }
    }
}
