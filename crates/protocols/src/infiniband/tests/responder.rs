//! A responder, and every call to its adapter.

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{
    Address, Bth, Headers, Ieth, NakCode, Opcode, Operands, Operation, Reth, Service, Syndrome, Xrceth,
};
use fabricsim_wire::ids::{RKey, Srqn};

use super::{FIRST, MTU, at, responder_options};
use crate::infiniband::{
    Access, Atomic, Extra, Ignored, MAX_MESSAGE, OutOfOrder, Placement, Receive, Received, Remote, Responder,
    ResponderOptions, ResponderOutbox, Status, UcOptions, UcResponder,
};

/// A call to an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Place(Placement, u32),
    Invalidate(RKey),
    Hold(Psn, bool),
    Resume(Psn),
    Complete(Received),
}

/// An adapter that records calls. It knows no shared receive queues.
#[derive(Default)]
struct Adapter {
    calls: Vec<Call>,
    receives: Vec<Receive>,
    forbids: bool,
}

impl ResponderOutbox for Adapter {
    fn allows(&mut self, _: Remote, _: u32, _: Access) -> bool {
        !self.forbids
    }
    fn take_receive(&mut self) -> Option<Receive> {
        self.receives.pop()
    }
    fn receives_left(&mut self) -> u32 {
        self.receives.len() as u32
    }
    fn place(&mut self, placement: Placement, length: u32) {
        self.calls.push(Call::Place(placement, length));
    }
    fn atomic(&mut self, _: Remote, _: Atomic) -> u64 {
        0
    }
    fn invalidate(&mut self, r_key: RKey) -> bool {
        self.calls.push(Call::Invalidate(r_key));
        !self.forbids
    }
    fn hold(&mut self, psn: Psn, is_placed: bool) {
        self.calls.push(Call::Hold(psn, is_placed));
    }
    fn resume(&mut self, psn: Psn) {
        self.calls.push(Call::Resume(psn));
    }
    fn complete(&mut self, received: Received) {
        self.calls.push(Call::Complete(received));
    }
}

fn packet(service: Service, operation: Operation, number: u32, operands: Operands) -> Headers {
    let opcode = Opcode::new(service, operation).unwrap();
    let bth = Bth { opcode, p_key: responder_options().p_key, psn: FIRST + number, ..Bth::default() };
    Headers { bth, operands, ..Headers::default() }
}

fn rc(operation: Operation, number: u32, operands: Operands) -> Headers {
    packet(Service::Rc, operation, number, operands)
}

fn rdma(remote: Remote, dma_length: u32) -> Operands {
    Operands::Rdma(Reth { va: remote.va, r_key: remote.r_key, dma_length })
}

fn responder() -> Responder {
    Responder::new(responder_options(), FIRST)
}

/// Syndromes of all answers.
fn syndromes(responder: &mut Responder) -> Vec<Syndrome> {
    let answers = std::iter::from_fn(|| responder.next_packet());
    answers
        .filter_map(|(packet, _)| match packet.headers.operands {
            Operands::Acknowledge(aeth) => Some(aeth.syndrome),
            _ => None,
        })
        .collect()
}

fn receive(id: u64, length: u32) -> Receive {
    Receive { id, length }
}

fn received(id: u64, status: Status, length: u32, extra: Extra) -> Call {
    Call::Complete(Received { id, status, length, extra, is_write: false, solicited: false })
}

/// Section 9.4.1: messages have at most 2^30 bytes here. Longer ones are invalid, before any key is looked at; without data no key is looked at.
#[test]
fn lengths_of_rdma_are_checked_before_keys_and_keys_with_data_only() {
    for (operation, length, refused) in [
        (Operation::WriteFirst, MAX_MESSAGE + 1, Some(NakCode::InvalidRequest)),
        (Operation::WriteFirst, MAX_MESSAGE, Some(NakCode::RemoteAccessError)),
        (Operation::WriteOnly, 1, Some(NakCode::RemoteAccessError)),
        (Operation::WriteOnly, 0, None),
        (Operation::ReadRequest, u32::MAX, Some(NakCode::InvalidRequest)),
        (Operation::ReadRequest, MAX_MESSAGE + 1, Some(NakCode::InvalidRequest)),
        (Operation::ReadRequest, MAX_MESSAGE, Some(NakCode::RemoteAccessError)),
        (Operation::ReadRequest, 1, Some(NakCode::RemoteAccessError)),
        (Operation::ReadRequest, 0, None),
    ] {
        let (mut responder, mut adapter) = (responder(), Adapter { forbids: true, ..Adapter::default() });
        let payload = if operation == Operation::ReadRequest { 0 } else { length.min(MTU) };
        responder.receive(&rc(operation, 0, rdma(at(0), length)), payload, &mut adapter);
        assert_eq!(responder.is_broken(), refused.is_some(), "{operation:?} of {length} B");
        let naks: Vec<Syndrome> = syndromes(&mut responder)
            .into_iter()
            .filter(|syndrome| matches!(syndrome, Syndrome::Nak(_)))
            .collect();
        assert_eq!(naks, refused.map(Syndrome::Nak).into_iter().collect::<Vec<_>>());
        let expected = FIRST + u32::from(refused.is_none());
        assert_eq!(responder.expected(), expected, "{operation:?} of {length} B");
    }
}

/// A READ may not come between the packets of a message, and takes as many numbers as it has responses.
#[test]
fn a_read_comes_between_messages() {
    let (mut responder, mut adapter) = (responder(), Adapter::default());
    responder.receive(&rc(Operation::ReadRequest, 0, rdma(at(0), 2 * MTU + 1)), 0, &mut adapter);
    assert_eq!((responder.answers(), responder.has_data(), responder.expected()), (1, true, FIRST + 3));
    responder.receive(&rc(Operation::WriteFirst, 3, rdma(at(0), 2 * MTU)), MTU, &mut adapter);
    responder.receive(&rc(Operation::ReadRequest, 4, rdma(at(0), 8)), 0, &mut adapter);
    assert!(responder.is_broken());
    assert_eq!(responder.answers(), 2);
    assert_eq!(syndromes(&mut responder).last(), Some(&Syndrome::Nak(NakCode::InvalidRequest)));
    assert_eq!((responder.answers(), responder.has_data()), (0, false));
}

/// SEND with invalidate (section 9.4.1.1.3): the key becomes invalid and is reported, or nothing of the packet is executed.
#[test]
fn a_send_invalidates_a_key_or_is_refused() {
    let send = rc(Operation::SendOnlyInvalidate, 0, Operands::Invalidate(Ieth { r_key: RKey(5) }));
    for forbids in [false, true] {
        let mut responder = responder();
        let mut adapter = Adapter { receives: vec![receive(3, 100)], forbids, ..Adapter::default() };
        responder.receive(&send, 10, &mut adapter);
        let placed = Call::Place(Placement::Receive { id: 3, offset: 0 }, 10);
        let expected = if forbids {
            vec![Call::Invalidate(RKey(5)), received(3, Status::RemoteInvalidRequest, 0, Extra::None)]
        } else {
            let done = received(3, Status::Success, 10, Extra::Invalidate(RKey(5)));
            vec![Call::Invalidate(RKey(5)), placed, done]
        };
        assert_eq!(adapter.calls, expected);
        let naks = if forbids { vec![Syndrome::Nak(NakCode::RemoteAccessError)] } else { vec![] };
        assert_eq!(syndromes(&mut responder), naks);
    }
}

/// What comes again is acknowledged if it asks for it, as far as everything was executed; else its last packet does.
#[test]
fn a_packet_that_comes_again_is_acknowledged_if_it_asks() {
    let mut responder = responder();
    let mut adapter = Adapter { receives: vec![receive(3, 1000)], ..Adapter::default() };
    let first = rc(Operation::SendFirst, 0, Operands::None);
    responder.receive(&first, MTU, &mut adapter);
    responder.receive(&rc(Operation::SendLast, 1, Operands::None), 10, &mut adapter);
    responder.receive(&first, MTU, &mut adapter);
    assert_eq!(responder.answers(), 0);
    let asks = Headers { bth: Bth { ack_request: true, ..first.bth }, ..first };
    responder.receive(&asks, MTU, &mut adapter);
    let (answer, _) = responder.next_packet().unwrap();
    assert_eq!((answer.headers.bth.psn, responder.answers()), (FIRST + 1, 0));
}

/// In the error state the receive request of a message ends as flushed, and nothing is answered or executed.
#[test]
fn a_flushed_responder_ends_its_message() {
    let mut responder = responder();
    let mut adapter = Adapter { receives: vec![receive(3, 1000), receive(4, 1000)], ..Adapter::default() };
    responder.receive(&rc(Operation::ReadRequest, 0, rdma(at(0), 8)), 0, &mut adapter);
    responder.receive(&rc(Operation::SendFirst, 1, Operands::None), MTU, &mut adapter);
    assert_eq!((responder.is_broken(), responder.answers()), (false, 1));
    adapter.calls.clear();
    responder.flush(&mut adapter);
    assert_eq!(adapter.calls, [received(4, Status::Flushed, 0, Extra::None)]);
    assert_eq!((responder.is_broken(), responder.answers(), responder.has_data()), (true, 0, false));
    responder.receive(&rc(Operation::SendLast, 2, Operands::None), 1, &mut adapter);
    assert_eq!((adapter.calls.len(), responder.expected()), (1, FIRST + 2));
}

/// Of packets that have overtaken others a whole WRITE goes to memory at once, one whose length is not that of its packet waits for its refusal, and
/// one without data has nothing to place.
#[test]
fn whole_writes_with_data_are_placed_at_once() {
    let options = ResponderOptions { out_of_order: OutOfOrder::Place(8), ..responder_options() };
    for (dma_length, payload, is_placed) in
        [(10, 10, true), (MTU, MTU, true), (0, 0, false), (10, 9, false), (10, 0, false), (600, 600, false)]
    {
        let (mut responder, mut adapter) = (Responder::new(options, FIRST), Adapter::default());
        responder.receive(&rc(Operation::WriteOnly, 1, rdma(at(64), dma_length)), payload, &mut adapter);
        let hold = Call::Hold(FIRST + 1, is_placed);
        let placed = Call::Place(Placement::Region(at(64)), payload);
        let expected = if is_placed { vec![placed, hold] } else { vec![hold] };
        assert_eq!(adapter.calls, expected, "{payload} B of {dma_length} B");
    }
    // Other packets wait, and so does everything where packets are only held.
    for (out_of_order, operation, operands) in [
        (OutOfOrder::Place(8), Operation::WriteFirst, rdma(at(64), MTU)),
        (OutOfOrder::Place(8), Operation::ReadRequest, rdma(at(64), MTU)),
        (OutOfOrder::Hold(8), Operation::WriteOnly, rdma(at(64), MTU)),
    ] {
        let options = ResponderOptions { out_of_order, ..responder_options() };
        let (mut responder, mut adapter) = (Responder::new(options, FIRST), Adapter::default());
        responder.receive(&rc(operation, 1, operands), MTU, &mut adapter);
        assert_eq!(adapter.calls, [Call::Hold(FIRST + 1, false)], "{operation:?}");
        // The missing one brings it its turn.
        responder.receive(&rc(Operation::WriteOnly, 0, rdma(at(0), 1)), 1, &mut adapter);
        let calls = [Call::Place(Placement::Region(at(0)), 1), Call::Resume(FIRST + 1)];
        assert_eq!(adapter.calls[1..3], calls, "{operation:?}");
    }
}

/// An adapter without queues by number takes any receive request for an extended reliable connection.
#[test]
fn an_adapter_may_have_one_queue_for_all() {
    let mut responder = Responder::new_xrc(responder_options(), FIRST);
    let mut adapter = Adapter { receives: vec![receive(3, 1000)], ..Adapter::default() };
    let mut send = packet(Service::Xrc, Operation::SendOnly, 0, Operands::None);
    send.address = Address::Xrc(Xrceth { srq: Srqn(77) });
    responder.receive(&send, 10, &mut adapter);
    assert_eq!(adapter.calls.last(), Some(&received(3, Status::Success, 10, Extra::None)));
}

/// An adapter that is there for the flush has and allows nothing.
#[test]
fn an_ignoring_adapter_has_nothing() {
    let mut adapter = Ignored;
    assert!(!adapter.allows(at(0), 0, Access::Read) && !adapter.invalidate(RKey(1)));
    assert_eq!((adapter.take_receive(), adapter.receives_left()), (None, 0));
    assert_eq!(adapter.atomic(at(0), Atomic::FetchAdd(1)), 0);
}

fn uc() -> UcResponder {
    let ResponderOptions { mtu, destination, p_key, .. } = responder_options();
    UcResponder::new(UcOptions { mtu, destination, p_key }, FIRST)
}

/// The packets of a WRITE go one behind the other.
#[test]
fn packets_of_an_unreliable_write_go_to_their_places() {
    let (mut responder, mut adapter) = (uc(), Adapter::default());
    let packet = |operation, number, operands| packet(Service::Uc, operation, number, operands);
    responder.receive(&packet(Operation::WriteFirst, 0, rdma(at(100), 2 * MTU + 5)), MTU, &mut adapter);
    responder.receive(&packet(Operation::WriteMiddle, 1, Operands::None), MTU, &mut adapter);
    responder.receive(&packet(Operation::WriteLast, 2, Operands::None), 5, &mut adapter);
    let place = |va, length| Call::Place(Placement::Region(at(va)), length);
    let (second, third) = (100 + u64::from(MTU), 100 + 2 * u64::from(MTU));
    assert_eq!(adapter.calls, [place(100, MTU), place(second, MTU), place(third, 5)]);
    assert_eq!(responder.counters().messages, 1);
}

/// A WRITE without data needs no key, and one without its header is malformed.
#[test]
fn unreliable_writes_need_a_key_for_data_and_a_header() {
    let (mut responder, mut adapter) = (uc(), Adapter { forbids: true, ..Adapter::default() });
    let write = |number, operands| packet(Service::Uc, Operation::WriteOnly, number, operands);
    responder.receive(&write(0, rdma(at(0), 0)), 0, &mut adapter);
    assert_eq!((responder.counters().messages, responder.counters().refused), (1, 0));
    responder.receive(&write(1, rdma(at(0), 1)), 1, &mut adapter);
    assert_eq!((responder.counters().messages, responder.counters().refused), (1, 1));
    for number in [2, 3] {
        responder.receive(&write(number, Operands::None), 1, &mut adapter);
        assert_eq!(responder.counters().malformed, u64::from(number - 1));
    }
}

/// A READ that comes again is executed again: its key is looked at, if it has data.
#[test]
fn a_read_that_comes_again_needs_its_key() {
    for (length, forbids, answers) in [(8, false, 1), (8, true, 0), (0, false, 1), (0, true, 1)] {
        let (mut responder, mut adapter) = (responder(), Adapter::default());
        let read = rc(Operation::ReadRequest, 0, rdma(at(0), length));
        responder.receive(&read, 0, &mut adapter);
        assert!(responder.next_packet().is_some());
        adapter.forbids = forbids;
        responder.receive(&read, 0, &mut adapter);
        assert_eq!((responder.answers(), responder.is_broken()), (answers, false), "{length} B, {forbids}");
    }
}
