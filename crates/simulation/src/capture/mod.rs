//! Captures: what crosses chosen links, as a pcapng file for Wireshark.
//!
//! A run with a capture advances in slices of simulated time. After each, what crossed the chosen links is sorted by time and
//! port and written, so that the file is the same for every number of partitions, and memory holds one slice.

mod comment;
mod frame;
mod links;
mod multicast;

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Deref;

use fabricsim_engine::Prepared;
use fabricsim_measure::Recorder;
use fabricsim_session::{CaptureFilter, Captured, CapturedContent, Feed, Session};
use fabricsim_spec::{Capture, SpecError};
use fabricsim_units::{Bytes, HostId, Time};
use fabricsim_wire::capture::{InterfaceId, InterfaceKind, OutgoingRecord, Writer};
use fabricsim_wire::ids::Lid;
use serde::Serialize;

use crate::control::Control;
use crate::outcome::Outcome;
use crate::plan::{Run, Stop};
use frame::Framer;

pub(crate) use links::slice;

/// A capture that has been checked: its links and the addresses in its packets.
#[derive(Clone, Debug)]
pub struct CapturePlan {
    filter: CaptureFilter,
    /// Name of the interface of each port of the filter.
    names: Vec<String>,
    framer: Framer,
    /// Maximum number of packets.
    packets: u64,
    /// Simulated time between two writes.
    slice: Time,
}

impl CapturePlan {
    /// The capture of an experiment. `file` names the experiment in messages.
    ///
    /// # Errors
    ///
    /// A pattern that no link matches, packets that are larger than InfiniBand's, or a fabric that is larger than a subnet.
    pub fn new(capture: &Capture, prepared: &Prepared, file: &str) -> Result<Self, SpecError> {
        let Prepared { experiment, graph, .. } = prepared;
        if experiment.host.mtu > Bytes(frame::LONGEST.into()) {
            let message = format!(
                "{} is not allowed with a capture: InfiniBand's packets have at most {} bytes",
                experiment.host.mtu,
                frame::LONGEST
            );
            return Err(SpecError::at_key(file, "host.mtu", message));
        }
        let managed = prepared.subnet.as_ref().and_then(|plan| plan.addressed());
        let identity = managed
            .map_or_else(
                || fabricsim_routing::identity_of(experiment, graph),
                |identity| Ok(Cow::Owned(identity)),
            )
            .map_err(|problem| SpecError::at_key(file, "capture", format!("no subnet: {problem}")))?;
        let mut ports = links::choose(capture, graph, &identity, file)?;
        ports.sort_unstable();
        let lid = |host| Lid(identity.lid(HostId(host)));
        let lids = (0..graph.hosts.len() as u32).map(lid).collect();
        let guids = identity.hosts.iter().map(|&port| identity.subnet.port(port).guid.0).collect();
        Ok(Self {
            names: ports.iter().map(|&port| links::interface_name(graph, &identity, port)).collect(),
            framer: Framer::new(lids, guids).with_partitions(prepared.workload.partitions.clone()),
            packets: capture.packets,
            slice: links::slice(graph, &ports),
            filter: CaptureFilter { ports, from: capture.from, until: capture.to.unwrap_or(Time::MAX) },
        })
    }

    /// Names of its interfaces, a direction of a link each.
    pub fn interfaces(&self) -> &[String] {
        &self.names
    }
}

/// Part of a run that is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capturing {
    /// All of it.
    WholeRun,
    /// Until the capture is complete: its end or its maximum number of packets is reached. The outcome is that of an interrupted
    /// run.
    Only,
}

/// Summary of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaptureReport {
    /// The chosen directions of links.
    pub interfaces: Vec<CapturedInterface>,
    /// Packets in the file.
    pub packets: u64,
    /// Bytes of these packets on their links.
    pub bytes: u64,
    /// Packets that are smaller than their headers, and cut.
    pub cut: u64,
    /// Packets that crossed after the maximum number was reached, as far as the run went.
    pub missed: u64,
    /// True if the maximum number was reached.
    pub limit_reached: bool,
    /// Time of the first packet, in nanoseconds.
    pub first_ns: Option<u64>,
    /// Time of the last packet, in nanoseconds.
    pub last_ns: Option<u64>,
}

/// A direction of a link in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CapturedInterface {
    /// Name of the interface.
    pub name: String,
    /// Packets in the file.
    pub packets: u64,
    /// Bytes of these packets on the link.
    pub bytes: u64,
}

/// A capture in progress.
pub(crate) struct Progress<P, W> {
    plan: CapturePlan,
    prepared: P,
    writer: Writer<W>,
    framer: Framer,
    /// Interfaces of each port: packets, and flow-control packets once there are any.
    interfaces: Vec<(InterfaceId, Option<InterfaceId>)>,
    comment: String,
    report: CaptureReport,
}

/// Runs a prepared experiment and writes what crosses the links of `plan` to `output`. Results are those of
/// [`crate::simulate`].
///
/// # Errors
///
/// The output cannot be written. The run then ends.
pub fn simulate_captured(
    prepared: &Prepared,
    control: &Control,
    plan: &CapturePlan,
    output: impl Write,
    how: Capturing,
) -> io::Result<(Outcome, CaptureReport)> {
    let mut run = Run::with_feed(prepared, control);
    let mut progress = Progress::start(plan.clone(), prepared, run.session(), output)?;
    loop {
        let now = run.session().now();
        let end = if now < plan.filter.until { plan.filter.until } else { Time::MAX };
        let stop = run.advance_to(end.min(now.saturating_add(plan.slice)), control);
        let now = run.session().now();
        progress.write(run.session(), now)?;
        let is_complete = now >= plan.filter.until || progress.report.limit_reached;
        if matches!(stop, Stop::Ended | Stop::Stopped) || (how == Capturing::Only && is_complete) {
            break;
        }
    }
    let report = progress.finish(run.session())?;
    Ok((run.finish(control), report))
}

impl<P: Deref<Target = Prepared>, W: Write> Progress<P, W> {
    /// Begins the capture of a session.
    pub(crate) fn start(
        plan: CapturePlan,
        prepared: P,
        session: &mut Session<Feed<Recorder>>,
        output: W,
    ) -> io::Result<Self> {
        session.start_capture(&plan.filter);
        Self::new(plan, prepared, output)
    }

    fn new(plan: CapturePlan, prepared: P, output: W) -> io::Result<Self> {
        let mut writer = Writer::new(output)?;
        let add = |name: &String| Ok((writer.add_interface(name, InterfaceKind::Data)?, None));
        let interfaces = plan.names.iter().map(add).collect::<io::Result<_>>()?;
        let of_name = |name: &String| CapturedInterface { name: name.clone(), ..Default::default() };
        let report = CaptureReport {
            interfaces: plan.names.iter().map(of_name).collect(),
            packets: 0,
            bytes: 0,
            cut: 0,
            missed: 0,
            limit_reached: false,
            first_ns: None,
            last_ns: None,
        };
        let (framer, comment) = (plan.framer.clone(), String::new());
        Ok(Self { plan, prepared, writer, framer, interfaces, comment, report })
    }

    /// Writes what crossed before `until`.
    pub(crate) fn write(&mut self, session: &mut Session<Feed<Recorder>>, until: Time) -> io::Result<()> {
        for captured in session.take_captured(until) {
            if self.report.packets == self.plan.packets {
                self.report.missed += 1;
            } else {
                self.write_one(&captured)?;
            }
        }
        if self.report.packets == self.plan.packets && !self.report.limit_reached {
            self.report.limit_reached = true;
            session.count_captured();
        }
        Ok(())
    }

    fn write_one(&mut self, captured: &Captured) -> io::Result<()> {
        let Ok(place) = self.plan.filter.ports.binary_search(&captured.port) else {
            unreachable!("only chosen ports are captured")
        };
        let time_ns = captured.time.0 / Time::ns(1).0;
        let mut record = OutgoingRecord {
            time_ns,
            bytes: &[],
            packet_len: 0,
            link_len: 0,
            is_error: false,
            comment: None,
        };
        let mut interface = self.interfaces[place].0;
        match &captured.content {
            CapturedContent::Packet(packet, lane_and_path, extensions) => {
                let frame = self.framer.frame(packet, *lane_and_path, extensions.as_deref());
                comment::write(&mut self.comment, &self.prepared, packet, extensions.as_deref(), &frame);
                self.report.cut += u64::from(frame.bytes.len() < frame.len);
                (record.bytes, record.packet_len) = (frame.bytes, frame.len);
                (record.link_len, record.comment) = (packet.bytes as usize, Some(self.comment.as_str()));
            }
            CapturedContent::Bytes(bytes, comment) => {
                (record.bytes, record.comment) = (bytes, Some(&**comment).filter(|text| !text.is_empty()));
                (record.packet_len, record.link_len) = (bytes.len(), bytes.len());
            }
            CapturedContent::FlowControl(bytes, comment) => {
                (record.bytes, record.comment) = (bytes, Some(&**comment).filter(|text| !text.is_empty()));
                (record.packet_len, record.link_len) = (bytes.len(), bytes.len());
                interface = self.flow_control(place)?;
            }
        }
        let bytes = record.link_len as u64;
        self.writer.write_record(interface, &record)?;
        let report = &mut self.report;
        report.packets += 1;
        report.bytes += bytes;
        report.interfaces[place].packets += 1;
        report.interfaces[place].bytes += bytes;
        report.first_ns.get_or_insert(time_ns);
        report.last_ns = Some(time_ns);
        Ok(())
    }

    /// The interface of a port's flow-control packets.
    fn flow_control(&mut self, place: usize) -> io::Result<InterfaceId> {
        let (_, known) = &mut self.interfaces[place];
        if let Some(interface) = *known {
            return Ok(interface);
        }
        let name = format!("{} flow control", self.plan.names[place]);
        let interface = self.writer.add_interface(&name, InterfaceKind::FlowControl)?;
        *known = Some(interface);
        Ok(interface)
    }

    /// Writes what is left, and ends the file.
    pub(crate) fn finish(mut self, session: &mut Session<Feed<Recorder>>) -> io::Result<CaptureReport> {
        self.write(session, Time::MAX)?;
        self.report.missed += session.missed_captures();
        self.writer.finish()?;
        Ok(self.report)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fabricsim_wire::dissect::dissect;
    use fabricsim_wire::fcp::{Fcp, FcpOp};

    use super::*;

    fn prepared() -> Prepared {
        let text = "[topology]\nsingle-switch = { hosts = 2 }\n[run]\nduration = \"1 us\"\n";
        let experiment = fabricsim_spec::read(text, "f.toml", &[]).unwrap();
        Prepared::new(experiment, Path::new("."), "f.toml").unwrap()
    }

    /// Packets that exist as bytes go into the file as they are; flow-control packets on an interface of their own.
    #[test]
    fn bytes_are_written_as_they_are() {
        let prepared = prepared();
        let capture = Capture {
            links: vec!["*".to_owned()],
            file: String::new(),
            from: Time::ZERO,
            to: None,
            packets: 10,
        };
        let plan = CapturePlan::new(&capture, &prepared, "f.toml").unwrap();
        let mut progress = Progress::new(plan.clone(), &prepared, Vec::new()).unwrap();
        let mut framer = Framer::new(vec![Lid(1), Lid(2)], vec![1, 2]);
        let ends = (HostId(0), HostId(1));
        let packet = fabricsim_model::Packet::new(fabricsim_model::PacketKind::Data, ends, 100, Time::ZERO);
        let data = framer.frame(&packet, (fabricsim_units::Vl(0), 0), None).bytes.to_vec();
        let mut fcp = [0; Fcp::WIRE_LEN];
        let credits = Fcp { op: FcpOp::Normal, total_blocks_sent: 3, credit_limit: 9, ..Fcp::default() };
        credits.emit_packet(&mut fcp).unwrap();
        for (time, port, content) in [
            (1000, 1, CapturedContent::Bytes(data.clone().into(), "a datagram".into())),
            (2000, 1, CapturedContent::FlowControl(fcp.into(), "".into())),
            (3000, 2, CapturedContent::FlowControl(fcp.into(), "credits".into())),
            (4000, 1, CapturedContent::FlowControl(fcp.into(), "".into())),
        ] {
            progress.write_one(&Captured { time: Time(time), port, content }).unwrap();
        }
        assert_eq!(progress.report.bytes, data.len() as u64 + 18);
        let file = progress.writer.finish().unwrap();
        let records = dissect(&file, "f").unwrap();
        let names: Vec<_> =
            records.iter().map(|record| record.interface.as_deref().unwrap_or_default()).collect();
        let [first, second] = [1, 2].map(|port: usize| plan.names[port].clone());
        let flow_control = format!("{first} flow control");
        assert_eq!(names, [first, flow_control.clone(), format!("{second} flow control"), flow_control]);
        let comments: Vec<_> = records.iter().map(|record| record.comment.as_deref()).collect();
        assert_eq!(comments, [Some("a datagram"), None, Some("credits"), None]);
        assert!(records[0].packet.icrc.is_some_and(|sum| sum.ok));
        assert!(
            records[1..].iter().all(|record| record.packet.fcp.is_some_and(|record| record.fcp == credits))
        );
    }
}
