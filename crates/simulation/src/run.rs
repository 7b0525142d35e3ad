//! The phases of a run. All decisions (is it steady, is it stuck, is it drained) are taken at fixed simulated times
//! from sums over all partitions, so that they are the same for every number of partitions.

use fabricsim_engine::{Advance, Engine, Prepared, Totals};
use fabricsim_measure::{
    self as measure, Batch, JobName, Names, Offer, PortName, Recorder, RecorderConfig, Steady, StreamName,
    Verdict,
};
use fabricsim_model::Table;
use fabricsim_routing::deadlock::Verdict as Cycles;
use fabricsim_spec::{Drain, OrderingMode};
use fabricsim_topology::LinkClass;
use fabricsim_units::Time;
use fabricsim_workload::{StreamKind, Workload};

use crate::congestion::Trees;
use crate::control::{Control, Phase};
use crate::outcome::{Invariants, Outcome, Status, deadlock_lines, refused_lines};
use crate::refusals::Refusals;
use crate::waiting::Waiting;
use crate::{memory, nodes, routers, transports};

/// Reason why a run did not start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The channel dependency graph has a cycle, and the experiment does not say that this is wanted.
    #[error(
        "{file}: run.allow_deadlock: {verdict}\nUse another routing or more virtual lanes, or set \
         run.allow_deadlock = true to run it as it is."
    )]
    Cyclic {
        /// The experiment.
        file: String,
        /// The cycle in words.
        verdict: String,
    },
    /// The run does not fit into memory.
    #[error(
        "{file}: topology: the run takes about {} of memory, and {} are {}: make the network \
         smaller, or give its switches fewer virtual lanes{}, or allow more with --memory",
         memory::size(*.needed),
         memory::size(*.limit),
         if *.given { "allowed" } else { "available" },
         if *.voq { " or queueing = \"fifo\"" } else { "" }
    )]
    Memory {
        /// The experiment.
        file: String,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
        /// True if the limit was given, false if it is what is available.
        given: bool,
        /// True with virtual output queues.
        voq: bool,
    },
}

/// Looks at the state of a run between its start and its expected end.
const LOOKS: u64 = 100;

struct Running<'a> {
    prepared: &'a Prepared,
    control: &'a Control,
    engine: Engine<Recorder>,
    step: Time,
    looks: u64,
    next_search: u64,
    status: Option<Status>,
    deadlock: Vec<String>,
    /// True if everything has stopped though there is something to send, and not by a deadlock. That must not be.
    silent: bool,
    /// End of the measurement, once it is known.
    window: Option<(Time, Time)>,
    steady: Option<Steady>,
    trees: Trees,
    waiting: Waiting,
    refusals: Refusals,
    jobs: JobsToDo,
}

/// Work of jobs to wait for.
struct JobsToDo {
    /// Iterations of all ranks.
    iterations: u64,
}

impl JobsToDo {
    fn of(workload: &Workload) -> Self {
        let all = workload.jobs.iter().map(|job| u64::from(job.ranks) * u64::from(job.iterations));
        Self { iterations: all.sum() }
    }

    /// Returns the time at which the last iteration ended, if there are jobs and all are done.
    fn end(&self, engine: &mut Engine<Recorder>) -> Option<Time> {
        let progress = engine.observers().map(|recorder| recorder.job_progress());
        let (done, end) = progress.fold((0, Time::ZERO), |all, one| (all.0 + one.0, all.1.max(one.1)));
        (self.iterations > 0 && done == self.iterations).then_some(end)
    }
}

/// Refuses an experiment that does not fit into `limit` bytes of memory, by default what is available, or whose channel
/// dependency graph has a cycle, unless it says `allow_deadlock`. `file` names it in messages. To be asked before
/// [`simulate`].
pub fn permit(prepared: &Prepared, limit: Option<u64>, file: &str) -> Result<(), RunError> {
    memory::fits(prepared, memory::needed(prepared), limit, memory::available_memory(), file)?;
    if prepared.experiment.run.allow_deadlock {
        return Ok(());
    }
    let verdict = fabricsim_routing::check(&prepared.router, &prepared.graph);
    if let Cycles::Cyclic { .. } = verdict {
        let verdict = verdict.describe(&prepared.graph);
        return Err(RunError::Cyclic { file: file.to_owned(), verdict });
    }
    Ok(())
}

/// Runs a prepared experiment to its end.
pub fn simulate(prepared: &Prepared, control: &Control) -> Outcome {
    let mut running = Running::new(prepared, control);
    running.go();
    running.finish()
}

impl<'a> Running<'a> {
    fn new(prepared: &'a Prepared, control: &'a Control) -> Self {
        let Prepared { experiment, graph, .. } = prepared;
        let run = &experiment.run;
        let mut config = RecorderConfig::new(
            run,
            &experiment.measure,
            graph.hosts.len() as u32,
            2 * graph.links.len() as u32,
            experiment.switch.virtual_lanes,
        );
        let jobs = JobsToDo::of(&prepared.workload);
        if jobs.iterations > 0 {
            config.expect_an_early_end(&experiment.measure);
        }
        control.enter(Phase::Fabric);
        let engine = prepared.engine(|| recorder(&config, prepared));
        control.enter(Phase::WarmUp);
        let whole = run.warmup.saturating_add(run.duration);
        control.expect(whole);
        let steady = run.steady_state.clone().map(|rule| Steady::new(rule, longest_warmup(run)));
        let step = match steady {
            Some(_) => Steady::batch_length(run),
            None => Time(whole.0.div_ceil(LOOKS)).max(Time::ps(1)),
        };
        Self {
            prepared,
            control,
            engine,
            step,
            looks: 0,
            next_search: 2,
            status: None,
            deadlock: Vec::new(),
            silent: false,
            window: None,
            steady,
            trees: Trees::new(prepared),
            waiting: Waiting::default(),
            refusals: Refusals::new(&prepared.experiment.transport),
            jobs,
        }
    }

    fn go(&mut self) {
        let run = &self.prepared.experiment.run;
        if self.steady.is_some() {
            self.measure_until_steady();
        } else {
            let (from, to) = (run.warmup, run.warmup.saturating_add(run.duration));
            self.open(from, to);
            self.advance_to(from);
            self.control.enter(Phase::Measurement);
            self.advance_to(to);
        }
        if self.status.is_none() {
            self.control.enter(Phase::Drain);
            self.drain();
        }
        self.status.get_or_insert(Status::Ok);
    }

    fn open(&mut self, from: Time, to: Time) {
        self.window = Some((from, to));
        self.engine.sources().for_each(|(_, source)| source.set_window(from, to));
    }

    /// Goes on in steps until `end`, or until the run has a status.
    fn advance_to(&mut self, end: Time) {
        while self.status.is_none() && self.engine.now() < end {
            let until = self.next_look().min(end);
            self.advance(until);
        }
    }

    fn next_look(&self) -> Time {
        self.step * (self.engine.now().0 / self.step.0 + 1)
    }

    /// Goes on until `until`, and looks at congestion trees at the times for that.
    fn advance(&mut self, until: Time) {
        loop {
            let Some(how) = self.advance_engine(until.min(self.trees.due())) else { return };
            if self.engine.now() >= self.trees.due() {
                self.trees.look(&self.engine, self.prepared, self.window);
            }
            if self.engine.now() >= until {
                return self.take_stock(how);
            }
        }
    }

    /// Lets the engine go on until `until`; `None` if the run has a status now.
    fn advance_engine(&mut self, until: Time) -> Option<Advance> {
        let control = self.control;
        let how = self.engine.advance(until, &mut |now, totals| {
            control.tell(now, totals.packet_hops);
            !control.is_cancelled()
        });
        control.tell(self.engine.now(), self.engine.totals().packet_hops);
        if how == Advance::Stopped || control.is_cancelled() {
            self.status = Some(Status::Interrupted);
            return None;
        }
        if how == Advance::Idle
            && self.engine.totals().in_flight == 0
            && let Some(end) = self.jobs.end(&mut self.engine)
        {
            self.end_early(end);
            return None;
        }
        Some(how)
    }

    /// Checks at the end of a step whether the run is stuck.
    fn take_stock(&mut self, how: Advance) {
        let totals = self.engine.totals();
        self.looks += 1;
        let stuck = how == Advance::Idle && totals.in_flight > 0;
        // A search takes time in proportion to the fabric: at a few times of the run, and when nothing happens.
        if stuck || self.looks == self.next_search {
            self.next_search = self.looks * 3 / 2 + 1;
            self.search();
            self.waiting.look(&self.engine, self.prepared);
        }
        if stuck || self.refusals.look(&self.engine) {
            self.search_at_hosts();
        }
        // With an empty event queue nothing will ever happen again.
        let silent = stuck || (how == Advance::Idle && !self.engine.sources_drained());
        self.silent = silent && self.status.is_none();
    }

    /// All jobs are done, the last at `end`, and nothing else will happen: the measurement ends with them.
    fn end_early(&mut self, end: Time) {
        let now = self.engine.end_at(end);
        if let Some((from, to)) = self.window {
            self.close(to.min(now.max(from)));
        }
        self.status = Some(Status::Ok);
    }

    fn search(&mut self) {
        if let Some(found) = self.engine.find_deadlock() {
            self.deadlock = deadlock_lines(&found, &self.prepared.graph);
            self.status = Some(Status::Deadlock);
        }
    }

    /// Nothing moves any more, or nothing but copies. If hosts refuse requests, they wait for room for their responses, and
    /// those for the room that the requests take.
    fn search_at_hosts(&mut self) {
        let refused = self.engine.refused();
        if self.status.is_none() && !refused.is_empty() {
            self.deadlock = refused_lines(&refused, &self.prepared.graph);
            self.status = Some(Status::Deadlock);
        }
    }

    fn measure_until_steady(&mut self) {
        let run = &self.prepared.experiment.run;
        let longest = run.duration;
        while self.status.is_none() {
            self.advance(self.next_look());
            let now = self.engine.now();
            let mut batch = Batch::default();
            self.engine.observers().for_each(|recorder| batch += recorder.take_batch());
            let Some(steady) = &mut self.steady else { return };
            match steady.push(batch) {
                Verdict::Open => {
                    self.engine.observers().for_each(|recorder| recorder.open_window(now));
                    self.engine.visit_transmissions(Recorder::reach_into);
                    self.open(now, Time::MAX);
                    self.control.expect(now.saturating_add(longest));
                    self.control.enter(Phase::Measurement);
                }
                Verdict::Close => return self.close(now),
                Verdict::Continue => {}
            }
            if self.window.is_some_and(|(from, _)| now.saturating_sub(from) >= longest) {
                return self.close(now);
            }
        }
    }

    /// Ends the measurement at `to`, which is not after now or, if that has not begun, its begin.
    fn close(&mut self, to: Time) {
        let Some((from, _)) = self.window else { return };
        self.engine.visit_transmissions(|recorder, port, lane, end| recorder.cut_off(to, port, lane, end));
        self.engine.observers().for_each(|recorder| recorder.close_window(to));
        self.open(from, to);
    }

    fn drain(&mut self) {
        let run = &self.prepared.experiment.run;
        let Some((_, end)) = self.window else { return };
        let limit = end.saturating_add(run.drain_limit.unwrap_or(end * 10));
        if run.drain == Drain::Empty {
            self.engine.stop_sources();
        }
        loop {
            if self.is_drained(end) || self.engine.now() >= limit || self.status.is_some() {
                return;
            }
            self.advance(self.next_look().min(limit));
        }
    }

    /// The run ends now, and with it a measurement that has not ended. Returns the time.
    fn end(&mut self) -> Time {
        let now = self.engine.now();
        if let Some((from, to)) = self.window
            && to > now
        {
            self.close(now.max(from));
        }
        self.engine.visit_transmissions(|recorder, port, _, end| recorder.cut_off_series(port, now, end));
        self.engine.observers().for_each(|recorder| recorder.end_series(now));
        self.trees.end(now, self.window);
        now
    }

    /// True if the drain of a measurement that ended at `end` is complete.
    fn is_drained(&self, end: Time) -> bool {
        match self.prepared.experiment.run.drain {
            Drain::None => true,
            Drain::Measured => self.engine.delivered_all_created_before(end),
            Drain::Empty => self.engine.totals().in_flight == 0 && self.engine.sources_drained(),
        }
    }

    /// A warning if the drain ended at its limit.
    fn unfinished_drain(&self, totals: &Totals) -> Option<String> {
        let left = !self.is_drained(self.window?.1);
        left.then(|| {
            format!(
                "the drain ended at its limit with {} packets in flight: results do not count what arrives later; raise \
                 run.drain_limit",
                totals.in_flight
            )
        })
    }

    fn finish(mut self) -> Outcome {
        if self.status == Some(Status::Ok) {
            self.search();
        }
        self.control.enter(Phase::Done);
        let Prepared { graph, workload, .. } = self.prepared;
        let end = self.end();
        let totals = self.engine.totals();
        let credits = self.engine.check_credits();
        self.waiting.look(&self.engine, self.prepared);
        let measured = self.window.map_or(self.engine.now(), |(_, to)| to.min(self.engine.now()));
        let mut warnings = self.waiting.warnings(graph, measured);
        if self.status.is_none_or(|status| status == Status::Ok) {
            warnings.extend(self.refusals.warning(&self.engine, graph));
            warnings.extend(self.unfinished_drain(&totals));
        }
        let offers = offers(&mut self.engine, end);
        let mut transports: Vec<_> = self.engine.transports().collect();
        transports.sort_by_key(|transport| transport.host);
        let outcome = measure::Outcome {
            end,
            rates: graph.hosts.iter().map(|h| graph.links[h.link.index()].parameters.rate).collect(),
            offers,
            steady: self.steady.as_ref().map(Steady::steady),
            congestion_events: self.engine.congestion_events(),
            transport: transports::counts(&transports),
        };
        let mut recorders = self.engine.finish().into_iter();
        let merged = recorders.next().map(|first| {
            recorders.fold(first, |mut all, other| {
                all.merge(&other);
                all
            })
        });
        let Some(recorder) = merged else { unreachable!("there is a partition, so there is a recorder") };
        let names = names(self.prepared);
        let report = recorder.report(&names, &outcome);
        let silence = self.silent.then(|| {
            format!(
                "nothing moves, {} packets are in the fabric, and none waits in a circle",
                totals.in_flight
            )
        });
        let mut tables: Vec<Table> = report.tables;
        let ports: Vec<String> = names.ports.into_iter().map(|port| port.link).collect();
        self.trees.report(&mut tables, &ports, &names.hosts);
        tables.extend(transports::table(&transports, &names.hosts));
        tables.push(nodes::table(graph));
        Outcome {
            status: self.status.unwrap_or(Status::Ok),
            end,
            totals,
            summary: report.summary,
            tables,
            invariants: Invariants::of(&totals, credits.is_ok()),
            defect: credits.err().map(|e| e.to_string()).or(silence).unwrap_or_default(),
            deadlock: self.deadlock,
            warnings,
            silent_hosts: workload.silent.len(),
            looks: self.trees.looks(),
        }
    }
}

/// Batches of the longest warm-up: the experiment's own warm-up, but not less than the measurement's length.
fn longest_warmup(run: &fabricsim_spec::Run) -> usize {
    (run.warmup.max(run.duration).0 / Steady::batch_length(run).0).max(1) as usize
}

fn offers(engine: &mut Engine<Recorder>, end: Time) -> Vec<Offer> {
    let mut offers = Vec::new();
    for (host, source) in engine.sources() {
        source.finish(end, |_| {});
        let bytes: Vec<(u16, u64)> = source.offered().collect();
        let offer =
            |(stream, bytes)| Offer { source: host, destination: source.fixed_destination(stream), bytes };
        offers.extend(bytes.into_iter().map(offer));
    }
    offers.sort_by_key(|offer| (offer.source, offer.destination));
    offers
}

fn recorder(config: &RecorderConfig, prepared: &Prepared) -> Recorder {
    let Prepared { experiment, workload, .. } = prepared;
    let mut recorder = Recorder::new(config).with_congestion(experiment.congestion_control.algorithm);
    if workload.streams.iter().any(|stream| stream.kind != StreamKind::Traffic) {
        recorder = recorder.with_streams(workload.streams.len());
    }
    if experiment.transport.mode != OrderingMode::None {
        recorder = recorder.with_transport(workload.streams.len(), experiment.measure.exchanges);
    }
    if experiment.measure.router_counters {
        recorder = recorder.with_router_counters(&experiment.switch);
    }
    recorder
}

fn names(prepared: &Prepared) -> Names {
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
        streams: workload
            .streams
            .iter()
            .map(|stream| StreamName { name: stream.name.clone(), kind: stream.kind.name() })
            .collect(),
        jobs: workload
            .jobs
            .iter()
            .map(|job| JobName { name: job.name.clone(), ranks: job.ranks, iterations: job.iterations })
            .collect(),
    }
}
