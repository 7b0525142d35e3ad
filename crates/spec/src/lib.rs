//! The types of an experiment file, and nothing that acts on them.
//!
//! An experiment is TOML with units in its values. [`read`] turns text into an [`Experiment`]; every error
//! is a [`SpecError`] that names the file, the line, the key, the problem and the allowed values. [`check`] refuses
//! values that are invalid for every network; the layers that build the network check the rest, such as the existence of
//! a host.

mod adapter;
mod age;
mod allowed;
mod capture;
mod cct;
mod ccti;
mod check;
mod congestion;
mod error;
mod experiment;
mod faults;
mod host;
mod job;
mod link;
mod locate;
mod mistakes;
mod mpi;
mod multicast;
mod name;
mod overrides;
mod partition;
mod queue_pairs;
mod range;
mod read;
mod routing;
mod run;
mod schema;
mod sequence;
mod subnet_manager;
mod sweep;
mod switch;
mod topology;
mod traffic;
mod training;
mod transport;
mod tune;
mod windows;
mod wording;

pub use adapter::{Adapter, AdapterProfile, AdapterValues, Pcie, TranslationCache};
pub use age::{Age, AgePhase, Bias, RrSelect};
pub use capture::Capture;
pub use cct::{Cct, ExponentialCct, LinearCct, MOST_ENTRIES, QuadraticCct};
pub use ccti::{CctEntry, CctiTimer, LARGEST_MULTIPLIER};
pub use check::{check, check_ranges, warnings};
pub use congestion::{
    CongestionAlgorithm, CongestionControl, ControlPer, Dcqcn, DelayRelativeTo, InfiniBandCongestion,
    MarkingRateCounts, Notification, NotifyBy, PortCongestion, ThresholdOn, TimerStart, VictimMask,
};
pub use error::SpecError;
pub use experiment::Experiment;
pub use faults::{Fault, Faults, Losing, Switches, WaitingPackets};
pub use host::{Host, LocalLink, Sink};
pub use job::{
    AllGather, AllGatherAlgorithm, AllReduce, AllReduceAlgorithm, AllToAll, AllToAllAlgorithm, AllToAllV,
    Barrier, Broadcast, Fft, Job, NeighbourExchange, Placement, Program, Shift,
};
pub use link::{LinkErrors, LinkOverride, LinkParameters, LinkRetry, Links};
pub use mistakes::mistakes;
pub use mpi::{Credits, Mpi, Noise, ReceiveQueue, Rendezvous};
pub use multicast::MulticastGroup;
pub use name::name;
pub use partition::Partition;
pub use queue_pairs::{MessageVerb, OutOfOrder, PATH_MTUS, QUEUE_PAIR_HEADERS, QueuePairs, largest_path_mtu};
pub use range::{OutOfRange, numbers_at, out_of_range, range_in_words};
pub use read::read;
pub use routing::{Algorithm, LanePolicy, Load, PathChoice, Routing, RoutingEngine, Selection, Ties, Via};
pub use run::{Drain, FlowDetail, Measure, Run, SteadyMetric, SteadyState};
pub use schema::{json_schema, schema_of};
pub use sequence::{MicroBatches, Operation, Phase, PhaseSequence, RankGroup};
pub use subnet_manager::{SubnetManager, SubnetStart};
pub use sweep::{Drawn, RandomPoints, Range, Sampling, Scale, Sweep};
pub use switch::{
    Allocation, Arbiter, CreditReturn, FlowControlBy, PartitionEnforcement, Pause, Queueing, RateMismatch,
    SendWhen, Staging, Switch, Switching, VlArbitration, VlWeight,
};
pub use topology::{
    Arrangement, Dragonfly, Grid, InlineFormat, Jellyfish, Megafly, Naming, SlimFly, Topology, Xpander,
};
pub use traffic::{
    DrawPer, HotSpot, Injection, LARGEST_LOAD, LARGEST_MESSAGE, MessageSize, Pattern, Response, SelfFlows,
    SizeDistribution, Traffic, WeightedSize,
};
pub use training::{Experts, Training, expanded_jobs};
pub use transport::{
    Close, OnNoConnection, OrderingMode, Recovery, Resend, StartOffset, TimedOut, Transport, TransportTarget,
};
pub use tune::{
    Aggregate, Goal, Grouping, RangeEnd, RangeScale, Sampler, Tune, TuneConstraint, TuneObjective,
    TuneParameter, TuneReport, TuneScenario,
};
pub use windows::{Hpcc, Nscc, Swift};
