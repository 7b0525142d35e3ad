mod noise;

use fabricsim_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use noise::Noise;

/// Protocols and processor times of MPI: those of Open MPI 2.0.0 with the openib BTL. They hold for rank programs (`fabricsim.mpi`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mpi {
    /// Processor time of a call that starts a send or a receive, or looks for a message. Calibrated with the median of a rendezvous Isend (tutorial, table
    /// V: 400 ns with post and look-up of the registration).
    #[schemars(extend("x-maximum" = "1 s"))]
    pub call: Time,
    /// Processor time of a call that waits for requests of earlier calls, or tests them. Calibrated with the completion of an eager Isend (tutorial, table IV:
    /// 221 ns with the polls).
    #[schemars(extend("x-maximum" = "1 s"))]
    pub wait: Time,
    /// Processor time of matching one message with the posted receives, or one receive with the unexpected messages. Assumed.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub matching: Time,
    /// Rate at which the processor copies messages between buffers of the program and of MPI. Calibrated with the difference of eager and rendezvous Isend
    /// of 8192 B (tutorial, tables IV and V: 257 ns).
    pub copy_rate: Rate,
    /// Processor time of the connection of two ranks, at their first message in either direction; the exchange itself is outside the fabric.
    /// Assumed.
    #[schemars(extend("x-maximum" = "10 s"))]
    pub connect: Time,
    /// Largest eager message with its headers, of 56 B (`btl_openib_eager_limit`).
    #[schemars(extend("x-minimum" = "128 B", "x-maximum" = "1 GiB"))]
    pub eager_limit: Bytes,
    /// Transfer of longer messages (`btl_openib_flags`, `mpi_leave_pinned`).
    pub rendezvous: Rendezvous,
    /// Longest part of a message that is sent by one SEND, with its headers (`btl_openib_max_send_size`).
    #[schemars(extend("x-minimum" = "128 B", "x-maximum" = "1 GiB"))]
    pub max_send_size: Bytes,
    /// Shortest message of the pipeline that has parts by WRITE (`btl_openib_min_rdma_pipeline_size`).
    #[schemars(extend("x-maximum" = "1 GiB"))]
    pub min_pipeline_size: Bytes,
    /// First part of a message of the pipeline, which is sent by SENDs (`btl_openib_rdma_pipeline_send_length`).
    #[schemars(extend("x-maximum" = "1 GiB"))]
    pub pipeline_send_length: Bytes,
    /// Parts of the rest, each by a WRITE (`btl_openib_rdma_pipeline_frag_size`).
    #[schemars(extend("x-minimum" = "4096 B", "x-maximum" = "1 GiB"))]
    pub pipeline_fragment: Bytes,
    /// True if eager messages go by WRITE to a ring of buffers at the receiver, once that has got enough messages (`btl_openib_use_eager_rdma`).
    pub eager_rdma: bool,
    /// Messages of a peer after which it gets a ring (`btl_openib_eager_rdma_threshold`).
    #[schemars(range(min = 1), extend("x-unit" = "messages"))]
    pub eager_rdma_threshold: u32,
    /// Peers that get a ring, at most (`btl_openib_max_eager_rdma`).
    #[schemars(range(max = 4096), extend("x-unit" = "peers"))]
    pub eager_rdma_peers: u32,
    /// Buffers of a ring (`btl_openib_eager_rdma_num`).
    #[schemars(range(min = 1, max = 4096), extend("x-unit" = "buffers"))]
    pub eager_rdma_buffers: u32,
    /// Receive queues, in Open MPI's form (`btl_openib_receive_queues`): separated by colons, sizes ascending. `S,size,buffers,low,sends`: shared by all peers;
    /// buffers are posted anew when `low` are left, and a peer has `sends` SENDs in progress at most. `P,size,buffers,low,window,reserve`: of each peer, which sends
    /// only with credits, one for each buffer; they return with messages, or in a message of their own once there are `window`, for which the queue has
    /// `reserve` more buffers. What follows the buffers may be left out, from the end: `low` is three quarters of them, `sends` a quarter of `low`, `window` twice
    /// what `low` leaves, `reserve` twice the buffers by `window`. A `window` is at most `low` + 1: the credits of a longer one could wait for ever.
    pub receive_queues: String,
    /// Most bytes of a SEND or WRITE that the work request holds itself (`btl_openib_max_inline_data`); at most those of the adapter.
    #[schemars(extend("x-maximum" = "64 KiB"))]
    pub max_inline: Bytes,
    /// READs of a connection at a time (`btl_openib_ib_max_rdma_dst_ops`).
    #[schemars(range(min = 1, max = 16), extend("x-unit" = "READs"))]
    pub reads: u8,
    /// Local ACK timeout n of the queue pairs: 4.096 us x 2^n; 0: never (`btl_openib_ib_timeout`).
    #[schemars(range(max = 31), extend("x-unit" = "1"))]
    pub timeout: u8,
    /// Time for which a receiver without buffer asks the sender to wait, rounded up to one of InfiniBand's 32 values (`btl_openib_ib_min_rnr_timer` = 25).
    #[schemars(extend("x-minimum" = "10 us", "x-maximum" = "655.36 ms"))]
    pub min_rnr_timer: Time,
    /// True if memory stays registered after a transfer (`mpi_leave_pinned`): later transfers of the same buffer find it.
    pub registration_cache: bool,
    /// Processor time of registering memory. Assumed.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub registration: Time,
    /// The same for each page of 4 KiB, in addition. Assumed.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub registration_page: Time,
    /// Processor time of finding registered memory. Assumed.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub registration_lookup: Time,
    /// From the end of a call that sends until a rank on the same host sees the message, by shared memory (`vader`). Assumed.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub shared_latency: Time,
    /// Longest message between ranks on a host that is copied twice, through shared memory (`btl_vader_eager_limit`); the receiver copies longer ones
    /// once, from the sender's memory.
    #[schemars(extend("x-maximum" = "1 GiB"))]
    pub shared_eager_limit: Bytes,
    /// Disturbances of the ranks' processors by operating system, caches and buses. Without them calls take the times above exactly.
    pub noise: Noise,
}

/// Transfer of messages above the eager limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rendezvous {
    /// RGET, RDMA READ by the receiver, FIN: the default of the openib BTL.
    #[default]
    Get,
    /// RNDV, PUT, RDMA WRITE by the sender, FIN.
    Put,
    /// RNDV with the first part, ACK, FRAGs up to the send length, and for each further part PUT, RDMA WRITE, FIN: as without `mpi_leave_pinned`.
    Pipeline,
    /// RNDV with the first part, ACK, FRAGs.
    Send,
}

/// Receive queues of Open MPI 2.0.0.
const RECEIVE_QUEUES: &str =
    "S,128,256,192,128:S,2048,1024,1008,64:S,12288,1024,1008,64:S,65536,1024,1008,64";

/// Longest receive queue, in buffers (`max_qp_wr`).
const MOST_BUFFERS: u32 = 32_768;

/// 8192 B in 257 ns.
const COPY_RATE: Rate = match Rate::new(255_000_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

impl Default for Mpi {
    fn default() -> Self {
        Self {
            call: Time::ns(300),
            wait: Time::ns(160),
            matching: Time::ns(50),
            copy_rate: COPY_RATE,
            connect: Time::us(100),
            eager_limit: Bytes(12_288),
            rendezvous: Rendezvous::Get,
            max_send_size: Bytes(65_536),
            min_pipeline_size: Bytes(256 << 10),
            pipeline_send_length: Bytes(1 << 20),
            pipeline_fragment: Bytes(1 << 20),
            eager_rdma: true,
            eager_rdma_threshold: 16,
            eager_rdma_peers: 16,
            eager_rdma_buffers: 16,
            receive_queues: RECEIVE_QUEUES.to_owned(),
            max_inline: Bytes(128),
            reads: 4,
            timeout: 20,
            min_rnr_timer: Time::us(61_440),
            registration_cache: true,
            registration: Time::us(1),
            registration_page: Time::ns(100),
            registration_lookup: Time::ns(40),
            shared_latency: Time::ns(150),
            shared_eager_limit: Bytes(4096),
            noise: Noise::default(),
        }
    }
}

/// A receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveQueue {
    /// Largest message in bytes, without the header of the BTL.
    pub size: u32,
    /// Buffers.
    pub buffers: u32,
    /// Number of buffers left at which the used ones are posted anew.
    pub low: u32,
    /// SENDs of a peer in progress.
    pub sends: u32,
    /// Credits of a queue that a peer has for itself; `None`: all peers share it.
    pub credits: Option<Credits>,
}

/// Return of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    /// Credits that are returned in a message of their own.
    pub window: u32,
    /// Buffers for such messages.
    pub reserve: u32,
}

impl Mpi {
    /// The receive queues, or what is wrong with them.
    pub fn queues(&self) -> Result<Vec<ReceiveQueue>, String> {
        let queues: Vec<ReceiveQueue> =
            self.receive_queues.split(':').map(ReceiveQueue::parse).collect::<Result<_, _>>()?;
        if let Some(pair) = queues.windows(2).find(|pair| pair[0].size >= pair[1].size) {
            return Err(format!("size {} after {}: sizes must ascend", pair[1].size, pair[0].size));
        }
        let largest = queues.last().map_or(0, |queue| u64::from(queue.size));
        let needed = self.eager_limit.max(self.max_send_size);
        if largest < needed.0 {
            return Err(format!(
                "largest size {largest} B: must be at least {needed}, the larger of `eager_limit` and `max_send_size`"
            ));
        }
        Ok(queues)
    }
}

impl ReceiveQueue {
    fn parse(text: &str) -> Result<Self, String> {
        let fail = |what: &str| Err(format!("\"{text}\": {what}"));
        let mut fields = text.split(',').map(str::trim);
        let kind = fields.next().unwrap_or_default();
        let numbers: Result<Vec<u32>, _> = fields.map(str::parse).collect();
        let Ok(numbers) = numbers else { return fail("fields after the first must be whole numbers") };
        let given = |place: usize| numbers.get(place).copied();
        let (size, buffers) = (given(0).unwrap_or_default(), given(1).unwrap_or_default());
        // The defaults are those of `btl_openib_component.c`.
        let low = given(2).unwrap_or(buffers - buffers / 4);
        let queue = match (kind, numbers.len()) {
            ("S", 2..=4) => Self {
                size,
                buffers,
                low,
                sends: given(3).unwrap_or_else(|| (low / 4).max(1)),
                credits: None,
            },
            ("P", 2..=5) => {
                let window = given(3).unwrap_or_else(|| buffers.saturating_sub(low).saturating_mul(2).max(1));
                let reserve = given(4).unwrap_or_else(|| (buffers.saturating_mul(2) / window.max(1)).max(1));
                let credits = Some(Credits { window, reserve });
                Self { size, buffers, low, sends: buffers.saturating_add(reserve), credits }
            }
            ("S", _) => return fail("S needs size, buffers, and may have low, sends"),
            ("P", _) => return fail("P needs size, buffers, and may have low, window, reserve"),
            _ => return fail("a queue begins with S (shared) or P (of each peer)"),
        };
        let most = queue.buffers.saturating_add(queue.credits.map_or(0, |credits| credits.reserve));
        if queue.size < 64 {
            return fail("size must be at least 64 B, which headers take");
        }
        if queue.buffers == 0 || most > MOST_BUFFERS || queue.low >= queue.buffers {
            return fail(&format!("buffers must be 1 to {MOST_BUFFERS}, and low less than buffers"));
        }
        if !(1..=MOST_BUFFERS).contains(&queue.sends) {
            return fail(&format!("sends must be 1 to {MOST_BUFFERS}"));
        }
        match queue.credits {
            // With all credits used, at least `low` + 1 of them wait to be returned.
            Some(credits) if !(1..=queue.low + 1).contains(&credits.window) => {
                fail(&format!("window must be 1 to low + 1 = {}, not {}", queue.low + 1, credits.window))
            }
            Some(credits) if credits.reserve == 0 => fail("reserve must be at least 1"),
            _ => Ok(queue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(text: &str) -> Result<Vec<ReceiveQueue>, String> {
        Mpi { receive_queues: text.to_owned(), ..Mpi::default() }.queues()
    }

    #[test]
    fn the_default_is_that_of_open_mpi() {
        let queues = Mpi::default().queues().unwrap();
        assert_eq!(queues.iter().map(|queue| queue.size).collect::<Vec<_>>(), [128, 2048, 12_288, 65_536]);
        assert_eq!((queues[0].buffers, queues[0].low, queues[0].sends), (256, 192, 128));
        assert!(queues.iter().all(|queue| queue.credits.is_none()));
    }

    #[test]
    fn queues_of_a_peer_have_credits() {
        let queues = queues("P,128,8,4,2,3:S,65536,16,8,4").unwrap();
        assert_eq!(queues[0].credits, Some(Credits { window: 2, reserve: 3 }));
        assert_eq!(queues[0].sends, 11);
    }

    #[test]
    fn later_fields_have_the_defaults_of_open_mpi() {
        let whole = queues("P,128,256,192,128,4:S,65536,256,192,48").unwrap();
        for text in
            ["P,128,256,192,128:S,65536,256,192", "P,128,256,192:S,65536,256", "P,128,256:S,65536,256"]
        {
            assert_eq!(queues(text).unwrap(), whole, "{text}");
        }
    }

    #[test]
    fn bad_queues_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "begins with S"),
            ("S,65536,a,1,1", "whole numbers"),
            ("S,65536", "S needs"),
            ("P,65536,16,8,4,3,2", "P needs"),
            ("S,65536,16,16,4", "low less than buffers"),
            ("S,65536,0,0,4", "buffers must be 1"),
            ("S,65536,16,8,0", "sends must be"),
            ("S,32,16,8,1", "at least 64 B"),
            ("P,65536,16,8,10,1", "window must be 1 to low + 1 = 9, not 10"),
            ("P,65536,16,8,4,0", "reserve must be at least 1"),
            ("S,2048,16,8,4", "largest size 2048 B"),
            ("S,65536,16,8,4:S,2048,16,8,4", "must ascend"),
            ("P,65536,4294967295,8,4,9", "buffers must be 1"),
        ] {
            let found = queues(text).unwrap_err();
            assert!(found.contains(reason), "{text}: {found}");
        }
    }
}
