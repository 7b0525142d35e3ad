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
        while let Some(time) = calendar.next_time() {
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
        assert_eq!(calendar.next_time(), Some(far));
        let near = Time::ns(step).0;
        calendar.push(Event::new(near, Kind::Wake, 3, 0));
        assert_eq!(calendar.next_time(), Some(near));
        assert!(calendar.pop_at(near).is_some());
        assert!(calendar.pop_at(near).is_none());
    }
    calendar.push(Event::new(far, Kind::Wake, 4, 0));
    calendar.push(Event::new(far + 1, Kind::Wake, 3, 0));
    let mut left = Vec::new();
    while let Some(time) = calendar.next_time() {
        left.extend(calendar.pop_at(time).map(|event| (event.time - far, event.port())));
    }
    left.sort_unstable();
    assert_eq!(left, [(0, 3), (0, 4), (1, 3)]);
}
