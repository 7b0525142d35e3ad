//! In-band network telemetry: packets collect the state of the outputs that they leave by (HPCC, SIGCOMM 2019, section 3).

use fabricsim_model::{HopTelemetry, PacketKind};

use super::Switch;
use crate::PartitionContext;

/// Counters of a switch whose packets collect telemetry.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct Telemetry {
    /// By output: bytes sent so far.
    sent: Vec<u64>,
}

impl Switch {
    /// Enables telemetry: packets with data collect the state of the switch's outputs.
    pub fn with_telemetry(mut self) -> Self {
        self.telemetry = Some(Box::new(Telemetry { sent: vec![0; self.layout.ports] }));
        self.has_optional_features = true;
        self
    }

    /// A packet of `bytes` leaves by an output for which `queued` blocks wait besides.
    #[inline(never)]
    pub(super) fn collect<R, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        packet: u32,
        queued: u32,
    ) {
        let Some(telemetry) = &mut self.telemetry else { return };
        let sender = &context.ports.senders[self.first_port as usize + output];
        let slot = &context.arena[packet];
        let (bytes, is_data) = (slot.packet.bytes, slot.packet.kind == PacketKind::Data);
        telemetry.sent[output] += u64::from(bytes);
        if !is_data {
            return;
        }
        let hop = HopTelemetry {
            output: sender.channel,
            time: context.now,
            sent: telemetry.sent[output],
            queued: u64::from(queued) * u64::from(context.ports.ramps.unit()),
            byte_time: sender.byte_time,
        };
        context.arena.telemetry(packet).push(hop);
    }
}
