//! States of a queue pair and the attributes that each step between them takes (IBA volume 1, section 10.3.1; `ibv_modify_qp(3)`).

use std::fmt;

use super::Attributes;

/// State of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueuePairState {
    /// Created; nothing is set.
    #[default]
    Reset,
    /// Takes receive requests.
    Init,
    /// Receives.
    ReadyToReceive,
    /// Receives and sends.
    ReadyToSend,
    /// Sends what it has begun; takes send requests, and begins none.
    SendQueueDrain,
    /// A send request has failed; receives.
    SendQueueError,
    /// Every request ends as flushed.
    Error,
}

/// Transport service of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueuePairKind {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
    /// Extended reliable connection, the end that sends.
    XrcSend,
    /// Extended reliable connection, the end that receives.
    XrcReceive,
}

impl fmt::Display for QueuePairState {
    /// Its name as in `IBV_QPS_RTS`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reset => "RESET",
            Self::Init => "INIT",
            Self::ReadyToReceive => "RTR",
            Self::ReadyToSend => "RTS",
            Self::SendQueueDrain => "SQD",
            Self::SendQueueError => "SQE",
            Self::Error => "ERR",
        })
    }
}

impl fmt::Display for QueuePairKind {
    /// Its name as in `IBV_QPT_RC`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rc => "RC",
            Self::Uc => "UC",
            Self::Ud => "UD",
            Self::XrcSend => "XRC_SEND",
            Self::XrcReceive => "XRC_RECV",
        })
    }
}

/// A change of state that is not allowed. All of them are `EINVAL`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    /// There is no such step.
    #[error("a queue pair of {kind} cannot go from {from} to {to}")]
    NoStep {
        /// Transport service.
        kind: QueuePairKind,
        /// State now.
        from: QueuePairState,
        /// Requested state.
        to: QueuePairState,
    },
    /// Attributes are missing.
    #[error("{from} to {to} needs {missing}")]
    Missing {
        /// State now.
        from: QueuePairState,
        /// Requested state.
        to: QueuePairState,
        /// Those that are not given.
        missing: Attributes,
    },
    /// Attributes are given that the step does not take.
    #[error("{from} to {to} does not take {refused}")]
    Refused {
        /// State now.
        from: QueuePairState,
        /// Requested state.
        to: QueuePairState,
        /// Those that it does not take.
        refused: Attributes,
    },
}

/// Attributes of a step: those that it needs, and those that it takes besides.
type Step = (Attributes, Attributes);

/// Fails unless a queue pair may go from one state to another with the `given` attributes.
pub fn check_transition(
    kind: QueuePairKind,
    (from, to): (QueuePairState, QueuePairState),
    given: Attributes,
) -> Result<(), TransitionError> {
    let (needed, optional) = step(kind, from, to).ok_or(TransitionError::NoStep { kind, from, to })?;
    let missing = needed.without(given);
    if !missing.is_empty() {
        return Err(TransitionError::Missing { from, to, missing });
    }
    let refused = given.without(needed | optional | Attributes::STATE);
    if refused.is_empty() { Ok(()) } else { Err(TransitionError::Refused { from, to, refused }) }
}

fn step(kind: QueuePairKind, from: QueuePairState, to: QueuePairState) -> Option<Step> {
    use QueuePairState::{Error, Init, ReadyToReceive, ReadyToSend, Reset, SendQueueDrain, SendQueueError};
    let none = Attributes::NONE;
    match (from, to) {
        (Reset, Error) => None,
        (_, Reset | Error) => Some((none, none)),
        (Reset, Init) => Some((init(kind), none)),
        (Init, Init) => Some((none, init(kind))),
        (Init, ReadyToReceive) => Some(ready_to_receive(kind)),
        (ReadyToReceive, ReadyToSend) => Some((ready_to_send(kind), while_sending(kind))),
        (ReadyToSend, SendQueueDrain) => Some((none, Attributes::EN_SQD_ASYNC_NOTIFY)),
        (ReadyToSend | SendQueueDrain, ReadyToSend) => Some((none, while_sending(kind))),
        (SendQueueDrain, SendQueueDrain) => Some((none, while_drained(kind))),
        (SendQueueError, ReadyToSend) if matches!(kind, QueuePairKind::Uc | QueuePairKind::Ud) => {
            Some((none, while_sending(kind)))
        }
        _ => None,
    }
}

fn init(kind: QueuePairKind) -> Attributes {
    let last = if kind == QueuePairKind::Ud { Attributes::QKEY } else { Attributes::ACCESS_FLAGS };
    Attributes::PKEY_INDEX | Attributes::PORT | last
}

fn ready_to_receive(kind: QueuePairKind) -> Step {
    let path = Attributes::AV | Attributes::PATH_MTU | Attributes::DEST_QPN | Attributes::RQ_PSN;
    let reads = Attributes::MAX_DEST_RD_ATOMIC | Attributes::MIN_RNR_TIMER;
    let optional = Attributes::ALT_PATH | Attributes::ACCESS_FLAGS | Attributes::PKEY_INDEX;
    match kind {
        QueuePairKind::Ud => (Attributes::NONE, Attributes::PKEY_INDEX | Attributes::QKEY),
        QueuePairKind::Rc | QueuePairKind::XrcReceive => (path | reads, optional),
        QueuePairKind::Uc | QueuePairKind::XrcSend => (path, optional),
    }
}

fn ready_to_send(kind: QueuePairKind) -> Attributes {
    let retries = Attributes::RETRY_CNT | Attributes::RNR_RETRY | Attributes::MAX_QP_RD_ATOMIC;
    match kind {
        QueuePairKind::Rc | QueuePairKind::XrcSend => Attributes::SQ_PSN | Attributes::TIMEOUT | retries,
        QueuePairKind::XrcReceive => Attributes::SQ_PSN | Attributes::TIMEOUT,
        QueuePairKind::Uc | QueuePairKind::Ud => Attributes::SQ_PSN,
    }
}

fn while_sending(kind: QueuePairKind) -> Attributes {
    let connected =
        Attributes::CUR_STATE | Attributes::ACCESS_FLAGS | Attributes::ALT_PATH | Attributes::PATH_MIG_STATE;
    match kind {
        QueuePairKind::Ud => Attributes::CUR_STATE | Attributes::QKEY,
        QueuePairKind::Uc | QueuePairKind::XrcSend => connected,
        QueuePairKind::Rc | QueuePairKind::XrcReceive => connected | Attributes::MIN_RNR_TIMER,
    }
}

fn while_drained(kind: QueuePairKind) -> Attributes {
    let connected = Attributes::AV
        | Attributes::ALT_PATH
        | Attributes::ACCESS_FLAGS
        | Attributes::PKEY_INDEX
        | Attributes::PATH_MIG_STATE;
    let sender = Attributes::PORT | Attributes::TIMEOUT | Attributes::RETRY_CNT | Attributes::RNR_RETRY;
    let reads = Attributes::MAX_QP_RD_ATOMIC;
    let responder = Attributes::MAX_DEST_RD_ATOMIC | Attributes::MIN_RNR_TIMER;
    match kind {
        QueuePairKind::Ud => Attributes::PKEY_INDEX | Attributes::QKEY,
        QueuePairKind::Uc => connected,
        QueuePairKind::Rc => connected | sender | reads | responder,
        QueuePairKind::XrcSend => connected | sender | reads,
        QueuePairKind::XrcReceive => connected | responder | Attributes::PORT | Attributes::TIMEOUT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QueuePairState::{Error, Init, ReadyToReceive, ReadyToSend, Reset, SendQueueDrain, SendQueueError};

    const STATES: [QueuePairState; 7] =
        [Reset, Init, ReadyToReceive, ReadyToSend, SendQueueDrain, SendQueueError, Error];

    #[test]
    fn a_reliable_connection_comes_up_in_three_steps() {
        let init = Attributes::STATE | Attributes::PKEY_INDEX | Attributes::PORT | Attributes::ACCESS_FLAGS;
        assert_eq!(check_transition(QueuePairKind::Rc, (Reset, Init), init), Ok(()));
        let given = Attributes::AV | Attributes::PATH_MTU | Attributes::DEST_QPN | Attributes::RQ_PSN;
        let error = check_transition(QueuePairKind::Rc, (Init, ReadyToReceive), given).unwrap_err();
        assert_eq!(error.to_string(), "INIT to RTR needs MIN_RNR_TIMER, MAX_DEST_RD_ATOMIC");
        assert_eq!(check_transition(QueuePairKind::Uc, (Init, ReadyToReceive), given), Ok(()));
        let error = check_transition(QueuePairKind::Ud, (Init, ReadyToReceive), given).unwrap_err();
        assert_eq!(error.to_string(), "INIT to RTR does not take AV, PATH_MTU, RQ_PSN, DEST_QPN");
        let error = check_transition(QueuePairKind::Rc, (Reset, ReadyToSend), given).unwrap_err();
        assert_eq!(error.to_string(), "a queue pair of RC cannot go from RESET to RTS");
    }

    /// Every step with just what it needs is allowed, and no step with one attribute less, or with one that it does not take.
    #[test]
    fn a_step_takes_what_it_needs_and_nothing_else() {
        let kinds = [
            QueuePairKind::Rc,
            QueuePairKind::Uc,
            QueuePairKind::Ud,
            QueuePairKind::XrcSend,
            QueuePairKind::XrcReceive,
        ];
        let mut steps = 0;
        for (kind, from, to) in kinds.iter().flat_map(|kind| {
            STATES.iter().flat_map(move |from| STATES.iter().map(move |to| (*kind, *from, *to)))
        }) {
            let Some((needed, optional)) = step(kind, from, to) else {
                let all = Attributes(u32::MAX);
                let error = check_transition(kind, (from, to), all).unwrap_err();
                assert_eq!(error, TransitionError::NoStep { kind, from, to });
                continue;
            };
            steps += 1;
            assert_eq!(check_transition(kind, (from, to), needed | optional), Ok(()));
            for (attribute, _) in Attributes::ALL {
                let less = check_transition(kind, (from, to), needed.without(*attribute));
                assert_eq!(less.is_err(), !needed.without(needed.without(*attribute)).is_empty());
                let is_taken = attribute.without(needed | optional | Attributes::STATE).is_empty();
                assert_eq!(check_transition(kind, (from, to), needed | *attribute).is_ok(), is_taken);
            }
        }
        // To Reset from 7 states, to Error from 6, 8 other steps; SendQueueError to ReadyToSend of UC and UD.
        assert_eq!(steps, 5 * (7 + 6 + 8) + 2);
    }

    /// The tables of `ibv_modify_qp(3)`, and for what a step takes besides, of `ib_modify_qp_is_ok` in Linux.
    #[test]
    fn steps_need_and_take_these_attributes() {
        use QueuePairKind::{Rc, Uc, Ud, XrcReceive, XrcSend};
        let all = |attributes: &[Attributes]| attributes.iter().fold(Attributes::NONE, |set, &of| set | of);
        let to = Attributes::AV | Attributes::PATH_MTU | Attributes::DEST_QPN | Attributes::RQ_PSN;
        let served = Attributes::MAX_DEST_RD_ATOMIC | Attributes::MIN_RNR_TIMER;
        let (migration, access) = (Attributes::PATH_MIG_STATE, Attributes::ACCESS_FLAGS);
        let path = Attributes::ALT_PATH | access | Attributes::PKEY_INDEX;
        let psn = Attributes::SQ_PSN;
        let retries = Attributes::RETRY_CNT | Attributes::RNR_RETRY;
        let asked = Attributes::MAX_QP_RD_ATOMIC;
        let sends = Attributes::CUR_STATE | access | Attributes::ALT_PATH | migration;
        let moved = path | Attributes::AV | migration;
        let sender = Attributes::PORT | Attributes::TIMEOUT | retries | asked;
        let none = Attributes::NONE;
        // To Init, to ReadyToReceive, to ReadyToSend: needed. ReadyToReceive: taken besides. ReadyToSend and SendQueueDrain: taken.
        for (kind, init, receive, send, receive_too, while_sending, while_drained) in [
            (
                Rc,
                access,
                to | served,
                all(&[psn, Attributes::TIMEOUT, retries, asked]),
                path,
                sends | Attributes::MIN_RNR_TIMER,
                moved | sender | served,
            ),
            (Uc, access, to, psn, path, sends, moved),
            (
                Ud,
                Attributes::QKEY,
                none,
                psn,
                Attributes::PKEY_INDEX | Attributes::QKEY,
                Attributes::CUR_STATE | Attributes::QKEY,
                Attributes::PKEY_INDEX | Attributes::QKEY,
            ),
            (
                XrcSend,
                access,
                to,
                all(&[psn, Attributes::TIMEOUT, retries, asked]),
                path,
                sends,
                moved | sender,
            ),
            (
                XrcReceive,
                access,
                to | served,
                psn | Attributes::TIMEOUT,
                path,
                sends | Attributes::MIN_RNR_TIMER,
                moved | served | Attributes::PORT | Attributes::TIMEOUT,
            ),
        ] {
            let init = init | Attributes::PKEY_INDEX | Attributes::PORT;
            for (from, to, expected) in [
                (Reset, Init, (init, none)),
                (Init, Init, (none, init)),
                (Init, ReadyToReceive, (receive, receive_too)),
                (ReadyToReceive, ReadyToSend, (send, while_sending)),
                (ReadyToSend, ReadyToSend, (none, while_sending)),
                (ReadyToSend, SendQueueDrain, (none, Attributes::EN_SQD_ASYNC_NOTIFY)),
                (SendQueueDrain, ReadyToSend, (none, while_sending)),
                (SendQueueDrain, SendQueueDrain, (none, while_drained)),
                (ReadyToSend, Error, (none, none)),
            ] {
                assert_eq!(step(kind, from, to), Some(expected), "{kind:?} {from:?} {to:?}");
            }
        }
    }
}
