//! The recorder of a run, and the names that its tables show.

use fabricsim_engine::Prepared;
use fabricsim_measure::{EntryName, JobName, Names, PortName, Recorder, RecorderConfig};
use fabricsim_model::Observer;
use fabricsim_session::{Feed, Session, Traced};
use fabricsim_spec::OrderingMode;
use fabricsim_topology::LinkClass;
use fabricsim_units::Time;
use fabricsim_workload::{StreamInfo, StreamKind};

use crate::routers;

/// An observer with a recorder in it.
pub trait Recording: Observer {
    /// The recorder.
    fn recorder(&mut self) -> &mut Recorder;
    /// The recorder, at the end.
    fn into_recorder(self) -> Recorder;
    /// Begins to trace packets on all links, if it can.
    fn start_trace(_: &mut Session<Self>)
    where
        Self: Sized,
    {
    }
    /// What has been traced before `until` since the last call.
    fn take_traced(_: &mut Session<Self>, _until: Time) -> Vec<Traced>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

impl Recording for Recorder {
    fn recorder(&mut self) -> &mut Recorder {
        self
    }

    fn into_recorder(self) -> Recorder {
        self
    }
}

impl Recording for Feed<Recorder> {
    fn recorder(&mut self) -> &mut Recorder {
        self.inner()
    }

    fn into_recorder(self) -> Recorder {
        self.into_inner()
    }

    fn start_trace(session: &mut Session<Self>) {
        session.start_trace();
    }

    fn take_traced(session: &mut Session<Self>, until: Time) -> Vec<Traced> {
        session.take_traced(until)
    }
}

/// Common configuration of the recorders of all partitions. `ends_early`: jobs may end the measurement.
pub(crate) fn config(prepared: &Prepared, ends_early: bool) -> RecorderConfig {
    let Prepared { experiment, graph, .. } = prepared;
    let (hosts, ports) = (graph.hosts.len() as u32, 2 * graph.links.len() as u32);
    let lanes = experiment.switch.virtual_lanes;
    let mut config = RecorderConfig::new(&experiment.run, &experiment.measure, hosts, ports, lanes);
    if ends_early {
        config.expect_an_early_end(&experiment.measure);
    }
    config
}

/// A recorder of a partition.
pub(crate) fn recorder(config: &RecorderConfig, prepared: &Prepared) -> Recorder {
    let Prepared { experiment, workload, .. } = prepared;
    let mut recorder = Recorder::new(config)
        .with_entries(workload.streams.len())
        .with_congestion(experiment.congestion_control.algorithm);
    if let Some(rule) = &experiment.run.steady_state {
        recorder = recorder.with_steady_state(rule);
    }
    if workload.streams.iter().any(|stream| stream.kind != StreamKind::Traffic) {
        recorder = recorder.with_jobs();
    }
    if experiment.queue_pairs.is_some() {
        recorder = recorder.with_queue_pairs(workload.streams.len());
    }
    if experiment.transport.mode != OrderingMode::None {
        recorder = recorder.with_transport(workload.streams.len(), experiment.measure.exchanges);
    }
    if experiment.measure.router_counters {
        recorder = recorder.with_router_counters(&experiment.switch);
    }
    recorder
}

fn entry(stream: &StreamInfo) -> EntryName {
    EntryName {
        name: stream.name.clone(),
        key: stream.key.clone(),
        kind: stream.kind.name(),
        text: stream.text.clone(),
        sources: stream.sources.hosts,
        source_gbps: stream.sources.gbps,
        destinations: stream.destinations.hosts,
        destination_gbps: stream.destinations.gbps,
    }
}

/// The names of hosts, ports, entries and jobs.
pub(crate) fn names(prepared: &Prepared) -> Names {
    let Prepared { experiment, graph, workload, .. } = prepared;
    let port = |channel: u32| PortName {
        link: graph.port_name(channel),
        class: match graph.links[(channel / 2) as usize].class {
            LinkClass::Host => "host".to_owned(),
            LinkClass::Dimension(d) => format!("dimension {d}"),
            LinkClass::Level(level) => format!("level {level}"),
            LinkClass::Local => "local".to_owned(),
            LinkClass::Global => "global".to_owned(),
            LinkClass::Plain => "plain".to_owned(),
        },
    };
    let (routers, directions) =
        if experiment.measure.router_counters { routers::ports(graph) } else { Default::default() };
    Names {
        routers,
        directions,
        hosts: graph.hosts.iter().map(|host| host.name.clone()).collect(),
        ports: (0..2 * graph.links.len() as u32).map(port).collect(),
        entries: workload.streams.iter().map(entry).collect(),
        jobs: workload
            .jobs
            .iter()
            .map(|job| JobName { name: job.name.clone(), ranks: job.ranks, iterations: job.iterations })
            .collect(),
    }
}
