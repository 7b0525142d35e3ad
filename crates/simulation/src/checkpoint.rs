//! The state of a run as bytes: a run that continues from it ends with the same bits as one that was never written.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use fabricsim_engine::{Prepared, Processes};
use fabricsim_measure::Recorder;
use fabricsim_session::Feed;
use fabricsim_spec::{Experiment, Topology};
use fabricsim_state::{Damaged, Reader, Refused, State, Writer};
use fabricsim_units::Time;

use crate::control::Control;
use crate::outcome::Outcome;
use crate::plan::{Run, Stop};
use crate::recording::Recording;

impl<P: Deref<Target = Prepared>, B: Recording + State> Run<P, B> {
    /// The state of the run, which is between two calls of [`Run::advance_to`].
    ///
    /// # Errors
    ///
    /// The run has features whose state cannot be written. They are the same at all times of a run: one whose state can be written at its
    /// start can be written later.
    pub fn save(&self) -> Result<Vec<u8>, Refused> {
        let mut writer = Writer::default();
        State::save(self, &mut writer);
        writer.finish()
    }

    /// Gives a fresh run the state that [`Run::save`] wrote for the same experiment, in the same number of partitions.
    ///
    /// # Errors
    ///
    /// The bytes are not such a state. Then the run is of no use.
    pub fn restore(&mut self, bytes: &[u8], control: &Control) -> Result<(), Damaged> {
        let mut reader = Reader::new(bytes);
        self.load(&mut reader)?;
        reader.end()?;
        self.session.take_up_routes();
        self.report_phase(control);
        Ok(())
    }
}

/// Reason why processes cannot advance a run together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Its features, in alphabetical order.
    #[error("a run with {} cannot be divided among processes; run it in one", .0.join(" and "))]
    Refused(Vec<&'static str>),
    /// The processes have different runs.
    #[error("the processes have different experiments, files or versions: all need the same")]
    Different,
    /// The exchange failed.
    #[error("the processes could not exchange what they need")]
    Broken,
}

/// The feature of an experiment that records packets.
const CAPTURE: &str = "a capture (`capture`)";

/// A run that can be written and continued, with the observer that its experiment needs.
pub enum ResumableRun {
    /// A run that records.
    Plain(Run<Arc<Prepared>>),
    /// A run that also traces packets.
    Traced(Run<Arc<Prepared>, Feed<Recorder>>),
}

/// Evaluates an expression with the run of either kind.
macro_rules! with_run {
    ($any:expr, $run:ident => $work:expr) => {
        match $any {
            ResumableRun::Plain($run) => $work,
            ResumableRun::Traced($run) => $work,
        }
    };
}

impl ResumableRun {
    /// The run of an experiment, at its start.
    pub fn new(prepared: Arc<Prepared>, control: &Control) -> Self {
        if prepared.experiment.measure.packets.is_empty() {
            Self::Plain(Run::new(prepared, control))
        } else {
            Self::Traced(Run::with_feed(prepared, control))
        }
    }

    /// See [`Run::save`]. A capture is refused as well: its file would need a state of its own.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn save(&self) -> Result<Vec<u8>, Refused> {
        let has_capture = with_run!(self, run => run.prepared().experiment.capture.is_some());
        let saved = with_run!(self, run => run.save());
        if has_capture { Err(Refused::with(CAPTURE, saved)) } else { saved }
    }

    /// See [`Run::restore`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn restore(&mut self, bytes: &[u8], control: &Control) -> Result<(), Damaged> {
        with_run!(self, run => run.restore(bytes, control))
    }

    /// From now on several processes advance the run, which is at its start in each of them. All make the same calls on it in the same order, and all have its
    /// results.
    ///
    /// # Errors
    ///
    /// The run has features whose state cannot be written, or the processes have different runs.
    pub fn join(&mut self, processes: Arc<dyn Processes>) -> Result<(), JoinError> {
        let state = self.save().map_err(|refused| JoinError::Refused(refused.features))?;
        let experiment = with_run!(self, run => serde_json::to_vec(&run.prepared().experiment));
        let mut hasher = DefaultHasher::new();
        (state, experiment.unwrap_or_default()).hash(&mut hasher);
        let own = hasher.finish().to_le_bytes().to_vec();
        let all = processes.exchange(vec![own.clone(); processes.count()]).ok_or(JoinError::Broken)?;
        if all.iter().any(|other| *other != own) {
            return Err(JoinError::Different);
        }
        with_run!(self, run => run.session().engine_mut().join(processes));
        Ok(())
    }

    /// Time of the run.
    pub fn now(&mut self) -> Time {
        with_run!(self, run => run.session().now())
    }

    /// See [`Run::advance_to`].
    pub fn advance_to(&mut self, until: Time, control: &Control) -> Stop {
        with_run!(self, run => run.advance_to(until, control))
    }

    /// The results of the run so far.
    pub fn finish(self, control: &Control) -> Outcome {
        with_run!(self, run => run.finish(control))
    }
}

/// The files that an experiment names, relative to its own. With its settings they determine a run.
pub fn files_of(experiment: &Experiment) -> Vec<&str> {
    let routing = &experiment.routing;
    let topology = match &experiment.topology {
        Topology::File { path, .. } => Some(path),
        _ => None,
    };
    let tables = [topology, routing.tables.as_ref(), routing.path_sls.as_ref(), routing.sl2vl.as_ref()];
    tables.into_iter().flatten().map(String::as_str).collect()
}
