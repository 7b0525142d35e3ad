//! Calls of ranks as numbers, for readers outside of this crate.

use std::collections::BTreeMap;

use crate::events::{Blocks, Collective, CollectiveCall, Event, Message, Trace};
use crate::{ANY, Schedule, TraceError};

/// Numbers of a record: kind, peer or root, tag, bytes or ns, communicator, request.
///
/// Kinds are 0 computation (ns), 1 send, 2 receive (peer and tag may be -1, for any), 3 wait for a request, and from 4 on those of
/// [`COLLECTIVES`]. A request of -1 is none: the call blocks. Collectives are in the order in which they begin. The bytes of a collective are the rank's own block: what it contributes, or, of a
/// broadcast or scatter, what it gets; 0 at the root of these.
pub const FIELDS: usize = 6;

/// Collective operations in the order of their kinds.
pub const COLLECTIVES: [Collective; 10] = [
    Collective::Barrier,
    Collective::Bcast,
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Gather,
    Collective::Scatter,
    Collective::Allgather,
    Collective::Alltoall,
    Collective::ReduceScatter,
    Collective::Scan,
];

const FIRST_COLLECTIVE: i64 = 4;

/// Blocks of the ranks of a communicator in one of its collectives, by communicator and number of the call.
type Sizes = BTreeMap<(u32, u32), Vec<u64>>;

/// The schedule of ranks that made these calls. `groups` are the ranks of the communicators from 1 on; 0 has all.
///
/// # Errors
///
/// A record with a number that is out of range, and calls that do not fit each other: `file` is the trace's name for messages.
pub fn read(file: &str, ranks: &[Vec<i64>], groups: BTreeMap<u32, Vec<u32>>) -> Result<Schedule, TraceError> {
    let count = ranks.len();
    if let Some((number, &rank)) = groups
        .iter()
        .find_map(|(number, group)| Some((number, group.iter().find(|&&rank| rank as usize >= count)?)))
    {
        return Err(TraceError::whole(file, format!("communicator {number} has rank {rank} of {count}")));
    }
    let sizes = sizes(ranks, &groups).map_err(|problem| TraceError::whole(file, problem))?;
    let mut trace = Trace { ranks: Vec::with_capacity(ranks.len()), groups };
    for (rank, records) in ranks.iter().enumerate() {
        let mut calls = BTreeMap::new();
        let mut events = Vec::with_capacity(records.len() / FIELDS);
        for (number, record) in records.chunks(FIELDS).enumerate() {
            let event = event(record, &sizes, &mut calls);
            let event = event.map_err(|problem| {
                TraceError::whole(file, format!("rank {rank}, record {number}: {problem}"))
            })?;
            match (events.last_mut(), event) {
                (Some(Event::Wait(all)), Event::Wait(more)) => all.extend(more),
                (_, event) => events.push(event),
            }
        }
        trace.ranks.push(events);
    }
    trace.expand(file)
}

/// Numbers of a record.
struct Fields {
    kind: i64,
    peer: i64,
    tag: i64,
    amount: i64,
    communicator: i64,
    request: i64,
}

impl Fields {
    fn of(record: &[i64]) -> Result<Self, String> {
        match *record {
            [kind, peer, tag, amount, communicator, request] => {
                Ok(Self { kind, peer, tag, amount, communicator, request })
            }
            _ => Err(format!("{} numbers in place of {FIELDS}", record.len())),
        }
    }

    fn amount(&self) -> Result<u64, String> {
        u64::try_from(self.amount).map_err(|_| format!("{} bytes or ns: must be 0 or more", self.amount))
    }

    fn communicator(&self) -> Result<u32, String> {
        let problem = |_| format!("communicator {}: must be 0 or more", self.communicator);
        u32::try_from(self.communicator).map_err(problem)
    }

    fn collective(&self) -> Option<Collective> {
        let place = usize::try_from(self.kind - FIRST_COLLECTIVE).ok()?;
        COLLECTIVES.get(place).copied()
    }

    /// A rank or tag; that of a receive may be any.
    fn or_any(value: i64, what: &str, may_be_any: bool) -> Result<u32, String> {
        if may_be_any && value == -1 {
            return Ok(ANY);
        }
        let number = u32::try_from(value).ok().filter(|&number| number < ANY);
        number.ok_or_else(|| format!("{what} {value}: must be 0 to {}", ANY - 1))
    }
}

fn event(record: &[i64], sizes: &Sizes, calls: &mut BTreeMap<u32, u32>) -> Result<Event, String> {
    let fields = Fields::of(record)?;
    let request = u64::try_from(fields.request).ok();
    match fields.kind {
        0 => Ok(Event::Compute { ns: fields.amount()? }),
        1 | 2 => {
            let is_receive = fields.kind == 2;
            let message = Message {
                peer: Fields::or_any(fields.peer, "peer", is_receive)?,
                tag: Fields::or_any(fields.tag, "tag", is_receive)?,
                bytes: fields.amount()?,
                communicator: fields.communicator()?,
            };
            Ok(if is_receive { Event::Recv { message, request } } else { Event::Send { message, request } })
        }
        3 => {
            let known = request.ok_or_else(|| format!("request {}: must be 0 or more", fields.request))?;
            Ok(Event::Wait(vec![known]))
        }
        _ => {
            let last = FIRST_COLLECTIVE + COLLECTIVES.len() as i64 - 1;
            let kind =
                fields.collective().ok_or_else(|| format!("kind {}: must be 0 to {last}", fields.kind))?;
            let communicator = fields.communicator()?;
            let number = calls.entry(communicator).or_insert(0);
            let blocks = sizes.get(&(communicator, *number)).map_or(&[][..], Vec::as_slice);
            *number += 1;
            let root = Fields::or_any(fields.peer, "root", false)?;
            let (send, receive) = parts(kind, blocks, fields.amount()?);
            let call = CollectiveCall { kind, communicator, root, send, receive };
            Ok(Event::Collective { call, request })
        }
    }
}

/// What a rank sends and receives in a collective, by the blocks of all ranks and its own.
fn parts(kind: Collective, blocks: &[u64], own: u64) -> (Blocks, Blocks) {
    let longest = || Blocks::Same(blocks.iter().copied().max().unwrap_or(0));
    let is_even = blocks.iter().all(|&block| block == own);
    let all = || if is_even { Blocks::Same(own) } else { Blocks::Each(blocks.to_vec()) };
    match kind {
        Collective::Barrier => (Blocks::Same(0), Blocks::Same(0)),
        Collective::Bcast | Collective::Reduce | Collective::Allreduce | Collective::Scan => {
            (longest(), longest())
        }
        Collective::Gather | Collective::Allgather | Collective::ReduceScatter => (Blocks::Same(own), all()),
        // The root sends what the others get.
        Collective::Scatter => (Blocks::Each(blocks.to_vec()), Blocks::Same(own)),
        Collective::Alltoall if is_even => (Blocks::Same(own), Blocks::Same(own)),
        // Not `Same`: all ranks have to take the same algorithm.
        Collective::Alltoall => (Blocks::Each(vec![own; blocks.len()]), Blocks::Each(blocks.to_vec())),
    }
}

/// Blocks of the ranks of each collective, in the order of their communicator.
fn sizes(ranks: &[Vec<i64>], groups: &BTreeMap<u32, Vec<u32>>) -> Result<Sizes, String> {
    let mut sizes = Sizes::new();
    for (rank, records) in ranks.iter().enumerate() {
        let mut calls: BTreeMap<u32, u32> = BTreeMap::new();
        for record in records.chunks(FIELDS) {
            let Ok(fields) = Fields::of(record) else { continue };
            let (Some(_), Ok(communicator), Ok(own)) =
                (fields.collective(), fields.communicator(), fields.amount())
            else {
                continue;
            };
            let members = groups.get(&communicator);
            let count = if communicator == 0 { ranks.len() } else { members.map_or(0, Vec::len) };
            let place = match members {
                _ if communicator == 0 => Some(rank),
                Some(members) => members.iter().position(|&member| member as usize == rank),
                None => None,
            };
            let Some(place) = place.filter(|&place| place < count) else {
                return Err(format!("rank {rank} is no member of communicator {communicator}"));
            };
            let number = calls.entry(communicator).or_insert(0);
            sizes.entry((communicator, *number)).or_insert_with(|| vec![0; count])[place] = own;
            *number += 1;
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Calls of `count` ranks, each with the records that `of` gives.
    fn schedule(count: i64, of: impl Fn(i64) -> Vec<[i64; FIELDS]>) -> Result<Schedule, String> {
        let ranks: Vec<Vec<i64>> = (0..count).map(|rank| of(rank).concat()).collect();
        read("calls", &ranks, BTreeMap::new()).map_err(|error| error.to_string())
    }

    /// Bytes that each rank sends.
    fn sent(schedule: &Schedule) -> Vec<u64> {
        let of = |rank: &crate::RankSchedule| {
            let sends = rank.operations().iter().filter(|operation| operation.kind == crate::Kind::Send);
            sends.map(|operation| operation.size).sum()
        };
        schedule.ranks.iter().map(of).collect()
    }

    /// Ends of the ranks on a LogGP network; everything has to match.
    fn ends(schedule: &Schedule) -> Vec<u64> {
        let network = crate::loggp::Parameters { L: 1000, o: 100, g: 10, G: 0, O: 0, S: 65_535 };
        let outcome = crate::loggp::simulate(schedule, &network).unwrap();
        assert_eq!((outcome.unmatched, outcome.unfinished), (vec![], vec![]));
        outcome.ends_ns
    }

    #[test]
    fn blocks_of_other_ranks_are_those_that_they_state() {
        let call = |kind: i64, bytes: i64| vec![[kind, 1, 0, bytes, 0, -1]];
        let uneven = |kind: i64| sent(&schedule(4, |rank| call(kind, 100 * (rank + 1))).unwrap());
        assert_eq!(uneven(8), [100, 0, 300, 400], "gather: the root is rank 1");
        assert_eq!(uneven(9), [0, 100 + 300 + 400, 0, 0], "scatter");
        assert_eq!(uneven(11), [300, 600, 900, 1200], "all-to-all: each sends its block to the others");
        assert_eq!(sent(&schedule(2, |_| call(5, 70)).unwrap()), [0, 70], "broadcast from rank 1");
        // Only the others state what they get.
        assert_eq!(sent(&schedule(2, |rank| call(5, if rank == 1 { 0 } else { 70 })).unwrap()), [0, 70]);
    }

    #[test]
    fn requests_that_are_waited_for_together_are_one_wait() {
        let isend = |peer: i64, request: i64| [1, peer, 5, 8, 0, request];
        let irecv = |peer: i64, request: i64| [2, peer, 5, 8, 0, request];
        let wait = |request: i64| [3, 0, 0, 0, 0, request];
        let both =
            |rank: i64| vec![irecv(1 - rank, 7), isend(1 - rank, 8), wait(7), wait(8), [0, 0, 0, 50, 0, -1]];
        let found = schedule(2, both).unwrap();
        assert_eq!(sent(&found), [8, 8]);
        assert_eq!(found.ranks[0].operations().len(), 3);
    }

    /// Two ranks: an allreduce with a request is two messages and a computation of 5 us at the same time, and the wait ends with all of them.
    #[test]
    fn collectives_with_a_request_overlap_with_what_follows() {
        let calls = |request: i64| {
            let wait = if request < 0 { [0; FIELDS] } else { [3, 0, 0, 0, 0, request] };
            let compute = |ns: i64| [0, 0, 0, ns, 0, -1];
            schedule(2, |_| vec![[7, 0, 0, 8, 0, request], compute(5000), wait, compute(70)]).unwrap()
        };
        let text = "num_ranks 2\n\
            rank 0 {\nr: recv 8b from 1 tag 1\ns: send 8b to 1 tag 1\nc: calc 5000\nd: calc 70\n\
            c irequires r\nc irequires s\nd requires c\nd requires r\nd requires s\n}\n\
            rank 1 {\nr: recv 8b from 0 tag 1\ns: send 8b to 0 tag 1\nc: calc 5000\nd: calc 70\n\
            c irequires r\nc irequires s\nd requires c\nd requires r\nd requires s\n}\n";
        let same = crate::goal::read_text(&mut text.as_bytes(), "same").unwrap();
        assert_eq!(ends(&calls(4)), ends(&same));
        // 1000 ns of latency, and o at both ends: the first, or the last, is beside the computation in neither case.
        assert_eq!(ends(&calls(-1)), [1200 + 5000 + 70; 2]);
        assert!(ends(&calls(4))[0] < 1200 + 5000 + 70);
    }

    /// The second round goes on when the first one has ended; the computation waits for neither.
    #[test]
    fn only_the_first_round_of_a_collective_is_waited_for_at_its_start() {
        let calls =
            |_| vec![[7, 0, 0, 8, 0, 4], [0, 0, 0, 5000, 0, -1], [3, 0, 0, 0, 0, 4], [0, 0, 0, 70, 0, -1]];
        let rank = &schedule(4, calls).unwrap().ranks[0];
        let [first, second, compute, last] = [[0, 1], [2, 3], [4, 4], [5, 5]];
        for one in first {
            assert_eq!((rank.after_end(one), rank.after_start(one)), (&second[..], &compute[..1]));
        }
        for one in [second[0], second[1], compute[0]] {
            assert_eq!((rank.after_end(one), rank.after_start(one)), (&last[..1], &[][..]));
        }
    }

    /// Collectives of a communicator are in the order in which they begin, also if they end in another one.
    #[test]
    fn collectives_end_in_any_order() {
        let begin = |kind: i64, request: i64| [kind, 0, 0, 8, 0, request];
        let wait = |request: i64| [3, 0, 0, 0, 0, request];
        let calls = |rank: i64| {
            let order = if rank == 0 { [1, 2] } else { [2, 1] };
            vec![begin(7, 1), begin(4, 2), wait(order[0]), wait(order[1])]
        };
        let one_by_one = |_| vec![begin(7, 1), wait(1), begin(4, 2), wait(2)];
        let [both, alone] = [schedule(3, calls), schedule(3, one_by_one)].map(|found| ends(&found.unwrap()));
        assert!(both.iter().max() < alone.iter().max(), "{both:?} {alone:?}");
        let alone = schedule(1, |_| vec![begin(7, 1), [0, 0, 0, 90, 0, -1], wait(1)]).unwrap();
        assert_eq!(ends(&alone), [90]);
    }

    #[test]
    fn wrong_numbers_are_named() {
        for (record, text) in [
            ([14, 0, 0, 0, 0, -1], "rank 0, record 0: kind 14: must be 0 to 13"),
            ([1, -1, 0, 0, 0, -1], "peer -1: must be 0 to"),
            ([1, 0, 0, -5, 0, -1], "-5 bytes or ns: must be 0 or more"),
            ([3, 0, 0, 0, 0, -1], "request -1: must be 0 or more"),
            ([1, 9, 0, 0, 0, -1], "peer 9 of a message: must be 0 to 1"),
            ([4, 0, 0, 0, 3, -1], "rank 0 is no member of communicator 3"),
            ([5, 9, 0, 0, 0, -1], "root 9 of a collective: must be 0 to 1"),
        ] {
            let error = schedule(2, |_| vec![record]).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
        let error = read("calls", &[vec![1, 2]], BTreeMap::new()).unwrap_err().to_string();
        assert_eq!(error, "calls: rank 0, record 0: 2 numbers in place of 6");
    }

    proptest! {
        #[test]
        fn no_numbers_are_a_panic(
            ranks in prop::collection::vec(prop::collection::vec(-2_i64..16, 0..40), 0..4),
            group in prop::collection::vec(0_u32..5, 0..4),
        ) {
            let _ = read("calls", &ranks, BTreeMap::from([(1, group)]));
        }
    }
}
