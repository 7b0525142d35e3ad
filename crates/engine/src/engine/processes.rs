//! Partitions that advance in several processes, which exchange bytes. As in one process, windows are no longer than the lookahead of
//! partitions, so results are the same bits.
//!
//! Every process has the whole run, and makes the same calls on it in the same order. In [`Engine::advance`] each advances its own partitions, from the first
//! one on as many as the others have; at its end all have the state of all of them, but after [`Engine::advance_quietly`].

use std::ops::Range;
use std::sync::Arc;

use fabricsim_model::Observer;
use fabricsim_state::{Damaged, Reader, State, Value, Writer};
use fabricsim_units::Time;

use super::{Advance, BUDGET, Engine, WINDOWS};
use crate::assembly::Directory;
use crate::mail::Mail;
use crate::partition::Partition;
use crate::totals::Totals;

/// How the processes of a run exchange bytes.
pub trait Processes: Send + Sync {
    /// The number of this one, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn count(&self) -> usize;

    /// Sends a message to each process, this one included, and returns what each has sent to this one; both in order of ranks. All processes call it equally
    /// often. `None` if it failed: then the run stops.
    fn exchange(&self, messages: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>>;
}

/// What processes have exchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// Processes; 0 for a run of one process.
    pub processes: usize,
    /// Windows.
    pub windows: u64,
    /// Bytes that this process has sent to others at the ends of windows.
    pub letters: u64,
    /// Times at which processes shared the states of their partitions.
    pub shares: u64,
    /// Bytes that this process has sent to others then.
    pub states: u64,
}

/// The processes of a run.
#[derive(Clone)]
pub(super) struct Joined<B> {
    processes: Arc<dyn Processes>,
    save: fn(&Partition<B>, &mut Writer),
    load: fn(&mut Partition<B>, &mut Reader<'_>) -> Result<(), Damaged>,
    exchanged: Exchanged,
}

/// Why a window is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Stopped,
    Failed,
}

/// What a process says at the end of a window, besides its letters.
struct Said {
    /// The earliest time at which it has something to do.
    earliest: Time,
    /// The lookahead of its partitions.
    lookahead: Time,
    /// Whether the run goes on.
    goes_on: bool,
}

/// A letter in this process: partition and port that it is for.
type Letter = (u16, u32, Mail);

/// The partitions of this process in one call of [`Engine::advance`].
struct Team<'a, B> {
    processes: &'a dyn Processes,
    partitions: &'a mut [Partition<B>],
    directory: &'a Directory,
    own: Range<usize>,
    /// Letters for other processes by process, and their numbers.
    letters: Vec<(Writer, u64)>,
    /// Letters for partitions of this one.
    kept: Vec<Letter>,
    exchanged: &'a mut Exchanged,
}

/// The partitions of a process.
fn partitions_of(rank: usize, processes: usize, partitions: usize) -> Range<usize> {
    let each = partitions.div_ceil(processes);
    (rank * each).min(partitions)..((rank + 1) * each).min(partitions)
}

impl<B: Observer + State> Engine<B> {
    /// From now on several processes advance the run. Each has called this, at the same state of the run.
    pub fn join(&mut self, processes: Arc<dyn Processes>) {
        let exchanged = Exchanged { processes: processes.count(), ..Exchanged::default() };
        let (save, load) = (<Partition<B> as State>::save, <Partition<B> as State>::load);
        self.joined = Some(Joined { processes, save, load, exchanged });
    }
}

impl<B: Observer> Engine<B> {
    /// What processes have exchanged.
    pub fn exchanged(&self) -> Exchanged {
        self.joined.as_ref().map_or_else(Exchanged::default, |joined| joined.exchanged)
    }

    /// True if several processes advance the run. Loads that all switches broadcast are exchanged outside of windows: then each process does all.
    pub(super) fn uses_processes(&self) -> bool {
        self.joined.is_some() && self.partitions[0].publish_at == Time::MAX
    }

    /// [`Engine::advance`] by several processes, or [`Engine::advance_quietly`].
    pub(super) fn advance_in_processes(
        &mut self,
        until: Time,
        look: &mut dyn FnMut(Time, &Totals) -> bool,
        quietly: bool,
    ) -> Advance {
        let Some(mut joined) = self.joined.take() else {
            unreachable!("there are processes");
        };
        let processes = Arc::clone(&joined.processes);
        let (rank, count) = (processes.rank(), processes.count());
        let mut team = Team {
            processes: &*processes,
            own: partitions_of(rank, count, self.partitions.len()),
            partitions: &mut self.partitions,
            directory: &self.directory,
            letters: Vec::new(),
            kept: Vec::new(),
            exchanged: &mut joined.exchanged,
        };
        let (end, how) = team.advance(until, look);
        if quietly && how == Advance::Reached {
            self.now = end;
            self.joined = Some(joined);
            return how;
        }
        self.now = end;
        let goes_on = self.share(&mut joined, how != Advance::Stopped);
        self.joined = Some(joined);
        if goes_on { how } else { Advance::Stopped }
    }

    /// Each process sends the state of its partitions to the others, and whether the run goes on for it. False if that failed, or it does not go on for one
    /// of them.
    fn share(&mut self, joined: &mut Joined<B>, goes_on: bool) -> bool {
        let (rank, count) = (joined.processes.rank(), joined.processes.count());
        let partitions = self.partitions.len();
        let mut writer = Writer::default();
        goes_on.save(&mut writer);
        for partition in &self.partitions[partitions_of(rank, count, partitions)] {
            (joined.save)(partition, &mut writer);
        }
        let state = finished(writer);
        joined.exchanged.shares += 1;
        joined.exchanged.states += (state.len() * (count - 1)) as u64;
        let mut all_go_on = goes_on;
        let for_process = |process| if process == rank { Vec::new() } else { state.clone() };
        let Some(states) = joined.processes.exchange((0..count).map(for_process).collect()) else {
            return false;
        };
        for (process, bytes) in states.iter().enumerate().filter(|&(process, _)| process != rank) {
            let mut reader = Reader::new(bytes);
            all_go_on &= bool::read(&mut reader).unwrap_or(false);
            let of_process = &mut self.partitions[partitions_of(process, count, partitions)];
            let read = of_process.iter_mut().try_for_each(|partition| (joined.load)(partition, &mut reader));
            if read.and_then(|()| reader.end()).is_err() {
                return false;
            }
        }
        all_go_on
    }
}

impl<B: Observer> Team<'_, B> {
    /// Advances to `until`. Returns the time up to which everything has happened, and how it ended.
    fn advance(&mut self, until: Time, look: &mut dyn FnMut(Time, &Totals) -> bool) -> (Time, Advance) {
        let (mut end, mut windows, mut goes_on) = (Time::ZERO, 0, true);
        let mut earliest = self.next_time();
        loop {
            let (next, lookahead) = match self.meet(earliest, goes_on, end) {
                Ok(found) => found,
                Err(Last::Stopped | Last::Failed) => return (end, Advance::Stopped),
            };
            if next >= until {
                // Credits that have arrived may mean nothing.
                let own = self.next_time();
                let goes_on = self.processes.rank() > 0 || look(until, &self.totals());
                let idle = match self.meet(own, goes_on, until) {
                    Ok((next, _)) => next == Time::MAX,
                    Err(_) => return (until, Advance::Stopped),
                };
                return (until, if idle { Advance::Idle } else { Advance::Reached });
            }
            end = until.min(next.saturating_add(lookahead));
            windows += 1;
            self.exchanged.windows += 1;
            earliest = self.run(end).min(self.next_time());
            if windows % WINDOWS == 0 && self.processes.rank() == 0 {
                goes_on = look(end, &self.totals());
            }
        }
    }

    fn next_time(&mut self) -> Time {
        let own = self.partitions[self.own.clone()].iter_mut();
        own.filter_map(|p| p.context.out.calendar.peek()).min().map_or(Time::MAX, Time)
    }

    /// Handles the events of a window. Returns the earliest time at which a letter has something to do.
    fn run(&mut self, end: Time) -> Time {
        let partitions = self.partitions.len();
        let each = partitions.div_ceil(self.processes.count());
        self.letters.resize_with(self.processes.count(), Default::default);
        let mut earliest = Time::MAX;
        for partition in &mut self.partitions[self.own.clone()] {
            while partition.run(end, BUDGET) {}
            for mail in partition.context.out.mail.drain(..) {
                let Some((to, port)) = mail.address(self.directory) else {
                    unreachable!("each process does all where loads are broadcast")
                };
                earliest = earliest.min(mail.acts_at(end));
                if self.own.contains(&usize::from(to)) {
                    self.kept.push((to, port, mail));
                    continue;
                }
                let (writer, count) = &mut self.letters[usize::from(to) / each];
                *count += 1;
                to.save(writer);
                port.save(writer);
                mail.save(writer);
            }
        }
        earliest
    }

    /// Exchanges the letters of a window that ended at `end`, and takes those for own partitions: in the order of their senders, as one process does.
    /// Returns the earliest time at which there is something to do, and the lookahead of all partitions.
    fn meet(&mut self, earliest: Time, goes_on: bool, end: Time) -> Result<(Time, Time), Last> {
        let (rank, count) = (self.processes.rank(), self.processes.count());
        self.letters.resize_with(count, Default::default);
        let own = self.partitions[self.own.clone()].iter();
        let lookahead = own.map(|partition| partition.lookahead(self.directory)).min().unwrap_or(Time::MAX);
        let messages: Vec<Vec<u8>> = self
            .letters
            .drain(..)
            .map(|(letters, number)| {
                let mut writer = Writer::default();
                earliest.save(&mut writer);
                lookahead.save(&mut writer);
                goes_on.save(&mut writer);
                number.save(&mut writer);
                writer.put(&finished(letters));
                finished(writer)
            })
            .collect();
        let others = messages.iter().enumerate().filter(|&(process, _)| process != rank);
        self.exchanged.letters += others.map(|(_, message)| message.len() as u64).sum::<u64>();
        let received = self.processes.exchange(messages).ok_or(Last::Failed)?;
        let (mut next, mut least, mut all_go_on) = (Time::MAX, Time::MAX, true);
        for (process, message) in received.iter().enumerate() {
            let said = self.take(process == rank, message, end).map_err(|_| Last::Failed)?;
            next = next.min(said.earliest);
            least = least.min(said.lookahead);
            all_go_on &= said.goes_on;
        }
        if all_go_on { Ok((next, least)) } else { Err(Last::Stopped) }
    }

    /// Takes the letters of a process. Returns what it says besides.
    fn take(&mut self, is_own: bool, message: &[u8], end: Time) -> Result<Said, Damaged> {
        let mut reader = Reader::new(message);
        let (earliest, lookahead) = (Time::read(&mut reader)?, Time::read(&mut reader)?);
        let said = Said { earliest, lookahead, goes_on: bool::read(&mut reader)? };
        let number = u64::read(&mut reader)?;
        if is_own {
            for (to, port, mail) in self.kept.drain(..) {
                self.partitions[usize::from(to)].receive(mail, port, end);
            }
        }
        for _ in 0..number {
            let (to, port) = (u16::read(&mut reader)?, u32::read(&mut reader)?);
            let mail = Mail::read(&mut reader)?;
            let partition = self.partitions.get_mut(usize::from(to)).ok_or_else(|| reader.damaged())?;
            partition.receive(mail, port, end);
        }
        reader.end()?;
        Ok(said)
    }

    /// Counters of the partitions of this process, and of the others as of the last time at which states were shared.
    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.partitions.iter().for_each(|partition| totals.add(&partition.totals()));
        totals
    }
}

/// The bytes of a writer of states that have been written before: features without a state were refused when the run began.
fn finished(writer: Writer) -> Vec<u8> {
    writer.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_belongs_to_one_process() {
        for (processes, partitions) in [(1, 1), (2, 2), (2, 5), (3, 4), (4, 3), (7, 16)] {
            let all = (0..processes).flat_map(|rank| partitions_of(rank, processes, partitions));
            assert!(all.eq(0..partitions), "{processes} processes, {partitions} partitions");
        }
    }
}
