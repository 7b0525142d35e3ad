use fabricsim_model::PacketKind;
use fabricsim_units::Time;

use super::*;

/// Half of the packets are damaged, each copy by a draw of its own: of two copies, or of a copy and the packet itself, often one alone.
#[test]
fn copies_have_draws_of_their_own() {
    // A bit is intact with 2^(-1/8000): 1000 B at one switch, or 500 B at two, with 1/2.
    let rate = 1.0 - libm::exp2(-1.0 / 8000.0);
    let errors = SwitchErrors::new(3, rate).unwrap();
    let copies: Vec<Option<HostId>> =
        std::iter::once(None).chain((0..16).map(|host| Some(HostId(host)))).collect();
    for (bytes, hops) in [(1000, 1), (500, 2)] {
        let outcomes: Vec<Vec<bool>> = copies
            .iter()
            .map(|&copy| {
                let damage = |sequence| {
                    let ends = (HostId(4), HostId(5));
                    let packet = Packet::new(PacketKind::Data, ends, bytes, Time::ns(7));
                    errors.damage(&Packet { sequence, hops, ..packet }, copy)
                };
                (0..400).map(damage).collect()
            })
            .collect();
        for (number, one) in outcomes.iter().enumerate() {
            // 200 of 400, within five standard deviations of 10.
            let damaged = one.iter().filter(|&&damaged| damaged).count();
            assert!((150..=250).contains(&damaged), "{damaged} of copy {:?}", copies[number]);
            for (other, outcome) in outcomes.iter().enumerate().take(number) {
                let differ = one.iter().zip(outcome).filter(|(a, b)| a != b).count();
                assert!(
                    (150..=250).contains(&differ),
                    "{differ} of {:?} and {:?}",
                    copies[number],
                    copies[other]
                );
            }
        }
    }
    assert!(SwitchErrors::new(3, 0.0).is_none());
}
