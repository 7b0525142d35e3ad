use fabricsim_spec::SpecError;
use thiserror::Error;

/// Error in the traffic of an experiment, and its location.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{file}: {key}: {problem}")]
pub struct WorkloadError {
    /// The experiment file, as the user named it.
    pub file: String,
    /// The key: `traffic.0.load`, `groups.victims`.
    pub key: String,
    /// Description of the error.
    pub problem: Problem,
}

impl From<WorkloadError> for SpecError {
    fn from(error: WorkloadError) -> Self {
        Self::at_key(&error.file, &error.key, error.problem.to_string())
    }
}

/// Description of an error, and of the allowed values.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Problem {
    /// A name that is neither a host nor a group.
    #[error("\"{written}\" is neither a host nor a group; {known}")]
    UnknownName {
        /// Text that was written.
        written: String,
        /// The most similar host or group, else the name of the first host, in words.
        known: String,
    },
    /// A pattern without a match.
    #[error("no host matches \"{pattern}\"; hosts have names like \"{example}\"")]
    NoMatch {
        /// Text that was written.
        pattern: String,
        /// The name of the first host.
        example: String,
    },
    /// A list without entries.
    #[error("the list is empty: name at least one host, pattern with `*`, or group")]
    EmptyList,
    /// A group with the name of a host.
    #[error("\"{0}\" is a host as well as a group: give the group another name")]
    Ambiguous(String),
    /// Groups that contain themselves.
    #[error("a group contains itself: {0}")]
    GroupCycle(String),
    /// Groups in groups, too many times.
    #[error("groups are nested more than {0} deep")]
    GroupDepth(usize),
    /// More than one host where one is needed.
    #[error("\"{written}\" stands for {count} hosts: exactly one is needed here")]
    NotOneHost {
        /// Text that was written.
        written: String,
        /// Number of hosts for which it stands.
        count: usize,
    },
    /// A source that is no member of the partition of its packets.
    #[error("{host} is no member of `{partition}`: leave it out of `sources`, or name it in the partition")]
    NoMember {
        /// The source.
        host: String,
        /// The partition.
        partition: String,
    },
    /// A bit pattern on a number of hosts that has no whole number of bits.
    #[error("`{pattern}` needs a number of hosts that is a power of two{}, not {hosts}", exponent(*.even))]
    PowerOfTwo {
        /// The pattern.
        pattern: &'static str,
        /// Number of hosts.
        hosts: usize,
        /// True if the exponent must be even.
        even: bool,
    },
    /// A grid pattern that leads to a position without a host.
    #[error(
        "`{pattern}` leads from {host} to number {slot} at {coordinates:?}, and no such host exists; choose other `sources`"
    )]
    NoHostThere {
        /// The pattern.
        pattern: &'static str,
        /// The source.
        host: String,
        /// Coordinates of the destination's switch.
        coordinates: Vec<u32>,
        /// Number on that switch.
        slot: u32,
    },
    /// A permutation that does not fit the sources.
    #[error("the permutation has {written} hosts, the entry has {sources} sources: both must be the same")]
    PermutationLength {
        /// Hosts in the list.
        written: usize,
        /// Sources of the entry.
        sources: usize,
    },
    /// A permutation that names a host twice.
    #[error("\"{0}\" is a duplicate: a permutation names every receiver once")]
    PermutationTwice(String),
    /// A key that has no meaning together with the rest.
    #[error("this has no meaning with `{with}`: {why}")]
    NoMeaning {
        /// The pattern or injection.
        with: &'static str,
        /// Reason, and what to do.
        why: &'static str,
    },
    /// A key that must be there.
    #[error("`{with}` needs it: {why}")]
    Missing {
        /// The pattern or injection.
        with: &'static str,
        /// Key to write.
        why: &'static str,
    },
    /// Two keys with the same meaning.
    #[error("give `{0}` or `{1}`, not both")]
    Both(&'static str, &'static str),
    /// A value out of its range.
    #[error("{value} is out of range: it must be {allowed}")]
    Range {
        /// The value.
        value: String,
        /// The range.
        allowed: &'static str,
    },
    /// A Bernoulli process with more than one message per slot.
    #[error(
        "{probability:.6} messages per slot of {slot} are more than one: lower the load, or give a shorter `slot`, \
         or use `poisson`"
    )]
    Probability {
        /// Messages per slot.
        probability: f64,
        /// Length of the slot.
        slot: String,
    },
    /// Messages too small for the clock.
    #[error(
        "messages would follow each other within {0:.3} ps: the clock counts picoseconds; make messages larger or \
         fewer"
    )]
    TooFast(f64),
    /// An entry that can send nothing.
    #[error("{} other than itself: the entry would send nothing", without_destination(*.0))]
    AllSilent(usize),
    /// A number of ranks that the hosts cannot take.
    #[error("{ranks} ranks do not fit: there {} on each host, and `hosts` stands for {hosts}", places(*slots))]
    Ranks {
        /// Requested number of ranks.
        ranks: u32,
        /// Number of hosts.
        hosts: usize,
        /// Ranks that a host takes.
        slots: u32,
    },
    /// A rank beyond the last.
    #[error("no rank {rank}: must be 0 to {last}")]
    NoSuchRank {
        /// Rank that was written.
        rank: u32,
        /// The last one.
        last: u32,
    },
    /// A process grid of another number of ranks.
    #[error("{} does not have {ranks} positions, the number of ranks: {}", product(.grid), grids(*.ranks))]
    GridRanks {
        /// Grid that was written.
        grid: Vec<u32>,
        /// Ranks of the job.
        ranks: u32,
    },
    /// An FFT that cannot be divided among the ranks.
    #[error(
        "{elements} is not allowed: each of {ranks} ranks sends each a block of the same size, so give a multiple of \
         {ranks} x {ranks} = {unit}, for example {}", .elements.div_ceil(*.unit).max(1).saturating_mul(*.unit)
    )]
    FftElements {
        /// Number that was written.
        elements: u64,
        /// Ranks of the job.
        ranks: u32,
        /// Their square.
        unit: u64,
    },
    /// Blocks of one rank that are more than all.
    #[error(
        "{imbalance} is not allowed among {ranks} ranks: one rank has at most all blocks, so give from 1 to {ranks}"
    )]
    Imbalance {
        /// Value that was written.
        imbalance: f64,
        /// Ranks of the operation.
        ranks: u32,
    },
    /// Dimensions of another number of ranks.
    #[error("{written} ranks do not divide {whole}: give one of {}", divisors(*.ranks))]
    Dimension {
        /// Ranks in the dimension.
        written: u32,
        /// The ranks that they must divide, in words.
        whole: String,
        /// Their number.
        ranks: u32,
    },
    /// A sequence in which no rank sends anything.
    #[error(
        "no rank sends anything: give a phase an operation among 2 ranks or more, or `pipeline` 2 stages or more"
    )]
    SilentSequence,
    /// A sequence of more phases than fit into memory.
    #[error(
        "a rank computes and takes part in {actions} operations in an iteration, at most {most} are allowed: lower \
         `repeat`, `buckets` or `micro_batches.count`"
    )]
    LongSequence {
        /// Number of both.
        actions: u64,
        /// The largest number.
        most: u64,
    },
    /// An operation of several stages in a pass of a micro-batch.
    #[error(
        "the {0} stages of the pipeline are at different micro-batches and cannot carry out an operation together: \
         give `tensor`, `data`, `expert` or `expert-data`, or move the operation to `phases`"
    )]
    GroupOfStages(u32),
    /// Buckets that an operation cannot be divided into.
    #[error("{buckets} buckets are not possible with {operation}: {why}")]
    Buckets {
        /// Number that was written.
        buckets: u32,
        /// The operation.
        operation: String,
        /// Reason, and what to do.
        why: &'static str,
    },
    /// More steps than step numbers.
    #[error(
        "{iterations} iterations of {steps} steps each are too many: at most {most} steps are allowed{}",
        if *most < u64::from(u32::MAX) { "; with fewer `ranks_per_host` there may be more" } else { "" }
    )]
    TooManySteps {
        /// Iterations.
        iterations: u32,
        /// Steps of each.
        steps: u64,
        /// Most steps.
        most: u64,
    },
    /// A job after one that is not there.
    #[error("\"{name}\" is not the name of a job before this one: {}", jobs(.before))]
    NoSuchJob {
        /// Name that was written.
        name: String,
        /// Names of the jobs before.
        before: Vec<String>,
    },
    /// Two jobs of one name.
    #[error("\"{0}\" is the name of another job: give each job its own name")]
    SameName(String),
    /// An inconsistent description of the hosts.
    #[error("the description of the hosts is inconsistent: {0}")]
    Hosts(&'static str),
}

/// `[4, 4]` as "4 x 4 = 16".
fn product(grid: &[u32]) -> String {
    if grid.is_empty() {
        return "an empty grid".to_owned();
    }
    let factors: Vec<String> = grid.iter().map(u32::to_string).collect();
    let all = grid.iter().fold(1_u128, |product, &k| product.saturating_mul(u128::from(k)));
    if grid.len() == 1 { format!("a grid of {all}") } else { format!("{} = {all}", factors.join(" x ")) }
}

/// A grid of two dimensions, as square as can be, for `ranks` ranks.
fn grids(ranks: u32) -> String {
    let mut first = ranks.isqrt().max(1);
    while !ranks.is_multiple_of(first) {
        first -= 1;
    }
    format!("for example [{}, {first}]", ranks / first)
}

fn jobs(names: &[String]) -> String {
    if names.is_empty() { "there is none".to_owned() } else { format!("give one of {}", names.join(", ")) }
}

/// The divisors of `ranks`, as a list; the first 12.
fn divisors(ranks: u32) -> String {
    let all = (1..=ranks).filter(|k| ranks.is_multiple_of(*k)).take(12);
    all.map(|k| k.to_string()).collect::<Vec<_>>().join(", ")
}

const fn exponent(even: bool) -> &'static str {
    if even { " with an even exponent" } else { "" }
}

/// An entry of the traffic list or of the list of jobs, for errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorLocation<'a> {
    pub(crate) file: &'a str,
    /// `traffic` or `jobs`.
    pub(crate) list: &'static str,
    pub(crate) entry: usize,
}

impl ErrorLocation<'_> {
    /// An error at `<list>.<entry>.<key>`.
    pub(crate) fn error(&self, key: &str, problem: Problem) -> WorkloadError {
        WorkloadError { file: self.file.to_owned(), key: self.key(key), problem }
    }

    pub(crate) fn key(&self, key: &str) -> String {
        format!("{}.{}.{key}", self.list, self.entry)
    }

    pub(crate) fn range(&self, key: &str, value: &dyn ToString, allowed: &'static str) -> WorkloadError {
        self.error(key, Problem::Range { value: value.to_string(), allowed })
    }
}

fn without_destination(sources: usize) -> String {
    match sources {
        1 => "its only source has no destination".to_owned(),
        sources => format!("none of the {sources} sources has a destination"),
    }
}

/// Ranks that a host takes, in words.
fn places(slots: u32) -> String {
    if slots == 1 { "is one".to_owned() } else { format!("are {slots}") }
}
