use super::{Data, Micropacket, Window};

/// The receiving side of one direction of a link.
#[derive(Clone, Debug)]
pub struct Receiver {
    window: Window,
    /// The number that comes next.
    expected: u16,
    /// Inverted to request retransmission.
    request: bool,
    /// The last request that the transmitter is known to have followed.
    followed: bool,
}

/// Fields that a receiver puts into a micropacket in the opposite direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFields {
    /// The number of the last data that it accepted.
    pub acknowledged: u16,
    /// If it changes, the data after that must be retransmitted.
    pub request: bool,
}

impl Receiver {
    /// A receiver that expects number 0.
    pub fn new(window: Window) -> Self {
        Self { window, expected: 0, request: false, followed: false }
    }

    /// A micropacket has arrived, `None` if with an error. Returns its data if they are the next in order.
    pub fn receive(&mut self, micropacket: Option<Micropacket>) -> Option<Data> {
        let Some(micropacket) = micropacket else {
            self.ask();
            return None;
        };
        self.followed = micropacket.turn;
        if micropacket.sequence == self.expected {
            if micropacket.data.is_some() {
                self.expected = self.window.add(self.expected, 1);
            }
            return micropacket.data;
        }
        if self.window.ahead(self.expected, micropacket.sequence) {
            self.ask();
        }
        None
    }

    /// Requests retransmission, unless a request is pending: all data lost before the transmitter follows it
    /// are retransmitted anyway.
    fn ask(&mut self) {
        if self.followed == self.request {
            self.request = !self.request;
        }
    }

    /// Returns the fields for the transmitter at present.
    pub fn answer(&self) -> AckFields {
        AckFields { acknowledged: self.window.add(self.expected, u16::MAX), request: self.request }
    }
}
