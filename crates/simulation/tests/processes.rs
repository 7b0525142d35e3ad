//! Runs in several processes. `partitions.rs` compares their tables with those of one.

use crate::common::processes::{members, simulate_in_processes};
use crate::common::{ALL, everything, prepare, run};
use fabricsim_engine::{Prepared, Processes};
use fabricsim_simulation::{Control, JoinError, ResumableRun, Stop};
use fabricsim_units::Time;
use std::sync::Arc;

#[test]
fn processes_say_what_they_exchange() {
    let overrides = [("run.duration", "1 us"), ("run.drain", "none")];
    let found = simulate_in_processes(&prepare(ALL, &overrides), 3).unwrap();
    let exchanged: Vec<_> = found.iter().map(|outcome| outcome.scaling.exchanged).collect();
    for each in &exchanged {
        assert_eq!((each.processes, each.windows), (3, exchanged[0].windows), "{each:?}");
        // The times at which a process has something to do, in any case: 17 bytes for each of the two others.
        assert!(each.letters > 34 * each.windows && each.shares > 100 && each.states > 0, "{each:?}");
    }
    let alone = run(ALL, &overrides);
    assert_eq!((alone.scaling.exchanged.processes, alone.scaling.exchanged.windows), (0, 0));
    assert!(found.iter().all(|outcome| everything(outcome) == everything(&alone)));
}

const RING: &str = r#"
topology.ring = { switches = 3, hosts_per_switch = 2 }
links.all = { rate = "8 Gb/s", latency = "10 ns", buffer = "1 KiB" }
switch.virtual_lanes = 2
host.mtu = "256 B"
traffic = [{ pattern = "uniform", load = 0.5, message = "1 KiB" }]
run = { duration = "20 us" }
"#;

/// More processes than switches: some have nothing to do.
#[test]
fn processes_may_have_nothing_to_do() {
    let alone = everything(&run(RING, &[]));
    for count in [2, 4, 5] {
        let found = simulate_in_processes(&prepare(RING, &[]), count).unwrap();
        assert_eq!(found.iter().map(everything).filter(|found| *found == alone).count(), count);
    }
}

/// Loads that all switches broadcast: each process does everything.
#[test]
fn processes_do_the_same_where_loads_are_broadcast() {
    let overrides = [("routing.algorithm", "ugal-g"), ("switch.virtual_lanes", "4")];
    let alone = everything(&run(ALL, &overrides));
    let found = simulate_in_processes(&prepare(ALL, &overrides), 2).unwrap();
    assert!(
        found.iter().all(|outcome| everything(outcome) == alone && outcome.scaling.exchanged.windows == 0)
    );
}

#[test]
fn processes_have_the_same_experiment() {
    let mut members = members(2);
    let seeds = ["1", "2"];
    let join = |member, seed| {
        let prepared = Prepared { processes: 2, ..prepare(ALL, &[("seed", seed)]) };
        ResumableRun::new(Arc::new(prepared), &Control::default()).join(Arc::new(member))
    };
    let second = members.pop().unwrap();
    let first = members.pop().unwrap();
    let found = std::thread::scope(|scope| {
        let other = scope.spawn(move || join(second, seeds[1]));
        [join(first, seeds[0]), other.join().unwrap()]
    });
    assert_eq!(found, [Err(JoinError::Different), Err(JoinError::Different)]);
}

/// A stop of the first process is one of all, at the next checkpoint, also where they do not exchange their states.
#[test]
fn a_stop_of_the_first_process_stops_the_others() {
    let overrides = [("measure.congestion_interval", "20 us")];
    let work = |member: crate::common::processes::Member| {
        let control = Control::default();
        if member.rank() == 0 {
            control.cancel();
        }
        let prepared = Prepared { processes: 2, ..prepare(RING, &overrides) };
        let mut run = ResumableRun::new(Arc::new(prepared), &control);
        run.join(Arc::new(member)).unwrap();
        (run.advance_to(Time::MAX, &control), run.now())
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = members(2).into_iter().map(|member| scope.spawn(|| work(member))).collect();
        all.into_iter().map(|each| each.join().unwrap()).collect()
    });
    assert_eq!(found, [(Stop::Stopped, Time::ns(200)); 2]);
}

/// A process that ends leaves the others with a failure, not with a wait for ever.
#[test]
fn a_process_that_ends_stops_the_others() {
    struct Ends(crate::common::processes::Member, std::sync::atomic::AtomicU32);
    impl Processes for Ends {
        fn rank(&self) -> usize {
            self.0.rank()
        }
        fn count(&self) -> usize {
            self.0.count()
        }
        fn exchange(&self, messages: Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
            let before = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if before < 100 { self.0.exchange(messages) } else { None }
        }
    }
    let mut members = members(2);
    let second = members.pop().unwrap();
    let first = members.pop().unwrap();
    let run = |processes: Arc<dyn Processes>| {
        let control = Control::default();
        let prepared = Prepared { processes: 2, ..prepare(ALL, &[]) };
        let mut run = ResumableRun::new(Arc::new(prepared), &control);
        drop(run.join(processes));
        (run.advance_to(Time::MAX, &control), run.now())
    };
    let found = std::thread::scope(|scope| {
        let other = scope.spawn(move || run(Arc::new(Ends(second, std::sync::atomic::AtomicU32::new(0)))));
        [run(Arc::new(first)), other.join().unwrap()]
    });
    assert!(found.iter().all(|&(stop, at)| stop == Stop::Stopped && at < Time::us(100)), "{found:?}");
}
