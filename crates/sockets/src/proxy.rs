//! The network between the two processes: each datagram gets a delay of its own, or is dropped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use fabricsim_model::Random;
use fabricsim_units::Time;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, rest};
use crate::datagram::{MAX_DATAGRAM, Role};
use crate::port::{self, is_nothing};
use crate::settings::{MAX_US, SocketError, within};

/// How the network treats datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxySettings {
    /// The port of this machine to be taken; 0: any that is free.
    pub port: u16,
    /// The least delay, in microseconds.
    pub delay_us: u64,
    /// Up to this much more, evenly distributed, in microseconds.
    pub jitter_us: u64,
    /// Probability that a datagram is dropped, 0 to 1.
    pub loss: f64,
    /// Seed of the delays and losses.
    pub seed: u64,
}

/// What the network has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProxyReport {
    /// Datagrams sent on.
    pub forwarded: u64,
    /// Datagrams dropped.
    pub dropped: u64,
    /// Datagrams that overtook one that had come before them, in the same direction.
    pub overtook: u64,
}

/// A datagram on its way: due time and number decide the order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Delayed {
    due: Time,
    number: u64,
    to_target: bool,
    bytes: Vec<u8>,
}

/// A network of one socket.
#[derive(Debug)]
pub struct Proxy {
    socket: UdpSocket,
    settings: ProxySettings,
    source: Option<SocketAddr>,
    target: Option<SocketAddr>,
    queue: BinaryHeap<Reverse<Delayed>>,
    random: Random,
    number: u64,
    /// The latest number sent on, for each direction.
    latest: [u64; 2],
    report: ProxyReport,
}

impl Proxy {
    /// Takes a port of this machine.
    ///
    /// # Errors
    /// A setting is out of range, or the port is not to be had.
    pub fn new(settings: ProxySettings) -> Result<Self, SocketError> {
        if !(0.0..1.0).contains(&settings.loss) {
            let problem = format!("loss is {}: it has to be 0 or more, and less than 1", settings.loss);
            return Err(SocketError::Setting(problem));
        }
        within("delay_us", settings.delay_us, 0, MAX_US)?;
        within("jitter_us", settings.jitter_us, 0, MAX_US)?;
        let socket = port::open(settings.port)?;
        Ok(Self {
            socket,
            settings,
            source: None,
            target: None,
            queue: BinaryHeap::new(),
            random: Random::new(settings.seed, 0, 0),
            number: 0,
            latest: [0; 2],
            report: ProxyReport::default(),
        })
    }

    /// Its port.
    pub fn port(&self) -> Result<u16, SocketError> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Sends on until `stop`.
    pub fn run(mut self, stop: &AtomicBool) -> Result<ProxyReport, SocketError> {
        let clock = Clock::start();
        while !stop.load(Ordering::Relaxed) {
            let received = self.receive(clock.now())?;
            let sent = self.send(clock.now());
            if !received && !sent {
                rest();
            }
        }
        Ok(self.report)
    }

    /// Takes in what has come. True: there was something.
    fn receive(&mut self, now: Time) -> Result<bool, SocketError> {
        let mut bytes = [0; MAX_DATAGRAM];
        let mut any = false;
        loop {
            let (length, from) = match self.socket.recv_from(&mut bytes) {
                Ok(received) => received,
                Err(error) if is_nothing(&error) => return Ok(any),
                Err(error) => return Err(error.into()),
            };
            any = true;
            let to_target = match bytes[..length].first().copied().and_then(Role::of) {
                Some(Role::Source) => {
                    self.source = Some(from);
                    true
                }
                Some(Role::Target) => {
                    self.target = Some(from);
                    false
                }
                None => continue,
            };
            if length > 1 {
                self.delay(now, to_target, &bytes[..length]);
            } else if to_target && self.target.is_some() {
                // The source asks whether there is a target.
                let _ = self.socket.send_to(&[Role::Target as u8], from);
            }
        }
    }

    fn delay(&mut self, now: Time, to_target: bool, bytes: &[u8]) {
        if self.random.unit() <= self.settings.loss {
            self.report.dropped += 1;
            return;
        }
        let delay = self.settings.delay_us + self.random.below(self.settings.jitter_us + 1);
        self.number += 1;
        let due = now + Time::us(delay);
        self.queue.push(Reverse(Delayed { due, number: self.number, to_target, bytes: bytes.to_vec() }));
    }

    /// Sends on what is due. True: there was something.
    fn send(&mut self, now: Time) -> bool {
        let mut any = false;
        while self.queue.peek().is_some_and(|Reverse(next)| next.due <= now) {
            let Some(Reverse(next)) = self.queue.pop() else { break };
            any = true;
            let latest = &mut self.latest[usize::from(next.to_target)];
            self.report.overtook += u64::from(next.number < *latest);
            *latest = (*latest).max(next.number);
            if let Some(to) = if next.to_target { self.target } else { self.source } {
                // What the system does not take is lost.
                let _ = self.socket.send_to(&next.bytes, to);
            }
            self.report.forwarded += 1;
        }
        any
    }
}
