//! Comments of captured packets: a packet in the simulator's terms.

use std::fmt::Write;

use fabricsim_engine::Prepared;
use fabricsim_model::{Echo, ExtensionHeaders, Packet, PacketKind};
use fabricsim_protocols::ordering::{Header, Kind, Reason};
use fabricsim_spec::Arbiter;
use fabricsim_units::number_of;

use super::frame::{Frame, ordering};

/// Writes the comment of a packet into `text`, in place of what it holds.
pub(super) fn write(
    text: &mut String,
    prepared: &Prepared,
    packet: &Packet,
    extensions: Option<&ExtensionHeaders>,
    frame: &Frame<'_>,
) {
    text.clear();
    // Writing to a text cannot fail.
    let _ = describe(text, prepared, packet, extensions);
    let (bytes, len) = (packet.bytes, frame.len);
    if frame.bytes.len() < len {
        let _ = write!(text, ", cut: {bytes} B simulated, {len} B with all headers");
    } else if bytes as usize > len + 3 {
        let _ = write!(text, ", {bytes} B on the link");
    }
}

fn describe(
    text: &mut String,
    prepared: &Prepared,
    packet: &Packet,
    extensions: Option<&ExtensionHeaders>,
) -> std::fmt::Result {
    let header = ordering(extensions);
    text.push_str(kind(packet, header.as_ref()));
    if packet.kind != PacketKind::Transport
        && let Some(stream) = prepared.workload.streams.get(usize::from(packet.stream))
    {
        write!(text, " of {}", stream.name)?;
    }
    let (from, to) =
        (&prepared.graph.hosts[packet.source.index()].name, prepared.destination_name(packet.destination));
    write!(text, ", {from} to {to}, packet {} of the source", packet.sequence)?;
    let label = extensions.and_then(|extensions| extensions.label.as_ref());
    match label.filter(|_| packet.kind == PacketKind::Data) {
        Some(label) => {
            write!(text, ", {} of {} of message {}", label.number + 1, label.packets, label.message)?;
            if label.retransmitted {
                text.push_str(", retransmitted");
            }
        }
        // Packets of programs have the numbers of work requests, which are no messages of the workload.
        None if packet.tag != 0 && !prepared.has_programs(packet.source) => {
            write!(text, ", message {}", packet.tag)?;
        }
        None => {}
    }
    if let Some(header) = header {
        write!(text, ", CID {}, SEQ {}", header.cid.0, header.seq.0)?;
    }
    if let Some(Echo { bytes, packets, marked, .. }) = extensions.and_then(|extensions| extensions.echo) {
        write!(text, ", acknowledges {packets} packets with {bytes} B, {marked} of them marked")?;
    }
    write!(text, ", {} passed", number_of(u64::from(packet.hops), "switch"))?;
    if prepared.experiment.switch.arbiter == Arbiter::AgeBased {
        write!(text, ", age {}", packet.age & 0xff)?;
    }
    Ok(())
}

/// Kind of a packet in words.
fn kind(packet: &Packet, header: Option<&Header>) -> &'static str {
    match (packet.kind, header.map(|header| (header.kind, header.reason))) {
        (PacketKind::Data, None) => "data",
        (PacketKind::Data, Some(_)) => "REQ",
        (PacketKind::Notification, _) => "congestion notification",
        (PacketKind::Acknowledgement, _) => "acknowledgement",
        (PacketKind::Transport, Some((Kind::Req, _)) | None) => "transport",
        (PacketKind::Transport, Some((Kind::Ack, _))) => "ACK",
        (PacketKind::Transport, Some((Kind::Fin, _))) => "FIN",
        (PacketKind::Transport, Some((Kind::FinAck, _))) => "FIN-ACK",
        (PacketKind::Transport, Some((Kind::Nack, reason))) => match reason {
            Reason::None => "NACK",
            Reason::NoConnection => "NACK (no connection left)",
            Reason::BufferFull => "NACK (reorder buffer full)",
            Reason::NoReplay => "NACK (no replay buffer left)",
            Reason::Held => "NACK (another copy is held)",
            Reason::OutOfSequence => "NACK (out of sequence)",
        },
    }
}
