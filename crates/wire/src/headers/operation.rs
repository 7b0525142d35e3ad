/// Place of a packet in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// The first of two or more packets.
    First,
    /// Between first and last.
    Middle,
    /// The last of two or more packets.
    Last,
    /// The message's only packet.
    Only,
}

/// Operation of a packet: the lower 5 bits of its opcode (IBA volume 1, table 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// First packet of a SEND.
    SendFirst = 0x00,
    /// Middle packet of a SEND.
    SendMiddle = 0x01,
    /// Last packet of a SEND.
    SendLast = 0x02,
    /// Last packet of a SEND with immediate data.
    SendLastImm = 0x03,
    /// SEND of one packet.
    SendOnly = 0x04,
    /// SEND of one packet with immediate data.
    SendOnlyImm = 0x05,
    /// First packet of an RDMA WRITE.
    WriteFirst = 0x06,
    /// Middle packet of an RDMA WRITE.
    WriteMiddle = 0x07,
    /// Last packet of an RDMA WRITE.
    WriteLast = 0x08,
    /// Last packet of an RDMA WRITE with immediate data.
    WriteLastImm = 0x09,
    /// RDMA WRITE of one packet.
    WriteOnly = 0x0a,
    /// RDMA WRITE of one packet with immediate data.
    WriteOnlyImm = 0x0b,
    /// Request of an RDMA READ.
    ReadRequest = 0x0c,
    /// First packet of the data of an RDMA READ.
    ReadResponseFirst = 0x0d,
    /// Middle packet of the data of an RDMA READ. The only response without AETH.
    ReadResponseMiddle = 0x0e,
    /// Last packet of the data of an RDMA READ.
    ReadResponseLast = 0x0f,
    /// Data of an RDMA READ in one packet.
    ReadResponseOnly = 0x10,
    /// Acknowledgement or negative acknowledgement.
    Acknowledge = 0x11,
    /// Result of an atomic operation.
    AtomicAcknowledge = 0x12,
    /// Atomic Compare & Swap.
    CompareSwap = 0x13,
    /// Atomic Fetch & Add.
    FetchAdd = 0x14,
    /// Resynchronisation of an end-to-end context (Reliable Datagram).
    Resync = 0x15,
    /// Last packet of a SEND that invalidates a key.
    SendLastInvalidate = 0x16,
    /// SEND of one packet that invalidates a key.
    SendOnlyInvalidate = 0x17,
    /// Flush of remote memory (release 1.5).
    Flush = 0x1c,
    /// Atomic write of 8 bytes (release 1.5).
    AtomicWrite = 0x1d,
}

impl Operation {
    /// Every operation, by opcode.
    pub const ALL: [Self; 26] = [
        Self::SendFirst,
        Self::SendMiddle,
        Self::SendLast,
        Self::SendLastImm,
        Self::SendOnly,
        Self::SendOnlyImm,
        Self::WriteFirst,
        Self::WriteMiddle,
        Self::WriteLast,
        Self::WriteLastImm,
        Self::WriteOnly,
        Self::WriteOnlyImm,
        Self::ReadRequest,
        Self::ReadResponseFirst,
        Self::ReadResponseMiddle,
        Self::ReadResponseLast,
        Self::ReadResponseOnly,
        Self::Acknowledge,
        Self::AtomicAcknowledge,
        Self::CompareSwap,
        Self::FetchAdd,
        Self::Resync,
        Self::SendLastInvalidate,
        Self::SendOnlyInvalidate,
        Self::Flush,
        Self::AtomicWrite,
    ];

    /// The operation of the lower 5 bits of an opcode; `None` for reserved ones.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits & 0x1f {
            index @ 0x00..=0x17 => Some(Self::ALL[index as usize]),
            0x1c => Some(Self::Flush),
            0x1d => Some(Self::AtomicWrite),
            _ => None,
        }
    }

    /// Name in the words of the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendFirst => "SEND First",
            Self::SendMiddle => "SEND Middle",
            Self::SendLast => "SEND Last",
            Self::SendLastImm => "SEND Last with Immediate",
            Self::SendOnly => "SEND Only",
            Self::SendOnlyImm => "SEND Only with Immediate",
            Self::WriteFirst => "RDMA WRITE First",
            Self::WriteMiddle => "RDMA WRITE Middle",
            Self::WriteLast => "RDMA WRITE Last",
            Self::WriteLastImm => "RDMA WRITE Last with Immediate",
            Self::WriteOnly => "RDMA WRITE Only",
            Self::WriteOnlyImm => "RDMA WRITE Only with Immediate",
            Self::ReadRequest => "RDMA READ Request",
            Self::ReadResponseFirst => "RDMA READ Response First",
            Self::ReadResponseMiddle => "RDMA READ Response Middle",
            Self::ReadResponseLast => "RDMA READ Response Last",
            Self::ReadResponseOnly => "RDMA READ Response Only",
            Self::Acknowledge => "Acknowledge",
            Self::AtomicAcknowledge => "ATOMIC Acknowledge",
            Self::CompareSwap => "CmpSwap",
            Self::FetchAdd => "FetchAdd",
            Self::Resync => "RESYNC",
            Self::SendLastInvalidate => "SEND Last with Invalidate",
            Self::SendOnlyInvalidate => "SEND Only with Invalidate",
            Self::Flush => "FLUSH",
            Self::AtomicWrite => "ATOMIC WRITE",
        }
    }

    /// True for packets from responder to requester.
    pub const fn is_response(self) -> bool {
        matches!(self as u8, 0x0d..=0x12)
    }

    /// True for data of an RDMA READ.
    pub const fn is_read_response(self) -> bool {
        matches!(self as u8, 0x0d..=0x10)
    }

    /// True for SEND in all its forms: the packet consumes a receive request, or part of one.
    pub const fn is_send(self) -> bool {
        matches!(self as u8, 0x00..=0x05 | 0x16 | 0x17)
    }

    /// True for RDMA WRITE in all its forms.
    pub const fn is_write(self) -> bool {
        matches!(self as u8, 0x06..=0x0b)
    }

    /// True for Compare & Swap and Fetch & Add.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::CompareSwap | Self::FetchAdd)
    }

    /// Place of the packet in its message.
    pub const fn position(self) -> Position {
        match self {
            Self::SendFirst | Self::WriteFirst | Self::ReadResponseFirst => Position::First,
            Self::SendMiddle | Self::WriteMiddle | Self::ReadResponseMiddle => Position::Middle,
            Self::SendLast
            | Self::SendLastImm
            | Self::SendLastInvalidate
            | Self::WriteLast
            | Self::WriteLastImm
            | Self::ReadResponseLast => Position::Last,
            _ => Position::Only,
        }
    }

    /// True for the first packet of a message, or its only one.
    pub const fn starts_message(self) -> bool {
        matches!(self.position(), Position::First | Position::Only)
    }

    /// True for the last packet of a message, or its only one.
    pub const fn ends_message(self) -> bool {
        matches!(self.position(), Position::Last | Position::Only)
    }

    /// True if the packet may carry a payload.
    pub const fn has_payload(self) -> bool {
        self.is_send() || self.is_write() || self.is_read_response() || matches!(self, Self::AtomicWrite)
    }
}
