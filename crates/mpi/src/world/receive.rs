//! Messages that arrive: their order, and the protocols of a receive.

use fabricsim_spec::Rendezvous;

use super::transfer::{OF_PART, Part, Transfer};
use super::{Environment, MpiError, Peer, RingOut, World};
use crate::header::{self, Header, Memory};
use crate::request::{Body, Message};

/// PUTs of a message at a time (`pml_ob1_recv_pipeline_depth`).
const RECEIVE_DEPTH: u64 = 4;

impl World {
    /// A message of the BTL has arrived from a rank by a receive queue; `None`: by a ring.
    pub(super) fn receive_frame(
        &mut self,
        env: &mut dyn Environment,
        (rank, from): (usize, u32),
        queue: Option<usize>,
        bytes: &[u8],
    ) {
        let decoded = match header::decode(bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                self.fail(MpiError::Message(rank, error.to_string()));
                return;
            }
        };
        self.take_credits(env, (rank, from), queue, &decoded);
        self.receive_note(env, (rank, from), decoded.header, &bytes[decoded.size..]);
        if matches!(decoded.header, Header::Match(_) | Header::Rndv { .. }) {
            self.offer_ring(env, rank, from);
        }
    }

    /// Credits of a message.
    fn take_credits(
        &mut self,
        env: &mut dyn Environment,
        (rank, from): (usize, u32),
        queue: Option<usize>,
        decoded: &header::Decoded,
    ) {
        let (of_ring, credits) = decoded.credits;
        let peer = self.peer(rank, from);
        if of_ring && let Some(ring) = &mut peer.ring_out {
            ring.credits += u32::from(credits);
        }
        // Messages in a ring go by the last queue pair.
        let queue = queue.unwrap_or(peer.lanes.len() - 1);
        if let Some(lane) = &mut peer.lanes[queue] {
            lane.control_sent = lane.control_sent.saturating_sub(u32::from(decoded.seen));
            if decoded.header == Header::Credits && !of_ring {
                lane.control_seen = lane.control_seen.saturating_add(1);
            }
            if let Some(own) = lane.credits.as_mut().filter(|_| !of_ring) {
                *own += u32::from(credits);
            }
        }
        self.flush(env, rank, from, queue);
    }

    /// A message has arrived, by an adapter or by shared memory.
    pub(super) fn receive_note(
        &mut self,
        env: &mut dyn Environment,
        (rank, from): (usize, u32),
        header: Header,
        data: &[u8],
    ) {
        match header {
            Header::Match(_) | Header::Rndv { .. } | Header::Rget { .. } => {
                if let Some(message) = message(header, data) {
                    self.order(env, rank, from, message);
                }
            }
            Header::Ack { send, receive, send_length } => {
                self.acknowledged(env, rank, send as u32, (receive, send_length));
            }
            Header::Frag { offset, receive, .. } => {
                self.receive_part(env, rank, receive as u32, offset, data);
            }
            Header::Put { send, receive, offset, length, memory } => {
                self.put(env, (rank, from), send as u32, (receive, offset, length), memory);
            }
            Header::Fin { request, .. } if request & OF_PART != 0 => self.end_part(env, rank, request as u32),
            Header::Fin { request, .. } => self.end(env, rank, request as u32),
            Header::Credits => {}
            Header::Ring { memory } => {
                let credits = self.options.eager_rdma_buffers;
                self.peer(rank, from).ring_out = Some(RingOut { memory, next: 0, credits });
            }
        }
    }

    /// Matches the messages of a sender in their order.
    fn order(&mut self, env: &mut dyn Environment, rank: usize, from: u32, message: Message) {
        let context = message.context;
        let mut arrived = Some(message);
        loop {
            let Peer { next_in, early, .. } = self.peer(rank, from);
            let next = next_in.entry(context).or_default();
            let found = match arrived.take() {
                // Nearly all messages.
                Some(message) if message.sequence == *next => Some(message),
                Some(message) => {
                    early.insert((context, message.sequence), message);
                    early.remove(&(context, *next))
                }
                None => early.remove(&(context, *next)),
            };
            let Some(message) = found else { return };
            *next = next.wrapping_add(1);
            self.charge(rank, self.options.matching);
            let of = &mut self.ranks[rank];
            match of.matching.arrive(context, message) {
                Some((request, message)) => self.begin_receive(env, rank, request, message),
                None => of.counts.unexpected += 1,
            }
        }
    }

    /// A receive has got its message, or the beginning of it.
    pub(super) fn begin_receive(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        message: Message,
    ) {
        let Message { source, tag, length, send, body, .. } = message;
        let Some(receive) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.receive()) else {
            return;
        };
        receive.matched = Some((source, tag, length));
        receive.send = send;
        let memory = receive.call.memory;
        let id = u64::from(request);
        match body {
            Body::Whole(data) => {
                self.copy_out(env, rank, request, 0, &data);
                self.end(env, rank, request);
            }
            Body::Synchronous(data) => {
                let ack = Header::Ack { send, receive: id, send_length: length };
                self.transmit(env, (rank, source), ack, &[], None);
                self.copy_out(env, rank, request, 0, &data);
                self.end(env, rank, request);
            }
            Body::Part(data) => {
                let send_length = self.send_length(length).max(data.len() as u64);
                let ack = Header::Ack { send, receive: id, send_length };
                self.transmit(env, (rank, source), ack, &[], None);
                self.copy_out(env, rank, request, 0, &data);
                if let Some(of) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.receive()) {
                    of.requested = send_length;
                }
                self.request_parts(env, rank, request);
            }
            Body::Put => {
                self.register(rank, memory, length);
                self.request_part(env, rank, request, (0, length));
            }
            Body::Get(_) if self.is_local(rank, source) => {
                self.copy_from_sender(env, rank, request, (source, send));
            }
            Body::Get(remote) => {
                self.register(rank, memory, length);
                let Some(region) = self.take_region_of_read(env, rank, length) else { return };
                let transfer = Transfer {
                    peer: source,
                    is_read: true,
                    request,
                    far: send,
                    length,
                    region,
                    is_own: true,
                    remote,
                };
                self.post_transfer(env, rank, transfer);
            }
        }
    }

    /// Bytes of a message of the pipeline that go by SENDs.
    fn send_length(&self, length: u64) -> u64 {
        let is_short = length < self.options.min_pipeline_size.0;
        if self.options.rendezvous != Rendezvous::Pipeline || is_short {
            return length;
        }
        self.options.pipeline_send_length.0.min(length)
    }

    /// Copies a message out of a buffer of MPI, as far as it fits.
    fn copy_out(&mut self, env: &mut dyn Environment, rank: usize, request: u32, offset: u64, data: &[u8]) {
        let Some(receive) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.receive()) else {
            return;
        };
        receive.done += data.len() as u64;
        let fits = receive.call.length.saturating_sub(offset).min(data.len() as u64);
        if fits > 0 {
            env.write(rank, request, offset, &data[..fits as usize]);
            self.charge_copy(rank, fits);
        }
    }

    /// Copies a message from the memory of its sender, on the same host.
    fn copy_from_sender(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        (source, send): (u32, u64),
    ) {
        let of = self.ranks[source as usize].requests.get_mut(send as u32).and_then(|of| of.send());
        let length = of.map_or(0, |of| of.call.length);
        let fits = self.copy_between(env, (source as usize, send as u32), (rank, request), length);
        if fits > 0 {
            self.charge_copy(rank, fits);
        }
        self.transmit(env, (rank, source), Header::Fin { request: send, length }, &[], None);
        self.end(env, rank, request);
    }

    /// Copies a message from the buffer of its send to that of its receive, as far as it fits. Returns the bytes that did.
    pub(super) fn copy_between(
        &mut self,
        env: &mut dyn Environment,
        (source, send): (usize, u32),
        (rank, request): (usize, u32),
        length: u64,
    ) -> u64 {
        let receive = self.ranks[rank].requests.get_mut(request).and_then(|of| of.receive());
        let Some(receive) = receive else { return 0 };
        receive.done += length;
        let fits = receive.call.length.min(length);
        match self.copy_of(source, send) {
            _ if fits == 0 => {}
            Some(copy) => env.write(rank, request, 0, &copy[..fits as usize]),
            None => env.copy((source, send), (rank, request), fits),
        }
        fits
    }

    fn receive_part(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        offset: u64,
        data: &[u8],
    ) {
        self.copy_out(env, rank, request, offset, data);
        self.end_if_done(env, rank, request);
    }

    /// Requests WRITEs of the pipeline, as many as may be in progress.
    fn request_parts(&mut self, env: &mut dyn Environment, rank: usize, request: u32) {
        loop {
            let most = self.options.pipeline_fragment.0;
            let Some(of) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.receive()) else {
                return;
            };
            let (_, _, length) = of.matched.unwrap_or_default();
            let offset = of.requested;
            let in_progress =
                self.ranks[rank].parts.iter().filter(|part| part.request == request).count() as u64;
            if offset >= length || in_progress >= RECEIVE_DEPTH {
                return;
            }
            let part = most.min(length - offset);
            self.register(rank, 0, part);
            self.request_part(env, rank, request, (offset, part));
        }
    }

    fn request_part(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        (offset, length): (u64, u64),
    ) {
        let Some(region) = self.take_region(env, rank, length) else { return };
        let number = self.ranks[rank].parts.add(Part { request, region, offset, length });
        let Some(of) = self.ranks[rank].requests.get_mut(request).and_then(|of| of.receive()) else { return };
        of.requested = offset + length;
        let (source, _, _) = of.matched.unwrap_or_default();
        let memory = Memory { address: region.address, key: region.key };
        let put = Header::Put { send: of.send, receive: u64::from(number) | OF_PART, offset, length, memory };
        self.transmit(env, (rank, source), put, &[], None);
    }

    /// The sender has written a part.
    fn end_part(&mut self, env: &mut dyn Environment, rank: usize, number: u32) {
        let Some(part) = self.ranks[rank].parts.remove(number) else { return };
        self.deliver(env, rank, part.request, (part.region, part.offset, part.length));
        self.give_region(rank, part.region);
        self.request_parts(env, rank, part.request);
        self.end_if_done(env, rank, part.request);
    }

    fn end_if_done(&mut self, env: &mut dyn Environment, rank: usize, request: u32) {
        let of = self.ranks[rank].requests.get_mut(request).and_then(|of| of.receive());
        if of.is_some_and(|of| of.matched.is_some_and(|(_, _, length)| of.done >= length)) {
            self.end(env, rank, request);
        }
    }
}

/// The message that a header begins.
fn message(header: Header, data: &[u8]) -> Option<Message> {
    let envelope = header.envelope()?;
    let (length, send, body) = match header {
        Header::Match(_) => (data.len() as u64, 0, Body::Whole(data.to_vec())),
        Header::Rndv { length, send, pinned: true, .. } => (length, send, Body::Put),
        Header::Rndv { length, send, .. } if data.len() as u64 == length => {
            (length, send, Body::Synchronous(data.to_vec()))
        }
        Header::Rndv { length, send, .. } => (length, send, Body::Part(data.to_vec())),
        Header::Rget { length, send, memory, .. } => (length, send, Body::Get(memory)),
        _ => return None,
    };
    let (source, tag, context, sequence) =
        (envelope.source, envelope.tag, envelope.context, envelope.sequence);
    Some(Message { source, tag, context, sequence, length, send, body })
}
