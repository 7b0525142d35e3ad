use super::*;
use fabricsim_model::Random;

/// Against a sorted list: random times near and far, pushed while others come out.
#[test]
fn comes_out_in_order() {
    for (seed, spread) in [(1, 10_u64), (2, 5_000), (3, 40_000_000), (4, 1 << 44)] {
        let mut random = Random::new(seed, 0, 0);
        let mut calendar = Calendar::new(Time::ns(4));
        let mut model = BinaryHeap::new();
        let mut now = 0;
        let mut pending = 2000_u32;
        for packet in 0..pending {
            let time = 1 + random.below(spread);
            calendar.push(Event::new(time, Kind::Wake, packet, packet));
            model.push(Reverse(time));
        }
        let mut left = 200_000_u32;
        while let Some(time) = calendar.next_before(u64::MAX) {
            assert!(time >= now);
            now = time;
            while let Some(event) = calendar.pop_at(time) {
                assert_eq!(model.pop(), Some(Reverse(time)));
                pending -= 1;
                if left > 0 {
                    left -= 1;
                    let later = time + 1 + random.below(spread);
                    // Wake-ups are compared with those that are there, also when the calendar is filled anew.
                    let kind = if left.is_multiple_of(2) { Kind::Arrive } else { Kind::Wake };
                    calendar.push(Event::new(later, kind, event.packet(), event.packet()));
                    model.push(Reverse(later));
                    pending += 1;
                }
            }
        }
        assert_eq!((pending, model.len(), calendar.is_empty()), (0, 0, true));
    }
}

/// A wake-up far away is kept once, however often it is requested while earlier ones come and go; those of other times and ports are kept.
#[test]
fn repeated_wake_ups_far_away_are_kept_once() {
    let mut calendar = Calendar::new(Time::ns(4));
    let far = Time::ms(67).0;
    for step in 1..1000 {
        calendar.push(Event::new(far, Kind::Wake, 3, 0));
        // With no event before the far one its bucket is entered.
        assert_eq!(calendar.next_before(u64::MAX), Some(far));
        let near = Time::ns(step).0;
        calendar.push(Event::new(near, Kind::Wake, 3, 0));
        assert_eq!(calendar.next_before(u64::MAX), Some(near));
        assert!(calendar.pop_at(near).is_some());
        assert!(calendar.pop_at(near).is_none());
    }
    calendar.push(Event::new(far, Kind::Wake, 4, 0));
    calendar.push(Event::new(far + 1, Kind::Wake, 3, 0));
    let mut left = Vec::new();
    while let Some(time) = calendar.next_before(u64::MAX) {
        left.extend(calendar.pop_at(time).map(|event| (event.time - far, event.port())));
    }
    left.sort_unstable();
    assert_eq!(left, [(0, 3), (0, 4), (1, 3)]);
}

/// Few events at long intervals become a list, many do not, and a list that grows goes back to buckets; times come out in order all the while.
#[test]
fn few_events_are_a_list_while_they_are_few() {
    let mut random = Random::new(5, 0, 0);
    let mut calendar = Calendar::new(Time::ns(4));
    let mut model = BinaryHeap::new();
    let (mut lists, mut leaves, mut was_list) = (0, 0, false);
    let mut push = |calendar: &mut Calendar, model: &mut BinaryHeap<_>, now: u64| {
        // As of a network: some effects after a latency, others after a packet's time.
        let later =
            now + [55_000, 1 + random.below(2_000_000), random.below(40_000)][random.below(3) as usize];
        // Equal wake-ups of a port are kept once, so that ports differ.
        calendar.push(Event::new(later, Kind::Wake, random.below(1 << 30) as u32, 2));
        model.push(Reverse(later));
    };
    for wanted in [20, 30, few::MOST + 10, 10, 200, 12, few::MOST, 0] {
        for _ in 0..200_000 {
            let Some(time) = calendar.next_before(u64::MAX) else { break };
            while calendar.pop_at(time).is_some() {
                assert_eq!(model.pop(), Some(Reverse(time)));
            }
            while model.len() < wanted {
                push(&mut calendar, &mut model, time);
            }
            assert!(model.len() <= few::MOST || !calendar.is_list());
            lists += usize::from(calendar.is_list() && !was_list);
            leaves += usize::from(!calendar.is_list() && was_list);
            was_list = calendar.is_list();
        }
        if calendar.next_before(u64::MAX).is_none() && wanted > 0 {
            push(&mut calendar, &mut model, 0);
        }
    }
    assert!(calendar.is_empty() && model.is_empty());
    assert!(lists >= 3 && leaves >= 2, "{lists} times a list, {leaves} times no more");
}

/// Events that are taken out of a list, and the others, which go on in order.
#[test]
fn events_are_taken_out_of_a_list() {
    let mut calendar = Calendar::new(Time::ns(4));
    assert!(
        calendar.try_list((0..20).map(|i| Event::new(100 - i, Kind::Wake, i as u32, 0)).collect()).is_ok()
    );
    let taken = calendar.take_if(Time(50), |event| event.port() % 2 == 0);
    assert_eq!(taken.len(), 10);
    let mut ports = Vec::new();
    while let Some(time) = calendar.next_before(u64::MAX) {
        ports.extend(calendar.pop_at(time).map(Event::port));
    }
    assert_eq!(ports, (0..20).rev().filter(|port| port % 2 == 1).collect::<Vec<u32>>());
}

/// A list that goes back to buckets keeps the wake-ups of ports that it had.
#[test]
fn wake_ups_of_a_list_are_kept() {
    let mut calendar = Calendar::new(Time::ns(4));
    assert!(calendar.try_list(Vec::new()).is_ok());
    let times: Vec<u64> = (1..=2 * few::MOST as u64).map(|number| number * 1_000_000).collect();
    for (port, &time) in times.iter().enumerate() {
        calendar.push(Event::new(time, Kind::Wake, port as u32, 0));
        // The same wake-up again is not needed.
        calendar.push(Event::new(time, Kind::Wake, port as u32, 0));
    }
    assert!(!calendar.is_list());
    let mut found = Vec::new();
    while let Some(time) = calendar.next_before(u64::MAX) {
        while calendar.pop_at(time).is_some() {
            found.push(time);
        }
    }
    assert_eq!(found, times);
}

/// Buckets become half as wide if they hold more than eight events each and more than half of them had to be sorted; twice as wide if they
/// hold fewer than two and a half, or more than an eighth of the events was far away; not if both would hold. The bounds are 2^4 and 2^40 ps.
/// No event is lost or changes its time.
#[test]
fn the_width_of_buckets_follows_the_events() {
    for ((events, buckets, sorted, far), (before, after)) in [
        ((81, 10, 6, 0), (12, 11)),
        ((80, 10, 6, 0), (12, 12)),
        ((81, 10, 5, 0), (12, 12)),
        ((90, 10, 3, 0), (12, 12)),
        ((40, 10, 10, 0), (12, 12)),
        ((800, 10, 10, 100), (12, 11)),
        ((80, 10, 0, 11), (12, 13)),
        ((80, 10, 0, 10), (12, 12)),
        ((24, 10, 0, 0), (12, 13)),
        ((25, 10, 0, 0), (12, 12)),
        ((81, 10, 6, 11), (12, 12)),
        ((81, 10, 6, 0), (4, 4)),
        ((24, 10, 0, 0), (40, 40)),
        ((24, 10, 0, 0), (5, 6)),
    ] {
        let mut calendar = Calendar::new(Time::ns(4));
        calendar.shift = before;
        calendar.refill(1_000_000, Vec::new());
        let times: Vec<u64> = (0..200).map(|number| 1_000_000 + number * 777).collect();
        for (&time, port) in times.iter().zip(0..) {
            calendar.push(Event::new(time, Kind::Arrive, port, 0));
        }
        calendar.statistics = Statistics { events, buckets, sorted, far };
        calendar.tune();
        assert_eq!(calendar.shift, after, "{events} {buckets} {sorted} {far} {before}");
        let found: Vec<u64> = std::iter::from_fn(|| {
            let time = calendar.next_before(u64::MAX)?;
            calendar.pop_at(time).map(|event| event.time)
        })
        .collect();
        assert_eq!(found, times, "{events} {buckets} {sorted} {far} {before}");
    }
}

/// A tag holds what it was made of, at the ends of its ranges.
#[test]
fn events_hold_their_parts() {
    for kind in [Kind::Arrive, Kind::Wake, Kind::Deliver, Kind::Look] {
        for port in [0, 1, (1 << 30) - 1] {
            for packet in [0, 1, u32::MAX] {
                let event = Event::new(5, kind, port, packet);
                assert_eq!((event.time, event.kind(), event.port(), event.packet()), (5, kind, port, packet));
            }
        }
    }
}

/// The next event is found without entering its bucket, so that events that come before it later on cost no sorting; with each width of buckets, and
/// as a list.
#[test]
fn a_look_ahead_enters_no_bucket() {
    let mut random = Random::new(7, 0, 0);
    for shift in [4, 9, 14, 30] {
        let mut calendar = Calendar::new(Time(1 << shift));
        let mut model = BinaryHeap::new();
        let mut now = 0;
        for step in 0..20_000_u64 {
            for _ in 0..random.below(4) {
                let spread = 1 << (1 + random.below(24));
                let later = now + 1 + random.below(spread);
                calendar.push(Event::new(later, Kind::Arrive, 1, 1));
                model.push(Reverse(later));
            }
            let next = model.peek().map(|Reverse(time)| *time);
            assert_eq!(calendar.peek(), next, "step {step}");
            let until = now + random.below(3000);
            while let Some(time) = calendar.next_before(until).filter(|&time| time < until) {
                while calendar.pop_at(time).is_some() {
                    assert_eq!(model.pop(), Some(Reverse(time)));
                }
            }
            assert!(model.peek().is_none_or(|Reverse(time)| *time >= until));
            now = until;
            if step % 1000 == 999 {
                calendar.take_if(Time(now), |_| false);
            }
        }
        assert!(calendar.is_list() || calendar.at << calendar.shift <= now, "no later bucket is entered");
    }
}
