//! Jobs: ranks on hosts that work through the steps of a program.

mod active;
mod build;
mod local;
mod placement;
#[cfg(test)]
mod properties;
mod rank;
mod ranks;
mod sequence;
mod worker;

use std::sync::Arc;

use fabricsim_units::{HostId, Time};

use crate::Message;
use crate::closed::Out;
use crate::programs::Program;

pub(crate) use build::build;
pub(crate) use ranks::Ranks;
use sequence::Schedule;

pub(crate) use self::local::LocalMessage;
use self::local::LocalRoute;

/// A job, as its ranks share it.
#[derive(Debug)]
pub(crate) struct Job {
    /// Its number in the list of jobs.
    pub(crate) number: u16,
    /// The stream of its messages.
    pub(crate) stream: u16,
    work: Work,
    /// Number of ranks.
    pub(crate) count: u32,
    /// The hosts, in the order of their ranks.
    pub(crate) hosts: Vec<HostId>,
    /// By host: its first rank; [`NO_RANK`] if it has none.
    first_ranks: Vec<u32>,
    /// Ranks on a host; the last one may have less.
    slots: u32,
    local: LocalRoute,
    pub(crate) iterations: u32,
    pub(crate) start: Time,
    /// The job that must have ended on a host before a rank begins there.
    pub(crate) after: Option<u16>,
    pub(crate) step_delay: Time,
}

/// Work of an iteration.
#[derive(Clone, Debug)]
enum Work {
    /// The steps of a program.
    Steps(Steps),
    /// Computing and programs of groups, one after the other or beside each other.
    Sequence(Schedule),
}

/// A program, as all ranks of a job go through it.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    program: Arc<dyn Program>,
    /// Steps of an iteration.
    count: u64,
    /// Steps in progress at once.
    outstanding: usize,
}

/// No rank.
const NO_RANK: u32 = u32::MAX;

/// Sender, receiver and step of a message. On the wire they are its tag and the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct MessageOf {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) step: u32,
}

impl Job {
    pub(crate) fn host(&self, rank: u32) -> HostId {
        self.hosts[(rank / self.slots) as usize]
    }

    /// The ranks of a host.
    pub(crate) fn ranks_of(&self, host: HostId) -> std::ops::Range<u32> {
        let first = self.first_ranks[host.index()];
        if first == NO_RANK { 0..0 } else { first..self.count.min(first + self.slots) }
    }

    /// Most steps of all iterations: tags hold a step, and the places of two ranks on their hosts.
    fn most_steps(slots: u32) -> u64 {
        u64::from(u32::MAX) / (u64::from(slots) * u64::from(slots))
    }

    /// The tag of a message: with one rank on each host the number of its step.
    pub(crate) fn tag(&self, of: MessageOf) -> u32 {
        (of.step * self.slots + of.from % self.slots) * self.slots + of.to % self.slots
    }

    /// Sends the messages of a step of the rank `from`: into the network, or to ranks on the same host, one after the other from `free` on. That is
    /// then the time at which the last of these has left. Returns their bytes.
    fn send(&self, (from, step): (u32, u32), created: Time, free: &mut Time, out: &mut Out) -> u64 {
        let (own, mut sent) = (self.host(from), 0);
        for &(to, bytes) in &out.step.sends {
            sent += bytes;
            let (of, destination) = (MessageOf { from, to, step }, self.host(to));
            if destination == own {
                let (left, arrived) = self.local.times(created.max(*free), bytes);
                *free = left;
                out.local.push_back(LocalMessage { job: self.number, of, bytes, left, arrived });
            } else {
                let tag = self.tag(of);
                out.ready.push(Message { created, destination, bytes, stream: self.stream, tag });
            }
        }
        sent
    }

    /// The sender of a message that leaves `host`, and its step.
    pub(crate) fn sender(&self, host: HostId, tag: u32) -> (u32, u32) {
        let (step, from) = (tag / self.slots / self.slots, tag / self.slots % self.slots);
        (self.first_ranks[host.index()] + from, step)
    }

    /// A message from one host to another.
    pub(crate) fn message_of(&self, source: HostId, to: HostId, tag: u32) -> MessageOf {
        let first = [source, to].map(|host| self.first_ranks[host.index()]);
        debug_assert!(!first.contains(&NO_RANK), "messages of a job come from its ranks");
        let (from, step) = self.sender(source, tag);
        MessageOf { from, to: first[1] + tag % self.slots, step }
    }
}

/// Description of a job for tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name; by default the name of the program.
    pub name: String,
    /// The stream of its messages.
    pub stream: u16,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of iterations.
    pub iterations: u32,
    /// Name of the job after which it begins, if none of its ranks is on a host with a rank of that: it waits for nothing.
    pub unmet_after: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build_all, hosts};

    /// Tags and hosts name the ranks and the step; with one rank on each host the tag is the step.
    #[test]
    fn tags_name_both_ranks_and_the_step() {
        let job = |slots: u32| {
            let keys = format!("ranks = 7\nranks_per_host = {slots}\nplacement = {{ strided = 3 }}");
            let workload =
                build_all(&hosts(8), &format!("[[jobs]]\n{keys}\nprogram = {{ barrier = {{}} }}\n"));
            let ranks = workload.sources.iter().find_map(|source| source.ranks()).unwrap();
            Arc::clone(ranks.job())
        };
        for slots in 1..=4 {
            let job = job(slots);
            for of in (0..7 * 7 * 5).map(|n| MessageOf { from: n % 7, to: n / 7 % 7, step: n / 49 * 1000 }) {
                let tag = job.tag(of);
                assert_eq!(job.message_of(job.host(of.from), job.host(of.to), tag), of, "{slots}");
                assert_eq!(job.sender(job.host(of.from), tag), (of.from, of.step));
                assert!(slots > 1 || tag == of.step);
            }
            let all: Vec<u32> = (0..8).flat_map(|host| job.ranks_of(HostId(host))).collect();
            assert_eq!(all.len(), 7, "{slots}: {all:?}");
        }
    }

    #[test]
    fn ranks_that_do_not_fit_are_refused() {
        let refused = |keys: &str| {
            let text = format!("[[jobs]]\n{keys}\nprogram = {{ barrier = {{}} }}\n");
            crate::build(&crate::testing::experiment(&text), &hosts(3), "test.toml").unwrap_err().to_string()
        };
        assert!(
            refused("ranks = 4")
                .contains("4 ranks do not fit: there is one on each host, and `hosts` stands for 3")
        );
        assert!(
            refused("ranks = 7\nranks_per_host = 2").contains("7 ranks do not fit: there are 2 on each host")
        );
    }
}
