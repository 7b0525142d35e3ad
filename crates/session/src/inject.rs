use fabricsim_engine::Prepared;
use fabricsim_model::Observer;
use fabricsim_spec::DrawPer;
use fabricsim_units::{Bytes, HostId, Time};
use fabricsim_workload::{Message, StreamKind};

use crate::Session;

/// A message that the caller injects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Size in bytes, 1 or more.
    pub bytes: u64,
    /// Entry of the traffic list whose service class and ordering the message has.
    pub stream: u16,
    /// Time at which it is created, now or later.
    pub at: Time,
}

/// Identity of an injected message, carried by its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId {
    /// Sending host.
    pub source: HostId,
    /// Stream.
    pub stream: u16,
    /// Number. Those of injected messages count down from the largest, those of others up from 0.
    pub tag: u32,
}

/// Reason why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// There is no such host.
    #[error("host {host}: must be less than {hosts}")]
    NoHost {
        /// Its number.
        host: u32,
        /// Number of hosts.
        hosts: usize,
    },
    /// There is no such entry of the traffic list.
    #[error("traffic entry {stream}: must be less than {entries}")]
    NoEntry {
        /// Its number.
        stream: u16,
        /// Number of entries.
        entries: usize,
    },
    /// Messages of the entry are answered.
    #[error("traffic entry {name:?} has responses: inject into an entry without")]
    HasResponses {
        /// Name of the entry.
        name: String,
    },
    /// Packets of a message of the entry have destinations of their own.
    #[error(
        "traffic entry {name:?} draws a destination per packet: inject into an entry with draw_per = \"message\""
    )]
    DrawsPerPacket {
        /// Name of the entry.
        name: String,
    },
    /// The size is out of range.
    #[error("size {}: must be 1 B to {}", Bytes(*.bytes), Bytes(*.most))]
    Size {
        /// Bytes.
        bytes: u64,
        /// Maximum size of a message.
        most: u64,
    },
    /// The time is over.
    #[error("at {at}: must not be before now, {now}")]
    Past {
        /// The time.
        at: Time,
        /// The session's time.
        now: Time,
    },
    /// The time is too late for the clock.
    #[error("at {at}: must be at most {most}")]
    Late {
        /// The time.
        at: Time,
        /// Latest time.
        most: Time,
    },
    /// Hosts open no messages any more.
    #[error(
        "the run drains until it is empty: hosts send no new messages; inject before the end of the measurement, or \
         set run.drain = \"measured\""
    )]
    Drains,
}

/// Latest time of an injection: 100 days.
const LATEST: Time = Time(100 * 86_400 * 1_000_000_000_000);

/// Facts about an entry of the traffic list.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    name: String,
    has_responses: bool,
    draws_per_packet: bool,
}

/// The entries of the traffic list.
pub(crate) fn entries(prepared: &Prepared) -> Vec<Entry> {
    let traffic = &prepared.experiment.traffic;
    let entries = traffic.iter().zip(&prepared.workload.streams).map(|(entry, stream)| Entry {
        name: stream.name.clone(),
        has_responses: stream.kind != StreamKind::Traffic,
        draws_per_packet: entry.draw_per == DrawPer::Packet,
    });
    entries.collect()
}

impl<B: Observer> Session<B> {
    /// Hands a message to its source host, which sends it through its protocol or transport and its congestion
    /// control. Its bytes count as offered.
    ///
    /// # Errors
    ///
    /// The message cannot be sent; nothing is changed.
    pub fn inject(&mut self, injection: Injection) -> Result<MessageId, InjectError> {
        self.check(&injection)?;
        let Injection { source, destination, bytes, stream, at } = injection;
        let tag = u32::MAX - self.injected;
        self.injected = self.injected.wrapping_add(1);
        self.engine.inject(source, Message { created: at, destination, bytes, stream, tag });
        Ok(MessageId { source, stream, tag })
    }

    fn check(&self, injection: &Injection) -> Result<(), InjectError> {
        let hosts = self.hosts;
        for host in [injection.source, injection.destination] {
            if host.index() >= hosts {
                return Err(InjectError::NoHost { host: host.0, hosts });
            }
        }
        let (stream, entries) = (injection.stream, self.entries.len());
        let entry = self.entries.get(usize::from(stream)).ok_or(InjectError::NoEntry { stream, entries })?;
        if entry.has_responses {
            return Err(InjectError::HasResponses { name: entry.name.clone() });
        }
        if entry.draws_per_packet {
            return Err(InjectError::DrawsPerPacket { name: entry.name.clone() });
        }
        let (bytes, most) = (injection.bytes, self.largest_message);
        if bytes == 0 || bytes > most {
            return Err(InjectError::Size { bytes, most });
        }
        let (at, now) = (injection.at, self.now());
        if at < now {
            return Err(InjectError::Past { at, now });
        }
        if at > LATEST {
            return Err(InjectError::Late { at, most: LATEST });
        }
        if self.is_draining { Err(InjectError::Drains) } else { Ok(()) }
    }
}
