//! Request packets.

use fabricsim_wire::headers::{
    Address, AtomicEth, Bth, Extension, Headers, Opcode, Operands, Operation, Position, Reth, Service, Xrceth,
};
use fabricsim_wire::{Psn, Record};

use super::{Entry, Requester, RequesterOutbox};
use crate::infiniband::data::{data_packet, write_of_packet};
use crate::infiniband::mutation::Mutation;
use crate::infiniband::{Extra, Packet, PacketSize, Verb, Work, segment};

/// Fewer packets than this may be sent and not acknowledged, so that numbers can be compared.
const WINDOW: i32 = (1 << 23) - 1;

impl Requester {
    /// The request packet that [`Requester::next_packet`] would return.
    pub fn peek(&self) -> Option<Packet> {
        let (entry, number) = self.sendable()?;
        Some(self.packet(entry, number))
    }

    /// Size of [`Requester::peek`]. Less work than the packet: an adapter asks for it whenever its link is free.
    pub fn peek_size(&self) -> Option<PacketSize> {
        let (entry, number) = self.sendable()?;
        let work = &entry.work;
        let (operands, offset, length) = match work.verb {
            Verb::Read(_) => (Extension::Reth.bytes(), 0, 0),
            Verb::CompareSwap { .. } | Verb::FetchAdd { .. } => (Extension::AtomicEth.bytes(), 0, 0),
            Verb::Send | Verb::Write(_) => {
                let (ends, offset) = (number + 1 == entry.packets, number * self.options.mtu);
                let length = if ends { work.length - offset } else { self.options.mtu };
                (operands_of_data(work, number == 0 || self.is_whole(work), ends), offset, length)
            }
        };
        let address = if self.service == Service::Xrc { Extension::Xrceth.bytes() } else { 0 };
        let headers = (Bth::LEN + address + operands) as u32;
        Some(PacketSize { message: work.id, headers, offset, length })
    }

    /// True if each packet of a request is a WRITE of its own.
    #[inline]
    fn is_whole(&self, work: &Work) -> bool {
        self.options.self_contained_writes && work.verb != Verb::Send && work.extra == Extra::None
    }

    /// True if the next request packet was sent before.
    pub fn repeats(&self) -> bool {
        self.next.is_before(self.fresh)
    }

    /// True if there are requests of which packets are to be sent, now or later.
    pub fn has_more(&self) -> bool {
        self.at < self.queue.len()
    }

    /// The request whose packet is next, and the packet's number in it, if it may be sent now.
    #[inline]
    fn sendable(&self) -> Option<(&Entry, u32)> {
        let waits = self.is_waiting && !self.mutated(Mutation::SendWhileWaiting);
        if waits || self.is_broken {
            return None;
        }
        let entry = self.queue.get(self.at)?;
        self.may_send(entry).then(|| (entry, self.next.distance(entry.first) as u32))
    }

    /// The next request packet, if one may be sent now. Inlined, so that it is built where it goes.
    #[inline(always)]
    pub fn next_packet(&mut self, out: &mut impl RequesterOutbox) -> Option<Packet> {
        let is_new = !self.repeats();
        let (entry, number) = self.sendable()?;
        let packet = self.packet(entry, number);
        let (takes_receive, is_read, end) =
            (entry.work.takes_receive(), entry.work.verb.is_read(), entry.end());
        if is_new && number == 0 && !takes_receive {
            // What takes no receive request needs no credit.
            self.limit = self.limit.map(|limit| (limit + 1) % Psn::MODULUS);
        }
        self.next = if is_read { end } else { self.next.next() };
        if self.next == end {
            self.at += 1;
            self.reads += u8::from(is_read);
        }
        let was_idle = !self.awaits_responses();
        if self.fresh.is_before(self.next) {
            self.fresh = self.next;
        }
        if was_idle {
            out.timer(true);
        }
        Some(packet)
    }

    fn may_send(&self, entry: &Entry) -> bool {
        let begins = self.next == entry.first;
        let end = if entry.work.verb.is_read() { entry.end() } else { self.next.next() };
        let waits_for_reads =
            entry.work.fence && begins && self.reads > 0 && !self.mutated(Mutation::IgnoreFence);
        let too_many_reads = entry.work.verb.is_read()
            && self.reads >= self.options.reads
            && !self.mutated(Mutation::ReadsWithoutLimit);
        // One message beyond the limit tells whether there are new credits.
        let probe = u32::from(!self.mutated(Mutation::NoProbe));
        let lacks_credit = begins
            && entry.work.takes_receive()
            && self.limit.is_some_and(|limit| Psn::new(limit + probe).is_before(Psn::new(entry.number)))
            && !self.mutated(Mutation::IgnoreCredits);
        !(waits_for_reads || too_many_reads || lacks_credit) && end.distance(self.oldest) < WINDOW
    }

    #[inline(always)]
    fn packet(&self, entry: &Entry, number: u32) -> Packet {
        let work = &entry.work;
        let mtu = self.options.mtu;
        let (operation, operands, offset, length, is_last) = match work.verb {
            Verb::Read(remote) => {
                let offset = number * mtu;
                let skipped = if self.mutated(Mutation::RestartReadAtItsStart) { 0 } else { offset };
                let reth = Reth {
                    va: remote.va.wrapping_add(u64::from(skipped)),
                    r_key: remote.r_key,
                    dma_length: work.length - offset,
                };
                (Operation::ReadRequest, Operands::Rdma(reth), 0, 0, true)
            }
            Verb::CompareSwap { remote, compare, swap } => {
                let operands = AtomicEth { va: remote.va, r_key: remote.r_key, swap_or_add: swap, compare };
                (Operation::CompareSwap, operands.into(), 0, 0, true)
            }
            Verb::FetchAdd { remote, add } => {
                let operands = AtomicEth { va: remote.va, r_key: remote.r_key, swap_or_add: add, compare: 0 };
                (Operation::FetchAdd, operands.into(), 0, 0, true)
            }
            Verb::Send | Verb::Write(_) => {
                let part = segment(work.length, mtu, number);
                let (operation, operands) = if self.is_whole(work) {
                    write_of_packet(work, part)
                } else {
                    data_packet(work, part.position)
                };
                let is_last = matches!(part.position, Position::Last | Position::Only);
                (operation, operands, part.offset, part.length, is_last)
            }
        };
        let every = self.options.ack_every;
        let bth = Bth {
            opcode: Opcode::new(self.service, operation).unwrap_or_default(),
            solicited: is_last && work.solicited && work.takes_receive(),
            migrated: true,
            p_key: self.options.p_key,
            dest_qp: self.options.destination,
            ack_request: is_last || every > 0 && (number + 1).is_multiple_of(every),
            psn: self.next,
            ..Bth::default()
        };
        let is_xrc = self.service == Service::Xrc;
        let address = if is_xrc { Address::Xrc(Xrceth { srq: entry.srq }) } else { Address::None };
        let headers = Headers { bth, address, operands };
        Packet { headers, message: work.id, offset, length }
    }
}

/// Bytes of the operands of a packet of a SEND or WRITE: the address of a WRITE in a packet that `begins` one, and what the last packet carries besides.
#[inline]
fn operands_of_data(work: &Work, begins: bool, ends: bool) -> usize {
    let is_write = work.verb != Verb::Send;
    let address = if is_write && begins { Extension::Reth.bytes() } else { 0 };
    let extra = match work.extra {
        Extra::Immediate(_) if ends => Extension::ImmDt.bytes(),
        Extra::Invalidate(_) if ends && !is_write => Extension::Ieth.bytes(),
        _ => 0,
    };
    address + extra
}
