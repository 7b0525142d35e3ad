//! The network between the two processes: each datagram is delayed individually, or dropped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use fabricsim_model::Random;
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, rest};
use crate::datagram::{self, MAX_DATAGRAM, Role};
use crate::error::SocketError;
use crate::port::{self, is_nothing};
use crate::settings::{MAX_US, check_ranges};
use crate::token::Token;

/// Maximum number of datagrams read before the due ones are sent, so that a flood does not stop the network.
const MOST_READ: usize = 256;

/// Memory of a delayed datagram besides its bytes, twice, since the queue grows by doubling.
const ENTRY: usize = 2 * size_of::<Reverse<Delayed>>();

/// Treatment of datagrams by the network. Fields with `x-option` are options of `fabricsim ordering-demo`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProxySettings {
    /// Least delay.
    #[schemars(range(max = MAX_US), extend("x-unit" = "us", "x-option" = "--delay"))]
    pub delay_us: u64,
    /// Maximum additional delay, uniformly distributed.
    #[schemars(range(max = MAX_US), extend("x-unit" = "us", "x-option" = "--jitter"))]
    pub jitter_us: u64,
    /// Probability that a datagram is dropped, 0 to less than 1.
    #[schemars(
        range(min = 0.0),
        extend(
            "exclusiveMaximum" = 1.0,
            "x-unit" = "1",
            "x-option" = "--loss",
            "x-refusal" = "must be 0 or more, and less than 1"
        )
    )]
    pub loss: f64,
    /// Seed of delays, losses and random bytes.
    #[schemars(extend("x-unit" = "1", "x-option" = "--seed"))]
    pub seed: u64,
    /// UDP port of the network on the loopback address; 0: any free one.
    #[schemars(extend("x-unit" = "1", "x-option" = "--port"))]
    pub port: u16,
    /// Limit of the memory of delayed datagrams. A datagram that does not fit is dropped.
    #[schemars(range(min = 65536, max = 4294967296u64), extend("x-unit" = "bytes"))]
    pub queue_bytes: u64,
}

impl Default for ProxySettings {
    fn default() -> Self {
        Self { delay_us: 500, jitter_us: 2000, loss: 0.01, seed: 1, port: 0, queue_bytes: 1 << 20 }
    }
}

/// Counters of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProxyReport {
    /// Datagrams forwarded.
    pub forwarded: u64,
    /// Datagrams dropped at random.
    pub dropped: u64,
    /// Datagrams dropped because the queue was full.
    pub overflowed: u64,
    /// Datagrams without the session's token, or from another address than the first that presented it.
    pub ignored: u64,
    /// Datagrams that overtook an earlier one in the same direction.
    pub overtook: u64,
}

/// A datagram in flight: due time and number decide the order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Delayed {
    due: Time,
    number: u64,
    to_target: bool,
    bytes: Box<[u8]>,
}

/// A network of one socket.
#[derive(Debug)]
pub struct Proxy {
    socket: UdpSocket,
    network: Network,
}

/// The network without its socket: datagrams in, datagrams out when they are due.
#[derive(Debug)]
struct Network {
    settings: ProxySettings,
    token: Token,
    /// The address that presented the token first as the source.
    source: Option<SocketAddr>,
    /// The address that presented the token first as the target.
    target: Option<SocketAddr>,
    queue: BinaryHeap<Reverse<Delayed>>,
    /// Memory of `queue`.
    queued_bytes: usize,
    random: Random,
    number: u64,
    /// The latest number sent on, for each direction.
    latest: [u64; 2],
    report: ProxyReport,
}

impl Proxy {
    /// Binds a port of the loopback address and draws the token of a session.
    ///
    /// # Errors
    /// A setting is out of range, the port cannot be bound, or the system has no random bytes.
    pub fn new(settings: ProxySettings) -> Result<Self, SocketError> {
        check_ranges(&settings)?;
        let socket = port::open(settings.port)?;
        Ok(Self { socket, network: Network::new(settings, Token::random()?) })
    }

    /// Its port.
    pub fn port(&self) -> Result<u16, SocketError> {
        Ok(self.socket.local_addr()?.port())
    }

    /// The token of the session, for its source and its target.
    pub fn token(&self) -> Token {
        self.network.token
    }

    /// Forwards datagrams until `stop`.
    pub fn run(mut self, stop: &AtomicBool) -> Result<ProxyReport, SocketError> {
        let clock = Clock::start();
        while !stop.load(Ordering::Relaxed) {
            let received = self.receive(clock.now())?;
            let sent = self.send(clock.now());
            if !received && !sent {
                rest();
            }
        }
        Ok(self.network.report)
    }

    /// Receives up to `MOST_READ` datagrams. True if there were any.
    fn receive(&mut self, now: Time) -> Result<bool, SocketError> {
        let mut bytes: datagram::Buffer = [0; MAX_DATAGRAM + 1];
        for read in 0..MOST_READ {
            let (length, from) = match self.socket.recv_from(&mut bytes) {
                Ok(received) => received,
                Err(error) if is_nothing(&error) => return Ok(read > 0),
                Err(error) => return Err(error.into()),
            };
            if self.network.take(now, from, &bytes[..length]) {
                let _ = self.socket.send_to(&datagram::announcement(Role::Target, &self.network.token), from);
            }
        }
        Ok(true)
    }

    /// Forwards the due datagrams. True if there were any.
    fn send(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some((to, bytes)) = self.network.next(now) {
            any = true;
            if let Some(to) = to {
                // Datagrams that the system does not accept are lost.
                let _ = self.socket.send_to(&bytes, to);
            }
        }
        any
    }
}

impl Network {
    fn new(settings: ProxySettings, token: Token) -> Self {
        Self {
            settings,
            token,
            source: None,
            target: None,
            queue: BinaryHeap::new(),
            queued_bytes: 0,
            random: Random::new(settings.seed, 0, 0),
            number: 0,
            latest: [0; 2],
            report: ProxyReport::default(),
        }
    }

    /// Receives a datagram. True if the source announces itself and there is a target.
    fn take(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) -> bool {
        let Some((role, rest)) = datagram::open(bytes, &self.token) else {
            self.report.ignored += 1;
            return false;
        };
        let to_target = role == Role::Source;
        let peer = if to_target { &mut self.source } else { &mut self.target };
        if *peer.get_or_insert(from) != from {
            self.report.ignored += 1;
            return false;
        }
        if !rest.is_empty() {
            self.delay(now, to_target, bytes);
            return false;
        }
        to_target && self.target.is_some()
    }

    fn delay(&mut self, now: Time, to_target: bool, bytes: &[u8]) {
        if self.random.unit() <= self.settings.loss {
            self.report.dropped += 1;
            return;
        }
        if (self.queued_bytes + bytes.len() + ENTRY) as u64 > self.settings.queue_bytes {
            self.report.overflowed += 1;
            return;
        }
        self.queued_bytes += bytes.len() + ENTRY;
        let delay = self.settings.delay_us + self.random.below(self.settings.jitter_us + 1);
        self.number += 1;
        let due = now + Time::us(delay);
        self.queue.push(Reverse(Delayed { due, number: self.number, to_target, bytes: bytes.into() }));
    }

    /// The next datagram that is due, and its destination, which may not be known yet.
    fn next(&mut self, now: Time) -> Option<(Option<SocketAddr>, Box<[u8]>)> {
        if self.queue.peek().is_none_or(|Reverse(next)| next.due > now) {
            return None;
        }
        let Reverse(next) = self.queue.pop()?;
        self.queued_bytes -= next.bytes.len() + ENTRY;
        let latest = &mut self.latest[usize::from(next.to_target)];
        self.report.overtook += u64::from(next.number < *latest);
        *latest = (*latest).max(next.number);
        self.report.forwarded += 1;
        Some((if next.to_target { self.target } else { self.source }, next.bytes))
    }
}

#[cfg(test)]
mod tests;
