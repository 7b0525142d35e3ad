//! Random sequences on random numbers of ranks, on a network that delivers packets in any order: every rank completes all
//! iterations, computes for the time of its phases, and all send the bytes of the operations' closed forms.

use std::fmt::Write;

use fabricsim_units::Time;
use proptest::prelude::*;

use crate::job::properties::Network;
use crate::testing::{build_all, hosts};

/// An operation of p ranks with the bytes that all of them send; V is the size that is written.
struct Known {
    text: &'static str,
    bytes: fn(p: u64, v: u64) -> u64,
}

const OPERATIONS: [Known; 9] = [
    Known { text: "all-reduce = { message = 'V B', algorithm = 'ring' }", bytes: |p, v| 2 * (p - 1) * v },
    Known { text: "all-reduce = { message = 'V B' }", bytes: doubling },
    Known { text: "all-to-all = { message = 'V B' }", bytes: |p, v| p * (p - 1) * v },
    Known { text: "all-gather = { message = 'V B' }", bytes: |p, v| p * (p - 1) * v },
    Known { text: "broadcast = { message = 'V B', root = 1 }", bytes: |p, v| (p - 1) * v },
    // Two blocks for one rank and none, which is sent as one byte, for the other; of three ranks two blocks and a half.
    Known {
        text: "all-to-all-v = { message = 'V B', imbalance = 2.0 }",
        bytes: |p, v| {
            let other =
                if p == 2 { 1 } else { (v as f64 * (p as f64 - 2.0) / (p as f64 - 1.0)).round() as u64 };
            (p - 1) * (2 * v + (p - 1) * other)
        },
    },
    Known { text: "shift = { message = 'V B' }", bytes: |p, v| p * v },
    Known { text: "neighbour-exchange = { message = 'V B', grid = [P] }", bytes: |p, v| 2 * p * v },
    Known {
        text: "barrier = { message = 'V B' }",
        bytes: |p, v| p * u64::from((p as u32 - 1).ilog2() + 1) * v,
    },
];

/// The largest power of two below p exchanges as often as its logarithm; every rank beyond it hands over and gets back a vector.
fn doubling(p: u64, v: u64) -> u64 {
    let log = p.ilog2();
    let core = 1_u64 << log;
    (core * u64::from(log) + 2 * (p - core)) * v
}

/// Number of ranks by dimension: tensor, data, pipeline; and those of an expert group.
#[derive(Clone, Copy, Debug)]
struct Shape(u32, u32, u32, u32);

impl Shape {
    fn all(self) -> u32 {
        self.0 * self.1 * self.2
    }

    fn group(self, number: usize) -> (&'static str, u32) {
        let Self(tensor, data, pipeline, expert) = self;
        [
            ("all", self.all()),
            ("tensor", tensor),
            ("data", data),
            ("pipeline", pipeline),
            ("expert", expert),
            ("expert-data", data / expert),
        ][number]
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    let shapes = (1_u32..4, prop::sample::select(vec![1_u32, 2, 3, 4, 6]), 1_u32..4);
    let shapes = shapes.prop_filter("one rank", |(t, d, s)| t * d * s > 1);
    (shapes, any::<prop::sample::Index>()).prop_map(|((t, d, s), pick)| {
        let divisors: Vec<u32> = (1..=d).filter(|e| d % e == 0).collect();
        Shape(t, d, s, *pick.get(&divisors))
    })
}

/// A phase: computing in ns, operation, group, size, buckets, repeat, overlap.
type Drawn = (u64, Option<usize>, usize, u64, u32, u32, bool);

fn phase(groups: Vec<usize>) -> impl Strategy<Value = Drawn> {
    let operation = prop::option::weighted(0.8, 0..OPERATIONS.len());
    let group = prop::sample::select(groups);
    (0_u64..40, operation, group, 40_u64..300, 1_u32..5, 1_u32..4, any::<bool>())
}

/// What is known of a list of phases: its text, the bytes that all ranks send in it, and the time that each computes.
fn known(phases: &[Drawn], shape: Shape) -> (String, u64, u64) {
    let (mut text, mut all, mut time) = (String::new(), 0, 0);
    for &(compute, operation, group, size, buckets, repeat, overlap) in phases {
        let (group, p) = shape.group(group);
        let of = operation.map(|number| &OPERATIONS[number]);
        let buckets = if of.is_some_and(|of| of.text.contains("barrier")) { 1 } else { buckets };
        let operation = of.map_or_else(String::new, |of| {
            let text = of.text.replace('V', &size.to_string()).replace('P', &p.to_string());
            format!(", operation = {{ {text} }}")
        });
        write!(
            text,
            "{{ compute = '{compute} ns'{operation}, group = '{group}', buckets = {buckets}, repeat = {repeat}, \
             overlap = {overlap} }}, "
        )
        .unwrap();
        let bucket = |b: u32| u64::from(b) * size / u64::from(buckets);
        let once = |of: &Known| {
            let sizes = (0..buckets).map(|b| bucket(b + 1) - bucket(b));
            sizes.map(|size| (of.bytes)(p.into(), size)).sum::<u64>()
        };
        let groups = u64::from(shape.all() / p);
        all += of.filter(|_| p > 1).map_or(0, once) * groups * u64::from(repeat);
        time += compute * u64::from(repeat);
    }
    (format!("[{text}]"), all, time)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn sequences_end_and_send_the_bytes_of_their_operations(
        shape in shape(),
        iterations in 1_u32..4,
        phases in prop::collection::vec(phase(vec![0, 1, 2, 3, 4, 5]), 0..4),
        (forward, backward, last) in (
            prop::collection::vec(phase(vec![1, 2, 4, 5]), 0..3),
            prop::collection::vec(phase(vec![1, 2, 4, 5]), 0..3),
            prop::collection::vec(phase(vec![1, 2, 4, 5]), 0..3),
        ),
        (batches, message, slots) in (0_u32..6, 1_u64..200, 1_u32..5),
        picks in prop::collection::vec(any::<u16>(), 1..60),
    ) {
        let (text, mut bytes, mut time) = known(&phases, shape);
        let mut batched = String::new();
        if batches > 0 {
            let last = if backward.is_empty() { Vec::new() } else { last };
            let [f, b, l] = [&forward, &backward, &last].map(|phases| known(phases, shape));
            batched = format!(
                "micro_batches = {{ count = {batches}, message = '{message} B', forward = {}, backward = {}, \
                 last_backward = {} }}, ", f.0, b.0, l.0);
            let ends = if last.is_empty() { &b } else { &l };
            let (first, n) = (u64::from(batches) - 1, u64::from(batches));
            let directions = 1 + u64::from(!backward.is_empty());
            bytes += n * f.1 + first * b.1 + ends.1;
            bytes += directions * n * message * u64::from(shape.all() / shape.2 * (shape.2 - 1));
            time += n * f.2 + first * b.2 + ends.2;
        }
        prop_assume!(bytes > 0);
        let Shape(tensor, _, pipeline, expert) = shape;
        let mut network = Network::new(build_all(&hosts(shape.all()), &format!(
            "[[jobs]]\niterations = {iterations}\nranks = {}\nranks_per_host = {slots}\nprogram = {{ sequence = {{ tensor = {tensor}, pipeline = {pipeline}, \
             expert = {expert}, {batched}phases = {text} }} }}\n",
            shape.all()
        )));
        let mut happened = 0_usize;
        while network.step(usize::from(picks[happened % picks.len()]) + happened / picks.len()) {
            happened += 1;
            prop_assert!(happened < 2_000_000, "it never ends");
        }
        prop_assert_eq!(network.iterated.len() as u32, shape.all() * iterations);
        let sent: u64 = network.iterated.iter().map(|of| of.0).sum();
        prop_assert_eq!(sent, bytes * u64::from(iterations));
        prop_assert!(network.iterated.iter().all(|of| of.1 == Time::ns(time)), "{:?} {time}", network.iterated);
    }
}
