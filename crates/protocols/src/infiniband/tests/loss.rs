//! Messages over links that lose and repeat packets: each once and in order, whatever happens.

use proptest::prelude::*;

use super::link::Link;
use super::{FIRST, at, byte, requester_options, responder_options, work};
use crate::infiniband::{Extra, OutOfOrder, Receive, Status, Verb, Work};

/// Start and length of the parts of the region for WRITEs, for READs, and of the word for atomic operations.
const WRITES: u64 = 0;
const READS: u64 = 2048;
const WORD: u64 = 4088;
const PART: u32 = 1500;
/// Start of parts of the region for WRITEs whose order is not defined: one for each.
const APART: u64 = 4096;

/// Kind and length of a request.
fn request(id: u64, (kind, length): (u8, u32), out_of_order: OutOfOrder) -> Work {
    let apart = APART + (id - 1) * u64::from(PART);
    let write = if matches!(out_of_order, OutOfOrder::Place(_)) { apart } else { WRITES };
    let verb = match kind {
        0..=2 => Verb::Send,
        3 | 4 => Verb::Write(at(write)),
        5 | 6 => Verb::Read(at(READS)),
        _ => Verb::FetchAdd { remote: at(WORD), add: id },
    };
    let extra = if matches!(kind, 2 | 4) { Extra::Immediate(id as u32) } else { Extra::None };
    Work { extra, signaled: !id.is_multiple_of(3), fence: id.is_multiple_of(5), ..work(id, verb, length) }
}

/// What the responder must have received, in the order of posting.
fn expected(works: &[Work]) -> Vec<(u64, u32, Extra, bool)> {
    let taking = works.iter().filter(|work| work.takes_receive());
    (0..).zip(taking).map(|(id, work)| (id, work.length, work.extra, work.verb != Verb::Send)).collect()
}

/// A schedule at random.
#[derive(Debug, Clone)]
struct Schedule {
    kinds: Vec<(u8, u32)>,
    ack_every: u32,
    reads: u8,
    reports_credits: bool,
    out_of_order: OutOfOrder,
    /// Packets that another one overtakes, of 100.
    overtaken: u64,
    /// Packets that are lost, and that come twice, of 100.
    faults: (u64, u64),
    seed: u64,
}

prop_compose! {
    fn schedules()(
        kinds in prop::collection::vec((0_u8..8, 0..=PART), 1..30),
        (ack_every, reads) in (0_u32..4, 1_u8..4),
        reports_credits: bool,
        out_of_order in prop_oneof![
            Just(OutOfOrder::Drop),
            (1_u16..40).prop_map(OutOfOrder::Hold),
            (1_u16..40).prop_map(OutOfOrder::Place),
        ],
        overtaken in prop_oneof![Just(0), 1_u64..50],
        faults in (0_u64..20, 0_u64..10),
        seed: u64,
    ) -> Schedule {
        let places = matches!(out_of_order, OutOfOrder::Place(_));
        let reports_credits = reports_credits && !places;
        Schedule { kinds, ack_every, reads, reports_credits, out_of_order, overtaken, faults, seed }
    }
}

fn check(schedule: &Schedule) -> Result<(), TestCaseError> {
    let &Schedule { ref kinds, ack_every, reads, reports_credits, out_of_order, overtaken, faults, seed } =
        schedule;
    let places = matches!(out_of_order, OutOfOrder::Place(_));
    let requester = crate::infiniband::RequesterOptions {
        ack_every,
        reads,
        has_credits: reports_credits,
        self_contained_writes: places,
        ..requester_options()
    };
    let responder =
        crate::infiniband::ResponderOptions { reads, reports_credits, out_of_order, ..responder_options() };
    let mut link = Link::new((requester, responder), FIRST, faults, seed);
    link.overtaken = overtaken;
    link.far.region[WORD as usize..].fill(0);
    link.far.region.resize(APART as usize + kinds.len() * PART as usize, 0);
    let works: Vec<Work> = (1..).zip(kinds).map(|(id, kind)| request(id, *kind, out_of_order)).collect();
    for work in &works {
        link.post(*work);
    }
    let (mut steps, mut posted) = (0_u64, 0);
    while link.step() {
        steps += 1;
        prop_assert!(steps < 2_000_000, "no end: {:?}", link.requester);
        // Receive requests come slowly, so that the receiver is not ready at times.
        if steps.is_multiple_of(50) && posted < works.len() as u64 {
            link.far.receives.push_back(Receive { id: posted, length: PART });
            posted += 1;
        }
    }
    let completions = &link.local.completions;
    let failed = completions.iter().position(|completion| completion.status != Status::Success);
    let succeeded = works.iter().filter(|work| work.signaled);
    if let Some(failed) = failed {
        // As many tries as allowed were lost. All that follow are flushed, and all before have ended in order.
        prop_assert_eq!(completions[failed].status, Status::RetriesExceeded);
        prop_assert!(completions[failed + 1..].iter().all(|other| other.status == Status::Flushed));
        prop_assert_eq!(completions.last().map(|last| last.id), Some(works.len() as u64));
        prop_assert!(faults != (0, 0) || overtaken > 0, "nothing was lost");
        return Ok(());
    }
    let (ids, all): (Vec<u64>, Vec<u64>) =
        (completions.iter().map(|done| done.id).collect(), succeeded.map(|work| work.id).collect());
    prop_assert_eq!(ids, all);
    let received: Vec<_> =
        link.far.received.iter().map(|done| (done.id, done.length, done.extra, done.is_write)).collect();
    prop_assert_eq!(&received, &expected(&works));
    check_memory(&link, &works)
}

/// The memory of both ends after all requests have succeeded.
fn check_memory(link: &Link, works: &[Work]) -> Result<(), TestCaseError> {
    let completions = &link.local.completions;
    let mut sum = 0;
    let mut region: Vec<u8> = link.far.region.iter().map(|_| 0).collect();
    region[..WORD as usize].iter_mut().zip(0_u32..).for_each(|(byte, at)| *byte = at as u8);
    let mut receives = 0;
    for work in works {
        match work.verb {
            Verb::Send => {
                let data: Vec<u8> = (0..work.length).map(|at| byte(work.id, at)).collect();
                prop_assert_eq!(link.far.buffers.get(&receives), Some(&data));
            }
            Verb::Write(remote) => {
                (0..work.length).for_each(|at| region[remote.va as usize + at as usize] = byte(work.id, at));
            }
            Verb::Read(_) => {
                let data: Vec<u8> = (0..work.length).map(|at| (READS + u64::from(at)) as u8).collect();
                prop_assert_eq!(link.local.reads.get(&work.id), Some(&data));
            }
            _ => {
                let done = completions.iter().find(|done| done.id == work.id);
                prop_assert!(done.is_none_or(|done| done.original == sum));
                sum += work.id;
            }
        }
        receives += u64::from(work.takes_receive());
    }
    region[WORD as usize..APART as usize].copy_from_slice(&sum.to_le_bytes());
    prop_assert!(link.far.region == region);
    prop_assert!(link.far.held.is_empty());
    let atomics = works.iter().filter(|work| work.verb.is_atomic()).count();
    prop_assert_eq!(link.far.atomics as usize, atomics);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_message_is_executed_once_and_in_order(schedule in schedules()) {
        check(&schedule)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400_000))]

    #[test]
    #[ignore = "minutes: make check-protocols"]
    fn every_message_is_executed_once_and_in_order_at_scale(schedule in schedules()) {
        check(&schedule)?;
    }
}
