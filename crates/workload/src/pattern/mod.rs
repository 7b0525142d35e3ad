//! Destinations of messages: one file per family, and the registry [`plan`].
//!
//! Definitions of the permutations: W. J. Dally and B. Towles, "Principles and Practices of Interconnection Networks",
//! 2004, section 3.2, table 3.1. A source whose destination would be itself (the diagonal of `transpose`, the receiver
//! of `to`) sends nothing, or, with `self_flows = "send"`, to itself as in BookSim: that costs no link between switches but
//! counts as delivered load.

mod bits;
mod grid;
mod group;
mod hot_spot;
mod multicast;
mod permutation;
mod set;
mod to;
mod uniform;

use fabricsim_model::Random;
use fabricsim_spec::{Pattern, SelfFlows, Traffic, name};
use fabricsim_units::HostId;

use crate::error::ErrorLocation;
use crate::multicast::MulticastGroup;
use crate::select::Selector;
use crate::{Hosts, Problem, WorkloadError};
use hot_spot::HotSpots;
use set::HostSet;

/// Input of a pattern.
pub(crate) struct PatternInput<'a> {
    pub(crate) place: ErrorLocation<'a>,
    pub(crate) seed: u64,
    pub(crate) hosts: &'a Hosts,
    pub(crate) selector: &'a Selector<'a>,
    pub(crate) groups: &'a [MulticastGroup],
    pub(crate) traffic: &'a Traffic,
    /// In the order of the entry's list.
    pub(crate) sources: &'a [HostId],
}

impl PatternInput<'_> {
    /// True if a source whose destination is itself sends to itself.
    fn with_self(&self) -> bool {
        self.traffic.self_flows == SelfFlows::Send
    }
}

/// Meaning of a pattern for the sources of an entry.
pub(crate) struct Plan {
    pub(crate) draw: Draw,
    /// For each source its state for [`Draw`]; `None` if it has no destination.
    pub(crate) marks: Vec<Option<DrawState>>,
}

/// State of a source for its draws: its destination if that is fixed, else its rank in the sets drawn from.
pub(crate) type DrawState = [u32; 2];

/// Choice of a destination.
#[derive(Debug)]
pub(crate) enum Draw {
    /// The fixed destination.
    Fixed,
    /// One of a set with equal probability, but not the member of that rank.
    Uniform(HostSet),
    /// One of a range of hosts: the first number of the state is the first host, the second the number of hosts.
    Range,
    /// Hot or not, then one of a set.
    HotSpot(HotSpots),
}

impl Draw {
    #[inline]
    pub(crate) fn destination(&self, mark: DrawState, random: &mut Random) -> HostId {
        match self {
            Self::Fixed => HostId(mark[0]),
            Self::Uniform(set) => set.draw(mark[0], random),
            Self::Range => HostId(mark[0] + random.below(u64::from(mark[1])) as u32),
            Self::HotSpot(spots) => spots.draw(mark, random),
        }
    }

    pub(crate) const fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed)
    }
}

/// The registry of patterns.
pub(crate) fn plan(context: &PatternInput) -> Result<Plan, WorkloadError> {
    let plan = match &context.traffic.pattern {
        Pattern::Uniform => uniform::plan(context, context.with_self()),
        Pattern::UniformWithSelf => uniform::plan(context, true),
        Pattern::HotSpot(hot) => hot_spot::plan(context, hot),
        Pattern::Transpose => grid::transpose(context),
        Pattern::Tornado => grid::tornado(context),
        Pattern::Neighbour => grid::neighbour(context),
        Pattern::BitComplement => bits::complement(context),
        Pattern::BitReverse => bits::reverse(context),
        Pattern::BitShuffle => bits::shuffle(context),
        Pattern::RandomPermutation => permutation::random(context),
        Pattern::Permutation(list) => permutation::list(context, list),
        Pattern::To(host) => to::plan(context, host),
        Pattern::Multicast(name) => multicast::plan(context, name),
        Pattern::GroupOffset(offset) => group::offset(context, *offset),
    }?;
    if matches!(plan.draw, Draw::Fixed | Draw::Range) && context.traffic.destinations != ["*"] {
        let why = "only `uniform`, `uniform-with-self` and `hot-spot` draw from `destinations`; leave it out";
        let problem = Problem::NoMeaning { with: name(&context.traffic.pattern), why };
        return Err(context.place.error("destinations", problem));
    }
    if context.with_self()
        && matches!(
            context.traffic.pattern,
            Pattern::RandomPermutation | Pattern::GroupOffset(_) | Pattern::Multicast(_)
        )
    {
        let why = "no host is its own destination; leave it out";
        let problem = Problem::NoMeaning { with: name(&context.traffic.pattern), why };
        return Err(context.place.error("self_flows", problem));
    }
    if plan.marks.iter().all(Option::is_none) {
        return Err(context.place.error("pattern", Problem::AllSilent(context.sources.len())));
    }
    Ok(plan)
}

/// A plan in which every source has one fixed destination.
fn fixed(
    context: &PatternInput,
    destination: impl FnMut(HostId) -> Result<HostId, WorkloadError>,
) -> Result<Plan, WorkloadError> {
    let destinations = context.sources.iter().copied().map(destination).collect::<Result<Vec<_>, _>>()?;
    let with_self = context.with_self();
    let mark = |(&source, destination): (&HostId, HostId)| {
        (with_self || source != destination).then_some([destination.0, 0])
    };
    Ok(Plan { draw: Draw::Fixed, marks: context.sources.iter().zip(destinations).map(mark).collect() })
}
