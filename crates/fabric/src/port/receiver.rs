use fabricsim_units::{ByteTime, Time};

/// The receiving side of a port, with its input buffer.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct Receiver {
    /// Time of a byte on the link.
    pub byte_time: ByteTime,
    /// From a block's departure to the sender's use of its credit: the link's latency and the processing delay.
    pub credit_latency: Time,
    /// Number of the direction of the link that leads here, in the whole fabric.
    pub channel: u32,
    /// The sender's port, if it is in this partition.
    pub upstream: Option<u32>,
    /// Time at which a packet can next be read from the buffer.
    pub readable_at: Time,
    /// Times at which the read ports of the buffer are free again, if there are several; if there is none: no limit.
    pub reads: ReadPorts,
}

/// Number of packets that a buffer can send to outputs at once.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub enum ReadPorts {
    /// The number of outputs.
    Unlimited,
    /// One.
    One,
    /// Several; when each read port is free again.
    Several(Box<[Time]>),
}

impl ReadPorts {
    /// `count` read ports; 0 for no limit.
    pub fn new(count: u16) -> Self {
        match count {
            0 => Self::Unlimited,
            1 => Self::One,
            n => Self::Several(vec![Time::ZERO; usize::from(n)].into_boxed_slice()),
        }
    }

    /// A packet is read until `end`; `readable_at` becomes the time from which another can be.
    #[inline]
    pub(crate) fn occupy(&mut self, readable_at: &mut Time, end: Time) {
        match self {
            Self::Unlimited => {}
            Self::One => *readable_at = end,
            Self::Several(free_at) => {
                if let Some(first_free) = free_at.iter_mut().min() {
                    *first_free = end;
                }
                *readable_at = free_at.iter().copied().min().unwrap_or_default();
            }
        }
    }
}

impl Receiver {
    /// A packet is read until `end`.
    #[inline]
    pub fn occupy(&mut self, end: Time) {
        self.reads.occupy(&mut self.readable_at, end);
    }
}
