//! Nue with 1 to 8 lanes and LMC 0 to 2, on fabrics with adapters of one port or two: tables are those of the real OpenSM.
//!
//! A short set runs with the other tests; `FABRICSIM_OPENSM_CASES=300` compares as many fabrics. A failure names the seed.

mod support;

use fabricsim_subnet::{Engine, LidOptions, Options, Subnet, analyse, assign_lids};
use support::generate::{Plan, Random, fabric};
use support::{difference, oracle, text};

/// Fabrics without the environment variable.
const SHORT: u64 = 16;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// A graph of up to 30 switches with few adapters: sparse at random, or a symmetric ring with chords, where several switches are as
/// central as others and rounding decides which is the root of escape paths.
fn sparse(random: &mut Random) -> Subnet {
    let count = 8 + random.below(23) as usize;
    let mut plan = Plan { adapters: vec![0; count], two_ports: random.below(2) == 0, ..Plan::default() };
    if random.below(2) == 0 {
        plan.cables.extend((1..count).map(|at| (random.below(at as u64) as usize, at)));
        for _ in 0..random.below(count as u64) {
            let (a, b) = (random.below(count as u64) as usize, random.below(count as u64) as usize);
            plan.cables.extend((a != b).then_some((a, b)));
        }
    } else {
        let chord = 2 + random.below(count as u64 / 2 - 1) as usize;
        let cables = |step: usize| (0..count).map(move |at| (at, (at + step) % count));
        plan.cables.extend(cables(1).chain(cables(chord)));
    }
    if random.below(2) == 0 {
        plan.adapters.fill(1 + random.below(7) as usize);
    }
    for _ in 0..4 + random.below(count as u64) {
        plan.adapters[random.below(count as u64) as usize] += 1 + random.below(3) as usize;
    }
    plan.subnet(Some(random))
}

/// The first difference between our tables and those of OpenSM, by lanes and LMC; none where OpenSM does not route with Nue.
fn compare(mut ours: Subnet, (lanes, lmc): (u8, u8), name: &str) -> Option<Result<(), String>> {
    let fresh = ours.clone();
    assign_lids(&mut ours, LidOptions { lmc, reassign: false }).unwrap();
    let options = Options { nue_vls: lanes, ..Options::default() };
    let routing = Engine::Nue.route(&ours, &options).unwrap();
    let found = analyse(&ours, &routing.tables, routing.sls.as_ref(), &routing.sl2vl).unwrap();
    if let Some(cycle) = found.cycle {
        return Some(Err(format!("{name}: not free of deadlock: {cycle:?}")));
    }
    let config = format!("routing_engine nue,no_fallback\nnue_max_num_vls {lanes}\nlmc {lmc}\n");
    let theirs =
        oracle::route(&fresh, name, &config).unwrap_or_else(|| panic!("{name}: OpenSM did not finish"));
    let dump = (theirs.engine == "nue").then(|| text(&theirs.folder.join("opensm-lfts.dump")).unwrap());
    let _ = std::fs::remove_dir_all(&theirs.folder);
    let difference = difference(&routing.tables.to_dump(&ours), &dump?);
    Some(difference.map_or(Ok(()), |found| Err(format!("{name}, {lanes} lanes, LMC {lmc}: {found}"))))
}

#[test]
fn lanes_and_ports_of_adapters_give_opensms_tables() {
    if !oracle::is_available() {
        return;
    }
    let first = number("FABRICSIM_OPENSM_SEED").unwrap_or(0);
    let cases = number("FABRICSIM_OPENSM_CASES").unwrap_or(SHORT);
    let (mut failed, mut compared) = (0, 0);
    for seed in first..first + cases {
        let mut random = Random::new(seed ^ 0x9e);
        let (lanes, lmc) = (1 + (seed % 8) as u8, (seed / 8 % 3) as u8);
        let (ours, kind) =
            if random.below(2) == 0 { (sparse(&mut random), "sparse") } else { fabric(&mut random) };
        let Some(found) = compare(ours, (lanes, lmc), &format!("{seed}nue")) else { continue };
        compared += 1;
        if let Err(difference) = found {
            failed += 1;
            eprintln!("seed {seed} {kind}: {difference}");
        }
    }
    eprintln!("{compared} of {cases} compared, {failed} differ");
    assert_eq!(failed, 0);
    assert!(compared >= cases / 2, "only {compared} of {cases} compared");
}

/// Tori with doubled cables, on which two switches are as central but for the last bits of their sums: the number of adapters at a switch counts
/// one by one, as OpenSM adds them.
#[test]
fn rounding_decides_between_roots_as_in_opensm() {
    if !oracle::is_available() {
        return;
    }
    for (columns, adapters) in
        [(4, vec![3, 3, 3, 3, 0, 3, 2, 3]), (3, vec![4, 4, 4, 4, 1, 4, 4, 4, 4, 4, 4, 4])]
    {
        let count = adapters.len();
        let across = (0..count).map(|at| (at, at / columns * columns + (at + 1) % columns));
        let down = (0..count).map(|at| (at, (at + columns) % count));
        let cables = across.chain(down).collect();
        let plan = Plan { cables, adapters, ..Plan::default() };
        let found = compare(plan.subnet(None), (1, 0), &format!("torus{columns}"));
        assert_eq!(found, Some(Ok(())));
    }
}
