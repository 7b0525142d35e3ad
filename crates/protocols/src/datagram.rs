//! Unacknowledged packets: a message is cut at the MTU and sent, without acknowledgements. Several messages may be open
//! at once; they are served in turn, packet by packet.

use fabricsim_units::{HostId, Time};

/// A message in the course of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Outgoing {
    /// Time at which the message was created.
    pub created: Time,
    /// Receiver of its next packet.
    pub destination: HostId,
    /// Bytes not sent yet, 1 or more.
    pub left: u64,
    /// The stream that it belongs to.
    pub stream: u16,
    /// Its number, for the receiver.
    pub tag: u32,
    /// Largest packet of its path.
    pub mtu: u32,
    /// True if it answers another message.
    pub is_response: bool,
    /// True if a packet of it has been sent.
    pub is_begun: bool,
}

/// The sending side of a host.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct Datagram {
    open: Vec<Outgoing>,
    /// Number of them that are responses.
    responses: usize,
    limit: usize,
    turn: usize,
}

impl Datagram {
    /// At most `limit` messages open at once (1 or more), and the same number of responses
    /// besides: a host that cannot send its requests must still be able to answer.
    pub fn new(limit: usize) -> Self {
        Self { open: Vec::new(), responses: 0, limit: limit.max(1), turn: 0 }
    }

    /// True if another message may be opened that is no response.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.open.len() - self.responses < self.limit
    }

    /// Open responses.
    pub fn responses(&self) -> usize {
        self.responses
    }

    /// True if another response may be opened.
    #[inline]
    pub fn has_room_for_response(&self) -> bool {
        self.responses < self.limit
    }

    /// True if there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// True if nothing is open, and messages are opened one after the other: then one that is a single packet need not be opened.
    #[inline]
    pub fn passes_messages(&self) -> bool {
        self.open.is_empty() && self.limit == 1
    }

    /// Opens a message; only while [`Datagram::has_room`], a response while [`Datagram::has_room_for_response`].
    #[inline]
    pub fn open(&mut self, message: Outgoing) {
        self.responses += usize::from(message.is_response);
        self.open.push(message);
    }

    /// The number of the message that is `place` places after the one whose turn it is, from 0 to the number of open messages - 1.
    #[inline]
    pub fn in_turn(&self, place: usize) -> usize {
        let number = self.turn + place;
        if number < self.open.len() { number } else { number - self.open.len() }
    }

    /// Receiver and size of the next packet of message `number`.
    #[inline]
    pub fn next_packet(&self, number: usize) -> (HostId, u32) {
        let message = &self.open[number];
        (message.destination, message.left.min(u64::from(message.mtu)) as u32)
    }

    /// The next packet of message `number` is sent. `draw` gives the next packet's receiver, if it is another, and the largest packet of the
    /// path to it.
    /// Returns the message as it was before.
    #[inline(always)]
    pub fn sent(&mut self, number: usize, draw: impl FnOnce(u16) -> Option<(HostId, u32)>) -> Outgoing {
        let message = &mut self.open[number];
        let before = *message;
        message.left -= message.left.min(u64::from(message.mtu));
        if message.left == 0 {
            self.responses -= usize::from(before.is_response);
            // Later messages keep their order; the turn passes to the one that moves into this place.
            if number + 1 == self.open.len() {
                self.open.pop();
            } else {
                self.open.remove(number);
            }
            self.turn = number;
        } else {
            if let Some((destination, mtu)) = draw(message.stream) {
                (message.destination, message.mtu) = (destination, mtu);
            }
            message.is_begun = true;
            self.turn = number + 1;
        }
        if self.turn >= self.open.len() {
            self.turn = 0;
        }
        before
    }

    /// Bytes of open messages that have not been sent.
    pub fn backlog(&self) -> u64 {
        self.open.iter().map(|message| message.left).sum()
    }

    /// The open messages.
    pub fn messages(&self) -> &[Outgoing] {
        &self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(destination: u32, left: u64) -> Outgoing {
        Outgoing {
            created: Time::ZERO,
            destination: HostId(destination),
            left,
            stream: 0,
            tag: 0,
            mtu: 100,
            is_response: false,
            is_begun: false,
        }
    }

    /// Sends everything; receiver and size of each packet.
    fn packets(datagram: &mut Datagram) -> Vec<(u32, u32)> {
        let mut sent = Vec::new();
        while !datagram.is_empty() {
            let number = datagram.in_turn(0);
            let (destination, bytes) = datagram.next_packet(number);
            sent.push((destination.0, bytes));
            datagram.sent(number, |_| None);
        }
        sent
    }

    #[test]
    fn a_message_is_cut_at_the_mtu() {
        let mut datagram = Datagram::new(1);
        datagram.open(Outgoing { mtu: 2048, ..message(3, 5000) });
        assert!(!datagram.has_room());
        assert_eq!(packets(&mut datagram), [(3, 2048), (3, 2048), (3, 904)]);
        assert!(datagram.is_empty());
    }

    #[test]
    fn open_messages_take_turns() {
        let mut datagram = Datagram::new(3);
        datagram.open(message(1, 250));
        datagram.open(message(2, 100));
        datagram.open(message(3, 200));
        assert_eq!(packets(&mut datagram), [(1, 100), (2, 100), (3, 100), (1, 100), (3, 100), (1, 50)]);
    }

    #[test]
    fn responses_have_room_of_their_own() {
        let mut datagram = Datagram::new(1);
        datagram.open(message(1, 100));
        assert!(!datagram.has_room() && datagram.has_room_for_response());
        datagram.open(Outgoing { is_response: true, ..message(2, 50) });
        assert!(!datagram.has_room() && !datagram.has_room_for_response());
        datagram.sent(1, |_| None);
        assert!(!datagram.has_room() && datagram.has_room_for_response());
        datagram.sent(0, |_| None);
        assert!(datagram.has_room());
    }

    #[test]
    fn a_packet_may_have_its_own_receiver() {
        let mut datagram = Datagram::new(1);
        datagram.open(message(1, 200));
        datagram.sent(0, |_| Some((HostId(9), 60)));
        assert_eq!(datagram.next_packet(0), (HostId(9), 60));
        assert_eq!(datagram.backlog(), 100);
    }

    /// Requests and responses are counted apart, and each has the limit for itself.
    #[test]
    fn room_for_requests_and_for_responses_is_counted_apart() {
        let mut datagram = Datagram::new(2);
        let state = |datagram: &Datagram| {
            let room = (datagram.has_room(), datagram.has_room_for_response());
            (datagram.messages().len(), datagram.responses(), room)
        };
        let response = Outgoing { is_response: true, ..message(2, 50) };
        assert_eq!(state(&datagram), (0, 0, (true, true)));
        datagram.open(response);
        assert_eq!(state(&datagram), (1, 1, (true, true)));
        datagram.open(message(1, 100));
        assert_eq!(state(&datagram), (2, 1, (true, true)));
        datagram.open(response);
        assert_eq!(state(&datagram), (3, 2, (true, false)));
        datagram.open(message(1, 100));
        assert_eq!(state(&datagram), (4, 2, (false, false)));
        datagram.sent(0, |_| None);
        assert_eq!(state(&datagram), (3, 1, (false, true)));
        assert_eq!(datagram.messages(), [message(1, 100), response, message(1, 100)]);
    }

    /// Places are counted from the message whose turn it is, round all that are open.
    #[test]
    fn turns_go_round() {
        let mut datagram = Datagram::new(3);
        let order = |datagram: &Datagram| [0, 1, 2].map(|place| datagram.in_turn(place));
        (1..4).for_each(|destination| datagram.open(message(destination, 400)));
        for expected in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]] {
            assert_eq!(order(&datagram), expected);
            datagram.sent(datagram.in_turn(0), |_| None);
        }
    }

    /// A message of one packet need not be opened only if it would be the only one.
    #[test]
    fn messages_pass_if_they_are_sent_one_after_the_other_and_none_is_open() {
        for (limit, is_open, passes) in
            [(1, false, true), (1, true, false), (2, false, false), (2, true, false)]
        {
            let mut datagram = Datagram::new(limit);
            if is_open {
                datagram.open(message(1, 100));
            }
            assert_eq!(datagram.passes_messages(), passes, "limit {limit}, open: {is_open}");
        }
    }
}
