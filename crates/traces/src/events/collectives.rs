//! Collective operations as rounds of messages. Small cases are those of Open MPI 2.0.0 (`coll_tuned`); of the algorithms
//! for large messages one each: `docs/guide/traces.md` has the list. Reductions take no time of their own.

use super::{Blocks, Collective, CollectiveCall, Group, Player};

/// Bytes from which an allreduce is a ring.
const RING_ALLREDUCE: u64 = 10_000;

/// Total bytes from which an allgather is a ring.
const RING_ALLGATHER: u64 = 50_000;

/// Bytes of a block from which an all-to-all is pairwise.
const PAIRWISE_ALLTOALL: u64 = 3000;

/// Bytes of a block below which an all-to-all of more than 12 ranks is Bruck's.
const BRUCK_ALLTOALL: u64 = 200;

/// A collective operation of one rank.
struct Part<'a> {
    player: &'a mut Player,
    group: &'a Group<'a>,
    /// This rank, and the number of ranks.
    me: u32,
    count: u32,
    tag: u32,
}

/// Adds the messages of rank `me` of the group.
pub(crate) fn expand(player: &mut Player, call: &CollectiveCall, group: &Group, me: u32, tag: u32) {
    let mut part = Part { player, group, me, count: group.len(), tag };
    if part.count < 2 {
        return;
    }
    let bytes = call.send.of(0);
    match call.kind {
        Collective::Barrier => part.barrier(),
        Collective::Bcast => part.bcast(call.root, bytes),
        Collective::Reduce => part.reduce(call.root, bytes),
        Collective::Allreduce => part.allreduce(bytes),
        Collective::Gather => part.gather(call),
        Collective::Scatter => part.scatter(call),
        Collective::Allgather => part.allgather(&call.receive),
        Collective::Alltoall => part.alltoall(call),
        Collective::ReduceScatter => part.reduce_scatter(&call.receive),
        Collective::Scan => part.scan(bytes),
    }
}

impl Part<'_> {
    /// A message to `to`, of `out` bytes, and one from `from` at the same time.
    fn exchange(&mut self, (to, out): (u32, u64), (from, back): (u32, u64)) {
        let (to, from) = (self.group.rank(to), self.group.rank(from));
        self.player.round(self.tag, &[(to, out)], &[(from, back)]);
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.player.round(self.tag, &[(self.group.rank(to), bytes)], &[]);
    }

    fn receive(&mut self, from: u32, bytes: u64) {
        self.player.round(self.tag, &[], &[(self.group.rank(from), bytes)]);
    }

    fn after(&self, distance: u32) -> u32 {
        ((u64::from(self.me) + u64::from(distance)) % u64::from(self.count)) as u32
    }

    fn before(&self, distance: u32) -> u32 {
        self.after(self.count - distance % self.count)
    }

    /// Powers of two below the number of ranks.
    fn distances(&self) -> impl Iterator<Item = u32> + use<> {
        let count = self.count;
        (0..32).map(|bit| 1u32 << bit).take_while(move |distance| *distance < count)
    }

    fn barrier(&mut self) {
        let is_power = self.count.is_power_of_two();
        for distance in self.distances() {
            let (to, from) = if is_power {
                (self.me ^ distance, self.me ^ distance)
            } else {
                (self.after(distance), self.before(distance))
            };
            self.exchange((to, 0), (from, 0));
        }
    }

    /// Parent and children of this rank in the binomial tree of a root, those with the largest subtrees first.
    fn tree(&self, root: u32) -> (Option<u32>, Vec<u32>) {
        let relative = self.before(root);
        let absolute =
            |relative: u32| ((u64::from(relative) + u64::from(root)) % u64::from(self.count)) as u32;
        let lowest =
            if relative == 0 { self.count.next_power_of_two() } else { relative & relative.wrapping_neg() };
        let parent = (relative != 0).then(|| absolute(relative - lowest));
        let below: Vec<u32> = self.distances().take_while(|distance| *distance < lowest).collect();
        let children = below.into_iter().rev().map(|distance| relative + distance);
        (parent, children.filter(|child| *child < self.count).map(absolute).collect())
    }

    fn bcast(&mut self, root: u32, bytes: u64) {
        let (parent, children) = self.tree(root);
        if let Some(parent) = parent {
            self.receive(parent, bytes);
        }
        let sends: Vec<(u32, u64)> = children.iter().map(|child| (self.group.rank(*child), bytes)).collect();
        self.player.round(self.tag, &sends, &[]);
    }

    fn reduce(&mut self, root: u32, bytes: u64) {
        if self.count < 8 && bytes < 512 {
            let call = Blocks::Same(bytes);
            return self.send_to_root(root, &call, bytes);
        }
        let (parent, children) = self.tree(root);
        let receives: Vec<(u32, u64)> =
            children.iter().map(|child| (self.group.rank(*child), bytes)).collect();
        self.player.round(self.tag, &[], &receives);
        if let Some(parent) = parent {
            self.send(parent, bytes);
        }
    }

    fn allreduce(&mut self, bytes: u64) {
        if bytes >= RING_ALLREDUCE {
            let block = bytes.div_ceil(u64::from(self.count));
            for _ in 0..2 * (self.count - 1) {
                self.exchange((self.after(1), block), (self.before(1), block));
            }
            return;
        }
        // Of the first 2 r ranks, r above the power of two, the odd ones take part for two.
        let power = 1 << self.count.ilog2();
        let double = 2 * (self.count - power);
        if self.me < double && self.me.is_multiple_of(2) {
            self.send(self.me + 1, bytes);
            self.receive(self.me + 1, bytes);
            return;
        }
        if self.me < double {
            self.receive(self.me - 1, bytes);
        }
        let number = if self.me < double { self.me / 2 } else { self.me - double / 2 };
        let rank = |number: u32| if number < double / 2 { 2 * number + 1 } else { number + double / 2 };
        for bit in 0..power.ilog2() {
            let peer = rank(number ^ (1 << bit));
            self.exchange((peer, bytes), (peer, bytes));
        }
        if self.me < double {
            self.send(self.me - 1, bytes);
        }
    }

    /// Each rank sends to the root.
    fn send_to_root(&mut self, root: u32, blocks: &Blocks, own: u64) {
        if self.me != root {
            return self.send(root, own);
        }
        let others = (0..self.count).filter(|rank| *rank != root);
        let receives: Vec<(u32, u64)> = others.map(|rank| (self.group.rank(rank), blocks.of(rank))).collect();
        self.player.round(self.tag, &[], &receives);
    }

    fn gather(&mut self, call: &CollectiveCall) {
        self.send_to_root(call.root, &call.receive, call.send.of(call.root));
    }

    fn scatter(&mut self, call: &CollectiveCall) {
        if self.me != call.root {
            return self.receive(call.root, call.receive.of(call.root));
        }
        let others = (0..self.count).filter(|rank| *rank != call.root);
        let sends: Vec<(u32, u64)> = others.map(|rank| (self.group.rank(rank), call.send.of(rank))).collect();
        self.player.round(self.tag, &sends, &[]);
    }

    fn allgather(&mut self, blocks: &Blocks) {
        if let Blocks::Same(block) = blocks
            && block.saturating_mul(u64::from(self.count)) < RING_ALLGATHER
        {
            for distance in self.distances() {
                let bytes = block * u64::from(distance.min(self.count - distance));
                if self.count.is_power_of_two() {
                    self.exchange((self.me ^ distance, bytes), (self.me ^ distance, bytes));
                } else {
                    self.exchange((self.before(distance), bytes), (self.after(distance), bytes));
                }
            }
            return;
        }
        for step in 0..self.count - 1 {
            let (out, back) = (blocks.of(self.before(step)), blocks.of(self.before(step + 1)));
            self.exchange((self.after(1), out), (self.before(1), back));
        }
    }

    fn alltoall(&mut self, call: &CollectiveCall) {
        match call.send {
            Blocks::Same(block) if block < BRUCK_ALLTOALL && self.count > 12 => {
                for distance in self.distances() {
                    let blocks = (1..self.count).filter(|place| place & distance != 0).count() as u64;
                    self.exchange(
                        (self.after(distance), block * blocks),
                        (self.before(distance), block * blocks),
                    );
                }
            }
            Blocks::Same(block) if block < PAIRWISE_ALLTOALL && self.count > 2 => {
                let of = |rank: u32| (self.group.rank(rank), block);
                let sends: Vec<(u32, u64)> =
                    (1..self.count).map(|distance| of(self.after(distance))).collect();
                let receives: Vec<(u32, u64)> =
                    (1..self.count).map(|distance| of(self.before(distance))).collect();
                self.player.round(self.tag, &sends, &receives);
            }
            _ => {
                for distance in 1..self.count {
                    let (to, from) = (self.after(distance), self.before(distance));
                    self.exchange((to, call.send.of(to)), (from, call.receive.of(from)));
                }
            }
        }
    }

    fn reduce_scatter(&mut self, blocks: &Blocks) {
        for distance in 1..self.count {
            let (to, from) = (self.after(distance), self.before(distance));
            self.exchange((to, blocks.of(to)), (from, blocks.of(self.me)));
        }
    }

    fn scan(&mut self, bytes: u64) {
        if self.me > 0 {
            self.receive(self.me - 1, bytes);
        }
        if self.me + 1 < self.count {
            self.send(self.me + 1, bytes);
        }
    }
}
