//! InfiniBand packets that stand for simulated ones.

use std::sync::Arc;

use fabricsim_model::{ExtensionHeaders, Packet, PacketKind};
use fabricsim_protocols::ordering::{Header, Kind, Reason};
use fabricsim_units::{HostId, Vl};
use fabricsim_wire::headers::{
    Aeth, Bth, CreditCode, Grh, Headers, Lrh, NakCode, Opcode, Operands, Operation, RnrTimer, Service,
    Syndrome,
};
use fabricsim_wire::ids::{Lid, Msn, PKey, Qpn, Sl};
use fabricsim_wire::packet::{self, ICRC_LEN, VCRC_LEN};
use fabricsim_wire::{Psn, Record};
use fabricsim_workload::Partitions;

use super::multicast;

/// Longest packet that LRH can express, from LRH to VCRC: 2047 words of 4 bytes and VCRC.
pub(super) const LONGEST: u32 = 2047 * 4 + VCRC_LEN as u32;

/// Writes the bytes of simulated packets. They have no payload, so it is all zeros.
#[derive(Clone, Debug)]
pub(super) struct Framer {
    /// LID of each host.
    lids: Vec<Lid>,
    /// GUID of each host's port.
    guids: Vec<u64>,
    /// Partitions, if there are others than the default one.
    partitions: Option<Arc<Partitions>>,
    buffer: Vec<u8>,
}

/// A packet's bytes, and the length that it has with all its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    /// Bytes from LRH to VCRC; the start of them if the simulated packet is smaller than its headers.
    pub(super) bytes: &'a [u8],
    /// Length with all headers.
    pub(super) len: usize,
}

impl Framer {
    pub(super) fn new(lids: Vec<Lid>, guids: Vec<u64>) -> Self {
        Self { lids, guids, partitions: None, buffer: vec![0; LONGEST as usize] }
    }

    /// The same for a fabric with partitions.
    pub(super) fn with_partitions(self, partitions: Option<Arc<Partitions>>) -> Self {
        Self { partitions, ..self }
    }

    /// The bytes of a packet on a lane to one of its destination's LIDs. A packet with payload takes as many bytes as the simulated packet, but for up to three:
    /// InfiniBand's packets have a multiple of 4 and two more.
    pub(super) fn frame(
        &mut self,
        packet: &Packet,
        (lane, path): (Vl, u8),
        extensions: Option<&ExtensionHeaders>,
    ) -> Frame<'_> {
        let of_queue_pair = extensions.and_then(|extensions| extensions.transport);
        let content = extensions.and_then(|extensions| extensions.content.as_deref());
        let mut transport = match &of_queue_pair {
            Some(transport) => with_marks(transport.headers, packet),
            None => headers(packet, ordering(extensions).as_ref()),
        };
        // Queue pairs of programs have a P_Key of their own.
        if let Some(key) = self.partitions.as_ref().and_then(|partitions| partitions.checked_key(packet)) {
            transport.bth.p_key = PKey(key);
        }
        let group = packet.destination.group();
        let lid = |host: HostId| self.lids[host.index()];
        let source_path = of_queue_pair.map_or(0, |transport| u16::from(transport.source_path));
        let lrh = Lrh {
            vl: lane,
            sl: Sl(packet.service_level),
            slid: Lid(lid(packet.source).0 + source_path),
            dlid: group
                .map_or_else(|| Lid(lid(packet.destination).0 + u16::from(path)), fabricsim_verbs::group_lid),
            ..Lrh::default()
        };
        if let Some(group) = group {
            return self.datagram(packet, lrh, multicast::transport(packet, transport), group);
        }
        if let Some(of_queue_pair) = of_queue_pair {
            return self.of_queue_pair(lrh, transport, of_queue_pair.payload, content);
        }
        let least = Lrh::LEN + transport.len() + ICRC_LEN + VCRC_LEN;
        let size = packet.bytes.min(LONGEST) as usize;
        let words = (size.saturating_sub(least) / 4).min(longest_payload(&transport) / 4);
        let Ok(len) = packet::emit_zeros(&lrh, &transport, words, &mut self.buffer) else {
            unreachable!("headers fit their opcode, and the buffer the longest packet")
        };
        Frame { bytes: &self.buffer[..len.min(size)], len }
    }

    /// The bytes of a packet of a queue pair, with `payload` bytes of payload: `content`, or zeros.
    fn of_queue_pair(
        &mut self,
        lrh: Lrh,
        transport: Headers,
        payload: u32,
        content: Option<&[u8]>,
    ) -> Frame<'_> {
        let emitted = if let Some(payload) = content {
            packet::Packet { lrh, grh: None, transport, payload }.emit(&mut self.buffer)
        } else if payload.is_multiple_of(4) {
            packet::emit_zeros(&lrh, &transport, payload as usize / 4, &mut self.buffer)
        } else {
            // BTH tells the bytes of padding.
            let payload = vec![0; payload as usize];
            packet::Packet { lrh, grh: None, transport, payload: &payload }.emit(&mut self.buffer)
        };
        let Ok(len) = emitted else {
            unreachable!("headers fit their opcode, and the buffer the longest packet")
        };
        Frame { bytes: &self.buffer[..len], len }
    }

    /// The bytes of a packet for a multicast group.
    fn datagram(&mut self, packet: &Packet, lrh: Lrh, transport: Headers, group: u16) -> Frame<'_> {
        let grh = multicast::grh(packet.source, group, &self.guids);
        let least = Lrh::LEN + Grh::LEN + transport.len() + ICRC_LEN + VCRC_LEN;
        let size = packet.bytes.min(LONGEST) as usize;
        let payload = vec![0; size.saturating_sub(least) / 4 * 4];
        let datagram = packet::Packet { lrh, grh: Some(grh), transport, payload: &payload };
        let Ok(len) = datagram.emit(&mut self.buffer) else {
            unreachable!("headers fit their opcode, and the buffer the longest packet")
        };
        Frame { bytes: &self.buffer[..len.min(size)], len }
    }
}

/// Bytes of payload that packets with these headers may have: acknowledgements have none.
fn longest_payload(headers: &Headers) -> usize {
    match (headers.bth.opcode, headers.operands) {
        (Opcode::CNP, _) => packet::CNP_PAYLOAD.len(),
        (_, Operands::Acknowledge(_)) => 0,
        _ => LONGEST as usize,
    }
}

/// Transport headers of a packet; `ordering` is the header of an ordering protocol.
pub(super) fn headers(packet: &Packet, ordering: Option<&Header>) -> Headers {
    let (opcode, operands) = match (packet.kind, ordering.map(|header| header.kind)) {
        (PacketKind::Data, _) => (send(packet), Operands::None),
        (PacketKind::Notification, _) => (Some(Opcode::CNP), Operands::None),
        (PacketKind::Transport, Some(Kind::Req | Kind::Fin)) => {
            (Opcode::new(Service::Rc, Operation::SendOnly), Operands::None)
        }
        (PacketKind::Acknowledgement | PacketKind::Transport, _) => {
            let aeth = Aeth { syndrome: ordering.map_or_else(Syndrome::default, syndrome), msn: Msn(0) };
            (Opcode::new(Service::Rc, Operation::Acknowledge), Operands::Acknowledge(aeth))
        }
    };
    let bth = Bth {
        opcode: opcode.unwrap_or(Opcode::CNP),
        p_key: PKey::DEFAULT,
        fecn: packet.fecn,
        becn: packet.becn,
        dest_qp: queue_pair(packet, ordering),
        ack_request: ordering.is_some_and(|header| matches!(header.kind, Kind::Req | Kind::Fin)),
        psn: Psn::new(ordering.map_or(packet.sequence, |header| u32::from(header.seq.0))),
        ..Bth::default()
    };
    Headers { bth, operands, ..Headers::default() }
}

/// Headers with the marks of congestion control that a packet has now.
fn with_marks(headers: Headers, packet: &Packet) -> Headers {
    Headers { bth: Bth { fecn: packet.fecn, becn: packet.becn, ..headers.bth }, ..headers }
}

/// SEND of a part of a message.
fn send(packet: &Packet) -> Option<Opcode> {
    let operation = match (packet.first, packet.last) {
        (true, true) => Operation::SendOnly,
        (true, false) => Operation::SendFirst,
        (false, false) => Operation::SendMiddle,
        (false, true) => Operation::SendLast,
    };
    Opcode::new(Service::Rc, operation)
}

/// The outcome that an answer of an ordering protocol reports. A target without room is a receiver that is not ready.
fn syndrome(header: &Header) -> Syndrome {
    /// 0.01 ms, the shortest time: ordering protocols state none.
    const SHORTEST: u8 = 1;
    match (header.kind, header.reason) {
        (Kind::Nack, Reason::OutOfSequence) => Syndrome::Nak(NakCode::PsnSequenceError),
        (Kind::Nack, _) => Syndrome::RnrNak(RnrTimer::new(SHORTEST)),
        _ => Syndrome::Ack(CreditCode::UNLIMITED),
    }
}

/// Queue pair at the destination: of an ordering protocol's connection in both directions 0x800000 and its identifier (CID), else a
/// number of the stream, 1 to 127, above 16 bits of the source's number.
fn queue_pair(packet: &Packet, ordering: Option<&Header>) -> Qpn {
    const CONNECTIONS: u32 = 0x80_0000;
    match ordering {
        Some(header) => Qpn(CONNECTIONS | u32::from(header.cid.0)),
        None => Qpn((u32::from(packet.stream) % 127 + 1) << 16 | packet.source.0 & 0xffff),
    }
}

/// The header of a packet of an ordering protocol.
pub(super) fn ordering(extensions: Option<&ExtensionHeaders>) -> Option<Header> {
    let label = extensions?.label.as_ref()?;
    Header::from_bytes(&label.header)
}

#[cfg(test)]
mod tests {
    use fabricsim_units::Time;
    use fabricsim_wire::packet::PacketView;

    use super::*;

    fn framer() -> Framer {
        Framer::new(vec![Lid(3), Lid(7)], vec![0x30, 0x70])
    }

    fn packet(kind: PacketKind, bytes: u32) -> Packet {
        let packet = Packet::new(kind, (HostId(1), HostId(0)), bytes, Time::ZERO);
        Packet { sequence: 0x0100_0005, stream: 2, service_level: 1, fecn: true, first: false, ..packet }
    }

    #[test]
    fn a_packet_takes_the_bytes_of_the_simulated_one() {
        for bytes in 26..4000 {
            let mut framer = framer();
            let frame = framer.frame(&packet(PacketKind::Data, bytes), (Vl(3), 0), None);
            assert!(
                frame.len == frame.bytes.len()
                    && frame.len <= bytes as usize
                    && frame.len + 4 > bytes as usize
            );
            let view = PacketView::new(frame.bytes).unwrap();
            assert!(view.vcrc().is_right() && view.icrc().is_some_and(|icrc| icrc.is_right()));
            assert_eq!(view.bytes().len(), frame.len);
        }
    }

    /// A packet of a path MTU and 26 bytes of headers is that of a real adapter: the payload is the path MTU.
    #[test]
    fn payload_fills_a_path_mtu_that_has_room_for_headers() {
        for payload in [256, 512, 1024, 2048, 4096] {
            let mut framer = framer();
            let frame = framer.frame(&packet(PacketKind::Data, payload + 26), (Vl(3), 0), None);
            let found = PacketView::new(frame.bytes).unwrap().packet().unwrap();
            assert_eq!((found.payload.len(), frame.len), (payload as usize, payload as usize + 26));
        }
    }

    #[test]
    fn headers_have_the_meaning_of_the_packet() {
        let mut framer = framer();
        let frame = framer.frame(&packet(PacketKind::Data, 100), (Vl(3), 0), None);
        let found = PacketView::new(frame.bytes).unwrap().packet().unwrap();
        let lrh = found.lrh;
        assert_eq!((lrh.vl, lrh.sl, lrh.slid, lrh.dlid), (Vl(3), Sl(1), Lid(7), Lid(3)));
        let bth = found.transport.bth;
        assert_eq!((bth.opcode, bth.dest_qp, bth.psn.get()), (Opcode(0x02), Qpn(0x03_0001), 5));
        assert!(bth.fecn && !bth.becn && !bth.ack_request && bth.p_key == PKey::DEFAULT);
    }

    #[test]
    fn packets_without_data_have_no_more_than_infinibands() {
        for (kind, bytes, len) in [
            (PacketKind::Notification, 64, 42),
            (PacketKind::Notification, 32, 30),
            (PacketKind::Acknowledgement, 64, 30),
            (PacketKind::Acknowledgement, 30, 30),
        ] {
            assert_eq!(
                framer().frame(&packet(kind, bytes), (Vl(0), 0), None).len,
                len,
                "{kind:?}, {bytes} B"
            );
        }
    }

    #[test]
    fn a_packet_that_is_too_small_is_cut() {
        for (kind, len) in [(PacketKind::Data, 26), (PacketKind::Acknowledgement, 30)] {
            let mut framer = framer();
            let frame = framer.frame(&packet(kind, 8), (Vl(0), 0), None);
            assert_eq!((frame.bytes.len(), frame.len), (8, len));
        }
        let mut framer = framer();
        let frame = framer.frame(&packet(PacketKind::Data, 100_000), (Vl(0), 0), None);
        assert_eq!((frame.bytes.len(), frame.len), (8190, 8190));
    }

    #[test]
    fn answers_of_ordering_protocols_are_acknowledgements() {
        let header = |kind, reason| Header {
            kind,
            reason,
            seq: fabricsim_protocols::ordering::Seq(9),
            ..Header::default()
        };
        let of = |kind, reason| headers(&packet(PacketKind::Transport, 64), Some(&header(kind, reason)));
        let syndrome = |headers: Headers| match headers.operands {
            Operands::Acknowledge(aeth) => u8::from(aeth.syndrome),
            other => panic!("{other:?}"),
        };
        assert_eq!(syndrome(of(Kind::Ack, Reason::None)), 0x1f);
        assert_eq!(syndrome(of(Kind::Nack, Reason::OutOfSequence)), 0x60);
        assert_eq!(syndrome(of(Kind::Nack, Reason::BufferFull)), 0x21);
        let fin = of(Kind::Fin, Reason::None);
        assert!(fin.bth.ack_request && fin.bth.psn.get() == 9 && fin.operands == Operands::None);
        assert_eq!(fin.bth.dest_qp, Qpn(0x80_0000));
    }
}
