use std::collections::VecDeque;

use fabricsim_units::Time;

use super::{AckFields, Data, Window};

/// The sending side of one direction of a link.
#[derive(Clone, Debug)]
pub struct Transmitter {
    window: Window,
    timeout: Time,
    /// Data that are not acknowledged, oldest first: at most a window of them.
    replay: VecDeque<Data>,
    /// The number of the oldest.
    base: u16,
    /// Number of them sent since the transmitter last went back.
    sent: u16,
    /// Number of them that have ever been sent.
    reached: u16,
    /// The last request that was followed.
    turn: bool,
    /// Time at which the oldest is retransmitted without a request; [`Time::MAX`] if nothing is in flight.
    deadline: Time,
    retransmissions: u64,
}

/// Fields that a transmitter puts into a micropacket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The number of the data, or the one that comes next.
    pub sequence: u16,
    /// The last request of the receiver that the transmitter has followed.
    pub turn: bool,
    /// Data, if there are any that may be sent.
    pub data: Option<Data>,
}

impl Transmitter {
    /// A transmitter that has sent nothing. `timeout` should be longer than the way there and back.
    pub fn new(window: Window, timeout: Time) -> Self {
        Self {
            window,
            timeout,
            replay: VecDeque::with_capacity(usize::from(window.size())),
            base: 0,
            sent: 0,
            reached: 0,
            turn: false,
            deadline: Time::MAX,
            retransmissions: 0,
        }
    }

    /// Queues data for sending; returns them if the window is full.
    pub fn offer(&mut self, data: Data) -> Result<(), Data> {
        if self.replay.len() == usize::from(self.window.size()) {
            return Err(data);
        }
        self.replay.push_back(data);
        Ok(())
    }

    /// Returns the next micropacket. Goes back first after a time-out.
    pub fn next(&mut self, now: Time) -> Sending {
        if now >= self.deadline {
            self.go_back(now);
        }
        let sequence = self.window.add(self.base, self.sent);
        let data = self.replay.get(usize::from(self.sent)).copied();
        if data.is_some() {
            self.retransmissions += u64::from(self.sent < self.reached);
            self.sent += 1;
            self.reached = self.reached.max(self.sent);
            if self.deadline == Time::MAX {
                self.deadline = now.saturating_add(self.timeout);
            }
        }
        Sending { sequence, turn: self.turn, data }
    }

    /// The receiver at the other end has answered.
    pub fn acknowledge(&mut self, now: Time, answer: AckFields) {
        let taken = self.window.distance(self.base, self.window.add(answer.acknowledged, 1));
        // An acknowledgement of data that were never sent is an error that the CRC did not detect.
        if taken > self.reached {
            return;
        }
        if taken > 0 {
            self.replay.drain(..usize::from(taken));
            self.base = self.window.add(self.base, taken);
            self.sent = self.sent.saturating_sub(taken);
            self.reached -= taken;
            self.deadline = if self.reached == 0 { Time::MAX } else { now.saturating_add(self.timeout) };
        }
        if answer.request != self.turn {
            self.turn = answer.request;
            self.go_back(now);
        }
    }

    fn go_back(&mut self, now: Time) {
        if self.reached > 0 {
            self.sent = 0;
            self.deadline = now.saturating_add(self.timeout);
        }
    }

    /// Data that are not acknowledged.
    pub fn outstanding(&self) -> usize {
        self.replay.len()
    }

    /// Number of retransmitted micropackets so far.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Returns the time at which [`Transmitter::next`] would retransmit unacknowledged data; [`Time::MAX`] if nothing is
    /// in flight.
    pub fn timeout_at(&self) -> Time {
        self.deadline
    }
}
