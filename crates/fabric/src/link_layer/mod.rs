//! The link layer of the Cray SeaStar: a sliding window with go-back-N for each direction of a link (Abts and Weisser,
//! SC07, section 1.2).
//!
//! A link carries one *micropacket* after another, idle ones if there are no data to send: [`Micropacket`] has the
//! bits. Data micropackets are numbered. A [`Transmitter`] keeps what it has sent until it is acknowledged, at most a
//! [`Window`] of them; a [`Receiver`] takes them in order only and acknowledges the last one that it took, in the sideband of
//! the micropackets in the other direction. After an error it requests the next one in order, and the transmitter goes back to that
//! micropacket and retransmits it and all later ones; it does the same after a time-out without an
//! acknowledgement. [`LinkEnd`] is both at one end of a link.
//!
//! Not specified by the paper and chosen here: the widths of the fields; that the CRC's polynomial is 0x80F; that idle
//! micropackets carry the next number; and the negative acknowledgement: the receiver inverts a bit,
//! `request`, of all micropackets that it sends, until the transmitter confirms by the bit `turn`. So a request
//! that is lost is repeated by the next micropacket, and a receiver detects that the retransmission was lost as well.
//!
//! The simulator does not move micropackets: [`RetryState`] draws how often a packet's would fail, and each failure costs the
//! round trip of these state machines, as their tests show.

mod micropacket;
mod receiver;
mod retry;
#[cfg(test)]
mod tests;
mod transmitter;
mod window;

use fabricsim_units::Time;

pub use micropacket::{Data, Micropacket, WIRE_BITS, WIRE_BYTES};
pub use receiver::{AckFields, Receiver};
pub use retry::{Failed, RetryState};
pub use transmitter::{Sending, Transmitter};
pub use window::{MAX_SEQUENCE_BITS, Window, WindowError};

/// One end of a link: a transmitter and a receiver.
#[derive(Clone, Debug)]
pub struct LinkEnd {
    transmitter: Transmitter,
    receiver: Receiver,
}

impl LinkEnd {
    /// An end of a link both of whose ends have the same window; data without an acknowledgement for `timeout` are retransmitted.
    pub fn new(window: Window, timeout: Time) -> Self {
        Self { transmitter: Transmitter::new(window, timeout), receiver: Receiver::new(window) }
    }

    /// Queues data for sending; returns them if the window is full.
    pub fn offer(&mut self, data: Data) -> Result<(), Data> {
        self.transmitter.offer(data)
    }

    /// The micropacket that leaves now: new data, retransmitted data, or only an acknowledgement.
    pub fn next(&mut self, now: Time) -> [u8; WIRE_BYTES] {
        let Sending { sequence, turn, data } = self.transmitter.next(now);
        let AckFields { acknowledged, request } = self.receiver.answer();
        Micropacket { sequence, turn, data, acknowledged, request }.encode()
    }

    /// A micropacket has arrived, possibly with bit errors. Returns the data, if they are the next in order.
    pub fn arrived(&mut self, now: Time, wire: &[u8; WIRE_BYTES]) -> Option<Data> {
        let micropacket = Micropacket::decode(wire);
        if let Some(Micropacket { acknowledged, request, .. }) = micropacket {
            self.transmitter.acknowledge(now, AckFields { acknowledged, request });
        }
        self.receiver.receive(micropacket)
    }

    /// The sending side.
    pub fn transmitter(&self) -> &Transmitter {
        &self.transmitter
    }
}
