//! A run with programs of its caller: which one goes on, when, and how the run ends.

use crate::common::prepare;
use fabricsim_protocols::infiniband::Remote;
use fabricsim_protocols::infiniband::{QueuePairKind, QueuePairState};
use fabricsim_session::{Awaited, Wait};
use fabricsim_simulation::{Control, ProgramRun, ProgramsError, Status, Step};
use fabricsim_units::Time;
use fabricsim_verbs::{
    AccessFlags, Capacities, Cq, Mr, QueuePairAttributes, QueuePairInit, SendRequest, Sge,
};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{Qpn, RKey};

const FABRIC: &str = r#"
topology.single-switch = { hosts = 3 }
[links.all]
rate = "54.545 Gb/s"
latency = "10 ns"
[host]
mtu = "4142 B"
[run]
duration = "1 ms"
"#;

const PATIENCE: Time = Time::us(100);

fn run(hosts: &[&str], set: &[(&str, &str)]) -> ProgramRun {
    let hosts: Vec<String> = hosts.iter().map(|&name| name.to_owned()).collect();
    ProgramRun::new(prepare(FABRIC, set), &hosts, PATIENCE, &Control::default()).unwrap()
}

fn next(run: &mut ProgramRun) -> (Step, Time) {
    let step = run.next(&Control::default(), &mut || true);
    (step, run.now())
}

/// Objects of a program: its queue of completions, its queue pair, its memory with key and address.
#[derive(Clone, Copy)]
struct Side {
    cq: Cq,
    qp: Qpn,
    mr: Mr,
    key: u32,
    address: u64,
}

fn create(run: &mut ProgramRun, number: usize) -> Side {
    let device = run.device(number);
    let pd = device.alloc_pd();
    let cq = device.create_cq(8).unwrap();
    let capacities = Capacities::default();
    let init = QueuePairInit { capacities, signal_all: true, ..QueuePairInit::new(QueuePairKind::Rc, cq) };
    let qp = device.create_qp(pd, init).unwrap();
    let mr = device.reg_mr(pd, 64, AccessFlags(0xf)).unwrap();
    device.watch(mr).unwrap();
    Side { cq, qp, mr, key: device.key(mr).unwrap(), address: device.address(mr).unwrap() }
}

/// The programs 0 and 1, with connected queue pairs.
fn connected(run: &mut ProgramRun) -> [Side; 2] {
    let sides = [create(run, 0), create(run, 1)];
    for (me, other) in [(0, 1), (1, 0)] {
        let none = QueuePairAttributes::default();
        let peer = run.lid(run.host(other));
        let steps = [
            QueuePairAttributes {
                state: Some(QueuePairState::Init),
                p_key_index: Some(0),
                port: Some(1),
                access: Some(AccessFlags(0xf)),
                ..none
            },
            QueuePairAttributes {
                state: Some(QueuePairState::ReadyToReceive),
                address: run.host_of_lid(peer).map(Into::into),
                path_mtu: Some(2048),
                dest_qp: Some(sides[other].qp),
                rq_psn: Some(Psn::new(0)),
                max_dest_rd_atomic: Some(1),
                min_rnr_timer: Some(RnrTimer::new(12)),
                ..none
            },
            QueuePairAttributes {
                state: Some(QueuePairState::ReadyToSend),
                sq_psn: Some(Psn::new(0)),
                timeout: Some(14),
                retry_count: Some(7),
                rnr_retry: Some(7),
                max_rd_atomic: Some(1),
                ..none
            },
        ];
        for step in steps {
            run.modify_qp(me, sides[me].qp, step).unwrap();
        }
    }
    sides
}

/// Program 0 posts a WRITE of 8 bytes to the memory of program 1.
fn write(run: &mut ProgramRun, [here, there]: [Side; 2]) {
    let list = vec![Sge { addr: here.address, length: 8, lkey: here.key }];
    let remote = Remote { va: there.address, r_key: RKey(there.key) };
    let now = run.now();
    run.device(0).post_send(here.qp, SendRequest::write(1, list, remote), now).unwrap();
    run.wake_device(0);
}

#[test]
fn programs_go_on_in_the_order_of_their_times_and_numbers() {
    let mut run = run(&["H1", "H0", "H1"], &[]);
    let mut found = Vec::new();
    for number in 0..3 {
        assert_eq!(next(&mut run), (Step::Program(number), Time::ZERO));
        run.wait(number, Wait::Until(Time::ns(if number == 1 { 30 } else { 50 })));
    }
    for _ in 0..3 {
        let (step, now) = next(&mut run);
        let Step::Program(number) = step else { panic!("{step:?}") };
        found.push((number, now));
        run.wait(number, Wait::Done);
    }
    assert_eq!(found, [(1, Time::ns(30)), (0, Time::ns(50)), (2, Time::ns(50))]);
    assert_eq!(next(&mut run).0, Step::Done);
    let outcome = run.finish(&Control::default());
    assert_eq!((outcome.status, outcome.end), (Status::Ok, Time::ns(50)));
}

#[test]
fn a_wait_ends_with_the_first_of_its_things_or_with_its_limit() {
    let mut run = run(&["H0", "H1"], &[]);
    let sides = connected(&mut run);
    let things = || vec![Awaited::Completion(sides[1].cq), Awaited::Write(sides[1].mr)];
    assert_eq!(next(&mut run), (Step::Program(0), Time::ZERO));
    write(&mut run, sides);
    run.wait(0, Wait::Completion(sides[0].cq));
    assert_eq!(next(&mut run), (Step::Program(1), Time::ZERO));
    run.wait(1, Wait::Any(things(), Time::ns(100)));
    assert_eq!(next(&mut run), (Step::Program(1), Time::ns(100)));
    run.wait(1, Wait::Any(things(), Time::MAX));
    let (step, written) = next(&mut run);
    assert_eq!(step, Step::Program(1));
    assert!(run.device(1).take_write(sides[1].mr, written).unwrap());
    run.wait(1, Wait::Done);
    let (step, completed) = next(&mut run);
    assert_eq!(step, Step::Program(0));
    assert!(Time::ns(100) < written && written < completed, "{written} {completed}");
    assert!(run.device(0).poll_cq(sides[0].cq, completed).unwrap().is_some());
}

/// The adapter is woken by the post, and by nothing else: what is posted later is written later by the same time.
#[test]
fn a_post_wakes_the_adapter() {
    let written = |posted: Time| {
        let mut run = run(&["H0", "H1"], &[]);
        let sides = connected(&mut run);
        assert_eq!(next(&mut run), (Step::Program(0), Time::ZERO));
        run.wait(0, Wait::Until(posted));
        assert_eq!(next(&mut run), (Step::Program(1), Time::ZERO));
        run.wait(1, Wait::Any(vec![Awaited::Write(sides[1].mr)], Time::MAX));
        assert_eq!(next(&mut run), (Step::Program(0), posted));
        write(&mut run, sides);
        run.wait(0, Wait::Done);
        let (step, written) = next(&mut run);
        assert_eq!(step, Step::Program(1));
        written
    };
    let first = written(Time::ns(1));
    assert!(first < Time::us(2), "{first}");
    assert_eq!(written(Time::us(30)), first + Time::us(30) - Time::ns(1));
}

#[test]
fn wakes_end_a_wait_without_limit_and_without_them_it_is_blocked() {
    let mut run = run(&["H0", "H1"], &[]);
    for number in 0..2 {
        assert_eq!(next(&mut run).0, Step::Program(number));
        run.wait(
            number,
            if number == 0 { Wait::Any(Vec::new(), Time::MAX) } else { Wait::Until(Time::us(3)) },
        );
    }
    assert_eq!(next(&mut run), (Step::Program(1), Time::us(3)));
    run.wake(0);
    run.wait(1, Wait::Any(Vec::new(), Time::MAX));
    assert_eq!(next(&mut run), (Step::Program(0), Time::us(3)));
    run.wait(0, Wait::Done);
    run.wake(0);
    assert_eq!(next(&mut run).0, Step::Blocked);
    assert_eq!(run.finish(&Control::default()).status, Status::Interrupted);
}

/// Polls in vain count only while nothing is in progress: here a sleep of another program is.
#[test]
fn polling_in_vain_is_found_after_a_time() {
    let mut run = run(&["H0", "H1"], &[]);
    let cq = run.device(0).create_cq(8).unwrap();
    let sleeps = Time::us(250);
    assert_eq!(next(&mut run).0, Step::Program(0));
    run.wait(0, Wait::Any(vec![Awaited::Completion(cq)], Time::us(1)));
    assert_eq!(next(&mut run).0, Step::Program(1));
    run.wait(1, Wait::Until(sleeps));
    let end = loop {
        let (step, now) = next(&mut run);
        match step {
            Step::Program(0) => {
                let limit = now + Time::us(1);
                run.wait(0, Wait::Any(vec![Awaited::Completion(cq)], limit));
            }
            Step::Program(_) => run.wait(1, Wait::Done),
            _ => break (step, now),
        }
    };
    assert_eq!(end.0, Step::Polling);
    let since = end.1.saturating_sub(sleeps);
    assert!(PATIENCE <= since && since <= PATIENCE + Time::us(2), "{since}");
}

#[test]
fn the_run_ends_with_the_time_of_its_experiment() {
    let mut run = run(&["H0"], &[("run.duration", "\"20 us\"")]);
    assert_eq!(next(&mut run).0, Step::Program(0));
    run.wait(0, Wait::Until(Time::us(21)));
    assert_eq!(next(&mut run), (Step::Limit, Time::us(20)));
}

#[test]
fn hosts_of_programs_exist_and_have_no_traffic() {
    let with_traffic =
        [("traffic", "[{ pattern = \"uniform\", load = 0.1, message = \"2 KiB\", sources = [\"H1\"] }]")];
    let prepared = prepare(FABRIC, &with_traffic);
    let of = |name: &str| {
        ProgramRun::new(prepared.clone(), &[name.to_owned()], PATIENCE, &Control::default()).err()
    };
    assert_eq!(of("H0"), None);
    assert_eq!(of("H1"), Some(ProgramsError::Traffic("H1".to_owned())));
    assert_eq!(of("H9"), Some(ProgramsError::Host("H9".to_owned(), "H0".to_owned())));
}
