//! A run whose traffic comes from programs that use verbs. Its caller runs the programs, one at a time, and says what they wait for.

mod paths;
mod queue_pairs;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use fabricsim_engine::Prepared;
use fabricsim_measure::Recorder;
use fabricsim_protocols::infiniband::QueuePairState;
use fabricsim_session::{Feed, Next, Scheduler, Wait};
use fabricsim_spec::SubnetStart;
use fabricsim_topology::Identity;
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::{
    AsyncEvent, Device, QueuePairAttributes, SubnetView, VerbsError, group_gid, group_lid,
};
use fabricsim_wire::ids::{Gid, Lid, PKey, Qpn};

use crate::capture::{CapturePlan, CaptureReport, Progress};
use crate::control::Control;
use crate::outcome::{Outcome, Status};
use crate::perftest::costs;
use crate::plan::{Run, Stop};

use queue_pairs::{Ended, table};
pub(crate) use queue_pairs::{ROW, empty};

/// Advances between two questions to the caller whether to go on. Each is about as long as a completion takes.
const ADVANCES: u32 = 256;

/// Advances between two looks for programs of which none can ever go on, while others have traffic.
const ADVANCES_OF_OTHERS: u32 = 1024;

/// Programs that the run cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramsError {
    /// No host has this name.
    #[error("there is no host \"{0}\"; the first one is \"{1}\"")]
    Host(String, String),
    /// The host of a program has traffic.
    #[error(
        "host {0} has a program and traffic of its own: its adapter sends what the program posts only; name other hosts in `sources`"
    )]
    Traffic(String),
    /// Hosts have no LIDs.
    #[error("hosts get no LIDs: {0}")]
    Lids(String),
}

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The program with this number goes on.
    Program(usize),
    /// All programs have ended.
    Done,
    /// Each program waits for something that does not come.
    Blocked,
    /// Programs poll, and nothing has been in progress for as long as they may do so in vain.
    Polling,
    /// The end of the experiment's run is reached.
    Limit,
    /// The caller's control stopped the run.
    Stopped,
}

/// The run.
pub struct ProgramRun {
    run: Run<Arc<Prepared>, Feed<Recorder>>,
    prepared: Arc<Prepared>,
    scheduler: Scheduler,
    identity: Identity,
    /// Latest time of the run.
    limit: Time,
    /// Time for which programs may poll in vain while nothing is in progress.
    patience: Time,
    /// Time since which they do.
    vain_since: Option<Time>,
    /// Hosts at the other end of queue pairs, by host and number.
    peers: BTreeMap<(HostId, Qpn), HostId>,
    /// Counters of queue pairs that were destroyed.
    ended: Vec<Ended>,
    capture: Option<ProgramCapture>,
}

/// The capture of a run with programs, until it fails.
struct ProgramCapture {
    progress: Progress<Arc<Prepared>, Box<dyn Write + Send>>,
    failure: Option<io::Error>,
}

impl ProgramRun {
    /// The run of an experiment with a program at each of some hosts, by name. A host may have several programs.
    pub fn new(
        prepared: Prepared,
        hosts: &[String],
        patience: Time,
        control: &Control,
    ) -> Result<Self, ProgramsError> {
        let mut scheduler = Scheduler::default();
        let mut devices = BTreeMap::new();
        for name in hosts {
            let host = find(&prepared, name)?;
            scheduler.add(host);
            devices.insert(host, costs(&prepared.experiment));
        }
        let identity = fabricsim_routing::identity_of(&prepared.experiment, &prepared.graph);
        let identity = identity.map_err(ProgramsError::Lids)?.into_owned();
        let of = &prepared.experiment.run;
        let limit = of.warmup.saturating_add(of.duration);
        let prepared = Arc::new(prepared.with_devices(&devices));
        let mut run = Run::with_feed(Arc::clone(&prepared), control);
        introduce(&mut run, &prepared, &identity);
        Ok(Self {
            run,
            prepared,
            scheduler,
            identity,
            limit,
            patience,
            vain_since: None,
            peers: BTreeMap::new(),
            ended: Vec::new(),
            capture: None,
        })
    }

    /// Captures what crosses the links of `plan`, before the first program runs.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn start_capture(&mut self, plan: &CapturePlan, output: Box<dyn Write + Send>) -> io::Result<()> {
        let prepared = Arc::clone(&self.prepared);
        let progress = Progress::start(plan.clone(), prepared, self.run.session(), output)?;
        self.capture = Some(ProgramCapture { progress, failure: None });
        Ok(())
    }

    /// True if the run has a capture.
    pub fn is_captured(&self) -> bool {
        self.capture.is_some()
    }

    /// Ends the capture. `None` without one.
    pub fn end_capture(&mut self) -> Option<io::Result<CaptureReport>> {
        let ProgramCapture { progress, failure } = self.capture.take()?;
        Some(failure.map_or_else(|| progress.finish(self.run.session()), Err))
    }

    /// Writes what was captured until now.
    fn write_captured(&mut self) {
        let session = self.run.session();
        let now = session.now();
        if let Some(ProgramCapture { progress, failure: failure @ None }) = &mut self.capture {
            *failure = progress.write(session, now).err();
        }
    }

    /// The time of the run: everything before it has happened. A program that runs has this time.
    pub fn now(&mut self) -> Time {
        self.run.session().now()
    }

    /// The experiment, with the adapters of the programs' hosts.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// Host of a program.
    pub fn host(&self, number: usize) -> HostId {
        self.scheduler.host(number)
    }

    /// LID of a host: the first one, if it has several.
    pub fn lid(&self, host: HostId) -> u16 {
        self.identity.lid(host)
    }

    /// LID of the host with a name.
    pub fn lid_by_name(&self, name: &str) -> Result<u16, String> {
        let hosts = &self.prepared.graph.hosts;
        let found = hosts.iter().position(|host| host.name == name);
        let missing = || format!("there is no host \"{name}\"; the first one is \"{}\"", hosts[0].name);
        found.map(|host| self.lid(HostId(host as u32))).ok_or_else(missing)
    }

    /// LID and GID of a multicast group of the experiment; `None` if there is none with this name.
    pub fn group(&self, name: &str) -> Option<(Lid, Gid)> {
        let number = self.prepared.workload.groups.iter().position(|group| group.name == name)? as u16;
        Some((group_lid(number), group_gid(number)))
    }

    /// Names of the multicast groups.
    pub fn groups(&self) -> Vec<&str> {
        self.prepared.workload.groups.iter().map(|group| group.name.as_str()).collect()
    }

    /// The cycle of a deadlock of the fabric, a line for each buffer; `None` without one.
    pub fn find_deadlock(&mut self) -> Option<Vec<String>> {
        self.run.find_deadlock()
    }

    /// The adapter of a program's host.
    pub fn device(&mut self, number: usize) -> &mut Device {
        let host = self.scheduler.host(number);
        match self.run.session().engine_mut().device(host) {
            Some(device) => device,
            None => unreachable!("every host of a program has a device"),
        }
    }

    /// Wakes the adapter of a program's host, after calls that give it something to do.
    pub fn wake_device(&mut self, number: usize) {
        let host = self.scheduler.host(number);
        self.run.session().engine_mut().wake_device(host);
    }

    /// Changes a queue pair (`ibv_modify_qp`).
    pub fn modify_qp(
        &mut self,
        number: usize,
        qp: Qpn,
        attributes: QueuePairAttributes,
    ) -> Result<(), VerbsError> {
        let (now, host) = (self.now(), self.scheduler.host(number));
        self.device(number).modify_qp(qp, attributes, now)?;
        if let Some(peer) = attributes.address {
            self.peers.insert((host, qp), peer.host);
        }
        self.wake_device(number);
        Ok(())
    }

    /// Destroys a queue pair (`ibv_destroy_qp`). Its counters are kept for the results.
    pub fn destroy_qp(&mut self, number: usize, qp: Qpn) -> Result<(), VerbsError> {
        let host = self.scheduler.host(number);
        let device = self.device(number);
        let (state, counters) = (device.state(qp)?, device.queue_pair_counters(qp)?);
        device.destroy_qp(qp)?;
        let peer = self.peers.remove(&(host, qp));
        self.ended.push(Ended {
            host,
            number: qp,
            peer,
            has_failed: state == QueuePairState::Error,
            counters,
        });
        Ok(())
    }

    /// Takes the oldest asynchronous event of a program's host that is visible.
    pub fn take_async_event(&mut self, number: usize) -> Option<AsyncEvent> {
        let host = self.scheduler.host(number);
        self.scheduler.take_async_event(self.run.session(), host)
    }

    /// The program that ran waits from now on.
    pub fn wait(&mut self, number: usize, wait: Wait) {
        let now = self.now();
        self.scheduler.wait(number, now, wait);
    }

    /// A program that waits for several things, or a time, waits until `limit` at most.
    pub fn shorten(&mut self, number: usize, limit: Time) {
        self.scheduler.shorten(number, limit);
    }

    /// Ends the wait of a program now.
    pub fn wake(&mut self, number: usize) {
        let now = self.now();
        self.scheduler.wake(number, now);
    }

    /// Advances until a program can go on. Calls `goes_on` now and then; if it returns false, the run stops.
    pub fn next(&mut self, control: &Control, goes_on: &mut dyn FnMut() -> bool) -> Step {
        for advances in 1_u32.. {
            if advances.is_multiple_of(ADVANCES) && !goes_on() {
                return Step::Stopped;
            }
            let target = match self.scheduler.next(self.run.session()) {
                Next::Done => return Step::Done,
                Next::Blocked => return Step::Blocked,
                Next::Program(number) if self.polls_in_vain(number) => return Step::Polling,
                Next::Program(number) => return Step::Program(number),
                Next::Advance(_)
                    if advances.is_multiple_of(ADVANCES_OF_OTHERS)
                        && self.scheduler.is_stuck(self.run.session()) =>
                {
                    return Step::Blocked;
                }
                Next::Advance(target) => target.min(self.limit),
            };
            if self.now() >= self.limit {
                return Step::Limit;
            }
            let stop = self.run.advance_to(target, control);
            if self.capture.is_some() {
                self.write_captured();
            }
            match stop {
                Stop::Stopped => return Step::Stopped,
                Stop::Ended if self.run.status() == Some(Status::Deadlock) => return Step::Blocked,
                Stop::Reached | Stop::Idle | Stop::Ended => {}
            }
        }
        Step::Stopped
    }

    /// True if a program goes on because its poll has lasted long enough, nothing is in progress, and that has been so for too long.
    fn polls_in_vain(&mut self, number: usize) -> bool {
        let now = self.now();
        let session = self.run.session();
        if !self.scheduler.waited_in_vain(session, number) || !self.scheduler.is_idle(session) {
            self.vain_since = None;
            return false;
        }
        let since = *self.vain_since.get_or_insert(now);
        now.saturating_sub(since) >= self.patience
    }

    /// Ends the run now. If all programs have ended, that is the end of its measurement; else it is [`Status::Interrupted`].
    pub fn finish(mut self, control: &Control) -> Outcome {
        // A run that no program has advanced has not begun.
        let now = self.now();
        self.run.advance_to(now, control);
        if self.scheduler.waits().all(|(_, wait)| *wait == Wait::Done) {
            self.run.end_with_programs();
        }
        let rows = self.rows();
        let names: Vec<&str> = self.prepared.graph.hosts.iter().map(|host| host.name.as_str()).collect();
        let pairs = table(&rows, &names);
        let prepared = Arc::clone(&self.prepared);
        let mut outcome = self.run.finish(control);
        outcome.add_table(pairs, &prepared);
        outcome
    }

    /// All queue pairs that there are or were.
    fn rows(&mut self) -> Vec<Ended> {
        let mut rows = std::mem::take(&mut self.ended);
        let hosts: Vec<HostId> = self.prepared.devices.iter().map(|&(host, _)| host).collect();
        for host in hosts {
            let Some(device) = self.run.session().engine_mut().device(host) else { continue };
            rows.extend(device.queue_pairs().map(|(number, counters)| Ended {
                host,
                number,
                peer: self.peers.get(&(host, number)).copied(),
                has_failed: device.state(number) == Ok(QueuePairState::Error),
                counters,
            }));
        }
        rows.sort_by_key(|row| (row.host, row.number));
        rows
    }
}

/// Tells the adapters of programs the GUIDs of the subnet, and their multicast groups.
fn introduce(run: &mut Run<Arc<Prepared>, Feed<Recorder>>, prepared: &Prepared, identity: &Identity) {
    let hosts = (0..prepared.graph.hosts.len() as u32).map(HostId);
    let lids: Arc<[Lid]> = hosts.clone().map(|host| Lid(identity.lid(host))).collect();
    let guids: Arc<[u64]> =
        hosts.map(|host| identity.subnet.port(identity.hosts[host.index()]).guid.0).collect();
    for &(host, _) in &prepared.devices {
        let groups = prepared.workload.groups.iter().enumerate();
        let joined = groups.filter(|(_, group)| group.members.binary_search(&host).is_ok());
        let groups = joined.map(|(number, _)| number as u16).collect();
        // A subnet manager that begins with an unconfigured fabric sets the table; up to then it is as after power-on.
        let manager = prepared.experiment.subnet_manager.as_ref();
        let is_set = manager.is_none_or(|manager| manager.start == SubnetStart::Configured);
        let given = prepared.workload.partitions.iter().filter(|_| is_set);
        let keys = given.flat_map(|partitions| partitions.keys_of(host));
        let p_keys = std::iter::once(PKey::DEFAULT).chain(keys.map(PKey)).collect();
        if let Some(device) = run.session().engine_mut().device(host) {
            let (guids, lids) = (Arc::clone(&guids), Arc::clone(&lids));
            device.set_subnet(SubnetView { guids, lids, p_keys, groups });
        }
    }
}

fn find(prepared: &Prepared, name: &str) -> Result<HostId, ProgramsError> {
    let hosts = &prepared.graph.hosts;
    let found = hosts.iter().position(|host| host.name == name);
    let found = found.ok_or_else(|| ProgramsError::Host(name.to_owned(), hosts[0].name.clone()))?;
    let source = &prepared.workload.sources[found];
    if source.next(Time::ZERO).is_some() || source.is_closed() {
        return Err(ProgramsError::Traffic(name.to_owned()));
    }
    Ok(HostId(found as u32))
}
