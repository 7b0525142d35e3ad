//! Lower bounds on the time of jobs: the ranks on a network without contention.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_model::Iteration;
use fabricsim_units::{HostId, Rate, Time};

use crate::closed::{Event, Out};
use crate::job::Ranks;
use crate::{Arrival, Message, Workload};

/// Messages of all jobs beyond which there is no bound.
const MOST_MESSAGES: u64 = 4_000_000;

/// A network on which messages meet at no link but those of hosts.
#[derive(Clone, Copy, Debug)]
pub struct IdealNetwork<'a> {
    /// Rate of each host's link.
    pub rates: &'a [Rate],
    /// Latency of each host's link.
    pub latencies: &'a [Time],
    /// Least time in switches.
    pub delay: Time,
}

/// Least time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealJob {
    /// Begin of its first rank, in the same network.
    pub start: Time,
    /// From the first rank's begin to the last one's end.
    pub time: Time,
    /// Time that the rank which ends last computes, of all iterations together.
    pub compute: Time,
    /// Time in which the busiest link of a host carries the job's messages.
    pub link: Time,
}

/// Lower bounds on the time of each job, by job; `None` if the jobs send too many messages.
///
/// A message leaves its host after the time that its link needs for it; those of a step leave one after the other. It
/// arrives after the latency of two links and of a switch; those of a step arrive one after the other. Nothing else takes time. A rank
/// acts no later than in any run, since its actions follow from the latest of the messages that it waits for.
pub fn ideal_jobs(workload: &Workload, network: &IdealNetwork<'_>) -> Option<Vec<IdealJob>> {
    let mut run = Run::new(workload, network);
    (0..run.hosts.len()).for_each(|host| run.act(host, Ranks::start));
    while let Some(Reverse(next)) = run.events.pop() {
        if run.sent > MOST_MESSAGES {
            return None;
        }
        run.handle(next);
    }
    Some(run.results(workload))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The last byte leaves its host.
    Left,
    /// The first byte arrives, the last one would arrive at this time if it were alone.
    Head(Time),
    /// The last byte arrives.
    Tail,
}

/// An event of a message, in order of time; those of equal time in order of creation.
#[derive(Clone, Copy, Debug)]
struct Next {
    order: (Time, u64),
    kind: Kind,
    from: usize,
    message: Message,
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Next {}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

struct Host {
    ranks: Ranks,
    /// Stream, tag, and time until which the link brings the messages of that step.
    arriving: Vec<(u16, u32, Time)>,
    /// By job: bytes sent and received.
    bytes: Vec<(u64, u64)>,
}

struct Run<'a> {
    network: &'a IdealNetwork<'a>,
    hosts: Vec<Host>,
    events: BinaryHeap<Reverse<Next>>,
    created: u64,
    sent: u64,
    /// By job: the stream of its messages.
    streams: Vec<u16>,
    iterations: Vec<Iteration>,
}

impl<'a> Run<'a> {
    fn new(workload: &Workload, network: &'a IdealNetwork<'a>) -> Self {
        let none = || Ranks::new(HostId(0), std::iter::empty());
        let host = |source: &crate::Source| Host {
            ranks: source.ranks().map_or_else(none, Ranks::afresh),
            arriving: Vec::new(),
            bytes: vec![(0, 0); workload.jobs.len()],
        };
        Self {
            network,
            hosts: workload.sources.iter().map(host).collect(),
            events: BinaryHeap::new(),
            created: 0,
            sent: 0,
            streams: workload.jobs.iter().map(|job| job.stream).collect(),
            iterations: Vec::new(),
        }
    }

    fn duration(&self, host: usize, bytes: u64) -> Time {
        duration(self.network.rates[host], bytes)
    }

    /// Lets the ranks of a host act, and sends what follows from it.
    fn act(&mut self, host: usize, act: impl FnOnce(&mut Ranks, &mut Out)) {
        let mut out = Out::default();
        act(&mut self.hosts[host].ranks, &mut out);
        let iterated = out.events.iter().filter_map(|event| match event {
            Event::Iterated(of) => Some(*of),
            Event::Answered { .. } => None,
        });
        self.iterations.extend(iterated);
        // Of the step whose messages leave: its stream and tag, and the departure of the one before.
        let mut step = (0, 0, Time::ZERO);
        while let Some(message) = out.ready.take(Time::MAX) {
            let free = if (step.0, step.1) == (message.stream, message.tag) { step.2 } else { Time::ZERO };
            let left = free.max(message.created).saturating_add(self.duration(host, message.bytes));
            step = (message.stream, message.tag, left);
            self.send(host, left, message);
        }
    }

    fn send(&mut self, from: usize, left: Time, message: Message) {
        let to = message.destination.index();
        let latency = self.network.latencies[from] + self.network.delay + self.network.latencies[to];
        let head = message.created.saturating_add(latency);
        let alone = head.saturating_add(self.duration(from, message.bytes));
        self.push(left, Kind::Left, from, message);
        self.push(head, Kind::Head(alone), from, message);
        self.sent += 1;
        if let Some(job) = self.streams.iter().position(|stream| *stream == message.stream) {
            self.hosts[from].bytes[job].0 += message.bytes;
            self.hosts[to].bytes[job].1 += message.bytes;
        }
    }

    fn push(&mut self, at: Time, kind: Kind, from: usize, message: Message) {
        self.events.push(Reverse(Next { order: (at, self.created), kind, from, message }));
        self.created += 1;
    }

    fn handle(&mut self, next: Next) {
        let Next { order: (now, _), kind, from, message } = next;
        let Message { stream, tag, bytes, destination, .. } = message;
        let to = destination.index();
        match kind {
            Kind::Left => self.act(from, |ranks, out| ranks.left(now, stream, tag, out)),
            Kind::Head(alone) => {
                let time = self.duration(to, bytes);
                let arriving = &mut self.hosts[to].arriving;
                let busy = arriving.iter().find(|of| (of.0, of.1) == (stream, tag)).map_or(now, |of| of.2);
                let end = busy.max(now).saturating_add(time);
                arriving.retain(|of| of.2 > now && (of.0, of.1) != (stream, tag));
                arriving.push((stream, tag, end));
                self.push(end.max(alone), Kind::Tail, from, message);
            }
            Kind::Tail => {
                let mut rest = bytes;
                while rest > 0 {
                    let part = rest.min(u32::MAX.into()) as u32;
                    let arrival = Arrival { source: HostId(from as u32), stream, tag, bytes: part };
                    self.act(to, |ranks, out| ranks.arrived(now, &arrival, out));
                    rest -= u64::from(part);
                }
            }
        }
    }

    fn results(&self, workload: &Workload) -> Vec<IdealJob> {
        let of_job = |(number, info): (usize, &crate::JobInfo)| {
            let own = || self.iterations.iter().filter(|of| usize::from(of.job) == number);
            let start = own().map(|of| of.start).min().unwrap_or_default();
            let end = own().map(|of| of.end).max().unwrap_or_default();
            let mut critical = vec![(Time::ZERO, Time::ZERO); info.iterations as usize];
            for of in own() {
                let last = &mut critical[of.number as usize];
                *last = (*last).max((of.end, of.compute));
            }
            let busiest = |(host, of): (usize, &Host)| {
                let (sent, received) = of.bytes[number];
                self.duration(host, sent.max(received))
            };
            let link = self.hosts.iter().enumerate().map(busiest).max().unwrap_or_default();
            IdealJob {
                start,
                time: end.saturating_sub(start).max(link),
                compute: critical.iter().fold(Time::ZERO, |sum, of| sum.saturating_add(of.1)),
                link,
            }
        };
        workload.jobs.iter().enumerate().map(of_job).collect()
    }
}

/// Time that a link needs for `bytes`, rounded down.
pub(crate) fn duration(rate: Rate, bytes: u64) -> Time {
    let ps = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.bits_per_second());
    Time(u64::try_from(ps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{build_all, hosts};

    /// Links of 1 ns a byte; a message of s bytes takes s + 100 ns.
    fn ideal(p: u32, jobs: &str) -> Vec<IdealJob> {
        let (hosts, latencies) = (hosts(p), vec![Time::ns(10); p as usize]);
        let network = IdealNetwork { rates: &hosts.rates, latencies: &latencies, delay: Time::ns(80) };
        ideal_jobs(&build_all(&hosts, jobs), &network).unwrap()
    }

    /// A ring of 8 ranks on hosts of 1, 2, 4 and 8. A part of 100 B leaves a host after 100 ns and arrives after 200; on a host it leaves after 25 ns, at 32 Gb/s,
    /// and arrives 7 ns later. A rank begins a step when its part of the last one has left, and that of the rank before it has arrived.
    #[test]
    fn ranks_of_a_host_do_not_use_its_link() {
        for slots in [1, 2, 4, 8] {
            let jobs = format!(
                "[[jobs]]\nranks = 8\nranks_per_host = {slots}\nprogram.all-reduce = {{ message = '800 B', algorithm = 'ring' }}\n\
                 [host.local]\nrate = '32 Gb/s'\nlatency = '7 ns'\n"
            );
            let found = ideal(8, &jobs)[0];
            let times =
                |from: usize| if from / slots == (from + 1) % 8 / slots { (25, 32) } else { (100, 200) };
            let step = |begun: [u64; 8]| {
                std::array::from_fn(|rank| {
                    let before = (rank + 7) % 8;
                    (begun[rank] + times(rank).0).max(begun[before] + times(before).1)
                })
            };
            let ended = (0..14).fold([0; 8], |begun, _| step(begun));
            let link = if slots == 8 { 0 } else { 14 * 100 };
            assert_eq!(found.time, Time::ns(ended.into_iter().max().unwrap()), "{slots}");
            assert_eq!(found.link, Time::ns(link), "{slots}");
        }
    }

    /// Four ranks on a host send to three others each, one message after the other: 3 x 70 B at 8 Gb/s; the last one arrives 10 ns later.
    #[test]
    fn a_rank_sends_its_messages_on_its_host_one_after_the_other() {
        let jobs = "[[jobs]]\nhosts = ['H0']\nranks_per_host = 4\noutstanding = 3\nprogram.all-to-all = { message = '70 B' }\n\
            [host.local]\nrate = '8 Gb/s'\nlatency = '10 ns'\n";
        let found = ideal(2, jobs)[0];
        // Steps that go beside each other share the rank's way.
        assert_eq!(found.time, Time::ns(3 * 70 + 10));
        let jobs = "[[jobs]]\nhosts = ['H0']\nranks_per_host = 4\nprogram.neighbour-exchange = { grid = [2, 2], message = '70 B' }\n\
            [host.local]\nrate = '8 Gb/s'\nlatency = '10 ns'\n";
        // Two neighbours in each of two dimensions.
        assert_eq!(ideal(2, jobs)[0].time, Time::ns(4 * 70 + 10));
    }

    fn sequence(p: u32, keys: &str) -> IdealJob {
        ideal(p, &format!("[[jobs]]\nprogram = {{ sequence = {{ {keys} }} }}\n"))[0]
    }

    #[test]
    fn a_ring_takes_its_closed_form() {
        let phase = "operation = { all-reduce = { message = '800 B', algorithm = 'ring' } }";
        let found = sequence(8, &format!("phases = [{{ compute = '1 us', {phase} }}]"));
        let (time, compute) = (Time::ns(1000 + 14 * 200), Time::us(1));
        assert_eq!(found, IdealJob { start: Time::ZERO, time, compute, link: Time::ns(14 * 100) });
    }

    /// n buckets of computing c and of exchanging x: (n - 1) max(c, x) + c + x. The step of a bucket of 800 B is 100 B.
    #[test]
    fn buckets_hide_the_shorter_of_computing_and_exchanging() {
        for compute in [400, 40_000] {
            let reduce = "all-reduce = { message = '3200 B', algorithm = 'ring' }";
            let phase = format!("compute = '{compute} ns', operation = {{ {reduce} }}, buckets = 4");
            let (c, x) = (compute / 4, 14 * 200);
            let parts = 3 * c.max(x) + c + x;
            assert_eq!(sequence(8, &format!("phases = [{{ {phase} }}]")).time, Time::ns(parts));
            let next = "{ compute = '1 us' }";
            let joined = sequence(8, &format!("phases = [{{ {phase} }}, {next}]"));
            assert_eq!(joined.time, Time::ns(parts + 1000));
            let beside = sequence(8, &format!("phases = [{{ {phase}, overlap = true }}, {next}]"));
            assert_eq!(beside.time, Time::ns(parts.max(compute + 1000)));
        }
    }

    /// 1F1B with two stages: see `crates/simulation/tests/sequences.rs`. With all forward passes first it would be
    /// (M + 1) (f + b) + 2 t, the same without transfers.
    #[test]
    fn two_stages_take_turns() {
        for count in 1..7 {
            let found = sequence(
                2,
                &format!(
                    "pipeline = 2, micro_batches = {{ count = {count}, message = '500 B', forward = [{{ compute = '1 us' \
                     }}], backward = [{{ compute = '2 us' }}] }}"
                ),
            );
            let transfers = 2 * 600 * (1 + (count - 1) / 2);
            assert_eq!(found.time, Time::ns((count + 1) * 3000 + transfers), "{count}");
        }
    }

    #[test]
    fn a_rank_begins_after_that_of_another_job() {
        let first = "[[jobs]]\nname = 'first'\nprogram = { barrier = {} }\niterations = 3\n";
        let second = "[[jobs]]\nafter = 'first'\nprogram = { shift = { message = '50 B' } }\n";
        let third = "[[jobs]]\nname = 'third'\nafter = 'shift'\nprogram = { shift = { message = '9 B' } }\n";
        let found = ideal(4, &format!("{first}{second}{third}"));
        let times: Vec<(Time, Time)> = found.iter().map(|job| (job.start, job.time)).collect();
        let ns = |start, time| (Time::ns(start), Time::ns(time));
        assert_eq!(times, [ns(0, 648), ns(648, 150), ns(798, 109)]);
    }

    /// Three blocks of one receiver share its link; they come 700 ns after each other.
    #[test]
    fn messages_of_a_step_share_the_links_of_hosts() {
        let found = sequence(
            4,
            "phases = [{ operation = { all-to-all-v = { message = '350 B', imbalance = 2.0 } } }]",
        );
        assert!(found.time >= Time::ns(3 * 700 + 100), "{found:?}");
        assert_eq!(found.link, Time::ns(3 * 700));
    }

    #[test]
    fn jobs_of_too_many_messages_have_no_bound() {
        let (hosts, latencies) = (hosts(8), vec![Time::ZERO; 8]);
        let network = IdealNetwork { rates: &hosts.rates, latencies: &latencies, delay: Time::ZERO };
        let jobs = "[[jobs]]\nprogram = { barrier = {} }\niterations = 200000\n";
        assert_eq!(ideal_jobs(&build_all(&hosts, jobs), &network), None);
    }
}
