use fabricsim_units::{HostId, Time, Vl};

use crate::{Crossing, Label, LossCause, Packet};

/// An iteration of a job that one of its ranks has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Iteration {
    /// Number of the job.
    pub job: u16,
    /// Number of the iteration, from 0.
    pub number: u32,
    /// Time at which the rank began it.
    pub start: Time,
    /// Time at which the rank completed it; may be later than now.
    pub end: Time,
    /// Bytes that it sent in it.
    pub bytes: u64,
    /// Time that it computed in it.
    pub compute: Time,
}

/// Measurement hooks of a run. Each partition has an observer of its own; they are merged at the
/// end, so what an observer keeps must not depend on the order in which entities are served.
///
/// `port` numbers a sending port (a direction of a link): link `l` from its end a to its end b is `2 l`, back `2 l + 1`.
pub trait Observer: Send + Sync {
    /// True if the type takes reports of [`Observer::crossed`]. If not, no code for them is compiled.
    const CAPTURES: bool = false;
    /// True if [`Observer::crossed`] is to report what begins to cross a link from a sending port at `time`.
    #[inline]
    fn captures(&self, _time: Time, _port: u32) -> bool {
        false
    }
    /// The first byte of a packet leaves on a link. Reported if [`Observer::captures`] returns true.
    #[inline]
    fn crossed(&mut self, _crossing: &Crossing<'_>) {}
    /// The first byte of a packet leaves its sender.
    #[inline]
    fn injected(&mut self, _now: Time, _packet: &Packet) {}
    /// The receiver accepts the last byte of a packet.
    #[inline]
    fn delivered(&mut self, _now: Time, _packet: &Packet) {}
    /// A packet is lost: its link or its switch has failed.
    #[inline]
    fn lost(&mut self, _now: Time, _packet: &Packet, _cause: LossCause) {}
    /// A packet is lost behind `port`, on `lane`: its switch discards it instead of sending it, because its time is over, or it arrives at
    /// the other end of the link with a bit error. [`Observer::lost`] reports it as well.
    #[inline]
    fn lost_at(&mut self, _now: Time, _port: u32, _lane: Vl, _cause: LossCause) {}
    /// A packet occupies a sending port from `start` to `end` (its overhead included).
    #[inline]
    fn transmitted(&mut self, _port: u32, _lane: Vl, _bytes: u32, _start: Time, _end: Time) {}
    /// A packet for a multicast group begins to occupy a sending port. [`Observer::transmitted`] reports it as well.
    #[inline]
    fn multicast(&mut self, _now: Time, _port: u32, _lane: Vl) {}
    /// From `start` to `end` a sending port was idle while the packet that it would have sent next on `lane`
    /// waited for buffer space at the other end.
    #[inline]
    fn stalled(&mut self, _port: u32, _lane: Vl, _start: Time, _end: Time) {}
    /// A switch has chosen a packet for an output and sends it. Reported if packets age, if switches are input- and
    /// output-queued, and if `measure.router_counters` is set.
    #[inline]
    fn forwarded(&mut self, _now: Time, _grant: &Grant) {}
    /// From `start` to `end` the packet at the head of an input buffer (`port` sends into it, on `lane`) did not move into
    /// its staging buffer only because that was full. Reported by switches that are input- and output-queued.
    #[inline]
    fn blocked(&mut self, _port: u32, _lane: Vl, _start: Time, _end: Time) {}
    /// Micropackets of a packet that leaves a sending port on `lane` fail, `times` in all, and are retransmitted.
    #[inline]
    fn retried(&mut self, _now: Time, _port: u32, _lane: Vl, _times: u32) {}
    /// A sending port sends flow-control packets.
    #[inline]
    fn flow_controlled(&mut self, _now: Time, _port: u32, _packets: u32) {}
    /// A port has sent a number of flow-control packets without news, the first at `first` and then one `every` so often. Reported later: when it sends
    /// something else.
    #[inline]
    fn flow_refreshed(&mut self, _first: Time, _every: Time, _port: u32, _packets: u64) {}
    /// A packet is marked (FECN) as it leaves a sending port on `lane`.
    #[inline]
    fn marked(&mut self, _now: Time, _port: u32, _lane: Vl, _packet: &Packet) {}
    /// The response to a request of `stream`, created at `created`, is complete.
    #[inline]
    fn answered(&mut self, _now: Time, _stream: u16, _created: Time) {}
    /// A rank of a job has completed an iteration.
    #[inline]
    fn iterated(&mut self, _iteration: &Iteration) {}
    /// The receiver accepts the last byte of a packet that carries no data (a notification or an acknowledgement).
    /// [`Observer::injected`] and [`Observer::delivered`] do not report such packets.
    #[inline]
    fn controlled(&mut self, _now: Time, _packet: &Packet) {}
    /// The last operation of a message is visible at its receiver; `packet` carried it. Reported by transports that acknowledge.
    #[inline]
    fn completed(&mut self, _now: Time, _packet: &Packet) {}
    /// Step of a transport with a packet at a host.
    #[inline]
    fn exchanged(&mut self, _now: Time, _exchange: &Exchange) {}
    /// From now on the reorder buffer of a host holds `packets` packets, and the host holds `connections` connections as a
    /// target.
    #[inline]
    fn reordering(&mut self, _now: Time, _host: HostId, _packets: u32, _connections: u32) {}
    /// `source` is notified that its packets to `destination` were marked (BECN).
    #[inline]
    fn notified(&mut self, _now: Time, _source: HostId, _destination: HostId) {}
    /// From `start` to `end`, `source` rate-limited its packets to `destination` (`None`: all that it sends) by `level`:
    /// with InfiniBand congestion control the index CCTI, with DCQCN the rate in Mb/s. Reported in order of time for each
    /// pair, without overlap, some time after `end`; nothing is reported if a flow is not rate-limited.
    #[inline]
    fn rate_limited(
        &mut self,
        _source: HostId,
        _destination: Option<HostId>,
        _start: Time,
        _end: Time,
        _level: u32,
    ) {
    }
    /// From `start` to `end` the link of `source` was idle only because its packet to `destination` was rate-limited.
    #[inline]
    fn blocked_by_cc(&mut self, _source: HostId, _destination: HostId, _start: Time, _end: Time) {}
}

/// Action of a switch when an output has chosen a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Sending port that leads to the packet's input.
    pub input: u32,
    /// Lane of the packet on that link.
    pub lane: Vl,
    /// Sending port of the output.
    pub output: u32,
    /// Waiting time in the switch, without the switch's own delay.
    pub waited: Time,
    /// Age of the packet as it leaves; 0 if packets do not age.
    pub age: u8,
}

/// Step of a transport with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Exchange {
    /// Host at which it happened.
    pub host: HostId,
    /// The other host.
    pub peer: HostId,
    /// Kind of step.
    pub step: ExchangeStep,
    /// Label of the packet.
    pub label: Label,
    /// The stream of its message, and the message's number.
    pub message: (u16, u32),
}

/// Kind of a step of a transport with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub enum ExchangeStep {
    /// It is sent.
    Sent,
    /// It has arrived.
    Received,
    /// It was lost in flight.
    Lost,
    /// Its operation is forwarded to target memory.
    Delivered,
}

/// Observer that ignores all reports.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::State)]
pub struct NullObserver;

impl Observer for NullObserver {}
