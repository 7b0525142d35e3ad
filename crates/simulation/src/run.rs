//! Execution of an experiment from its start to its end.

use fabricsim_engine::Prepared;
use fabricsim_routing::deadlock::Verdict as Cycles;
use fabricsim_spec::SpecError;
use fabricsim_units::Time;

use crate::control::Control;
use crate::memory;
use crate::outcome::Outcome;
use crate::packets::check_packets;
use crate::plan::Run;
use crate::recording::Recording;

/// Reason why a run did not start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Something that is to be measured is not there.
    #[error(transparent)]
    Measure(#[from] SpecError),
    /// The channel dependency graph has a cycle, and the experiment does not allow it.
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
    /// The run exceeds the memory limit.
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
        /// Required bytes.
        needed: u64,
        /// Allowed bytes.
        limit: u64,
        /// True if the limit was given, false if it is the available memory.
        given: bool,
        /// True with virtual output queues.
        voq: bool,
    },
}

/// Refuses an experiment that needs more than `limit` bytes of memory, by default the available memory, or whose channel
/// dependency graph has a cycle, unless it sets `allow_deadlock`. `file` names it in messages. Called before
/// [`simulate`].
pub fn permit(prepared: &Prepared, limit: Option<u64>, file: &str) -> Result<(), RunError> {
    check_packets(prepared, file)?;
    memory::fits(prepared, memory::needed(prepared), limit, memory::available_memory(), file)?;
    if prepared.experiment.run.allow_deadlock {
        return Ok(());
    }
    let verdict = prepared.check_deadlock();
    if let Cycles::Cyclic { .. } = verdict {
        let verdict = verdict.describe(&prepared.graph);
        return Err(RunError::Cyclic { file: file.to_owned(), verdict });
    }
    Ok(())
}

/// Runs a prepared experiment to its end.
pub fn simulate(prepared: &Prepared, control: &Control) -> Outcome {
    if prepared.experiment.measure.packets.is_empty() {
        to_the_end(Run::new(prepared, control), control)
    } else {
        to_the_end(Run::with_feed(prepared, control), control)
    }
}

fn to_the_end<B: Recording>(mut run: Run<&Prepared, B>, control: &Control) -> Outcome {
    run.advance_to(Time::MAX, control);
    run.finish(control)
}
