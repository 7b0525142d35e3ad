//! Packet types, flags and fields (table I of the paper).

use super::Seq;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
#[repr(u8)]
pub enum Kind {
    /// A request: an operation on target memory.
    #[default]
    Req,
    /// The operation of a REQ is visible in target memory.
    Ack,
    /// A REQ was rejected.
    Nack,
    /// Close the connection.
    Fin,
    /// The connection is closed.
    FinAck,
}

/// The rules by which a target treats a REQ (the header field of the paper's footnote 11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
#[repr(u8)]
pub enum Transfer {
    /// Delivered on arrival, without a connection.
    #[default]
    Unordered,
    /// Delivered in sequence.
    Ordered,
    /// Data in order of arrival, the synchronization operation after all of it.
    Synchronized,
    /// In sequence; packets out of sequence are dropped (RoCE).
    GoBackN,
    /// Delivered on arrival, each packet once, acknowledged by a bitmap (Ultra Ethernet's RUD).
    Selective,
    /// The same, delivered in sequence by way of the reorder buffer.
    SelectiveOrdered,
}

/// Reason for which a REQ was rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
#[repr(u8)]
pub enum Reason {
    /// It was not.
    #[default]
    None,
    /// The target has no connection left.
    NoConnection,
    /// The reorder buffer is full, or the packet is further ahead than the target can track.
    BufferFull,
    /// The target has no replay buffer left.
    NoReplay,
    /// Another copy is being held or executed: an answer follows for that one.
    Held,
    /// Go-back-N: SEQ is the number that was expected.
    OutOfSequence,
}

/// Flags of a packet, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct Flags(pub u8);

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// All before this SEQ has been acknowledged: the sequence can start here.
    pub const SYN: Self = Self(1);
    /// Exactly-once delivery.
    pub const EOD: Self = Self(2);
    /// The target holds a connection.
    pub const CON: Self = Self(4);
    /// May be delivered without a connection.
    pub const SLOW: Self = Self(8);
    /// Synchronization operation of a synchronized transfer; the last packet of other streams.
    pub const LAST: Self = Self(16);
    /// The word holds an offset from the oldest unacknowledged packet.
    pub const OFFSET: Self = Self(32);

    /// True if all of `flags` are set.
    #[inline]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Those of `self` and of `flags`.
    #[inline]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// `self`, with `flags` set if `on`.
    #[inline]
    pub const fn with_if(self, flags: Self, on: bool) -> Self {
        if on { self.with(flags) } else { self }
    }

    /// Those of `self` that are among `flags`.
    #[inline]
    pub const fn only(self, flags: Self) -> Self {
        Self(self.0 & flags.0)
    }
}

/// Connection identifier (CID): unique at its source. Those with the top bit set name a stream without connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct Cid(pub u16);

impl Cid {
    const STREAM: u16 = 0x8000;

    /// Stands for stream `number` while that has no connection.
    pub const fn of_stream(number: u16) -> Self {
        Self(number | Self::STREAM)
    }

    /// The number of the stream without connection.
    pub const fn stream(self) -> Option<u16> {
        if self.0 & Self::STREAM == 0 { None } else { Some(self.0 & !Self::STREAM) }
    }
}

/// A packet's header without the two endpoints, in 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct Header {
    /// Packet type.
    pub kind: Kind,
    /// Rules for the target.
    pub transfer: Transfer,
    /// Flags.
    pub flags: Flags,
    /// Reason of a NACK.
    pub reason: Reason,
    /// Connection.
    pub cid: Cid,
    /// REQ, ACK and NACK: sequence number of the REQ. Cumulative acknowledgements: the first missing number.
    pub seq: Seq,
    /// By kind: see [`Header::count`], [`Header::offset`], [`Header::result`], [`Header::bitmap`].
    pub word: u64,
}

impl Header {
    /// Bytes on a wire.
    pub const BYTES: usize = 16;

    /// CNT: packets of the synchronized transfer, of which this is the synchronization operation.
    pub const fn count(&self) -> u64 {
        self.word
    }

    /// Distance from the oldest packet that was unacknowledged when this one was sent, if the packet carries it.
    pub const fn offset(&self) -> Option<u16> {
        if self.flags.has(Flags::OFFSET) { Some(self.word as u16) } else { None }
    }

    /// ACK: result of the operation.
    pub const fn result(&self) -> u64 {
        self.word
    }

    /// ACK of a selective transfer: bit i is set if the packet i after SEQ has arrived.
    pub const fn bitmap(&self) -> u64 {
        self.word
    }

    /// An answer to this REQ.
    #[inline]
    pub(crate) fn answer(&self, kind: Kind) -> Self {
        let flags = self.flags.only(Flags::SYN.with(Flags::SLOW));
        Self { kind, flags, reason: Reason::None, word: 0, ..*self }
    }

    /// Big-endian bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&[self.kind as u8, self.transfer as u8, self.flags.0, self.reason as u8]);
        bytes[4..6].copy_from_slice(&self.cid.0.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.seq.0.to_be_bytes());
        bytes[8..].copy_from_slice(&self.word.to_be_bytes());
        bytes
    }

    /// Reads what [`Header::to_bytes`] wrote; `None` if the bytes are no header.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        const KINDS: [Kind; 5] = [Kind::Req, Kind::Ack, Kind::Nack, Kind::Fin, Kind::FinAck];
        const TRANSFERS: [Transfer; 6] = [
            Transfer::Unordered,
            Transfer::Ordered,
            Transfer::Synchronized,
            Transfer::GoBackN,
            Transfer::Selective,
            Transfer::SelectiveOrdered,
        ];
        const REASONS: [Reason; 6] = [
            Reason::None,
            Reason::NoConnection,
            Reason::BufferFull,
            Reason::NoReplay,
            Reason::Held,
            Reason::OutOfSequence,
        ];
        let [kind, transfer, flags, reason, c0, c1, s0, s1, word @ ..] = *bytes;
        Some(Self {
            kind: *KINDS.get(usize::from(kind))?,
            transfer: *TRANSFERS.get(usize::from(transfer))?,
            flags: Flags(flags),
            reason: *REASONS.get(usize::from(reason))?,
            cid: Cid(u16::from_be_bytes([c0, c1])),
            seq: Seq(u16::from_be_bytes([s0, s1])),
            word: u64::from_be_bytes(word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_is_small() {
        assert_eq!(size_of::<Header>(), Header::BYTES);
    }

    proptest! {
        #[test]
        fn bytes_that_are_a_header_are_written_as_they_were_read(bytes: [u8; 16]) {
            if let Some(header) = Header::from_bytes(&bytes) {
                prop_assert_eq!(header.to_bytes(), bytes);
            }
        }

        #[test]
        fn a_header_survives_the_wire(kind in 0_u8..5, transfer in 0_u8..6, reason in 0_u8..6, rest: [u8; 13]) {
            let mut bytes = [0; 16];
            bytes[..2].copy_from_slice(&[kind, transfer]);
            bytes[2] = rest[0];
            bytes[3] = reason;
            bytes[4..].copy_from_slice(&rest[1..]);
            let header = Header::from_bytes(&bytes).expect("all fields are in range");
            prop_assert_eq!(Header::from_bytes(&header.to_bytes()), Some(header));
        }
    }

    #[test]
    fn flags_are_a_set() {
        let (syn, eod, slow) = (Flags::SYN, Flags::EOD, Flags::SLOW);
        let both = syn.with(slow);
        assert_eq!((both, both.with(syn), both.with(Flags::NONE)), (Flags(9), both, both));
        assert_eq!([both.has(syn), both.has(slow), both.has(both), both.has(eod)], [true, true, true, false]);
        assert!(!syn.has(both), "all of them are needed");
        assert_eq!((both.only(slow), both.only(eod), syn.only(both)), (slow, Flags::NONE, syn));
        assert_eq!((syn.with_if(slow, true), syn.with_if(slow, false)), (both, syn));
    }

    #[test]
    fn identifiers_with_the_top_bit_name_a_stream() {
        for number in [0, 1, 32767] {
            assert_eq!(Cid::of_stream(number), Cid(0x8000 + number));
            assert_eq!((Cid::of_stream(number).stream(), Cid(number).stream()), (Some(number), None));
        }
    }

    /// An answer is about the same packet; it repeats whether the packet could start the sequence or be delivered without a connection, and
    /// nothing else of its flags.
    #[test]
    fn an_answer_names_the_packet_and_repeats_two_flags() {
        let all = [Flags::EOD, Flags::CON, Flags::SLOW, Flags::LAST, Flags::OFFSET];
        let request = Header {
            kind: Kind::Req,
            transfer: Transfer::Ordered,
            flags: all.into_iter().fold(Flags::SYN, Flags::with),
            reason: Reason::Held,
            cid: Cid(3),
            seq: Seq(9),
            word: 77,
        };
        let answer = Header {
            kind: Kind::Ack,
            transfer: Transfer::Ordered,
            flags: Flags::SYN.with(Flags::SLOW),
            reason: Reason::None,
            cid: Cid(3),
            seq: Seq(9),
            word: 0,
        };
        assert_eq!(request.answer(Kind::Ack), answer);
        let plain = Header { flags: Flags::EOD, ..request };
        assert_eq!(plain.answer(Kind::Nack), Header { kind: Kind::Nack, flags: Flags::NONE, ..answer });
    }

    #[test]
    fn the_word_is_an_offset_if_a_flag_says_so() {
        let header = Header { word: 77, ..Header::default() };
        assert_eq!((header.offset(), header.count(), header.result(), header.bitmap()), (None, 77, 77, 77));
        assert_eq!(Header { flags: Flags::OFFSET, ..header }.offset(), Some(77));
    }
}
