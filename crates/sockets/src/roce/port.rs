//! UDP socket of an end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use fabricsim_model::Random;
use fabricsim_units::Time;
use fabricsim_wire::headers::Headers;
use fabricsim_wire::roce::{FRAME_HEADERS, Ipv4Frame, RoceView, UDP_PORT};
#[cfg(target_os = "linux")]
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};

use super::FrameRecorder;
use crate::error::SocketError;
use crate::port::{is_nothing, open_at};

/// Bytes for a frame: the largest payload, 4096, and all headers.
const LONGEST: usize = 4096 + 256;

/// Datagrams of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets sent, without the planted losses.
    pub sent: u64,
    /// Packets that were dropped instead, for practice.
    pub lost: u64,
    /// Packets received.
    pub received: u64,
    /// Datagrams with a wrong ICRC.
    pub wrong_checksum: u64,
    /// Datagrams that are no packets.
    pub malformed: u64,
}

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Address of its sender.
    pub from: Ipv4Addr,
    /// Transport headers.
    pub headers: Headers,
    /// Payload without padding.
    pub payload: Vec<u8>,
}

/// Port of a host: UDP port 4791 of a loopback address.
#[derive(Debug)]
pub struct RocePort {
    socket: UdpSocket,
    address: Ipv4Addr,
    counters: PortCounters,
    /// Packets of 1000 that are lost, and the numbers that choose them.
    loss: (u64, Random),
    recorder: Option<FrameRecorder>,
    buffer: Box<[u8; LONGEST]>,
}

impl RocePort {
    /// Binds port 4791 of a loopback address.
    ///
    /// # Errors
    /// The address is not a loopback address, or the port is in use there.
    pub fn bind(address: Ipv4Addr) -> Result<Self, SocketError> {
        if !address.is_loopback() {
            let allowed = "must be a loopback address, 127.0.0.1 to 127.255.255.254";
            return Err(SocketError::Setting(format!("address = {address}: {allowed}")));
        }
        let socket = open_at(address, UDP_PORT)?;
        // Then the system gives its datagrams the identification 0, which ICRC covers (`ip_select_ident` of Linux).
        #[cfg(target_os = "linux")]
        set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO).map_err(std::io::Error::from)?;
        let (counters, buffer) = (PortCounters::default(), Box::new([0; LONGEST]));
        Ok(Self { socket, address, counters, loss: (0, Random::new(0, 0, 0)), recorder: None, buffer })
    }

    /// Drops `per_mille` of 1000 packets instead of sending them, chosen by `seed`.
    pub fn lose(&mut self, per_mille: u64, seed: u64) {
        self.loss = (per_mille, Random::new(seed, 0, 0));
    }

    /// Records all frames that are sent, and those that are lost for practice as well.
    pub fn record(&mut self) {
        self.recorder = Some(FrameRecorder::default());
    }

    /// Recorded frames.
    pub fn recorded(&self) -> Option<&FrameRecorder> {
        self.recorder.as_ref()
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Datagrams so far.
    pub fn counters(&self) -> &PortCounters {
        &self.counters
    }

    /// Sends a packet at `now`. One that the system does not take is lost, as one that a network drops.
    ///
    /// # Errors
    /// The payload is longer than 4096 bytes, or the headers are not those of their opcode.
    pub fn send(
        &mut self,
        to: Ipv4Addr,
        headers: &Headers,
        payload: &[u8],
        now: Time,
    ) -> Result<(), SocketError> {
        let frame = Ipv4Frame { source: self.address, destination: to };
        let length = frame.emit(headers, payload, &mut self.buffer[..])?;
        if let Some(recorder) = &mut self.recorder {
            recorder.record(now.0 / 1000, &self.buffer[..length]);
        }
        let (per_mille, random) = &mut self.loss;
        if *per_mille > 0 && random.below(1000) < *per_mille {
            self.counters.lost += 1;
            return Ok(());
        }
        self.counters.sent += 1;
        let _ = self.socket.send_to(&self.buffer[FRAME_HEADERS..length], (to, UDP_PORT));
        Ok(())
    }

    /// The next packet that has arrived. Datagrams that are no packets are counted.
    ///
    /// # Errors
    /// The socket does not work.
    pub fn receive(&mut self) -> Result<Option<Incoming>, SocketError> {
        loop {
            let (length, from) = match self.socket.recv_from(&mut self.buffer[FRAME_HEADERS..]) {
                Ok(received) => received,
                Err(error) if is_nothing(&error) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if let Some(incoming) = self.read(length, from) {
                self.counters.received += 1;
                return Ok(Some(incoming));
            }
        }
    }

    /// Reads a datagram with the code that reads captures.
    fn read(&mut self, length: usize, from: SocketAddr) -> Option<Incoming> {
        let IpAddr::V4(source) = from.ip() else { return None };
        let frame = Ipv4Frame { source, destination: self.address };
        let bytes = &mut self.buffer[..FRAME_HEADERS + length];
        let whole = frame.write_headers(length, bytes).is_ok() && from.port() == UDP_PORT;
        let view = if whole { RoceView::new(bytes).ok().flatten() } else { None };
        let Some(view) = view else {
            self.counters.malformed += 1;
            return None;
        };
        if !view.icrc.is_right() {
            self.counters.wrong_checksum += 1;
            return None;
        }
        let Ok((headers, payload)) = view.transport() else {
            self.counters.malformed += 1;
            return None;
        };
        Some(Incoming { from: source, headers, payload: payload.to_vec() })
    }
}
