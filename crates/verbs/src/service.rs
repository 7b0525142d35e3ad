//! The two state machines of a queue pair, by transport service.

use fabricsim_protocols::infiniband::{
    DatagramAddress, Packet, PacketSize, Received, Requester, RequesterOutbox, Responder, ResponderOutbox,
    UcRequester, UcResponder, UdRequester, UdResponder, Work,
};
use fabricsim_wire::headers::Headers;
use fabricsim_wire::ids::{PKey, Qpn, Srqn};

/// Receiver of a message, beyond the connection of its queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// The other end of the connection.
    #[default]
    Connected,
    /// Any queue pair, of a datagram.
    Datagram(DatagramAddress),
    /// A shared receive queue, of an extended reliable connection.
    SharedQueue(Srqn),
}

/// End that sends requests.
#[derive(Clone, Debug)]
pub(crate) enum Sending {
    /// RC, and XRC's end that sends.
    Reliable(Requester),
    /// UC.
    Connection(UcRequester),
    /// UD.
    Datagram(UdRequester),
}

impl Sending {
    /// Adds a request; a refusal says why.
    pub(crate) fn post(
        &mut self,
        work: Work,
        to: Receiver,
        out: &mut impl RequesterOutbox,
    ) -> Result<(), String> {
        match (self, to) {
            (Self::Reliable(requester), Receiver::SharedQueue(srq)) => {
                requester.post_to(work, srq, out).map_err(|error| error.to_string())
            }
            (Self::Reliable(requester), _) => requester.post(work, out).map_err(|error| error.to_string()),
            (Self::Connection(requester), _) => requester.post(work, out).map_err(|error| error.to_string()),
            (Self::Datagram(requester), Receiver::Datagram(to)) => {
                requester.post(work, to, out).map_err(|error| error.to_string())
            }
            (Self::Datagram(_), _) => {
                Err("a datagram needs an address handle, a queue pair and a queue key".to_owned())
            }
        }
    }

    /// The reliable one, which has timers and gets responses.
    pub(crate) fn reliable(&mut self) -> Option<&mut Requester> {
        match self {
            Self::Reliable(requester) => Some(requester),
            _ => None,
        }
    }

    /// Size of the packet that [`Sending::next_packet`] would return.
    pub(crate) fn peek_size(&self) -> Option<PacketSize> {
        match self {
            Self::Reliable(requester) => requester.peek_size(),
            Self::Connection(requester) => requester.peek().map(|packet| packet.size()),
            Self::Datagram(requester) => requester.peek().map(|(packet, _)| packet.size()),
        }
    }

    /// The next packet.
    pub(crate) fn next_packet(&mut self, out: &mut impl RequesterOutbox) -> Option<Packet> {
        match self {
            Self::Reliable(requester) => requester.next_packet(out),
            Self::Connection(requester) => requester.next_packet(out),
            Self::Datagram(requester) => requester.next_packet(out).map(|(packet, _)| packet),
        }
    }

    /// True if the next packet was sent before.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Self::Reliable(requester) if requester.repeats())
    }

    /// True if there are requests of which packets are to be sent, now or later.
    pub(crate) fn has_more(&self) -> bool {
        match self {
            Self::Reliable(requester) => requester.has_more(),
            Self::Connection(_) | Self::Datagram(_) => self.pending() > 0,
        }
    }

    /// True if packets are sent and not acknowledged.
    pub(crate) fn awaits_responses(&self) -> bool {
        matches!(self, Self::Reliable(requester) if requester.awaits_responses())
    }

    /// Sets the partition.
    pub(crate) fn set_p_key(&mut self, p_key: PKey) {
        match self {
            Self::Reliable(requester) => requester.set_p_key(p_key),
            Self::Connection(requester) => requester.set_p_key(p_key),
            Self::Datagram(requester) => requester.set_p_key(p_key),
        }
    }

    /// Requests that have not ended.
    pub(crate) fn pending(&self) -> usize {
        match self {
            Self::Reliable(requester) => requester.pending(),
            Self::Connection(requester) => requester.pending(),
            Self::Datagram(requester) => requester.pending(),
        }
    }

    /// True if a request has failed at the other end.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Reliable(requester) if requester.is_broken())
    }

    /// Ends every request as flushed.
    pub(crate) fn flush(&mut self, out: &mut impl RequesterOutbox) {
        match self {
            Self::Reliable(requester) => requester.flush(out),
            Self::Connection(requester) => requester.flush(out),
            Self::Datagram(requester) => requester.flush(out),
        }
    }
}

/// End that receives requests.
#[derive(Clone, Debug)]
pub(crate) enum Receiving {
    /// RC, and XRC's end that receives.
    Reliable(Responder),
    /// UC.
    Connection(UcResponder),
    /// UD.
    Datagram(UdResponder),
}

impl Receiving {
    /// The reliable one, which answers.
    pub(crate) fn reliable(&self) -> Option<&Responder> {
        match self {
            Self::Reliable(responder) => Some(responder),
            _ => None,
        }
    }

    /// The same, to take its answers.
    pub(crate) fn reliable_mut(&mut self) -> Option<&mut Responder> {
        match self {
            Self::Reliable(responder) => Some(responder),
            _ => None,
        }
    }

    /// A packet has arrived. A datagram's end of a receive request, and its sender, are returned; others are reported.
    pub(crate) fn receive(
        &mut self,
        headers: &Headers,
        length: u32,
        has_grh: bool,
        out: &mut impl ResponderOutbox,
    ) -> Option<(Received, Qpn)> {
        match self {
            Self::Reliable(responder) => responder.receive(headers, length, out),
            Self::Connection(responder) => responder.receive(headers, length, out),
            Self::Datagram(responder) => {
                let ended = responder.receive(headers, length, has_grh, out)?;
                return Some((ended.received, ended.source));
            }
        }
        None
    }

    /// Sets the partition.
    pub(crate) fn set_p_key(&mut self, p_key: PKey) {
        match self {
            Self::Reliable(responder) => responder.set_p_key(p_key),
            Self::Connection(responder) => responder.set_p_key(p_key),
            Self::Datagram(responder) => responder.set_p_key(p_key),
        }
    }

    /// True if it has refused a request for good, or could not use the memory of a receive request.
    pub(crate) fn is_broken(&self) -> bool {
        match self {
            Self::Reliable(responder) => responder.is_broken(),
            Self::Connection(responder) => responder.is_broken(),
            Self::Datagram(responder) => responder.is_broken(),
        }
    }

    /// Brings it into the error state.
    pub(crate) fn flush(&mut self, out: &mut impl ResponderOutbox) {
        match self {
            Self::Reliable(responder) => responder.flush(out),
            Self::Connection(responder) => responder.flush(out),
            Self::Datagram(responder) => {
                responder.flush();
            }
        }
    }
}
