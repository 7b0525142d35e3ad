//! What a manager reports, and what it needs.

use std::fmt;

use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{CommId, Lid, ServiceId};
use fabricsim_wire::mad::cm::{Apr, CmMad, Lap, RejReason, Rep, Req, SidrRep, SidrReq};

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "events are few, and carry the private data of their message")]
pub enum CmEvent {
    /// A REQ for a service that is listened on: [`Manager::accept`] or [`Manager::reject`] answers.
    Requested(CommId, Lid, Req),
    /// A REP: [`Manager::confirm`] or [`Manager::reject`] answers.
    Replied(CommId, Rep),
    /// Both ends are ready.
    Established(CommId),
    /// A REJ, with its reason and private data.
    Rejected(CommId, RejReason, Octets<148>),
    /// No answer to any copy of a REQ, REP or SIDR_REQ.
    Unreachable(CommId),
    /// The connection is released, or its peer does not know it.
    Disconnected(CommId),
    /// The connection is not remembered any more: its queue pair may be used again.
    TimeWaitExit(CommId),
    /// A LAP: [`Manager::answer_path`] answers.
    PathRequested(CommId, Lap),
    /// An APR: its status is 0 if the peer has loaded the alternate path.
    PathAnswered(CommId, Apr),
    /// No answer to any copy of a LAP.
    PathUnanswered(CommId),
    /// A SIDR_REQ for a service that is listened on: [`Manager::answer`] answers.
    Resolving(CommId, Lid, SidrReq),
    /// A SIDR_REP, whatever its status. Its number is not known any more.
    Resolved(CommId, SidrRep),
}

impl CmEvent {
    /// Number of its connection.
    pub const fn id(&self) -> CommId {
        match *self {
            Self::Requested(id, ..)
            | Self::Replied(id, _)
            | Self::Established(id)
            | Self::Rejected(id, ..)
            | Self::Unreachable(id)
            | Self::Disconnected(id)
            | Self::TimeWaitExit(id)
            | Self::PathRequested(id, _)
            | Self::PathAnswered(id, _)
            | Self::PathUnanswered(id)
            | Self::Resolving(id, ..)
            | Self::Resolved(id, _) => id,
        }
    }
}

/// What a manager needs of its adapter.
pub trait CmOutbox {
    /// A datagram is to be sent to the general services of a port.
    fn send(&mut self, to: Lid, mad: CmMad);
    /// A connection's timer is to be set to 4.096 us x 2^n, or is not needed.
    fn timer(&mut self, id: CommId, code: Option<u8>);
    /// Something has happened.
    fn event(&mut self, event: CmEvent);
}

/// A call that does not fit the state of its connection (`EINVAL`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CmError {
    /// There is no such connection.
    #[error("there is no connection {0}")]
    Unknown(u32),
    /// The connection is in another state.
    #[error("connection {0} is in the state {1}: must be {2}")]
    State(u32, CmState, &'static str),
    /// The peer has requested the connection.
    #[error(
        "connection {0} was requested by the peer: only the end that requests a connection loads alternate paths"
    )]
    Passive(u32),
    /// There is a LAP without answer, or none to answer.
    #[error("connection {0}: {1}")]
    Path(u32, &'static str),
    /// The service is listened on already.
    #[error("service {0} is listened on already")]
    Busy(ServiceId),
}

/// State of a connection (section 12.9.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmState {
    /// A REQ was sent.
    ReqSent,
    /// A REQ has arrived.
    ReqReceived,
    /// A REP was sent.
    RepSent,
    /// A REP has arrived.
    RepReceived,
    /// Both ends are ready.
    Established,
    /// A DREQ was sent.
    DreqSent,
    /// It has ended; late messages may arrive.
    TimeWait,
}

impl fmt::Display for CmState {
    /// As section 12.9.7 names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReqSent => "REQ Sent",
            Self::ReqReceived => "REQ Rcvd",
            Self::RepSent => "REP Sent",
            Self::RepReceived => "REP Rcvd",
            Self::Established => "Established",
            Self::DreqSent => "DREQ Sent",
            Self::TimeWait => "Timewait",
        })
    }
}
