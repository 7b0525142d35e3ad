//! Processes of a run as threads of a test, which exchange bytes through channels.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use fabricsim_engine::{Prepared, Processes};
use fabricsim_simulation::{Control, JoinError, Outcome, ResumableRun};
use fabricsim_units::Time;

/// One process.
pub struct Member {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Processes for Member {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        self.to.iter().zip(messages).try_for_each(|(to, message)| to.send(message).ok())?;
        // A process that is not there any more has dropped its channels.
        self.from.iter().map(|from| from.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()).collect()
    }
}

/// As many processes.
pub fn members(count: usize) -> Vec<Member> {
    let empty = |rank| Member { rank, to: Vec::new(), from: Vec::new() };
    let mut members: Vec<Member> = (0..count).map(empty).collect();
    for from in 0..count {
        for member in 0..count {
            let (sender, receiver) = channel();
            members[from].to.push(sender);
            members[member].from.push(Mutex::new(receiver));
        }
    }
    members
}

/// Runs an experiment in several processes: what each of them has in the end, or why they cannot.
pub fn simulate_in_processes(prepared: &Prepared, count: usize) -> Result<Vec<Outcome>, JoinError> {
    let work = |member: Member| {
        let control = Control::default();
        let prepared = Prepared { processes: count as u32, ..prepared.clone() };
        let mut run = ResumableRun::new(Arc::new(prepared), &control);
        run.join(Arc::new(member))?;
        run.advance_to(Time::MAX, &control);
        Ok(run.finish(&control))
    };
    std::thread::scope(|scope| {
        let all: Vec<_> =
            members(count).into_iter().map(|member| scope.spawn(move || work(member))).collect();
        all.into_iter()
            .map(|each| each.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
