use fabricsim_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queue pairs of InfiniBand: hosts send their messages by reliable connections (RC; IBA volume 1, chapter 9). Packets have InfiniBand's
/// headers and their size, acknowledgements are packets, and what is lost is retransmitted from the first missing packet on (go-back-N).
/// Any two hosts that exchange messages are connected from the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueuePairs {
    /// Operation by which a message is sent.
    pub verb: MessageVerb,
    /// Largest payload of a packet: 256 B, 512 B, 1 KiB, 2 KiB or 4 KiB. By default the largest of these whose packets, with up to 46 B of
    /// headers and checksums, fit in `host.mtu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "256 B", "x-maximum" = "4096 B"))]
    pub path_mtu: Option<Bytes>,
    /// Queue pairs of a host for each other host and each service class. Messages take them in turn; those of one queue pair are
    /// delivered in order.
    #[schemars(range(min = 1, max = 64), extend("x-unit" = "queue pairs"))]
    pub per_pair: u8,
    /// Local ACK timeout n: a packet without acknowledgement for 4.096 us x 2^n is retransmitted. 0: never.
    #[schemars(range(max = 31), extend("x-unit" = "1"))]
    pub timeout: u8,
    /// Retries without progress after which a queue pair goes to the error state (retry_cnt): its messages fail, and all later ones.
    #[schemars(range(max = 7), extend("x-unit" = "retries"))]
    pub retry_count: u8,
    /// The same while the receiver has no receive request (rnr_retry); 7: without limit.
    #[schemars(range(max = 7), extend("x-unit" = "retries"))]
    pub rnr_retry: u8,
    /// Time for which a receiver without receive request asks the sender to wait (min_rnr_timer), rounded up to one of InfiniBand's 32 values.
    #[schemars(extend("x-minimum" = "10 us", "x-maximum" = "655.36 ms"))]
    pub min_rnr_timer: Time,
    /// A packet requests an acknowledgement if it is the last of its message, and every n-th of it besides. 0: only the last.
    #[schemars(extend("x-unit" = "packets"))]
    pub ack_every: u32,
    /// Treatment of packets that have overtaken others of their queue pair, as adaptive routing makes them do.
    pub out_of_order: OutOfOrder,
    /// Packets of a queue pair, from the first missing one on, that its receiver can hold with `out_of_order` `hold` or `place`. What is further ahead is dropped, and
    /// causes a NAK.
    #[schemars(range(min = 2, max = 32768), extend("x-unit" = "packets"))]
    pub reorder_packets: u16,
    /// Receive requests of a queue pair, for messages by `send`. 0: there is always one.
    #[schemars(extend("x-unit" = "receive requests"))]
    pub receives: u32,
    /// From the end of a message by `send` to the time at which its receive request is there again.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub receive_delay: Time,
    /// Probability that a packet is lost when it reaches its receiver, 0 to less than 1.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0, "x-unit" = "1"))]
    pub loss: f64,
}

impl Default for QueuePairs {
    fn default() -> Self {
        Self {
            verb: MessageVerb::Write,
            path_mtu: None,
            per_pair: 1,
            timeout: 14,
            retry_count: 7,
            rnr_retry: 7,
            min_rnr_timer: Time::us(640),
            ack_every: 0,
            out_of_order: OutOfOrder::Drop,
            reorder_packets: 128,
            receives: 0,
            receive_delay: Time::ZERO,
            loss: 0.0,
        }
    }
}

/// Operation by which a queue pair sends a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageVerb {
    /// RDMA WRITE to the receiver's memory.
    #[default]
    Write,
    /// SEND to a receive request of the receiver.
    Send,
}

/// What the receiver of a queue pair does with packets that have overtaken others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfOrder {
    /// Drops them, with a NAK for the first missing one: go-back-N, as the specification has it (IBA volume 1, section 9.7.4.1.2).
    #[default]
    Drop,
    /// Holds them with their data until those before them have come: the reorder buffer of the ordering protocols of SC18, with InfiniBand's packet
    /// numbers. A packet that is lost is noticed by the sender's timer.
    Hold,
    /// The same, but data of a `write` goes to memory at once, and only headers are held. Each packet of a message is a WRITE of its own, with its
    /// address: 16 B of header in each. Data of outstanding messages has no defined order.
    Place,
}

/// Bytes of a packet of a queue pair besides its payload, at most: LRH, BTH, RETH, immediate data, ICRC and VCRC.
pub const QUEUE_PAIR_HEADERS: u64 = 8 + 12 + 16 + 4 + 4 + 2;

/// Path MTUs of InfiniBand (IBA volume 1, section 14.2.5.6), ascending.
pub const PATH_MTUS: [Bytes; 5] = [Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)];

impl QueuePairs {
    /// Time after which a packet without acknowledgement is retransmitted; `None`: never.
    pub fn ack_timeout(&self) -> Option<Time> {
        (self.timeout > 0).then(|| Time::ns(4096 << self.timeout))
    }

    /// The path MTU where links carry packets of up to `largest` bytes; `None` if there is none.
    pub fn path_mtu(&self, largest: Bytes) -> Option<Bytes> {
        let most = self.path_mtu.unwrap_or(Bytes(u64::MAX));
        largest_path_mtu(largest.min(Bytes(most.0.saturating_add(QUEUE_PAIR_HEADERS))))
    }
}

/// The largest path MTU whose packets, headers included, have at most `largest` bytes; `None` if there is none.
pub fn largest_path_mtu(largest: Bytes) -> Option<Bytes> {
    let most = largest.0.checked_sub(QUEUE_PAIR_HEADERS)?;
    PATH_MTUS.into_iter().rev().find(|mtu| mtu.0 <= most)
}
