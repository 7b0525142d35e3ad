//! Headers on the wire: that of the openib BTL, 4 bytes, and those of the PML ob1 (Open MPI 2.0.0; tutorial, figure 26). Numbers are little endian, as
//! x86 hosts write them. Their sizes, and the first byte of each, are those of the unmodified library.

mod text;

/// Bytes of the BTL's header.
pub const BTL: usize = 4;

/// Bytes of the largest header of ob1, which eager limits and sizes of parts include.
pub const LARGEST: usize = 56;

/// Bytes behind a message in a ring of eager RDMA.
pub const FOOTER: usize = 4;

/// First byte of the BTL's own messages (`MCA_BTL_TAG_IB`).
const CONTROL: u8 = 0x20;

/// Bit of the BTL's credits that says that they are those of a ring (`BTL_OPENIB_RDMA_CREDITS_FLAG`).
const RING_CREDITS: u16 = 1 << 15;

/// Flag of a RNDV whose data goes by PUT: contiguous and pinned memory (`MCA_PML_OB1_HDR_FLAGS_PIN`).
const PINNED: u8 = 4;

/// Envelope of a message: the fields by which it is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Context of the communicator.
    pub context: u16,
    /// Rank of the sender.
    pub source: u32,
    /// Tag.
    pub tag: i32,
    /// Number of the message among those of its sender and context.
    pub sequence: u16,
}

/// Memory of a transfer by READ or WRITE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Virtual address.
    pub address: u64,
    /// Remote key.
    pub key: u32,
}

/// Message of ob1, or of the BTL, without the data that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A whole message.
    Match(Envelope),
    /// The beginning of a message, or a whole synchronous one.
    Rndv {
        /// Envelope.
        envelope: Envelope,
        /// Bytes of the message.
        length: u64,
        /// Request of the sender.
        send: u64,
        /// The receiver answers by PUT.
        pinned: bool,
    },
    /// A message that the receiver reads.
    Rget {
        /// Envelope.
        envelope: Envelope,
        /// Bytes of the message.
        length: u64,
        /// Request of the sender.
        send: u64,
        /// Memory of the message.
        memory: Memory,
    },
    /// Answer to a RNDV.
    Ack {
        /// Request of the sender.
        send: u64,
        /// Request of the receiver.
        receive: u64,
        /// Bytes that the sender sends by FRAGs and with the RNDV; the rest goes by PUT.
        send_length: u64,
    },
    /// A part of a message.
    Frag {
        /// Its place in the message.
        offset: u64,
        /// Request of the sender.
        send: u64,
        /// Request of the receiver.
        receive: u64,
    },
    /// Request for a WRITE.
    Put {
        /// Request of the sender.
        send: u64,
        /// Request of the receiver.
        receive: u64,
        /// Place in the message.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Memory of the receiver.
        memory: Memory,
    },
    /// End of a READ or WRITE.
    Fin {
        /// Request at the other end.
        request: u64,
        /// Bytes of the transfer.
        length: u64,
    },
    /// Credits in a message of their own.
    Credits,
    /// A ring of buffers for eager RDMA.
    Ring {
        /// Its memory.
        memory: Memory,
    },
}

/// A message as its first bytes describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Returned credits: `true` those of a ring, else those of a receive queue.
    pub credits: (bool, u16),
    /// Credit messages that have arrived (`cm_seen`).
    pub seen: u8,
    /// Header.
    pub header: Header,
    /// Bytes of all headers; data follows.
    pub size: usize,
}

/// Bytes that are no message of MPI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header has.
    #[error("{0} B are too short: the headers take {1} B")]
    Short(usize, usize),
    /// The first byte is unknown.
    #[error("first byte {0:#04x}: must be 0x41 to 0x44, 0x46, 0x48, 0x49 (ob1) or 0x20 (openib)")]
    Type(u8),
    /// The BTL and ob1 disagree about the type.
    #[error("types {0:#04x} and {1:#04x} differ")]
    Types(u8, u8),
    /// Unknown message of the BTL.
    #[error("openib message of type {0}: must be 1 (credits) or 2 (ring)")]
    Control(u8),
}

impl Header {
    /// Name of the type, as Open MPI has it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Match(_) => "MATCH",
            Self::Rndv { .. } => "RNDV",
            Self::Rget { .. } => "RGET",
            Self::Ack { .. } => "ACK",
            Self::Frag { .. } => "FRAG",
            Self::Put { .. } => "PUT",
            Self::Fin { .. } => "FIN",
            Self::Credits => "CREDITS",
            Self::Ring { .. } => "RING",
        }
    }

    /// First byte on the wire.
    const fn tag(&self) -> u8 {
        match self {
            Self::Match(_) => 0x41,
            Self::Rndv { .. } => 0x42,
            Self::Rget { .. } => 0x43,
            Self::Ack { .. } => 0x44,
            Self::Frag { .. } => 0x46,
            Self::Put { .. } => 0x48,
            Self::Fin { .. } => 0x49,
            Self::Credits | Self::Ring { .. } => CONTROL,
        }
    }

    /// Bytes of the header, without that of the BTL.
    pub const fn size(&self) -> usize {
        size(self.tag(), matches!(self, Self::Ring { .. }))
    }

    /// The envelope, of a message that is matched.
    pub const fn envelope(&self) -> Option<Envelope> {
        match self {
            Self::Match(envelope) | Self::Rndv { envelope, .. } | Self::Rget { envelope, .. } => {
                Some(*envelope)
            }
            _ => None,
        }
    }

    /// The headers of a message without credits, with room for `data` bytes more.
    pub fn encode(&self, data: usize) -> Vec<u8> {
        let mut out = Writer(Vec::with_capacity(BTL + self.size() + data + FOOTER));
        let tag = self.tag();
        out.bytes(&[tag, 0, 0, 0]);
        match *self {
            Self::Match(envelope) => out.envelope(tag, 0, &envelope),
            Self::Rndv { envelope, length, send, pinned } => {
                out.envelope(tag, if pinned { PINNED } else { 0 }, &envelope);
                out.padded(&[length, send]);
            }
            Self::Rget { envelope, length, send, memory } => {
                out.envelope(tag, PINNED, &envelope);
                out.padded(&[length, send, send, memory.address]);
                out.keys(memory.key);
            }
            Self::Ack { send, receive, send_length } => {
                out.bytes(&[tag, 0]);
                out.padded_after(6, &[send, receive, send_length, 0]);
            }
            Self::Frag { offset, send, receive } => {
                out.bytes(&[tag, 0]);
                out.padded_after(6, &[offset, send, receive]);
            }
            Self::Put { send, receive, offset, length, memory } => {
                out.bytes(&[tag, 0]);
                out.padded_after(6, &[send, receive, receive, offset, memory.address, length]);
                out.keys(memory.key);
            }
            Self::Fin { request, length } => {
                out.bytes(&[tag, 0]);
                out.padded_after(6, &[length, request]);
            }
            Self::Credits => out.bytes(&[1, 0, 0, 0]),
            Self::Ring { memory } => {
                out.bytes(&[2, 0, 0, 0]);
                out.bytes(&memory.key.to_le_bytes());
                out.bytes(&memory.address.to_le_bytes());
            }
        }
        out.0
    }
}

/// Bytes of a header by its first byte.
const fn size(tag: u8, is_ring: bool) -> usize {
    match tag {
        0x41 => 14,
        0x42 | 0x46 => 32,
        0x43 => 56,
        0x44 => 40,
        0x48 => 64,
        0x49 => 24,
        _ if is_ring => 16,
        _ => 4,
    }
}

/// Sets the credits of an encoded message.
pub fn set_credits(message: &mut [u8], (of_ring, credits): (bool, u16), seen: u8) {
    let flag = if of_ring { RING_CREDITS } else { 0 };
    message[1] = seen;
    message[2..4].copy_from_slice(&(credits | flag).to_le_bytes());
}

/// Reads the headers at the beginning of a message of MPI.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let short = |needed| DecodeError::Short(bytes.len(), needed);
    let &[tag, seen, low, high] = bytes.first_chunk::<BTL>().ok_or_else(|| short(BTL))?;
    let rest = &bytes[BTL..];
    let &kind = rest.first().ok_or_else(|| short(BTL + 1))?;
    if !matches!(tag, 0x41..=0x44 | 0x46 | 0x48 | 0x49 | CONTROL) {
        return Err(DecodeError::Type(tag));
    }
    if tag != CONTROL && tag != kind {
        return Err(DecodeError::Types(tag, kind));
    }
    if tag == CONTROL && !matches!(kind, 1 | 2) {
        return Err(DecodeError::Control(kind));
    }
    let needed = size(tag, kind == 2);
    let fields = Reader(rest.get(..needed).ok_or_else(|| short(BTL + needed))?);
    let credits = u16::from_le_bytes([low, high]);
    let credits = (credits & RING_CREDITS != 0, credits & !RING_CREDITS);
    Ok(Decoded { credits, seen, header: fields.header(tag, kind), size: BTL + needed })
}

struct Writer(Vec<u8>);

impl Writer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn envelope(&mut self, tag: u8, flags: u8, envelope: &Envelope) {
        self.bytes(&[tag, flags]);
        self.bytes(&envelope.context.to_le_bytes());
        self.bytes(&envelope.source.to_le_bytes());
        self.bytes(&envelope.tag.to_le_bytes());
        self.bytes(&envelope.sequence.to_le_bytes());
    }

    /// Words behind an envelope, which has 14 bytes.
    fn padded(&mut self, words: &[u64]) {
        self.padded_after(2, words);
    }

    fn padded_after(&mut self, padding: usize, words: &[u64]) {
        self.0.resize(self.0.len() + padding, 0);
        for word in words {
            self.bytes(&word.to_le_bytes());
        }
    }

    /// Registration handle of the openib BTL: remote and local key.
    fn keys(&mut self, key: u32) {
        self.bytes(&key.to_le_bytes());
        self.bytes(&key.to_le_bytes());
    }
}

/// A header with all its bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut found = [0; N];
        found.copy_from_slice(&self.0[at..at + N]);
        found
    }

    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    fn key(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    fn envelope(&self) -> Envelope {
        Envelope {
            context: u16::from_le_bytes(self.array(2)),
            source: u32::from_le_bytes(self.array(4)),
            tag: i32::from_le_bytes(self.array(8)),
            sequence: u16::from_le_bytes(self.array(12)),
        }
    }

    fn header(&self, tag: u8, kind: u8) -> Header {
        let envelope = || self.envelope();
        match tag {
            0x41 => Header::Match(envelope()),
            0x42 => Header::Rndv {
                envelope: envelope(),
                length: self.word(16),
                send: self.word(24),
                pinned: self.0[1] & PINNED != 0,
            },
            0x43 => Header::Rget {
                envelope: envelope(),
                length: self.word(16),
                send: self.word(24),
                memory: Memory { address: self.word(40), key: self.key(48) },
            },
            0x44 => Header::Ack { send: self.word(8), receive: self.word(16), send_length: self.word(24) },
            0x46 => Header::Frag { offset: self.word(8), send: self.word(16), receive: self.word(24) },
            0x48 => Header::Put {
                send: self.word(8),
                receive: self.word(16),
                offset: self.word(32),
                length: self.word(48),
                memory: Memory { address: self.word(40), key: self.key(56) },
            },
            0x49 => Header::Fin { length: self.word(8), request: self.word(16) },
            _ if kind == 1 => Header::Credits,
            _ => Header::Ring { memory: Memory { key: self.key(4), address: self.word(8) } },
        }
    }
}
