use fabricsim_units::{ByteTime, Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::OutOfOrder;

/// Times of channel adapters and of the calls of their programs. They hold for programs that use verbs (`fabricsim perftest`); the messages of `traffic`
/// are sent without them. A work request passes the stages call, doorbell, fetch of the payload, link; then processing, write of the payload and
/// completion. Each stage works on the next packet meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adapter {
    /// Values of the keys that are not given. `docs/design/verbs.md` has them with their sources.
    pub profile: AdapterProfile,
    /// Processor time of a call that posts a work request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub post: Option<Time>,
    /// Processor time of a call that posts a receive request, which rings no doorbell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub post_receive: Option<Time>,
    /// Processor time of a call that finds completions, up to 16, or data in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub poll: Option<Time>,
    /// From the end of a posting call until the adapter has the work request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 ns", "x-maximum" = "1 s"))]
    pub doorbell: Option<Time>,
    /// From the doorbell until the adapter has read a work request from memory. 0: it comes with the doorbell, as short ones do (BlueFlame).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub request_fetch: Option<Time>,
    /// From the request of the adapter for data in memory to the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub payload_fetch: Option<Time>,
    /// Least time from one message of an adapter to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub message_gap: Option<Time>,
    /// Least time from one packet of an adapter to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub packet_gap: Option<Time>,
    /// From the arrival of a packet until it is executed and can be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub receive: Option<Time>,
    /// From the execution of a packet until its data is visible in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 ns", "x-maximum" = "1 s"))]
    pub payload_write: Option<Time>,
    /// From then, or from an acknowledgement, until the completion is visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1 ns", "x-maximum" = "1 s"))]
    pub completion: Option<Time>,
    /// From a completion until a program that sleeps runs again: interrupt and scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub wake_up: Option<Time>,
    /// Bus to the host's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie: Option<Pcie>,
    /// Blocks of 64 bytes that are fetched for each block on the link, if a message does not begin at a multiple of 64 bytes (tutorial, section III-G).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8), extend("x-unit" = "blocks"))]
    pub unaligned_blocks: Option<u8>,
    /// Largest payload that a work request can hold itself (inline).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "64 KiB"))]
    pub max_inline: Option<Bytes>,
    /// Treatment of packets of a reliable connection that have overtaken others, as adaptive routing makes them do.
    pub out_of_order: OutOfOrder,
    /// Packets of a connection, from the first missing one on, that an adapter can hold with `out_of_order` `hold` or `place`; what is further ahead
    /// is dropped. By default 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 32768), extend("x-unit" = "packets"))]
    pub reorder_packets: Option<u16>,
    /// Cache of address translations. Without one, the adapter knows the place of all memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translation_cache: Option<TranslationCache>,
}

/// Cache of an adapter for addresses of memory (ATC, or a table of pages that is kept in the host's memory). It is divided into sets of eight pages; of a set the page used
/// longest ago makes room. Translations that it lacks are fetched one at a time, before the data of their packet. Packets that arrive
/// meanwhile wait in the input buffer, so that a receiver slows its senders down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranslationCache {
    /// Pages that it knows, rounded up to whole sets.
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "pages"))]
    pub entries: u32,
    /// Size of a page, a power of two.
    #[serde(default = "usual_page")]
    #[schemars(extend("x-minimum" = "4096 B", "x-maximum" = "1 GiB"))]
    pub page: Bytes,
    /// From the request for a translation to the answer. By default as long as `payload_fetch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1 s"))]
    pub miss: Option<Time>,
}

/// Size of the pages of most hosts.
const fn usual_page() -> Bytes {
    Bytes(4096)
}

/// An adapter whose values are used where none is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdapterProfile {
    /// Mellanox ConnectX-3, FDR, PCIe 3.0 x8: that of the tutorial.
    #[default]
    Connectx3Fdr,
    /// ConnectX-4, EDR, PCIe 3.0 x16.
    Connectx4Edr,
    /// ConnectX-6, HDR, PCIe 4.0 x16.
    Connectx6Hdr,
    /// ConnectX-7, NDR, PCIe 5.0 x16.
    Connectx7Ndr,
}

/// PCI Express between an adapter and its host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pcie {
    /// Generation, 1 to 6.
    #[schemars(range(min = 1, max = 6), extend("x-unit" = "1"))]
    pub generation: u8,
    /// Lanes: 1, 2, 4, 8, 16 or 32.
    #[schemars(range(min = 1, max = 32), extend("x-unit" = "lanes"))]
    pub lanes: u8,
    /// Largest payload of a transaction-layer packet.
    #[schemars(extend("x-minimum" = "64 B", "x-maximum" = "4096 B"))]
    pub payload: Bytes,
    /// Reads of the host's memory that may be outstanding, each of `read_request`. By default as many as keep the bus busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "reads"))]
    pub reads: Option<u16>,
    /// Largest read (MaxReadReq).
    #[serde(default = "usual_read")]
    #[schemars(extend("x-minimum" = "128 B", "x-maximum" = "4096 B"))]
    pub read_request: Bytes,
}

/// The largest read as hosts set it up (PCI Express Base Specification 3.0, section 7.8.4: the default of the register).
const fn usual_read() -> Bytes {
    Bytes(512)
}

/// Bytes of a transaction-layer packet besides its payload, with 64-bit addresses: framing 4, sequence number 2, header 16, LCRC 4 (PCI Express Base
/// Specification 3.0, sections 2.2 and 3.5).
const TLP_OVERHEAD: u64 = 26;

impl Pcie {
    /// A bus whose reads are not limited.
    pub const fn new(generation: u8, lanes: u8, payload: Bytes) -> Self {
        Self { generation, lanes, payload, reads: None, read_request: usual_read() }
    }

    /// Time of a byte that is read from memory, where a read takes `latency`: that of the bus, or of as many reads as may be outstanding.
    pub fn read_time(&self, latency: Time) -> ByteTime {
        let bus = self.rate().map(Rate::byte_time).unwrap_or_default();
        let Some(reads) = self.reads else { return bus };
        let bytes = u64::from(reads) * self.read_request.0;
        bus.max(ByteTime::spread(latency, bytes.min(u64::from(u32::MAX)) as u32))
    }

    /// Data rate of one direction: encoding and headers of full transaction-layer packets taken off. Flow control and acknowledgements of the
    /// link layer are not.
    pub fn rate(&self) -> Option<Rate> {
        // Transfers per second and lane; generation 6 sends two bits in each, in flits of 256 bytes with 242 for packets.
        let (bits, numerator, denominator) = match self.generation {
            1 => (2_500_000_000_u64, 8, 10),
            2 => (5_000_000_000, 8, 10),
            3 => (8_000_000_000, 128, 130),
            4 => (16_000_000_000, 128, 130),
            5 => (32_000_000_000, 128, 130),
            _ => (64_000_000_000, 242, 256),
        };
        let raw = bits * u64::from(self.lanes) / denominator * numerator;
        let size = self.payload.0;
        Rate::new((u128::from(raw) * u128::from(size) / u128::from(size + TLP_OVERHEAD)) as u64)
    }
}

/// Values of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdapterValues {
    /// [`Adapter::post`].
    pub post: Time,
    /// [`Adapter::post_receive`].
    pub post_receive: Time,
    /// [`Adapter::poll`].
    pub poll: Time,
    /// [`Adapter::doorbell`].
    pub doorbell: Time,
    /// [`Adapter::request_fetch`].
    pub request_fetch: Time,
    /// [`Adapter::payload_fetch`].
    pub payload_fetch: Time,
    /// [`Adapter::message_gap`].
    pub message_gap: Time,
    /// [`Adapter::packet_gap`].
    pub packet_gap: Time,
    /// [`Adapter::receive`].
    pub receive: Time,
    /// [`Adapter::payload_write`].
    pub payload_write: Time,
    /// [`Adapter::completion`].
    pub completion: Time,
    /// [`Adapter::wake_up`].
    pub wake_up: Time,
    /// [`Adapter::pcie`].
    pub pcie: Pcie,
    /// [`Adapter::unaligned_blocks`].
    pub unaligned_blocks: u8,
    /// [`Adapter::max_inline`].
    pub max_inline: Bytes,
}

impl AdapterProfile {
    /// Its values.
    pub fn values(self) -> AdapterValues {
        let fdr = AdapterValues {
            post: Time::ns(60),
            post_receive: Time::ns(20),
            poll: Time::ns(30),
            doorbell: Time::ns(150),
            request_fetch: Time::ZERO,
            payload_fetch: Time::ns(400),
            message_gap: Time::ns(28),
            packet_gap: Time::ns(20),
            receive: Time::ns(100),
            payload_write: Time::ns(200),
            completion: Time::ns(100),
            wake_up: Time::us(4),
            pcie: Pcie::new(3, 8, Bytes(256)),
            unaligned_blocks: 2,
            max_inline: Bytes(928),
        };
        let with = |generation, lanes, message, packet| AdapterValues {
            message_gap: message,
            packet_gap: packet,
            pcie: Pcie::new(generation, lanes, Bytes(256)),
            unaligned_blocks: 1,
            ..fdr
        };
        match self {
            Self::Connectx3Fdr => fdr,
            Self::Connectx4Edr => with(3, 16, Time::ps(6_700), Time::ps(6_700)),
            Self::Connectx6Hdr => with(4, 16, Time::ps(4_650), Time::ps(4_650)),
            Self::Connectx7Ndr => with(5, 16, Time::ps(3_000), Time::ps(3_000)),
        }
    }
}

impl Adapter {
    /// Packets of a connection that an adapter can hold.
    pub fn reorder_packets(&self) -> u16 {
        self.reorder_packets.unwrap_or(128)
    }

    /// The values in force: those that are given, and those of the profile.
    pub fn values(&self) -> AdapterValues {
        let of = self.profile.values();
        AdapterValues {
            post: self.post.unwrap_or(of.post),
            post_receive: self.post_receive.unwrap_or(of.post_receive),
            poll: self.poll.unwrap_or(of.poll),
            doorbell: self.doorbell.unwrap_or(of.doorbell),
            request_fetch: self.request_fetch.unwrap_or(of.request_fetch),
            payload_fetch: self.payload_fetch.unwrap_or(of.payload_fetch),
            message_gap: self.message_gap.unwrap_or(of.message_gap),
            packet_gap: self.packet_gap.unwrap_or(of.packet_gap),
            receive: self.receive.unwrap_or(of.receive),
            payload_write: self.payload_write.unwrap_or(of.payload_write),
            completion: self.completion.unwrap_or(of.completion),
            wake_up: self.wake_up.unwrap_or(of.wake_up),
            pcie: self.pcie.unwrap_or(of.pcie),
            unaligned_blocks: self.unaligned_blocks.unwrap_or(of.unaligned_blocks),
            max_inline: self.max_inline.unwrap_or(of.max_inline),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gigatransfers times lanes, less encoding: 63.0 and 252 Gb/s; of each packet 256 of 282 bytes are data.
    #[test]
    fn the_rate_of_a_bus_is_that_of_its_payload() {
        let rate = |generation, lanes| Pcie::new(generation, lanes, Bytes(256)).rate().unwrap().as_gbps();
        assert!((rate(3, 8) - 63.015 * 256.0 / 282.0).abs() < 0.01);
        assert!((rate(4, 16) - 252.06 * 256.0 / 282.0).abs() < 0.01);
        assert!((rate(1, 4) - 8.0 * 256.0 / 282.0).abs() < 0.01);
    }

    #[test]
    fn keys_go_before_the_profile() {
        let adapter =
            Adapter { profile: AdapterProfile::Connectx6Hdr, post: Some(Time::ns(1)), ..Adapter::default() };
        let values = adapter.values();
        assert_eq!((values.post, values.pcie.generation), (Time::ns(1), 4));
        assert_eq!(values.doorbell, AdapterProfile::Connectx6Hdr.values().doorbell);
    }
}
