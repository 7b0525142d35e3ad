//! The receiving side: FECN becomes BECN (InfiniBand Architecture Specification, A10.2.2; section II-F of the tutorial), and
//! packets are acknowledged for algorithms that pace by acknowledgements.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_model::{Echo, Packet};
use fabricsim_units::{HostId, Time};

/// Feedback of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackMode {
    /// Marked packets, by congestion notification packets (CNP) with at least `interval` between two to a source.
    Marks {
        /// Least time between two.
        interval: Time,
    },
    /// Messages, with an acknowledgement that carries the mark.
    Messages,
    /// Packets, `every` packets of a source with one acknowledgement; the last of a message at once, others within `timeout`.
    Packets {
        /// 1 or more.
        every: u32,
        /// Longest time for which a packet waits for others.
        timeout: Time,
    },
}

/// Feedback of a destination to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Feedback {
    /// The source.
    pub to: HostId,
    /// True if it notifies of congestion (BECN).
    pub notifies: bool,
    /// Acknowledged packets, if packets are acknowledged.
    pub echo: Option<Echo>,
}

/// Pending feedback of a host to the sources of received packets.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Destination {
    #[state(fixed)]
    feedback_mode: FeedbackMode,
    sources: BTreeMap<HostId, State>,
    /// Latest times at which packets must be acknowledged, in order, with their source and the number of its
    /// acknowledgement.
    due: VecDeque<(Time, HostId, u32)>,
}

/// State of a source: packets without feedback so far.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
struct State {
    /// Time of the last notification.
    notified_at: Option<Time>,
    marked: bool,
    echo: Echo,
    /// Acknowledgements so far, modulo 2^32.
    answered: u32,
}

impl Destination {
    /// A destination with this feedback mode.
    pub fn new(feedback_mode: FeedbackMode) -> Self {
        Self { feedback_mode, sources: BTreeMap::new(), due: VecDeque::new() }
    }

    /// Returns the feedback mode.
    pub fn feedback_mode(&self) -> FeedbackMode {
        self.feedback_mode
    }

    /// A packet with data has arrived. Returns the feedback to send, if any.
    pub fn arrived(&mut self, now: Time, packet: &Packet) -> Option<Feedback> {
        match self.feedback_mode {
            FeedbackMode::Marks { .. } if !packet.fecn => None,
            FeedbackMode::Marks { interval } => self.notification(now, packet.source, interval),
            FeedbackMode::Messages => self.of_message(packet),
            FeedbackMode::Packets { every, timeout } => self.of_packets(now, packet, (every, timeout)),
        }
    }

    fn notification(&mut self, now: Time, source: HostId, interval: Time) -> Option<Feedback> {
        if interval > Time::ZERO {
            let state = self.sources.entry(source).or_default();
            if state.notified_at.is_some_and(|notified_at| now < notified_at + interval) {
                return None;
            }
            state.notified_at = Some(now);
        }
        Some(Feedback { to: source, notifies: true, echo: None })
    }

    fn of_message(&mut self, packet: &Packet) -> Option<Feedback> {
        let source = packet.source;
        if packet.fecn {
            self.sources.entry(source).or_default().marked = true;
        }
        let state = self.sources.get_mut(&source);
        let marked = |state: Option<&mut State>| state.is_some_and(|s| std::mem::take(&mut s.marked));
        packet.last.then(|| Feedback { to: source, notifies: marked(state), echo: None })
    }

    fn of_packets(&mut self, now: Time, packet: &Packet, (every, timeout): (u32, Time)) -> Option<Feedback> {
        let state = self.sources.entry(packet.source).or_default();
        let echo = &mut state.echo;
        echo.bytes += u64::from(packet.bytes);
        echo.packets += 1;
        echo.marked += u32::from(packet.fecn);
        (echo.sent, echo.arrived, echo.hops) = (packet.injected, now, packet.hops);
        if echo.packets < every && !packet.last {
            if echo.packets == 1 {
                self.due.push_back((now + timeout, packet.source, state.answered));
            }
            return None;
        }
        Some(state.acknowledge(packet.source))
    }

    /// Time at which [`Destination::overdue`] may return feedback; [`Time::MAX`] if no packet waits.
    pub fn wake_at(&self) -> Time {
        self.due.front().map_or(Time::MAX, |&(due, _, _)| due)
    }

    /// Returns feedback for packets that have waited for others for too long by `now`.
    pub fn overdue(&mut self, now: Time) -> Option<Feedback> {
        while let Some(&(due, source, number)) = self.due.front() {
            if due > now {
                return None;
            }
            self.due.pop_front();
            let state = self.sources.entry(source).or_default();
            if state.answered == number && state.echo.packets > 0 {
                return Some(state.acknowledge(source));
            }
        }
        None
    }
}

impl State {
    /// Acknowledges all pending packets.
    fn acknowledge(&mut self, to: HostId) -> Feedback {
        self.answered = self.answered.wrapping_add(1);
        Feedback { to, notifies: false, echo: Some(std::mem::take(&mut self.echo)) }
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_model::PacketKind;

    use super::*;

    const A: HostId = HostId(1);
    const B: HostId = HostId(2);

    fn packet(source: HostId, fecn: bool, last: bool) -> Packet {
        let packet = Packet::new(PacketKind::Data, (source, HostId(0)), 100, Time::ns(7));
        Packet { fecn, last, hops: 3, ..packet }
    }

    const NOTIFICATION: Option<Feedback> = Some(Feedback { to: A, notifies: true, echo: None });

    #[test]
    fn a_marked_packet_is_answered_at_once() {
        let mut destination = Destination::new(FeedbackMode::Marks { interval: Time::ZERO });
        assert_eq!(destination.arrived(Time::ns(1), &packet(A, true, false)), NOTIFICATION);
        assert_eq!(destination.arrived(Time::ns(2), &packet(A, true, false)), NOTIFICATION);
        assert_eq!(destination.arrived(Time::ns(3), &packet(A, false, true)), None);
    }

    #[test]
    fn notifications_keep_their_distance() {
        let mut destination = Destination::new(FeedbackMode::Marks { interval: Time::us(50) });
        assert!(destination.arrived(Time::us(1), &packet(A, true, false)).is_some());
        assert!(destination.arrived(Time::us(50), &packet(A, true, false)).is_none());
        assert!(destination.arrived(Time::us(50), &packet(B, true, false)).is_some(), "another source");
        assert!(destination.arrived(Time::us(51), &packet(A, true, false)).is_some());
    }

    #[test]
    fn an_acknowledgement_carries_the_marks_of_its_message() {
        let mut destination = Destination::new(FeedbackMode::Messages);
        let answer = |to, notifies| Some(Feedback { to, notifies, echo: None });
        assert_eq!(destination.arrived(Time::ns(1), &packet(A, true, false)), None);
        assert_eq!(destination.arrived(Time::ns(2), &packet(B, false, true)), answer(B, false));
        assert_eq!(destination.arrived(Time::ns(3), &packet(A, false, true)), answer(A, true));
        assert_eq!(destination.arrived(Time::ns(4), &packet(A, false, true)), answer(A, false));
    }

    #[test]
    fn packets_are_acknowledged_together_and_the_last_of_a_message_at_once() {
        let mut destination = Destination::new(FeedbackMode::Packets { every: 3, timeout: Time::us(1) });
        let mut arrived = |now, source, fecn, last| {
            destination
                .arrived(Time::ns(now), &packet(source, fecn, last))
                .map(|answer| (answer.to, answer.echo))
        };
        let echo = |packets, marked, arrived| {
            let (bytes, arrived) = (100 * u64::from(packets), Time::ns(arrived));
            Some(Echo { bytes, packets, marked, sent: Time::ns(7), arrived, hops: 3 })
        };
        assert_eq!(arrived(10, A, true, false), None);
        assert_eq!(arrived(11, B, false, false), None);
        assert_eq!(arrived(12, A, false, false), None);
        assert_eq!(arrived(13, A, true, false), Some((A, echo(3, 2, 13))));
        assert_eq!(arrived(14, A, false, true), Some((A, echo(1, 0, 14))));
        assert_eq!(arrived(15, B, true, true), Some((B, echo(2, 1, 15))));
    }

    #[test]
    fn packets_do_not_wait_for_others_for_ever() {
        let mut destination = Destination::new(FeedbackMode::Packets { every: 3, timeout: Time::ns(100) });
        assert_eq!(destination.wake_at(), Time::MAX);
        for (now, source) in [(10, A), (20, B), (30, A), (40, A), (50, A)] {
            destination.arrived(Time::ns(now), &packet(source, false, false));
        }
        assert_eq!(destination.overdue(Time::ns(109)), None);
        assert_eq!(destination.wake_at(), Time::ns(110));
        // The first three packets of A are acknowledged; B's has waited since 20 ns, A's fourth since 50 ns.
        let overdue =
            destination.overdue(Time::ns(125)).map(|answer| (answer.to, answer.echo.unwrap().packets));
        assert_eq!((overdue, destination.wake_at()), (Some((B, 1)), Time::ns(150)));
        assert_eq!(destination.overdue(Time::ns(150)).map(|answer| answer.to), Some(A));
        assert_eq!((destination.overdue(Time::ns(999)), destination.wake_at()), (None, Time::MAX));
    }
}
