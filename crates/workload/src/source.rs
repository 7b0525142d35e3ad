use fabricsim_units::{HostId, Time};

use crate::Message;
use crate::stream::Stream;

/// The messages of one host: all entries of the traffic list that it is a source of, merged.
///
/// Order. The open-loop streams (all but `saturating`) form one queue in the order in which their messages are made;
/// at the same picosecond the lower entry comes first. That order, and all that is in the messages, does not depend
/// on when they are taken. Each saturating stream is a queue of its own. Queues that have a message are served in
/// turn, message by message: the open-loop queue first, then the saturating streams by entry.
///
/// Use: `next` says when there is something to take; `take` takes it. At the end of a run [`Source::finish`] makes
/// what was due but never taken, so that [`Source::offered_bytes`] is exact.
#[derive(Clone, Debug)]
pub struct Source {
    streams: Box<[Stream]>,
    /// The window of [`Source::offered_bytes`].
    from: Time,
    to: Time,
    /// The queue whose turn it is: 0 the open-loop streams, i + 1 the saturating stream i.
    turn: u16,
    saturating: bool,
}

impl Source {
    /// `streams` by entry.
    pub(crate) fn new(streams: Vec<Stream>) -> Self {
        let saturating = streams.iter().any(Stream::is_saturating);
        Self { streams: streams.into(), from: Time::ZERO, to: Time::MAX, turn: 0, saturating }
    }

    /// When the next message is made: up to `now` if it is there already, later if not; `None` when the source has
    /// ended. A saturating stream has a message at `now`, or at its start if that is later.
    #[inline]
    pub fn next(&self, now: Time) -> Option<Time> {
        self.streams.iter().filter_map(|stream| stream.next(now)).min()
    }

    /// Takes the message whose turn it is. There must be one: [`Source::next`] is at most `now`. Those of saturating
    /// streams are made at `now`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub fn take(&mut self, now: Time) -> Message {
        let chosen = if self.saturating { self.in_turn(now) } else { self.earliest(now) };
        let (index, created) =
            chosen.unwrap_or_else(|| panic!("no message at {now}: take needs next() <= now"));
        self.draw(index, created)
    }

    /// A destination for the next packet of a message of `stream`, for streams that draw one per packet.
    ///
    /// # Panics
    ///
    /// If the host is no source of `stream`.
    #[inline]
    pub fn destination(&mut self, stream: u16) -> HostId {
        let index = self.index(stream).unwrap_or_else(|| panic!("the host is no source of stream {stream}"));
        self.streams[index].destination()
    }

    /// Does every packet of a message of `stream` go to a destination of its own? Then the first packet goes to the
    /// message's, each other to [`Source::destination`]. Never where the pattern leaves no choice.
    #[inline]
    pub fn draws_per_packet(&self, stream: u16) -> bool {
        self.index(stream).is_some_and(|index| self.streams[index].draws_per_packet())
    }

    /// The entries of the traffic list that the host is a source of, ascending.
    pub fn streams(&self) -> impl Iterator<Item = u16> {
        self.streams.iter().map(Stream::number)
    }

    /// The destination of `stream`, where the pattern leaves no choice.
    pub fn fixed_destination(&self, stream: u16) -> Option<HostId> {
        self.index(stream).and_then(|index| self.streams[index].fixed_destination())
    }

    /// Nominal load: what all streams offer while they are active, as a fraction of the link rate; 1 for each
    /// saturating stream.
    pub fn nominal_load(&self) -> f64 {
        self.streams.iter().map(Stream::load).sum()
    }

    /// Counts offered bytes from `from` on and before `to`; at first from 0 to the end of time. Exact when called at a
    /// simulated time of at most `from`. The end may be changed later, with the same `from`, at a simulated time of at
    /// most both the old and the new `to`; another `from` starts the count anew.
    pub fn set_window(&mut self, from: Time, to: Time) {
        if from != self.from {
            self.streams.iter_mut().for_each(|stream| stream.offered = 0);
        }
        (self.from, self.to) = (from, to);
    }

    /// Ends the source's run at `end`: makes the messages that are created before `end` and were not taken, counts
    /// them as offered and shows them to `visit`, in order of creation; saturating streams, which make none, are
    /// counted by time. At most once, and nothing is to be taken afterwards.
    pub fn finish(&mut self, end: Time, mut visit: impl FnMut(&Message)) {
        let last = Time(end.0.saturating_sub(1));
        while end > Time::ZERO
            && let Some((index, created)) = self.earliest(last)
        {
            let message = self.draw(index, created);
            visit(&message);
        }
        let (from, to) = (self.from, self.to.min(end));
        for stream in self.streams.iter_mut().filter(|stream| stream.is_saturating()) {
            stream.offered = stream.offered_by_time(from, to);
        }
    }

    /// Bytes offered within the window: those of the messages of open-loop streams created in it, and what the link
    /// takes while a saturating stream has messages. Final after [`Source::finish`]; until then only what was taken,
    /// and nothing of saturating streams.
    pub fn offered_bytes(&self) -> u64 {
        self.offered().map(|(_, bytes)| bytes).fold(0, u64::saturating_add)
    }

    /// [`Source::offered_bytes`] by entry of the traffic list.
    pub fn offered(&self) -> impl Iterator<Item = (u16, u64)> {
        self.streams.iter().map(|stream| (stream.number(), stream.offered))
    }

    #[inline]
    fn index(&self, stream: u16) -> Option<usize> {
        self.streams.iter().position(|s| s.number() == stream)
    }

    /// The open-loop stream with the earliest message up to `now`.
    #[inline]
    fn earliest(&self, now: Time) -> Option<(usize, Time)> {
        let open = self.streams.iter().enumerate().filter(|(_, stream)| !stream.is_saturating());
        let next = open.filter_map(|(index, stream)| Some((stream.next(now)?, index)));
        next.filter(|&(created, _)| created <= now).min().map(|(created, index)| (index, created))
    }

    /// The queue whose turn it is among those with a message, and passes the turn on.
    fn in_turn(&mut self, now: Time) -> Option<(usize, Time)> {
        let queues = self.streams.len() + 1;
        let first = usize::from(self.turn);
        let (queue, chosen) = (first..first + queues).find_map(|queue| {
            let queue = queue % queues;
            let chosen = match queue.checked_sub(1) {
                None => self.earliest(now),
                Some(index) => self.saturated(index, now),
            };
            chosen.map(|chosen| (queue, chosen))
        })?;
        self.turn = ((queue + 1) % queues) as u16;
        Some(chosen)
    }

    fn saturated(&self, index: usize, now: Time) -> Option<(usize, Time)> {
        let stream = &self.streams[index];
        let created = if stream.is_saturating() { stream.next(now)? } else { return None };
        (created <= now).then_some((index, created))
    }

    #[inline]
    fn draw(&mut self, index: usize, created: Time) -> Message {
        let stream = &mut self.streams[index];
        let message = stream.take(created);
        if created >= self.from && created < self.to && !stream.is_saturating() {
            stream.offered = stream.offered.saturating_add(message.bytes);
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{build_all, hosts, take, workload};

    /// Four open-loop entries with all that is random.
    const MIXED: &str = "
[[traffic]]
pattern = 'uniform'
load = 0.4
message = '500 B'
[[traffic]]
pattern = { hot-spot = { hosts = ['H1'], fraction = 0.3 } }
injection = 'poisson'
load = 0.9
message = { exponential = { mean = '300 B', max = '2 kB' } }
start = '3 us'
[[traffic]]
pattern = { to = 'H2' }
injection = 'constant'
load = 0.1
message = { uniform = { min = '1 B', max = '999 B' } }
messages = 30
[[traffic]]
pattern = 'random-permutation'
injection = 'on-off'
on = '2 us'
off = '5 us'
message = { choice = [{ size = '64 B', weight = 1.0 }, { size = '1 kB', weight = 2.0 }] }
stop = '60 us'
";

    fn mixed() -> Source {
        build_all(&hosts(5), MIXED).sources.swap_remove(0)
    }

    #[test]
    fn the_first_messages_are_these() {
        let text: Vec<String> = take(&mut mixed(), 8)
            .iter()
            .map(|m| {
                format!("{} {} to {} {}", m.stream, m.created, m.destination, fabricsim_units::Bytes(m.bytes))
            })
            .collect();
        assert_eq!(text, GOLDEN);
    }

    const GOLDEN: [&str; 8] = [
        "2 0 ns to 2 926 B",
        "0 500 ns to 3 500 B",
        "0 1 us to 2 500 B",
        "0 2.5 us to 4 500 B",
        "0 3 us to 3 500 B",
        "1 3931.025 ns to 1 7 B",
        "3 4144.598 ns to 2 1000 B",
        "1 4342.23 ns to 4 549 B",
    ];

    #[test]
    fn open_loop_streams_come_in_order_of_creation() {
        let messages = take(&mut mixed(), 1000);
        assert!(messages.is_sorted_by_key(|m| m.created));
        assert!((0..4).all(|stream| messages.iter().any(|m| m.stream == stream)));
        assert_eq!(messages.iter().filter(|m| m.stream == 2).count(), 30);
        assert!(messages.iter().all(|m| m.stream != 1 || m.created >= Time::us(3)));
        assert!(messages.iter().all(|m| m.stream != 3 || m.created < Time::us(60)));
        assert!(messages.last().is_some_and(|m| m.created > Time::us(60)));
    }

    #[test]
    fn at_the_same_time_the_lower_entry_comes_first() {
        let one =
            "[[traffic]]\npattern = { to = 'H1' }\ninjection = 'constant'\nload = 0.5\nmessage = '64 B'\n";
        let mut workload = build_all(&hosts(2), &one.repeat(3));
        let streams: Vec<u16> = take(&mut workload.sources[0], 9).iter().map(|m| m.stream).collect();
        assert_eq!(streams, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    const FLOOD: &str = "[[traffic]]\npattern = { to = 'H1' }\ninjection = 'saturating'\nmessage = '500 B'\n";

    #[test]
    fn queues_are_served_in_turn() {
        let open =
            "[[traffic]]\npattern = { to = 'H1' }\ninjection = 'constant'\nload = 1.0\nmessage = '500 B'\n";
        let mut workload = build_all(&hosts(2), &format!("{FLOOD}start = '1 us'\n{open}{open}{FLOOD}"));
        let source = &mut workload.sources[0];
        let mut at = |now| {
            let message = source.take(now);
            assert!(message.created <= now);
            message.stream
        };
        // At first the queue of 1 and 2, which make a message every 500 ns, and the flood of 3; from 1 us also 0.
        assert_eq!([at(Time::ZERO), at(Time::ZERO), at(Time::ZERO), at(Time::ZERO)], [1, 3, 2, 3]);
        assert_eq!([at(Time::ZERO), at(Time::ns(500)), at(Time::ns(500)), at(Time::ns(500))], [3, 1, 3, 2]);
        let late = [0; 9].map(|_| at(Time::us(2)));
        assert_eq!(late, [0, 3, 1, 0, 3, 2, 0, 3, 1]);
    }

    #[test]
    fn a_flood_is_counted_by_time() {
        let offered = |rest: &str, takes: &[u64], from, to, end| {
            let mut source = build_all(&hosts(2), &format!("{FLOOD}{rest}")).sources.swap_remove(0);
            source.set_window(Time::ns(from), Time::ns(to));
            for now in takes.iter().copied().map(Time::ns) {
                assert_eq!(source.take(now).created, now);
            }
            source.finish(Time::ns(end), |m| panic!("{m:?} was made by a flood"));
            source.offered_bytes()
        };
        // A byte takes 1 ns.
        assert_eq!(offered("", &[], 1000, 3000, 4000), 2000);
        assert_eq!(offered("", &[1000, 1500], 1000, 3000, 2500), 1500);
        assert_eq!(offered("start = '2 us'\nstop = '2500 ns'", &[], 1000, 3000, 4000), 500);
        // Exhausted when the second message of 500 B could have been sent.
        assert_eq!(offered("messages = 2", &[0, 700], 0, 3000, 4000), 1200);
        assert_eq!(offered("messages = 2", &[0], 0, 3000, 4000), 3000);
    }

    #[test]
    fn window_and_end_are_half_open() {
        // Messages of 500 B at 0, 1 us, 2 us, ...
        let entry = "pattern = 'uniform'\ninjection = 'constant'\nload = 0.5\nmessage = '500 B'";
        for (from, to, end, counted, made) in
            [(1, 3, 5, 2, 5), (0, 9, 3, 3, 3), (2, 3, 3, 1, 3), (0, 9, 0, 0, 0)]
        {
            let mut source = workload(&hosts(2), entry).sources.swap_remove(0);
            source.set_window(Time::us(from), Time::us(to));
            let mut messages = 0;
            source.finish(Time::us(end), |_| messages += 1);
            assert_eq!((source.offered_bytes(), messages), (counted * 500, made));
        }
    }

    #[test]
    fn the_uses_of_randomness_are_independent() {
        let uniform = |rest: &str| {
            let entry = format!("pattern = 'uniform'\ninjection = 'poisson'\n{rest}");
            take(&mut workload(&hosts(9), &entry).sources[3], 100)
        };
        let fixed = uniform("load = 0.5\nmessage = '500 B'");
        let drawn = uniform("load = 0.5\nmessage = { uniform = { min = '1 B', max = '999 B' } }");
        let slower = uniform("load = 0.1\nmessage = { uniform = { min = '1 B', max = '999 B' } }");
        assert!(
            fixed.iter().zip(&drawn).all(|(a, b)| a.created == b.created && a.destination == b.destination)
        );
        assert!(drawn.iter().zip(&slower).all(|(a, b)| a.bytes == b.bytes && a.destination == b.destination));
        assert!(drawn.iter().zip(&slower).any(|(a, b)| a.created != b.created));
    }

    #[test]
    fn a_stream_depends_on_seed_entry_and_host_only() {
        let (few, many) =
            (build_all(&hosts(5), MIXED), build_all(&hosts(5), &MIXED[..MIXED.rfind("[[").unwrap()]));
        let first = |workload: &crate::Workload, host: usize| {
            let messages = take(&mut workload.sources[host].clone(), 200);
            messages.into_iter().filter(|m| m.stream == 0).take(30).collect::<Vec<_>>()
        };
        assert_eq!(first(&few, 2), first(&many, 2));
        assert_ne!(first(&few, 2), first(&few, 3));
        let reseeded = build_all(&hosts(5), &format!("seed = 2\n{MIXED}"));
        assert_ne!(first(&few, 2), first(&reseeded, 2));
        assert_eq!(first(&few, 2), first(&build_all(&hosts(5), MIXED), 2));
    }

    #[test]
    fn packets_have_destinations_of_their_own_where_there_is_a_choice() {
        let entry =
            |pattern: &str| format!("pattern = {pattern}\ndraw_per = 'packet'\ninjection = 'saturating'");
        let mut uniform = workload(&hosts(9), &entry("'uniform'")).sources.swap_remove(4);
        assert!(uniform.draws_per_packet(0) && uniform.fixed_destination(0).is_none());
        let mut seen: Vec<u32> = (0..200).map(|_| uniform.destination(0).0).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [0, 1, 2, 3, 5, 6, 7, 8]);
        let mut fixed = workload(&hosts(9), &entry("'tornado'")).sources.swap_remove(4);
        assert!(!fixed.draws_per_packet(0));
        assert_eq!((fixed.fixed_destination(0), fixed.destination(0)), (Some(HostId(8)), HostId(8)));
        assert!(!workload(&hosts(9), "pattern = 'uniform'").sources[4].draws_per_packet(0));
    }

    #[test]
    fn sources_are_small_and_move_between_threads() {
        fn moves<T: Send + Clone>() {}
        moves::<Source>();
        // One stream: the source, its box, and what an allocator adds.
        assert!(size_of::<Source>() + size_of::<Stream>() + 16 <= 200);
    }

    #[test]
    fn a_host_without_streams_has_ended() {
        let workload = workload(&hosts(3), "pattern = { to = 'H2' }");
        assert_eq!(workload.sources[2].next(Time::ZERO), None);
        assert_eq!(workload.sources[2].nominal_load(), 0.0);
        assert_eq!(workload.sources[2].streams().count(), 0);
    }

    proptest! {
        #[test]
        fn when_messages_are_taken_does_not_matter(waits in prop::collection::vec(0..5_000_000_u64, 200)) {
            let mut source = mixed();
            let mut now = Time::ZERO;
            let mut late = Vec::new();
            for wait in waits {
                now = now.max(source.next(now).unwrap()) + Time(wait);
                late.push(source.take(now));
            }
            prop_assert_eq!(late, take(&mut mixed(), 200));
        }

        #[test]
        fn offered_bytes_do_not_depend_on_what_was_taken(
            taken in 0..150_u32, from in 0..50_000_u64, length in 0..50_000_u64, beyond in -20_000..20_000_i64,
        ) {
            let (from, to) = (Time::ns(from), Time::ns(from + length));
            let end = Time::ns((from.0 / 1000 + length).saturating_add_signed(beyond));
            let expected = take(&mut mixed(), 1000).into_iter().filter(|m| m.created < end).collect::<Vec<_>>();
            let bytes = |stream| {
                let counted = expected.iter().filter(|m| m.stream == stream && (from..to).contains(&m.created));
                counted.map(|m| m.bytes).sum::<u64>()
            };
            let mut source = mixed();
            source.set_window(from, to);
            let taken = taken.min(expected.len() as u32);
            let mut made = take(&mut source, taken);
            // The end of the measurement is known later than its start.
            if made.iter().all(|m| m.created <= to) {
                source.set_window(from, Time::MAX);
                source.set_window(from, to);
            }
            source.finish(end, |message| made.push(*message));
            prop_assert_eq!(&made, &expected);
            for (stream, offered) in source.offered() {
                prop_assert_eq!(offered, bytes(stream));
            }
            prop_assert_eq!(source.offered_bytes(), (0..4).map(bytes).sum::<u64>());
        }
    }
}
