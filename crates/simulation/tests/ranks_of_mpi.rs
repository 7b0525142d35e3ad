//! Calls of ranks that end with their requests (`MpiRun::end_with`), compared with a wait for each request.

use std::collections::BTreeMap;

use fabricsim_mpi::{ANY, Arrival, Mode, Pattern, ReceiveCall, SendCall};
use fabricsim_session::Wait;
use fabricsim_simulation::{Control, MpiRun, ProgramRun, RankBuffers, Step};
use fabricsim_units::Time;

use crate::common::prepare;

const FABRIC: &str = r#"
topology.single-switch = { hosts = 3 }
[links.all]
rate = "54.545 Gb/s"
latency = "10 ns"
[host]
mtu = "4142 B"
[run]
duration = "1 s"
"#;

/// Buffers by rank and request.
#[derive(Default)]
struct Memory(BTreeMap<(usize, u32), Vec<u8>>);

impl RankBuffers for Memory {
    fn read(&mut self, rank: usize, request: u32, offset: u64, to: &mut [u8]) {
        let from = &self.0[&(rank, request)][offset as usize..];
        to.copy_from_slice(&from[..to.len()]);
    }

    fn write(&mut self, rank: usize, request: u32, offset: u64, from: &[u8]) {
        let buffer = self.0.get_mut(&(rank, request)).unwrap();
        buffer[offset as usize..][..from.len()].copy_from_slice(from);
    }

    fn copy(&mut self, from: (usize, u32), to: (usize, u32), length: u64) {
        let bytes = self.0[&from][..length as usize].to_vec();
        self.write(to.0, to.1, 0, &bytes);
    }

    fn release(&mut self, _: usize, _: u32) {}
}

/// The ranks, with what each of them does next.
struct Ranks {
    run: MpiRun,
    memory: Memory,
    /// Requests that a rank has started, and those for which it has not waited.
    started: Vec<Vec<u32>>,
    left: Vec<Vec<u32>>,
    steps: Vec<usize>,
    ends: Vec<Time>,
    arrivals: Vec<Vec<Arrival>>,
}

impl Ranks {
    /// Starts a receive from each of the others at rank 0, or at the others a send of `length` bytes to it.
    fn start(&mut self, rank: usize, place: usize, lengths: &[u64]) {
        let request = self.run.world().reserve(rank);
        self.started[rank].push(request);
        let (memory, length) = (0, lengths[place]);
        self.memory.0.insert((rank, request), vec![rank as u8; length as usize]);
        self.run.begin(&mut self.memory, |world, place, now| {
            if rank == 0 {
                let pattern = Pattern { source: ANY, tag: ANY, context: 0 };
                world.receive(place, (rank, now), request, (pattern, ReceiveCall { length, memory }));
            } else {
                let call = SendCall { to: 0, tag: 3, context: 0, mode: Mode::Synchronous, length, memory };
                world.send(place, (rank, now), request, call);
            }
        });
    }

    /// Waits for one request; false if all have been waited for.
    fn wait(&mut self, rank: usize) -> bool {
        let world = self.run.world();
        let done: Vec<u32> =
            self.left[rank].iter().copied().filter(|&one| world.arrival(rank, one).is_some()).collect();
        self.left[rank].retain(|one| !done.contains(one));
        let left = self.left[rank].clone();
        if left.is_empty() {
            for request in self.started[rank].clone() {
                self.arrivals[rank].extend(self.run.world().arrival(rank, request));
                self.run.world().free(rank, request);
            }
            return false;
        }
        self.run.begin(&mut self.memory, |world, _, now| world.wait((rank, now), left, false));
        true
    }

    /// The next call of a rank; false if it has ended.
    fn call(&mut self, rank: usize, lengths: &[u64], joined: bool) -> bool {
        let count = if rank == 0 { lengths.len() } else { 1 };
        let step = self.steps[rank];
        if step < count {
            self.start(rank, if rank == 0 { step } else { rank - 1 }, lengths);
            self.steps[rank] += 1;
            if step + 1 == count && joined {
                self.run.end_with(rank, self.started[rank].clone());
            }
            self.left[rank].clone_from(&self.started[rank]);
            return true;
        }
        if step == count && joined {
            self.arrivals[rank] = self.run.arrived(rank).to_vec();
            let world = self.run.world();
            let is_known = |&request: &u32| world.arrival(rank, request).is_some();
            assert!(!self.started[rank].iter().any(is_known), "the call has forgotten its requests");
        }
        if step == count && !joined && self.wait(rank) {
            return true;
        }
        self.steps[rank] += 1;
        if self.steps[rank] == count + 1 {
            self.ends[rank] = self.run.programs.now();
            self.run.begin(&mut self.memory, |world, _, now| world.close((rank, now)));
            return true;
        }
        self.run.programs.wait(rank, Wait::Done);
        false
    }
}

/// Times at which the calls of all ranks have ended, the results of their requests, and the bytes that rank 0 has got.
fn run(lengths: &[u64], joined: bool) -> (Vec<Time>, Vec<Vec<Arrival>>, Vec<Vec<u8>>) {
    let ranks = lengths.len() + 1;
    let hosts: Vec<String> = (0..ranks).map(|host| format!("H{host}")).collect();
    let control = Control::default();
    let programs = ProgramRun::new(prepare(FABRIC, &[]), &hosts, Time::us(100), &control).unwrap();
    let empty = || vec![Vec::new(); ranks];
    let mut all = Ranks {
        run: MpiRun::new(programs, ranks, false).unwrap(),
        memory: Memory::default(),
        started: empty(),
        left: empty(),
        steps: vec![0; ranks],
        ends: vec![Time::ZERO; ranks],
        arrivals: vec![Vec::new(); ranks],
    };
    let mut step = all.run.next(&mut all.memory, &control, &mut || true).unwrap();
    while let Step::Program(rank) = step {
        step = if all.call(rank, lengths, joined) {
            all.run.go_on(rank, &mut all.memory, &control, &mut || true).unwrap()
        } else {
            all.run.next(&mut all.memory, &control, &mut || true).unwrap()
        };
    }
    assert_eq!(step, Step::Done);
    let received = all.started[0].iter().map(|&request| all.memory.0[&(0, request)].clone()).collect();
    (all.ends, all.arrivals, received)
}

/// Messages by eager and by rendezvous protocols, one or two at a time.
#[test]
fn a_call_that_ends_with_its_requests_is_a_wait_for_each() {
    for lengths in [&[8][..], &[100_000], &[8, 8], &[100_000, 100_000]] {
        let [joined, apart] = [true, false].map(|joined| run(lengths, joined));
        assert_eq!(joined, apart, "{lengths:?}");
        let (ends, arrivals, received) = joined;
        assert!(ends.iter().all(|&end| end > Time::ZERO));
        assert_eq!(arrivals.iter().map(Vec::len).collect::<Vec<_>>()[0], lengths.len());
        for (arrival, bytes) in arrivals[0].iter().zip(&received) {
            assert_eq!((arrival.length, arrival.tag), (bytes.len() as u64, 3));
            assert!(bytes.iter().all(|&byte| u32::from(byte) == arrival.source));
        }
    }
}
