//! A requester and a responder with memory, connected by links that lose and repeat packets.

mod headers;
mod hostile;
mod link;
mod loss;
mod overtaking;
mod packets;
mod requester;
mod responder;
mod rules;
mod unreliable_connection;
mod unreliable_datagram;
mod xrc;

use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{PKey, Qpn, RKey};

use super::{Extra, OutOfOrder, Remote, RequesterOptions, ResponderOptions, Verb, Work};

const MTU: u32 = 256;
const KEY: RKey = RKey(0x1234);

fn requester_options() -> RequesterOptions {
    RequesterOptions {
        mtu: MTU,
        destination: Qpn(7),
        p_key: PKey(0xffff),
        retries: 7,
        rnr_retries: 7,
        reads: 2,
        ack_every: 0,
        has_credits: false,
        self_contained_writes: false,
    }
}

fn responder_options() -> ResponderOptions {
    ResponderOptions {
        mtu: MTU,
        destination: Qpn(3),
        p_key: PKey(0xffff),
        reads: 2,
        rnr_timer: RnrTimer::new(1),
        reports_credits: false,
        out_of_order: OutOfOrder::Drop,
    }
}

fn work(id: u64, verb: Verb, length: u32) -> Work {
    Work { id, verb, length, extra: Extra::None, signaled: true, solicited: false, fence: false }
}

fn at(va: u64) -> Remote {
    Remote { va, r_key: KEY }
}

/// Byte of a message's data.
fn byte(id: u64, offset: u32) -> u8 {
    (id.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(offset).wrapping_mul(0x85eb)) >> 7) as u8
}

const FIRST: Psn = Psn::new(0x00ff_fffa);
