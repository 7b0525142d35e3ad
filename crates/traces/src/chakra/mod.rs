//! Reader of Chakra execution traces: a file `NAME.N.et` for each rank `N`, a graph of computations, messages and
//! collectives. Nodes that depend on none of each other happen at the same time.

mod message;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::events::{self, Blocks, Collective, CollectiveCall, Group, Player};
use crate::{MOST, RankSchedule, Schedule, TraceError};

use message::{Messages, Metadata, Node, Value};

/// Operations by the number of their type in the trace.
const COLLECTIVES: [Collective; 10] = [
    Collective::Allreduce,
    Collective::Reduce,
    Collective::Allgather,
    Collective::Gather,
    Collective::Scatter,
    Collective::Bcast,
    Collective::Alltoall,
    Collective::ReduceScatter,
    Collective::ReduceScatter,
    Collective::Barrier,
];

/// Reads a trace: `path` is a file of it, or the common beginning of their names.
pub fn read(path: &Path) -> Result<Schedule, TraceError> {
    let name = path.display().to_string();
    let beginning = name.strip_suffix(".et").and_then(|name| name.rsplit_once('.'));
    let beginning = beginning
        .filter(|(_, number)| number.parse::<u32>().is_ok())
        .map_or(name.as_str(), |(first, _)| first);
    let files: Vec<PathBuf> = (0..u32::MAX)
        .map(|rank| PathBuf::from(format!("{beginning}.{rank}.et")))
        .take_while(|file| file.is_file())
        .collect();
    if files.is_empty() {
        return Err(TraceError::whole(
            &format!("{beginning}.0.et"),
            "there is no such file: a Chakra trace is NAME.0.et, NAME.1.et ...",
        ));
    }
    let ranks = files.len() as u32;
    let mut schedule = Schedule::default();
    for (rank, path) in files.iter().enumerate() {
        let file = path.display().to_string();
        let input = File::open(path).map_err(|error| TraceError::system(&file, &error))?;
        schedule.ranks.push(read_rank(&mut BufReader::new(input), &file, rank as u32, ranks)?);
    }
    Ok(schedule)
}

/// Reads the file of one rank of `ranks`.
pub fn read_rank(
    input: &mut impl BufRead,
    file: &str,
    rank: u32,
    ranks: u32,
) -> Result<RankSchedule, TraceError> {
    let mut messages = Messages { input, file, at: 0 };
    let metadata: Option<Metadata> = messages.next("the metadata")?;
    if metadata.is_none() {
        return Err(TraceError::whole(file, "an empty file: not a Chakra execution trace"));
    }
    let mut graph = Graph { rank, ranks, player: Player::default(), nodes: BTreeMap::new(), collectives: 0 };
    let mut dependencies: Vec<(u64, u64, Vec<u64>)> = Vec::new();
    loop {
        let place = messages.at;
        let Some(mut node) = messages.next::<Node>("a node")? else { break };
        let at = |problem: String| {
            TraceError::byte(file, place, format!("node {} ({:?}): {problem}", node.id, node.name))
        };
        graph.add(&node).map_err(at)?;
        node.ctrl_deps.append(&mut node.data_deps);
        dependencies.push((place, node.id, node.ctrl_deps));
    }
    for (place, id, on) in dependencies {
        for on in on {
            graph
                .depend(id, on)
                .map_err(|problem| TraceError::byte(file, place, format!("node {id}: {problem}")))?;
        }
    }
    Ok(graph.player.finish())
}

/// The graph of a rank.
struct Graph {
    rank: u32,
    ranks: u32,
    player: Player,
    /// First operation and last operations of each node.
    nodes: BTreeMap<u64, (u32, Vec<u32>)>,
    collectives: u32,
}

impl Graph {
    fn add(&mut self, node: &Node) -> Result<(), String> {
        let duration = node.duration_micros.saturating_mul(1000).min(MOST);
        // Durations of communication are results of the run that was traced.
        let first = self.player.begin(if matches!(node.kind, 5..=7) { 0 } else { duration });
        match node.kind {
            1..=4 | 8..=10 => {}
            5 => {
                let (to, bytes) = (self.peer(node, "comm_dst")?, bytes(node)?);
                self.player.send(to, tag(node)?, bytes, None);
            }
            6 => {
                let (from, bytes) = (self.peer(node, "comm_src")?, bytes(node)?);
                self.player.receive(from, tag(node)?, bytes, None);
            }
            7 => self.collective(node)?,
            other => return Err(format!("type {other}: must be 1 to 10")),
        }
        let ends = self.player.ends().collect();
        if self.nodes.insert(node.id, (first, ends)).is_some() {
            return Err("the rank has a node of this id already".to_owned());
        }
        Ok(())
    }

    fn peer(&self, node: &Node, name: &str) -> Result<u32, String> {
        let rank = required(node, name)?;
        let found = u32::try_from(rank).ok().filter(|rank| *rank < self.ranks);
        found.ok_or_else(|| format!("{name} = {rank}: must be 0 to {}", self.ranks - 1))
    }

    fn collective(&mut self, node: &Node) -> Result<(), String> {
        let number = required(node, "comm_type")?;
        let kind = usize::try_from(number).ok().and_then(|number| COLLECTIVES.get(number));
        let kind =
            *kind.ok_or_else(|| format!("comm_type = {number}: must be 0 to {}", COLLECTIVES.len() - 1))?;
        if let Some(Value::Bools(dimensions)) = attribute(node, "involved_dim")
            && !dimensions.values.iter().all(|is_involved| *is_involved)
        {
            return Err("involved_dim: collectives of a part of the ranks are not supported".to_owned());
        }
        if let Some(Value::Text(group)) = attribute(node, "pg_name")
            && !matches!(group.as_str(), "" | "0" | "default" | "default_pg")
        {
            return Err(format!("pg_name = {group:?}: collectives of a part of the ranks are not supported"));
        }
        let bytes = if kind == Collective::Barrier { 0 } else { bytes(node)? };
        let root = attribute(node, "root").and_then(Value::whole).unwrap_or(0);
        let root = u32::try_from(root).ok().filter(|root| *root < self.ranks);
        let root = root.ok_or_else(|| format!("root: must be 0 to {}", self.ranks - 1))?;
        // comm_size counts what a rank contributes; of an all-to-all and a reduce-scatter each rank gets its part.
        let is_split = matches!(kind, Collective::Alltoall | Collective::ReduceScatter);
        let block = Blocks::Same(if is_split { bytes.div_ceil(u64::from(self.ranks)) } else { bytes });
        let call = CollectiveCall { kind, communicator: 0, root, send: block.clone(), receive: block };
        let tag = events::collective_tag(0, self.collectives);
        self.collectives += 1;
        events::expand(&mut self.player, &call, &Group::world(self.ranks), self.rank, tag);
        Ok(())
    }

    fn depend(&mut self, id: u64, on: u64) -> Result<(), String> {
        let Some((first, _)) = self.nodes.get(&id) else { return Ok(()) };
        let Some((_, ends)) = self.nodes.get(&on) else {
            return Err(format!("it depends on node {on}, which is not in the file"));
        };
        for end in ends {
            self.player.requires(*first, *end);
        }
        Ok(())
    }
}

fn attribute<'a>(node: &'a Node, name: &str) -> Option<&'a Value> {
    node.attr.iter().find(|one| one.name == name).and_then(|one| one.value.as_ref())
}

fn required(node: &Node, name: &str) -> Result<u64, String> {
    let value = attribute(node, name).ok_or_else(|| format!("attribute {name} is missing"))?;
    value.whole().ok_or_else(|| format!("attribute {name}: must be a whole number from 0"))
}

fn bytes(node: &Node) -> Result<u64, String> {
    let bytes = required(node, "comm_size")?;
    if bytes > MOST / 4 {
        return Err(format!("comm_size = {bytes}: must be at most {}", MOST / 4));
    }
    Ok(bytes)
}

fn tag(node: &Node) -> Result<u32, String> {
    let tag = attribute(node, "comm_tag").map_or(Ok(0), |_| required(node, "comm_tag"))?;
    let found = u32::try_from(tag).ok().filter(|tag| *tag < 1 << 31);
    found.ok_or_else(|| format!("comm_tag = {tag}: must be below 2^31"))
}
