//! Protocols of a send, up to the end of its transfer.

use fabricsim_spec::Rendezvous;

use super::transfer::Transfer;
use super::{Environment, MpiError, Region, World};
use crate::header::{Envelope, Header, LARGEST, Memory};
use crate::request::{Mode, SendCall};
use crate::results::Protocol;

/// FRAGs of a message at a time (`pml_ob1_send_pipeline_depth`).
const SEND_DEPTH: u32 = 3;

impl World {
    /// Sends the first message of a send.
    pub(super) fn start_send(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        call: SendCall,
    ) {
        let next = self.peer(rank, call.to).next_out.entry(call.context).or_default();
        let sequence = *next;
        *next = next.wrapping_add(1);
        let envelope = Envelope { context: call.context, source: rank as u32, tag: call.tag, sequence };
        let is_local = self.is_local(rank, call.to);
        let limit = if is_local {
            self.options.shared_eager_limit.0
        } else {
            self.options.eager_limit.0 - LARGEST as u64
        };
        let first = call.length.min(limit);
        if call.length <= limit {
            self.send_eager(env, rank, request, (call, envelope));
            return;
        }
        let (length, send) = (call.length, u64::from(request));
        if is_local {
            self.ranks[rank].counts.add(Protocol::Shared, length);
            let header = Header::Rget { envelope, length, send, memory: Memory::default() };
            self.transmit(env, (rank, call.to), header, &[], None);
            return;
        }
        let protocol = match self.options.rendezvous {
            Rendezvous::Get => Protocol::Get,
            Rendezvous::Put => Protocol::Put,
            Rendezvous::Pipeline | Rendezvous::Send => Protocol::Send,
        };
        self.ranks[rank].counts.add(protocol, length);
        match protocol {
            Protocol::Get | Protocol::Put => {
                self.register(rank, call.memory, length);
                let region = if self.is_direct && protocol == Protocol::Get {
                    self.take_region_of_read(env, rank, length)
                } else {
                    self.fill_region(env, rank, request, (0, length))
                };
                let Some(region) = region else { return };
                if let Some(of) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.send()) {
                    of.region = Some(region);
                }
                let memory = Memory { address: region.address, key: region.key };
                let header = if protocol == Protocol::Get {
                    Header::Rget { envelope, length, send, memory }
                } else {
                    Header::Rndv { envelope, length, send, pinned: true }
                };
                self.transmit(env, (rank, call.to), header, &[], None);
            }
            _ => {
                let data = self.data(env, rank, request, (0, first));
                self.charge_copy(rank, first);
                if let Some(of) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.send()) {
                    (of.given, of.done) = (first, first);
                }
                let header = Header::Rndv { envelope, length, send, pinned: false };
                self.transmit(env, (rank, call.to), header, &data, None);
            }
        }
    }

    /// Sends a whole message at once.
    fn send_eager(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        (call, envelope): (SendCall, Envelope),
    ) {
        let length = call.length;
        let data = self.data(env, rank, request, (0, length));
        if call.mode != Mode::Buffered {
            self.charge_copy(rank, length);
        }
        let header = if call.mode == Mode::Synchronous {
            Header::Rndv { envelope, length, send: u64::from(request), pinned: false }
        } else {
            Header::Match(envelope)
        };
        if let Some(of) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.send()) {
            (of.given, of.done) = (length, length);
        }
        let by_ring = self.transmit(env, (rank, call.to), header, &data, None);
        let protocol = match (self.is_local(rank, call.to), by_ring) {
            (true, _) => Protocol::Shared,
            (false, true) => Protocol::EagerRdma,
            (false, false) => Protocol::Eager,
        };
        self.ranks[rank].counts.add(protocol, length);
        if call.mode != Mode::Synchronous {
            self.end(env, rank, request);
        }
    }

    /// Bytes of a send's data.
    pub(super) fn data(
        &self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        (offset, length): (u64, u64),
    ) -> Vec<u8> {
        let mut data = vec![0; length as usize];
        self.copy_data(env, (rank, request), offset, &mut data);
        data
    }

    /// Copies bytes of a send's data from `offset` on.
    fn copy_data(
        &self,
        env: &mut dyn Environment,
        (rank, request): (usize, u32),
        offset: u64,
        to: &mut [u8],
    ) {
        if let Some(copy) = self.copy_of(rank, request) {
            to.copy_from_slice(&copy[offset as usize..][..to.len()]);
        } else if !to.is_empty() {
            env.read(rank, request, offset, to);
        }
    }

    /// The copy of a buffered send's data.
    pub(super) fn copy_of(&self, rank: usize, request: u32) -> Option<&[u8]> {
        match &self.ranks[rank].requests.get(request)?.kind {
            crate::request::Kind::Send(send) => send.copy.as_deref(),
            _ => None,
        }
    }

    /// A region with a part of a send's data.
    fn fill_region(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        part: (u64, u64),
    ) -> Option<Region> {
        let region = self.take_region(env, rank, part.1)?;
        let mut bytes = match env.device(rank).lend_memory(region.mr) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.fail(MpiError::Verbs(rank, error));
                return None;
            }
        };
        self.copy_data(env, (rank, request), part.0, &mut bytes[..part.1 as usize]);
        env.device(rank).take_back_memory(region.mr, bytes);
        Some(region)
    }

    /// The receiver has matched.
    pub(super) fn acknowledged(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        (receive, send_length): (u64, u64),
    ) {
        let Some(send) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.send()) else { return };
        (send.receive, send.send_length) = (receive, send_length);
        if send.done >= send.call.length {
            self.end(env, rank, request);
            return;
        }
        self.send_parts(env, rank, request);
    }

    /// A FRAG has been sent.
    pub(super) fn part_sent(&mut self, env: &mut dyn Environment, rank: usize, (request, bytes): (u32, u64)) {
        let Some(send) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.send()) else { return };
        send.parts -= 1;
        send.done += bytes;
        if send.done >= send.call.length {
            self.end(env, rank, request);
            return;
        }
        self.send_parts(env, rank, request);
    }

    /// Sends FRAGs, as many as may be in progress.
    fn send_parts(&mut self, env: &mut dyn Environment, rank: usize, request: u32) {
        let header_size = Header::Frag { offset: 0, send: 0, receive: 0 }.size() as u64;
        let most = self.options.max_send_size.0 - header_size;
        loop {
            let Some(send) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.send()) else {
                return;
            };
            let end = send.send_length.min(send.call.length);
            if send.parts >= SEND_DEPTH || send.given >= end {
                return;
            }
            let (offset, length) = (send.given, most.min(end - send.given));
            send.given += length;
            send.parts += 1;
            let (to, receive) = (send.call.to, send.receive);
            let data = self.data(env, rank, request, (offset, length));
            self.charge_copy(rank, length);
            let header = Header::Frag { offset, send: u64::from(request), receive };
            self.transmit(env, (rank, to), header, &data, Some((request, length)));
        }
    }

    /// The receiver requests a WRITE.
    pub(super) fn put(
        &mut self,
        env: &mut dyn Environment,
        (rank, peer): (usize, u32),
        request: u32,
        (receive, offset, length): (u64, u64, u64),
        remote: Memory,
    ) {
        let Some(send) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.send()) else { return };
        if offset.saturating_add(length) > send.call.length {
            return;
        }
        let kept = send.region;
        let region = kept.or_else(|| {
            // A part of the pipeline, whose memory is not kept.
            self.register(rank, 0, length);
            self.fill_region(env, rank, request, (offset, length))
        });
        let Some(region) = region else { return };
        let is_own = kept.is_none();
        let transfer =
            Transfer { peer, is_read: false, request, far: receive, length, region, is_own, remote };
        self.post_transfer(env, rank, transfer);
    }
}
