//! Headers as text, for logs and the decoder.

use std::fmt;

use super::{Envelope, Header, Memory};

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, source, tag, sequence } = self;
        write!(f, "context {context} source {source} tag {tag} sequence {sequence}")
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address {:#x} key {:#x}", self.address, self.key)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name())?;
        match self {
            Self::Match(envelope) => write!(f, " {envelope}"),
            Self::Rndv { envelope, length, send, .. } => write!(f, " {envelope} length {length} send {send}"),
            Self::Rget { envelope, length, send, memory } => {
                write!(f, " {envelope} length {length} send {send} {memory}")
            }
            Self::Ack { send, receive, send_length } => {
                write!(f, " send {send} receive {receive} send length {send_length}")
            }
            Self::Frag { offset, send, receive } => {
                write!(f, " offset {offset} send {send} receive {receive}")
            }
            Self::Put { send, receive, offset, length, memory } => {
                write!(f, " send {send} receive {receive} offset {offset} length {length} {memory}")
            }
            Self::Fin { request, length } => write!(f, " request {request} length {length}"),
            Self::Credits => Ok(()),
            Self::Ring { memory } => write!(f, " {memory}"),
        }
    }
}
