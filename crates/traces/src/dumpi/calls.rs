//! Calls of a rank as events.

use std::collections::BTreeMap;

use super::communicators::{Item, Maker, NULL_COMMUNICATOR, SELF};
use super::stream::Call;
use super::types::Types;
use crate::ANY;
use crate::events::{Blocks, Collective, CollectiveCall, Event, Message};

/// First number of the requests that the reader itself makes.
const OWN_REQUESTS: u64 = 1 << 40;

/// Collects the events of a rank.
pub(super) struct Calls {
    pub(super) items: Vec<Item>,
    rank: u32,
    types: Types,
    /// Time of the last return.
    last: Option<u64>,
    persistent: BTreeMap<i64, (bool, Message)>,
    own: u64,
}

impl Calls {
    pub(super) fn new(rank: u32, sizes: Vec<i32>) -> Self {
        let (items, persistent) = (Vec::new(), BTreeMap::new());
        Self { items, rank, types: Types::new(sizes), last: None, persistent, own: OWN_REQUESTS }
    }

    fn add(&mut self, event: Event) {
        self.items.push(Item::Event(event));
    }

    /// Adds the computation before a call, and the call.
    pub(super) fn take(&mut self, name: &str, call: &Call) -> Result<(), String> {
        if let Some((begin, end)) = call.times {
            let idle = self.last.map_or(0, |last| begin.saturating_sub(last));
            if idle > 0 {
                self.add(Event::Compute { ns: idle });
            }
            self.last = Some(end.max(begin));
        }
        self.types.note(name, call)?;
        match name {
            "Send" | "Bsend" | "Ssend" | "Rsend" => self.message(true, call, None, 0)?,
            "Isend" | "Ibsend" | "Issend" | "Irsend" => self.message(true, call, Some(call.number(5)), 0)?,
            "Recv" => self.receive(call)?,
            "Irecv" => self.message(false, call, Some(call.number(5)), 0)?,
            "Sendrecv" | "Sendrecv_replace" => self.exchange(name, call)?,
            "Send_init" | "Bsend_init" | "Ssend_init" | "Rsend_init" | "Recv_init" => {
                if let Some(message) = self.envelope(call, 0)? {
                    self.persistent.insert(call.number(5), (name != "Recv_init", message));
                }
            }
            "Start" => self.start(call.number(0)),
            "Startall" => call.list(1).iter().for_each(|request| self.start(i64::from(*request))),
            "Wait" | "Waitall" | "Waitany" | "Waitsome" | "Test" | "Testall" | "Testany" | "Testsome" => {
                self.wait(name, call);
            }
            "Comm_dup" => self.make(Maker::Dup, call.number(0), call.number(1)),
            "Cart_create" => self.make(Maker::Dup, call.number(0), call.number(5)),
            "Comm_split" => {
                let maker = Maker::Split { color: call.number(1), key: call.number(2) };
                self.make(maker, call.number(0), call.number(3));
            }
            "Put" | "Get" | "Accumulate" => return Err("one-sided communication is not supported".to_owned()),
            _ => self.collective(name, call)?,
        }
        Ok(())
    }

    fn make(&mut self, maker: Maker, old: i64, new: i64) {
        self.items.push(Item::Make { maker, old: old as u32, new: new as u32 });
    }

    /// The envelope that the arguments from `at` on state; none if it is a message to no rank.
    fn envelope(&self, call: &Call, at: usize) -> Result<Option<Message>, String> {
        let bytes = self.types.bytes(call.number(at), call.number(at + 1))?;
        self.message_of(call.number(at + 2), call.number(at + 3), bytes, call.number(at + 4))
    }

    fn message_of(
        &self,
        peer: i64,
        tag: i64,
        bytes: u64,
        communicator: i64,
    ) -> Result<Option<Message>, String> {
        let number = |value: i64| if value == -1 { ANY } else { value as u32 };
        if peer < -1 || communicator == NULL_COMMUNICATOR {
            return Ok(None);
        }
        if tag < -1 {
            return Err(format!("tag {tag}: must be 0 or more, or -1 for any"));
        }
        let (mut peer, mut communicator) = (number(peer), communicator as u32);
        if communicator == SELF {
            // Number 0 is then the rank itself, in the communicator of all.
            (peer, communicator) = (self.rank, super::communicators::WORLD);
        }
        Ok(Some(Message { peer, tag: number(tag), bytes, communicator }))
    }

    fn message(&mut self, is_send: bool, call: &Call, request: Option<i64>, at: usize) -> Result<(), String> {
        if let Some(message) = self.envelope(call, at)? {
            self.post(is_send, message, request.map(|request| request as u64))?;
        }
        Ok(())
    }

    fn post(&mut self, is_send: bool, message: Message, request: Option<u64>) -> Result<(), String> {
        if is_send && (message.peer == ANY || message.tag == ANY) {
            return Err("a send to any rank or with any tag".to_owned());
        }
        self.add(if is_send { Event::Send { message, request } } else { Event::Recv { message, request } });
        Ok(())
    }

    /// A receive that blocks: what it left open is what its status states.
    fn receive(&mut self, call: &Call) -> Result<(), String> {
        let Some(mut message) = self.envelope(call, 0)? else { return Ok(()) };
        if let Some((source, tag)) = call.status(5) {
            let known = |value: i32| u32::try_from(value).ok();
            if message.peer == ANY {
                message.peer = known(source).unwrap_or(ANY);
            }
            if message.tag == ANY {
                message.tag = known(tag).unwrap_or(ANY);
            }
        }
        self.post(false, message, None)
    }

    fn exchange(&mut self, name: &str, call: &Call) -> Result<(), String> {
        let bytes = self.types.bytes(call.number(0), call.number(1))?;
        let (send, receive) = if name == "Sendrecv" {
            let back = self.types.bytes(call.number(4), call.number(5))?;
            let comm = call.number(8);
            let send = self.message_of(call.number(2), call.number(3), bytes, comm)?;
            (send, self.message_of(call.number(6), call.number(7), back, comm)?)
        } else {
            let comm = call.number(6);
            let send = self.message_of(call.number(2), call.number(3), bytes, comm)?;
            (send, self.message_of(call.number(4), call.number(5), bytes, comm)?)
        };
        let request = self.own;
        self.own += 1;
        if let Some(send) = send {
            self.post(true, send, Some(request))?;
        }
        if let Some(receive) = receive {
            self.post(false, receive, None)?;
        }
        self.add(Event::Wait(vec![request]));
        Ok(())
    }

    fn start(&mut self, request: i64) {
        if let Some((is_send, message)) = self.persistent.get(&request).copied() {
            let request = Some(request as u64);
            self.add(if is_send {
                Event::Send { message, request }
            } else {
                Event::Recv { message, request }
            });
        }
    }

    fn wait(&mut self, name: &str, call: &Call) {
        let all = call.list(1);
        let at = |index: i64| usize::try_from(index).ok().and_then(|index| all.get(index)).copied();
        let some = |list: &[i32]| list.iter().filter_map(|index| at(i64::from(*index))).collect::<Vec<i32>>();
        let done: Vec<i32> = match name {
            "Wait" => vec![call.number(0) as i32],
            "Test" if call.number(1) != 0 => vec![call.number(0) as i32],
            "Waitall" => all.to_vec(),
            "Testall" if call.number(2) != 0 => all.to_vec(),
            "Waitany" => at(call.number(2)).into_iter().collect(),
            "Testany" if call.number(3) != 0 => at(call.number(2)).into_iter().collect(),
            "Waitsome" | "Testsome" => some(call.list(3)),
            _ => Vec::new(),
        };
        if !done.is_empty() {
            self.add(Event::Wait(done.into_iter().map(|request| i64::from(request) as u64).collect()));
        }
    }

    /// Bytes for each rank, from a list of counts.
    fn each(&self, counts: &[i32], kind: i64) -> Result<Blocks, String> {
        let all = counts.iter().map(|count| self.types.bytes(i64::from(*count), kind));
        all.collect::<Result<_, String>>().map(Blocks::Each)
    }

    fn same(&self, count: i64, kind: i64) -> Result<Blocks, String> {
        self.types.bytes(count, kind).map(Blocks::Same)
    }

    /// A collective operation; calls that are none have no effect.
    fn collective(&mut self, name: &str, call: &Call) -> Result<(), String> {
        let number = |at: usize| call.number(at);
        let none = Blocks::Same(0);
        // At the root there are two more arguments, in the middle or at the end.
        let is_root = |root: usize| number(0) == number(root);
        let (kind, root, communicator, send, receive) = match name {
            "Barrier" => (Collective::Barrier, 0, number(0), none.clone(), none),
            "Bcast" => (Collective::Bcast, number(2), number(3), self.same(number(0), number(1))?, none),
            "Reduce" => (Collective::Reduce, number(3), number(4), self.same(number(0), number(1))?, none),
            "Allreduce" => (Collective::Allreduce, 0, number(3), self.same(number(0), number(1))?, none),
            "Scan" | "Exscan" => (Collective::Scan, 0, number(3), self.same(number(0), number(1))?, none),
            "Gather" => {
                let receive = if is_root(3) { self.same(number(5), number(6))? } else { none };
                (Collective::Gather, number(3), number(4), self.same(number(1), number(2))?, receive)
            }
            "Gatherv" => {
                let receive = if is_root(4) { self.each(call.list(6), number(8))? } else { none };
                (Collective::Gather, number(4), number(5), self.same(number(2), number(3))?, receive)
            }
            "Scatter" => {
                let send = if is_root(3) { self.same(number(5), number(6))? } else { none };
                (Collective::Scatter, number(3), number(4), send, self.same(number(1), number(2))?)
            }
            "Scatterv" => {
                let send = if is_root(5) { self.each(call.list(7), number(2))? } else { none };
                (Collective::Scatter, number(5), number(6), send, self.same(number(3), number(4))?)
            }
            "Allgather" => {
                let (send, receive) = (self.same(number(0), number(1))?, self.same(number(2), number(3))?);
                (Collective::Allgather, 0, number(4), send, receive)
            }
            "Allgatherv" => {
                let (send, receive) = (self.same(number(1), number(2))?, self.each(call.list(3), number(5))?);
                (Collective::Allgather, 0, number(6), send, receive)
            }
            "Alltoall" => {
                let (send, receive) = (self.same(number(0), number(1))?, self.same(number(2), number(3))?);
                (Collective::Alltoall, 0, number(4), send, receive)
            }
            "Alltoallv" => {
                let (send, receive) =
                    (self.each(call.list(1), number(3))?, self.each(call.list(4), number(6))?);
                (Collective::Alltoall, 0, number(7), send, receive)
            }
            "Alltoallw" => {
                let each = |counts: &[i32], kinds: &[i32]| {
                    let all = counts.iter().zip(kinds);
                    let all = all.map(|(count, kind)| self.types.bytes(i64::from(*count), i64::from(*kind)));
                    all.collect::<Result<_, String>>().map(Blocks::Each)
                };
                let (send, receive) = (each(call.list(1), call.list(3))?, each(call.list(4), call.list(6))?);
                (Collective::Alltoall, 0, number(7), send, receive)
            }
            "Reduce_scatter" => {
                (Collective::ReduceScatter, 0, number(4), none, self.each(call.list(1), number(2))?)
            }
            _ => return Ok(()),
        };
        if communicator == i64::from(SELF) || communicator == NULL_COMMUNICATOR {
            return Ok(());
        }
        let root = u32::try_from(root).map_err(|_| format!("root {root}: must be 0 or more"))?;
        let communicator = communicator as u32;
        let call = CollectiveCall { kind, communicator, root, send, receive };
        self.add(Event::Collective { call, request: None });
        Ok(())
    }
}
