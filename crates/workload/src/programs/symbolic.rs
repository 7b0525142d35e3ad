//! Programs executed with symbols in place of data: every rank must end with the result of the operation. The
//! content of messages is modelled here independently, from the definition of the algorithm, and its size is compared with
//! the program's.

use std::collections::BTreeMap;
use std::ops::Range;

use fabricsim_spec::{AllGatherAlgorithm, AllReduceAlgorithm, AllToAllAlgorithm, Experiment};

use super::all_reduce::{Rabenseifner, Ring};
use super::fold::{Fold, Part};
use super::*;
use crate::error::ErrorLocation;

/// Bytes of a block: large enough that no part of a vector is empty.
const BLOCK: u64 = 1000;

fn sizes() -> impl Iterator<Item = u32> {
    (2..=17).chain([31, 32, 33, 64, 100])
}

fn step(program: &dyn Program, rank: u32, number: u64) -> Step {
    let mut step = Step::default();
    program.step(rank, number, &mut step);
    step
}

/// Messages sent in a step, sender and receiver and bytes. They must equal those that are waited for.
fn messages(program: &dyn Program, p: u32, number: u64) -> Vec<(u32, u32, u64)> {
    let (mut sent, mut awaited) = (Vec::new(), Vec::new());
    for rank in 0..p {
        let step = step(program, rank, number);
        sent.extend(step.sends.iter().map(|&(to, bytes)| (rank, to, bytes)));
        awaited.extend(step.receives.iter().map(|&(from, bytes)| (from, rank, bytes)));
    }
    sent.sort_unstable();
    awaited.sort_unstable();
    assert_eq!(sent, awaited, "{program:?}, step {number}");
    assert!(sent.iter().all(|&(from, to, _)| from != to && to < p), "{program:?}, step {number}");
    sent
}

/// Blocks in flight from a rank to a rank.
type Blocks = Vec<(u32, u32)>;

/// Executes a program that moves blocks: `taken` selects the blocks of a rank that go into a message to a rank. No block
/// that is received in a step is sent in the same step.
fn move_blocks(
    program: &dyn Program,
    p: u32,
    start: impl Fn(u32) -> Blocks,
    copies: bool,
    taken: impl Fn(u64, (u32, u32), &(u32, u32)) -> bool,
) -> Vec<Blocks> {
    let mut held: Vec<Blocks> = (0..p).map(start).collect();
    for number in 0..program.steps() {
        let mut arriving: Vec<(u32, Blocks)> = Vec::new();
        for (from, to, bytes) in messages(program, p, number) {
            let (goes, stays): (Blocks, Blocks) =
                held[from as usize].iter().copied().partition(|block| taken(number, (from, to), block));
            assert_eq!(bytes, goes.len() as u64 * BLOCK, "{program:?}: step {number}, {from} to {to}");
            if !copies {
                held[from as usize] = stays;
            }
            arriving.push((to, goes));
        }
        for (to, mut blocks) in arriving {
            held[to as usize].append(&mut blocks);
        }
    }
    for blocks in &mut held {
        blocks.sort_unstable();
    }
    held
}

#[test]
fn an_all_to_all_brings_every_block_to_its_receiver() {
    for p in sizes() {
        // Number of ranks that a block has to travel.
        let way = |from: u32, block: &(u32, u32)| before(block.1, from, p);
        for algorithm in [AllToAllAlgorithm::Pairwise, AllToAllAlgorithm::Ring, AllToAllAlgorithm::Bruck] {
            let program = all_to_all::new(p, algorithm, BLOCK);
            let own = |rank| (0..p).filter(|&to| to != rank).map(|to| (rank, to)).collect();
            let held = move_blocks(&*program, p, own, false, |number, (from, to), block| match algorithm {
                AllToAllAlgorithm::Pairwise => block.1 == to,
                AllToAllAlgorithm::Ring => block.1 != from,
                // A block's way has bit k as long as it has not been sent in step k.
                AllToAllAlgorithm::Bruck => block.1 != from && way(from, block) >> number & 1 == 1,
            });
            for (rank, blocks) in held.iter().enumerate() {
                let rank = rank as u32;
                let wanted: Blocks = (0..p).filter(|&from| from != rank).map(|from| (from, rank)).collect();
                assert_eq!(*blocks, wanted, "{algorithm:?} among {p}");
            }
        }
    }
}

#[test]
fn an_all_gather_brings_every_block_to_everybody() {
    for p in sizes() {
        let ring = all_gather::new(p, AllGatherAlgorithm::Ring, BLOCK);
        let held = move_blocks(
            &*ring,
            p,
            |rank| vec![(rank, 0)],
            true,
            |number, (from, _), block| block.0 == before(from, number as u32, p),
        );
        let bruck = all_gather::new(p, AllGatherAlgorithm::Bruck, BLOCK);
        let other = move_blocks(
            &*bruck,
            p,
            |rank| vec![(rank, 0)],
            true,
            |number, (from, _), block| {
                // The first 2^k from its own on, or the number that the receiver lacks.
                let distance = 1 << number;
                before(block.0, from, p) < distance.min(p - distance)
            },
        );
        let all: Blocks = (0..p).map(|rank| (rank, 0)).collect();
        assert!(held.iter().chain(&other).all(|blocks| *blocks == all), "{p}");
    }
}

#[test]
fn a_broadcast_reaches_everybody_once() {
    for p in sizes() {
        for root in [0, 1, p - 1] {
            let text = format!("message = '1 kB'\nroot = {root}");
            let spec: spec::Broadcast =
                parse(&format!("broadcast = {{ {} }}", text.replace('\n', ", ")), |p| match p {
                    Kind::Broadcast(broadcast) => broadcast,
                    other => panic!("{other:?}"),
                });
            let program = broadcast::Binomial::new(&context(p), &spec).unwrap();
            let start = |rank| if rank == root { vec![(root, 0)] } else { Vec::new() };
            let held = move_blocks(&program, p, start, true, |_, _, _| true);
            assert!(held.iter().all(|blocks| *blocks == [(root, 0)]), "{p} from {root}");
        }
    }
}

/// Vectors that have been added up in each part of a rank's vector, with their counts.
type Sums = Vec<BTreeMap<u32, u32>>;

fn add(to: &mut BTreeMap<u32, u32>, other: &BTreeMap<u32, u32>) {
    for (&rank, &count) in other {
        *to.entry(rank).or_default() += count;
    }
}

/// Carries out an all-reduce of a vector of `parts` parts; `content` returns the parts that a message has, and true if they are
/// added to what the receiver has, false if they take its place.
fn reduce(
    program: &dyn Program,
    p: u32,
    parts: u32,
    content: impl Fn(u64, u32, u32) -> (Range<u32>, bool),
) -> Vec<Sums> {
    let own = |rank| vec![BTreeMap::from([(rank, 1)]); parts as usize];
    let mut held: Vec<Sums> = (0..p).map(own).collect();
    let vector = BLOCK * u64::from(parts);
    for number in 0..program.steps() {
        let before = held.clone();
        for (from, to, bytes) in messages(program, p, number) {
            let (range, adds) = content(number, from, to);
            assert_eq!(bytes, vector * range.len() as u64 / u64::from(parts), "step {number}");
            for part in range {
                let (sent, mine) =
                    (&before[from as usize][part as usize], &mut held[to as usize][part as usize]);
                if adds { add(mine, sent) } else { mine.clone_from(sent) }
            }
        }
    }
    held
}

/// `None` unless the whole vector is handed over in this step of a folded program; then true if it is added.
fn handed_over(fold: Fold, number: u64, rank: u32, core: u64) -> Option<bool> {
    matches!(fold.part(rank, number, core), Part::Give(_)).then_some(number == 0)
}

#[test]
fn an_all_reduce_adds_every_vector_once_for_everybody() {
    for p in sizes() {
        let fold = Fold::new(p);
        let everything: BTreeMap<u32, u32> = (0..p).map(|rank| (rank, 1)).collect();
        let check = |held: Vec<Sums>, name: &str| {
            assert!(held.iter().flatten().all(|sums| *sums == everything), "{name} among {p}");
        };

        let doubling = all_reduce::new(p, AllReduceAlgorithm::RecursiveDoubling, BLOCK);
        check(
            reduce(&*doubling, p, 1, |number, from, _| {
                (0..1, handed_over(fold, number, from, fold.log()).unwrap_or(true))
            }),
            "recursive doubling",
        );

        let ring = Ring { p, vector: BLOCK * u64::from(p) };
        check(
            reduce(&ring, p, p, |number, from, _| {
                let part = ring.part(from, number);
                (part..part + 1, number < u64::from(p) - 1)
            }),
            "ring",
        );

        let rabenseifner = Rabenseifner { fold, vector: BLOCK * u64::from(fold.core) };
        let core = 2 * fold.log();
        check(
            reduce(&rabenseifner, p, fold.core, |number, from, _| {
                if let Some(adds) = handed_over(fold, number, from, core) {
                    return (0..fold.core, adds);
                }
                let Part::Core(k, place) = fold.part(from, number, core) else { panic!() };
                (rabenseifner.exchange(place, k).1, k < fold.log())
            }),
            "Rabenseifner",
        );
    }
}

#[test]
fn a_barrier_is_passed_when_all_have_come() {
    for p in sizes() {
        let program = barrier::Dissemination::new(p, 8);
        let mut known: Vec<Vec<bool>> =
            (0..p).map(|rank| (0..p).map(|other| other == rank).collect()).collect();
        for number in 0..program.steps() {
            let before = known.clone();
            for (from, to, bytes) in messages(&program, p, number) {
                assert_eq!(bytes, 8);
                let news = &before[from as usize];
                known[to as usize].iter_mut().zip(news).for_each(|(mine, theirs)| *mine |= theirs);
            }
        }
        assert!(known.iter().flatten().all(|&known| known), "{p}");
    }
}

fn context(ranks: u32) -> ProgramInput<'static> {
    ProgramInput { place: ErrorLocation { file: "test.toml", list: "jobs", entry: 0 }, key: "program", ranks }
}

fn parse<T>(program: &str, take: impl Fn(Kind) -> T) -> T {
    let text = format!(
        "[topology.single-switch]\nhosts = 2\n[run]\nduration = '1 ms'\n[[jobs]]\nprogram = {{ {program} }}"
    );
    let experiment: Experiment =
        fabricsim_spec::read(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    take(experiment.jobs[0].program.clone().into_operation().unwrap())
}

fn program(text: &str, ranks: u32) -> Result<Arc<dyn Program>, String> {
    parse(text, |program| new(&context(ranks), &program).map_err(|error| error.to_string()))
}

#[test]
fn an_fft_transposes_three_times_and_computes_after_each() {
    let fft = program("fft = { elements = 1600, compute = '3 us' }", 4).unwrap();
    assert_eq!(fft.steps(), 9);
    let computing: Vec<u64> = (0..9).filter(|&n| step(&*fft, 1, n).compute == Time::us(3)).collect();
    let fences: Vec<u64> = (0..9).filter(|&n| step(&*fft, 1, n).after == After::All).collect();
    assert_eq!((computing, fences), (vec![2, 5, 8], vec![0, 3, 6]));
    for number in 0..9 {
        // 1600 / 4^2 elements of 16 bytes.
        assert!(messages(&*fft, 4, number).iter().all(|&(_, _, bytes)| bytes == 1600));
    }
}

#[test]
fn neighbours_of_a_grid_exchange_with_each_other() {
    let pairs = |text: &str, ranks| {
        let program = program(&format!("neighbour-exchange = {{ message = '5 B', {text} }}"), ranks).unwrap();
        messages(&*program, ranks, 0)
    };
    // 2 neighbours in each of 2 dimensions; with 2 ranks in a dimension both are the same, with 1 there is none.
    assert_eq!(pairs("grid = [4, 3]", 12).len(), 12 * 4);
    assert_eq!(pairs("grid = [4, 2, 1]", 8).len(), 8 * 4);
    // Without the ends: 2 (3 x 3 + 4 x 2) directions.
    assert_eq!(pairs("grid = [4, 3], periodic = false", 12).len(), 2 * (3 * 3 + 4 * 2));
    let of_five: Vec<u32> =
        pairs("grid = [4, 3], periodic = false", 12).iter().filter(|m| m.0 == 5).map(|m| m.1).collect();
    assert_eq!(of_five, [1, 4, 6, 9]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let cases = [
        (
            "fft = { elements = 100 }",
            "jobs.0.program.fft.elements: 100 is not allowed: each of 6 ranks sends each a block of the same size, so \
             give a multiple of 6 x 6 = 36, for example 108",
        ),
        ("fft = { elements = 0 }", "for example 36"),
        (
            "neighbour-exchange = { grid = [4, 2], message = '1 B' }",
            "jobs.0.program.neighbour-exchange.grid: 4 x 2 = 8 does not have 6 positions, the number of ranks: for \
             example [3, 2]",
        ),
        ("neighbour-exchange = { grid = [], message = '1 B' }", "an empty grid does not have 6 positions"),
        ("broadcast = { root = 6, message = '1 B' }", "broadcast.root: no rank 6: must be 0 to 5"),
    ];
    for (text, expected) in cases {
        let error = program(text, 6).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
