//! End of a run: results from the recorders.

use std::ops::Deref;

use fabricsim_engine::{Engine, Extent, Prepared, Totals};
use fabricsim_measure::{self as measure, OfferedLoad, Steady, SteadyEnd};
use fabricsim_model::Table;
use fabricsim_units::{HostId, Time};
use fabricsim_workload::MulticastGroup;

use crate::control::{Control, Phase};
use crate::outcome::{Invariants, Outcome, Status};
use crate::plan::Run;
use crate::recording::{self, Recording};
use crate::setting_warnings::setting_warnings;
use crate::{identity, lost, nodes, port_counters, queue_pairs, subnet, transports};

/// In order of a key, which does not depend on partitions.
fn sorted<T, K: Ord>(all: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_by_key(key);
    all
}

impl<P: Deref<Target = Prepared>, B: Recording> Run<P, B> {
    /// Ends the run now, and with it a measurement that has not ended. A run that has not come to its end is
    /// [`Status::Interrupted`].
    pub fn finish(mut self, control: &Control) -> Outcome {
        let mut status = self.status.unwrap_or(Status::Interrupted);
        let snapshot = self.session.snapshot(Extent::Queues);
        if status == Status::Ok {
            let mut found = None;
            self.watch.search(&snapshot, &self.prepared, &mut found);
            status = found.unwrap_or(status);
        }
        control.enter(Phase::Done);
        self.watch.waiting.look(&snapshot, &self.prepared);
        drop(snapshot);
        let end = self.end();
        self.take_traced();
        let totals = self.session.totals();
        let managed = self.session.subnet();
        let mut warnings = setting_warnings(&self.prepared);
        warnings.extend(self.warnings(status, &totals));
        warnings.extend(managed.iter().flat_map(subnet::warnings));
        let length = self.window.map_or(end, |(from, to)| to.min(end).saturating_sub(from));
        let credits = self.session.engine().check_credits();
        let scaling = self.session.engine().scaling();
        let measured = self.measured(end);
        let recoveries = self.session.recoveries().clone();
        let Self { prepared, session, trees, watch, packets, .. } = self;
        let transports = sorted(session.engine().transports(), |of| of.host);
        let pairs = sorted(session.engine().queue_pairs(), |of| (of.host, of.number));
        let measured = measure::Outcome {
            transport: transports::counts(&transports),
            queue_pairs: prepared.experiment.queue_pairs.is_some().then(|| queue_pairs::counts(&pairs)),
            ..measured
        };
        let (mut report, names) = report(session.into_engine(), &prepared, &measured);
        lost::name_losses(&mut report.summary.hosts, totals.lost.total());
        let silence = watch
            .is_silent
            .then(|| format!("stalled: {} packets in flight, no cyclic dependency", totals.in_flight));
        let mut tables: Vec<Table> = report.tables;
        let ports: Vec<String> = names.ports.into_iter().map(|port| port.link).collect();
        let name = |host| prepared.destination_name(host).to_owned();
        trees.report(&mut tables, &ports, &name);
        tables.extend(transports::table(&transports, &names.hosts));
        tables.extend(queue_pairs::table(&pairs, &names.hosts));
        if let Some(report) = &managed {
            tables.push(subnet::table(&report.sweeps));
        }
        if prepared.experiment.measure.port_counters {
            tables.push(port_counters::table(
                &prepared,
                &tables,
                (managed.as_ref(), &recoveries),
                (end, length),
            ));
        }
        tables.extend(packets.map(|packets| packets.table(&prepared)));
        tables.push(nodes::table(&prepared.graph));
        identity::add(&mut tables, &prepared.experiment, &prepared.graph);
        Outcome {
            status,
            end,
            totals,
            summary: report.summary,
            tables,
            invariants: Invariants::of(&totals, credits.is_ok()),
            defect: credits.err().map(|e| e.to_string()).or(silence).unwrap_or_default(),
            deadlock: watch.deadlock,
            warnings,
            silent_hosts: prepared.workload.silent.len(),
            looks: trees.looks(),
            subnet: managed.map(|report| subnet::summary(&report)),
            scaling,
        }
    }

    /// The run ends now, and with it a measurement that has not ended. Returns the time.
    fn end(&mut self) -> Time {
        let now = self.session.now();
        if let Some((from, to)) = self.window
            && to > now
        {
            self.close(now.max(from));
        }
        let engine = self.session.engine_mut();
        engine.visit_transmissions(|of, port, _, end| of.recorder().cut_off_series(port, now, end));
        engine.observers().for_each(|of| of.recorder().end_series(now));
        self.trees.end(now, self.window);
        now
    }

    fn warnings(&self, status: Status, totals: &Totals) -> Vec<String> {
        let (graph, now) = (&self.prepared.graph, self.session.now());
        let measured = self.window.map_or(now, |(_, to)| to.min(now));
        let mut warnings = self.watch.waiting.warnings(graph, measured);
        if self.watch.waits_for_lost {
            warnings.push(format!(
                "nothing moves any more: hosts wait for packets that were lost, or for failed links; {} packets are in flight",
                totals.in_flight
            ));
        }
        if totals.returned > 0 {
            warnings.push(format!(
                "{} copies of multicast packets came back to their source, and count as delivered: tables have changed \
                 while they were in the fabric, and old and new ones may form loops",
                totals.returned
            ));
        }
        warnings.extend(lost::warnings(self.session.engine(), &self.prepared));
        warnings.extend(queue_pairs::warning(self.session.engine(), graph));
        warnings.extend(self.packets.as_ref().and_then(|packets| packets.warning()));
        if status == Status::Ok {
            warnings.extend(self.watch.refusals.warning(self.session.engine(), graph));
            warnings.extend(self.unfinished_drain(totals));
        }
        warnings
    }

    /// A warning if the drain ended at its limit.
    fn unfinished_drain(&self, totals: &Totals) -> Option<String> {
        let left = !self.has_ended_early && !self.is_drained(self.window?.1);
        left.then(|| {
            format!(
                "the drain ended at its limit with {} packets in flight: results do not count later arrivals; raise \
                 run.drain_limit",
                totals.in_flight
            )
        })
    }

    /// Data of the run besides the recorders', without counters of transports.
    fn measured(&mut self, end: Time) -> measure::Outcome {
        let graph = &self.prepared.graph;
        let batch = Steady::batch_length(&self.prepared.experiment.run);
        measure::Outcome {
            end,
            rates: graph.hosts.iter().map(|h| graph.links[h.link.index()].parameters.rate).collect(),
            offers: to_members(offers(self.session.engine_mut(), end), &self.prepared.workload.groups),
            steady: self
                .steady
                .as_ref()
                .map(|steady| SteadyEnd { settled: steady.steady(), precision: steady.precision(batch) }),
            congestion_events: self.session.engine().congestion_events(),
            transport: None,
            queue_pairs: None,
        }
    }
}

/// The recorders of all partitions as one.
/// Names of a large network take as much memory as its packets do, which are not there any more.
fn report<B: Recording>(
    engine: Engine<B>,
    prepared: &Prepared,
    measured: &measure::Outcome,
) -> (measure::Report, measure::Names) {
    let recorder = recorder(engine);
    let names = recording::names(prepared);
    (recorder.report(&names, measured), names)
}

fn recorder<B: Recording>(engine: Engine<B>) -> measure::Recorder {
    let mut recorders = engine.finish().into_iter().map(Recording::into_recorder);
    let merged = recorders.next().map(|first| {
        recorders.fold(first, |mut all, other| {
            all.merge(&other);
            all
        })
    });
    let Some(recorder) = merged else { unreachable!("there is a partition, so there is a recorder") };
    recorder
}

fn offers<B: Recording>(engine: &mut Engine<B>, end: Time) -> Vec<OfferedLoad> {
    let mut offers = Vec::new();
    for (host, source) in engine.sources() {
        source.finish(end, |_| {});
        let bytes: Vec<(u16, u64)> = source.offered().collect();
        let offer = |(stream, bytes)| OfferedLoad {
            source: host,
            destination: source.fixed_destination(stream),
            stream: Some(stream),
            bytes,
        };
        offers.extend(bytes.into_iter().map(offer));
        let injected = source.injected();
        let by_caller =
            |(to, bytes)| OfferedLoad { source: host, destination: Some(to), stream: None, bytes };
        offers.extend(injected.map(by_caller));
    }
    offers.sort_by_key(|offer| (offer.source, offer.destination));
    offers
}

/// Offered loads where one to a multicast group is one to each of its members but the source.
fn to_members(offers: Vec<OfferedLoad>, groups: &[MulticastGroup]) -> Vec<OfferedLoad> {
    let members = |offer: OfferedLoad| match offer.destination.and_then(HostId::group) {
        Some(group) => {
            let members = groups[usize::from(group)].members.iter().filter(|&&host| host != offer.source);
            members.map(|&host| OfferedLoad { destination: Some(host), ..offer }).collect()
        }
        None => vec![offer],
    };
    offers.into_iter().flat_map(members).collect()
}
