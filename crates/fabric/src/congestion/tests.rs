use super::*;

const RULE: ThresholdRule =
    ThresholdRule { enter: Some(10), leave: 6, unmarked: 0, packet_size: 1, victim_mask: false };

fn departure(input: usize, blocks: u32) -> Departure {
    let packet_time = Time::ns(100);
    Departure { input, in_lane: Vl(0), output: 2, lane: Vl(0), blocks, is_data: true, packet_time }
}

fn leaves(detector: &mut Detector, departure: Departure) -> DepartureEffect {
    detector.leaves(departure, true, || Random::new(1, 1, 1))
}

#[test]
fn inputs_add_up_or_stand_alone() {
    for (alone, congested) in [(false, true), (true, false)] {
        let (count, detection): (_, fn(_) -> _) =
            if alone { (9, Detection::Buffer) } else { (3, Detection::Output) };
        let mut detector = Detector::new(3, 1, detection(vec![Threshold::new(RULE); count]));
        detector.waits((0, Vl(0)), (2, Vl(0)), 6);
        detector.waits((1, Vl(0)), (2, Vl(0)), 6);
        assert_eq!((detector.waiting(2, Vl(0)), detector.is_congested(2, Vl(0))), (12, congested));
        assert_eq!(leaves(&mut detector, departure(0, 6)).marked, congested);
        assert_eq!((detector.waiting(2, Vl(0)), detector.is_congested(2, Vl(0))), (6, false));
    }
}

#[test]
fn lanes_of_a_port_are_roots_or_victims_each_on_its_own() {
    let rules = vec![Threshold::new(RULE); 3 * 2];
    let mut detector = Detector::new(3, 2, Detection::Output(rules));
    for lane in [Vl(0), Vl(1)].repeat(10) {
        detector.waits((0, lane), (2, lane), 4);
    }
    let marked = |detector: &mut Detector, lane| {
        let departure = Departure { in_lane: lane, lane, ..departure(0, 4) };
        leaves(detector, departure).marked
    };
    detector.wait_for_credits(2, 0b01);
    assert!(marked(&mut detector, Vl(1)), "lane 1 has credits");
    assert!(!marked(&mut detector, Vl(0)), "lane 0 had to wait, although lane 1 was sending");
    assert!(marked(&mut detector, Vl(0)), "and did not have to wait a second time");
}

#[test]
fn short_packets_do_not_make_a_root_of_a_victim() {
    let mut detector = Detector::new(3, 1, Detection::Output(vec![Threshold::new(RULE); 3]));
    for _ in 0..10 {
        detector.waits((0, Vl(0)), (2, Vl(0)), 4);
    }
    detector.wait_for_credits(2, 1);
    let marked = |detector: &mut Detector, blocks| leaves(detector, departure(0, blocks)).marked;
    // A short packet, and the full one after it: four blocks in all, as many as the largest packet, are reached by the second.
    assert_eq!([1, 4, 4].map(|blocks| marked(&mut detector, blocks)), [false, false, true]);
    detector.wait_for_credits(2, 1);
    assert_eq!([2, 2, 2].map(|blocks| marked(&mut detector, blocks)), [false, false, true]);
    // A wait counts anew.
    detector.wait_for_credits(2, 1);
    assert!(!marked(&mut detector, 2));
    detector.wait_for_credits(2, 1);
    assert_eq!([2, 2, 2].map(|blocks| marked(&mut detector, blocks)), [false, false, true]);
}

#[test]
fn a_packet_may_come_to_wait_for_another_lane() {
    let mut detector = Detector::new(3, 2, Detection::Output(vec![Threshold::new(RULE); 3 * 2]));
    detector.waits((0, Vl(0)), (2, Vl(0)), 20);
    detector.changes_lane(0, 2, (Vl(0), Vl(1)), 20);
    let found = [Vl(0), Vl(1)].map(|lane| (detector.waiting(2, lane), detector.is_congested(2, lane)));
    assert_eq!(found, [(0, false), (20, true)]);
}

#[test]
fn packets_without_data_are_not_marked() {
    let mut detector = Detector::new(3, 1, Detection::Output(vec![Threshold::new(RULE); 3]));
    detector.waits((0, Vl(0)), (2, Vl(0)), 20);
    assert!(!detector.leaves(departure(0, 1), false, || Random::new(1, 1, 1)).marked);
    assert!(leaves(&mut detector, departure(0, 1)).marked);
    let red = Red::new(RedRule { k_min: 4, k_max: 8, p_max: 0.5 });
    let mut detector = Detector::new(3, 1, Detection::Red(red));
    detector.waits((0, Vl(0)), (2, Vl(0)), 9);
    assert!(!detector.leaves(departure(0, 1), false, || Random::new(1, 1, 1)).marked);
    assert!(leaves(&mut detector, departure(0, 4)).marked, "8 blocks wait");
    assert!(!leaves(&mut detector, departure(0, 1)).marked, "4 blocks wait");
}

#[test]
fn credits_of_a_full_buffer_come_late() {
    let starvation = Starvation::new(vec![8; 3], "1:3".parse().unwrap());
    let detection = Detection::Output(vec![Threshold::new(RULE); 3]);
    let mut detector = Detector::new(3, 1, detection).with_starvation(starvation);
    detector.waits((0, Vl(0)), (2, Vl(0)), 5);
    detector.waits((1, Vl(0)), (2, Vl(0)), 9);
    assert_eq!(leaves(&mut detector, departure(0, 5)).credits_late, Time::ZERO);
    // 9, 8 and 7 blocks of the buffer are in use: they are late from 8 on.
    assert_eq!(leaves(&mut detector, departure(1, 1)).credits_late, Time::ns(150));
    assert_eq!(leaves(&mut detector, departure(1, 1)).credits_late, Time::ns(150));
    assert_eq!(leaves(&mut detector, departure(1, 1)).credits_late, Time::ZERO);
}

fn places() -> impl Iterator<Item = (usize, usize, u8)> {
    (0..3).flat_map(|input| (0..3).flat_map(move |output| (0..2).map(move |lane| (input, output, lane))))
}

/// Every output and lane has a state of its own, and with [`Detection::Buffer`] every input for it.
#[test]
fn outputs_lanes_and_inputs_are_watched_apart() {
    for alone in [false, true] {
        let new = || {
            let rules = vec![Threshold::new(RULE); if alone { 18 } else { 6 }];
            let detection = if alone { Detection::Buffer(rules) } else { Detection::Output(rules) };
            Detector::new(3, 2, detection)
        };
        for (input, output, lane) in places() {
            let mut detector = new();
            detector.waits((input, Vl(1)), (output, Vl(lane)), 12);
            for (_, other, other_lane) in places() {
                let same = (other, other_lane) == (output, lane);
                assert_eq!(detector.waiting(other, Vl(other_lane)), if same { 12 } else { 0 });
                assert_eq!(detector.is_congested(other, Vl(other_lane)), same);
            }
            let leaving = Departure { output, lane: Vl(lane), in_lane: Vl(1), ..departure(input, 1) };
            assert!(leaves(&mut detector, leaving).marked);
            assert_eq!(detector.waiting(output, Vl(lane)), 11);
        }
        let mut detector = new();
        for (input, output, lane) in places() {
            detector.waits((input, Vl(0)), (output, Vl(lane)), 6);
        }
        for (_, output, lane) in places() {
            assert_eq!(detector.waiting(output, Vl(lane)), 18);
            assert_eq!(detector.is_congested(output, Vl(lane)), !alone, "6 of each input, 18 in all");
        }
    }
}

/// The buffer of each input and lane has a threshold of its own.
#[test]
fn buffers_starve_apart() {
    for (input, in_lane) in (0..3).flat_map(|input| [(input, 0_u8), (input, 1)]) {
        let mut beyond = vec![1000; 6];
        beyond[2 * input + usize::from(in_lane)] = 8;
        for (other, other_lane) in (0..3).flat_map(|input| [(input, 0_u8), (input, 1)]) {
            let starvation = Starvation::new(beyond.clone(), "1:3".parse().unwrap());
            let detection = Detection::Output(vec![Threshold::new(RULE); 6]);
            let mut detector = Detector::new(3, 2, detection).with_starvation(starvation);
            detector.waits((other, Vl(other_lane)), (2, Vl(0)), 20);
            let late = leaves(&mut detector, Departure { in_lane: Vl(other_lane), ..departure(other, 1) });
            let same = (input, in_lane) == (other, other_lane);
            assert_eq!(late.credits_late, if same { Time::ns(150) } else { Time::ZERO });
        }
    }
}

/// Changes without effect on the rules are handled by [`Detector::leaves_quietly`] and counted all the
/// same.
#[test]
fn few_blocks_come_and_go_quietly() {
    let mut detector = Detector::new(3, 1, Detection::Output(vec![Threshold::new(RULE); 3]));
    detector.waits((0, Vl(0)), (2, Vl(0)), 10);
    assert!(detector.leaves_quietly(0, (2, Vl(0)), (4, true)));
    assert_eq!(detector.waiting(2, Vl(0)), 6);
    detector.waits((0, Vl(0)), (2, Vl(0)), 5);
    assert!(!detector.leaves_quietly(0, (2, Vl(0)), (4, true)), "11 wait, and it is congested");
    assert_eq!(detector.waiting(2, Vl(0)), 11, "it is left to `leaves`");
    let red = Red::new(RedRule { k_min: 10, k_max: 20, p_max: 0.5 });
    let mut detector = Detector::new(3, 1, Detection::Red(red));
    for (blocks, congested) in [(10, false), (1, true)] {
        detector.waits((0, Vl(0)), (2, Vl(0)), blocks);
        assert_eq!(detector.is_congested(2, Vl(0)), congested);
        assert_eq!(detector.leaves_quietly(0, (2, Vl(0)), (0, true)), !congested);
    }
}
