use fabricsim_model::Observer;
use fabricsim_units::{ByteTime, Time, Vl};

use crate::{Features, Outbox};

/// Node at the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub enum FarEnd {
    /// A switch of this partition: its port.
    Switch(u32),
    /// A host of this partition whose sink accepts everything at once: its port.
    Host(u32),
    /// A host of this partition whose sink is limited: its port. The sink is in [`Ports::sinks`].
    SlowHost(u32),
    /// A host of this partition with admission control, which returns the space of a packet as it admits it: its port.
    GatedHost(u32),
    /// A switch of another partition.
    Remote,
}

impl FarEnd {
    /// The port of a host whose sink returns the space of a packet by itself.
    pub(crate) fn sink(self) -> Option<u32> {
        match self {
            Self::Host(port) | Self::SlowHost(port) => Some(port),
            Self::Switch(_) | Self::GatedHost(_) | Self::Remote => None,
        }
    }
}

/// The sending side of a port: one direction of a link. Aligned so that its place in a table is found by a shift.
#[derive(Clone, Debug, fabricsim_state::Value)]
#[repr(align(128))]
pub struct Sender {
    /// Time until which a packet occupies the link.
    pub busy_until: Time,
    /// Time from which on a link that is paced or sends flow-control packets carries no data, although it may be busy.
    pub carried_until: Time,
    /// The earliest wake-up that is scheduled for this port; [`Time::MAX`] if none is.
    pub wake_at: Time,
    /// Time of a byte of a packet that is sent.
    pub byte_time: ByteTime,
    /// Propagation latency of the link.
    pub latency: Time,
    /// From the departure of the head to the time when it may be sent on at the far end (cut-through): the link's
    /// latency and the far switch's delay.
    pub far_end_delay: Time,
    /// From the departure of a block to the return of its credit, at a sink that accepts every block as it comes.
    pub sink_credit_delay: Time,
    /// Number of the limited sink at the far end, if there is one.
    pub sink: u32,
    /// Number of the link's errors in [`Ports::retries`]; [`crate::flow_control::NO_ERRORS`] if it has none and sends flow-control packets.
    pub retry: u32,
    /// Number of this direction of the link in the whole fabric.
    pub channel: u32,
    /// Bytes that a packet occupies on the link beyond its own.
    pub overhead: u32,
    /// Time of a byte on the link itself, where the switch sends the units of a packet at longer intervals; else the same as
    /// [`Sender::byte_time`].
    pub link_byte_time: ByteTime,
    /// Receiver.
    pub far_end: FarEnd,
    /// Time since which the port has been idle because it has no credits; [`Time::MAX`] if it is not.
    pub stalled_since: Time,
    /// The lane that lacks credits.
    pub stalled_lane: Vl,
    /// The lane last chosen, for choosing in turn.
    pub last_lane: Vl,
    /// True if some lane has a packet that waits for credits.
    pub starving: bool,
    /// True if it sends flow-control packets: then the link is busy for longer than it carries data.
    pub is_controlled: bool,
}

impl Sender {
    /// The time at which the transmission in progress ends on a link that is busy until `busy_until`: by [`Sender::busy_until`], or as
    /// [`Sender::fail`] has returned it.
    pub fn transmitting_until(&self, busy_until: Time) -> Time {
        if self.is_paced() || self.is_controlled { self.carried_until } else { busy_until }
    }

    /// True if the switch sends the units of a packet at longer intervals than the link needs.
    #[inline]
    pub(crate) fn is_paced(&self) -> bool {
        self.link_byte_time != self.byte_time
    }

    /// Time for which a packet keeps the link, if it is paced: until the link has carried its last unit, and the overhead.
    pub(crate) fn held(&self, bytes: u32, unit: u32) -> Time {
        let before = (bytes - 1) / unit * unit;
        self.byte_time.duration(before) + self.link_byte_time.duration(bytes - before + self.overhead)
    }

    /// Time until which a packet of `bytes` that has just been sent, and whose queue may send again from `end` on, is read from its input: if it is
    /// paced, until its last unit leaves.
    #[inline]
    pub(crate) fn read_until(&self, end: Time, bytes: u32, unit: u32) -> Time {
        if !self.is_paced() {
            return end;
        }
        let last = bytes - (bytes - 1) / unit * unit;
        self.busy_until - self.link_byte_time.duration(last + self.overhead)
    }

    /// A packet leaves from `now` to `end`; its last byte arrives from a slower link at `tail`, if the output is held for it. Returns the time until
    /// which the link carries it.
    #[inline(always)]
    pub(crate) fn occupy_link<F: Features, const PACED: bool, const SPECIAL: bool>(
        &mut self,
        (now, end, tail): (Time, Time, Time),
        bytes: u32,
        unit: u32,
    ) -> Time {
        self.busy_until = if PACED {
            now + self.held(bytes, unit)
        } else if F::PLAIN || self.overhead == 0 {
            end
        } else {
            now + self.byte_time.duration(bytes + self.overhead)
        };
        let mut carried_until =
            if PACED { now + self.link_byte_time.duration(bytes + self.overhead) } else { self.busy_until };
        if F::OPTIONAL && tail > Time::ZERO {
            let last = tail + self.link_byte_time.duration(self.overhead);
            self.busy_until = self.busy_until.max(last);
            carried_until = carried_until.max(last);
        }
        if PACED || SPECIAL {
            self.carried_until = carried_until;
        }
        carried_until
    }

    /// True if the wake-up of `time` is the one that the port waits for. Then none is scheduled any more.
    #[inline]
    pub fn is_woken(&mut self, time: Time) -> bool {
        let is_due = self.wake_at == time;
        if is_due {
            self.wake_at = Time::MAX;
        }
        is_due
    }

    /// The link fails: nothing is sent on it until [`Sender::restore`]. Returns the time until which it is busy.
    pub fn fail(&mut self) -> Time {
        std::mem::replace(&mut self.busy_until, Time::MAX)
    }

    /// A management datagram of `bytes` takes the link as soon as the transmission in progress has ended, before all data. `busy_until`
    /// is the time until which the link is busy, by [`Sender::busy_until`] or as [`Sender::fail`] has returned it. Returns the time
    /// at which the datagram has left.
    pub fn occupy(&self, busy_until: Time, now: Time, bytes: u32) -> Time {
        now.max(busy_until) + self.link_byte_time.duration(bytes)
    }

    /// The link works again; it is busy until `busy_until`, as [`Sender::fail`] has returned it.
    pub fn restore(&mut self, busy_until: Time) {
        self.busy_until = busy_until;
    }

    /// Reports to the observer how long the port has been stalled by `now`, if it is.
    pub fn report_stall<B: Observer>(&mut self, now: Time, observer: &mut B) {
        if self.stalled_since < now {
            observer.stalled(self.channel, self.stalled_lane, self.stalled_since, now);
            self.stalled_since = now;
        }
    }

    /// The port sends again: reports to the observer how long it was stalled.
    #[cold]
    pub(crate) fn end_stall<B: Observer>(&mut self, now: Time, observer: &mut B) {
        self.report_stall(now, observer);
        self.stalled_since = Time::MAX;
    }

    /// The port is idle because it has no credits for `lane`, unless it was already.
    #[inline]
    pub fn stall(&mut self, now: Time, lane: Vl) {
        if self.stalled_since == Time::MAX {
            self.stalled_since = now;
            self.stalled_lane = lane;
        }
    }

    /// True if a stall begins after `now` ([`crate::Ports::stall_ahead`]).
    #[inline]
    pub(crate) fn stalls_after(&self, now: Time) -> bool {
        self.stalled_since > now && self.stalled_since < Time::MAX
    }

    /// A stall that has not begun before `now` is forgotten, and the port must be woken as its link is free. False if there is none.
    pub fn cancel_stall(&mut self, now: Time) -> bool {
        let is_ahead = self.stalled_since >= now && self.stalled_since < Time::MAX;
        if is_ahead {
            self.stalled_since = Time::MAX;
        }
        is_ahead
    }

    /// Schedules a wake-up at `at`, unless an earlier one is scheduled; `port` is the sender's number.
    #[inline]
    pub fn wake<O: Outbox>(&mut self, port: u32, at: Time, out: &mut O) {
        if at < self.wake_at {
            self.wake_at = at;
            out.wake(at, port);
        }
    }
}
