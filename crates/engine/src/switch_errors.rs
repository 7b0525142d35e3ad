use fabricsim_model::{Packet, Random};
use fabricsim_units::HostId;

/// Bit errors in switches. A switch computes the VCRC of a packet anew as it sends it, so only the receiving adapter finds them, by the
/// ICRC; whether there is one is drawn there, for all switches together.
#[derive(Clone, Debug)]
pub(crate) struct SwitchErrors {
    seed: u64,
    /// Logarithm of the chance that a byte passes a switch unchanged.
    intact: f64,
}

impl SwitchErrors {
    /// Errors at a bit error rate; `None` if that is zero.
    pub(crate) fn new(seed: u64, bit_error_rate: f64) -> Option<Self> {
        (bit_error_rate > 0.0).then(|| Self { seed, intact: 8.0 * libm::log1p(-bit_error_rate) })
    }

    /// True if a packet was damaged in one of the switches that it has passed. The draw depends on the packet alone, not on the order of
    /// arrivals; each copy of a packet for a multicast group, which goes to `copy_for`, has a draw of its own.
    pub(crate) fn damage(&self, packet: &Packet, copy_for: Option<HostId>) -> bool {
        const SWITCH_ERRORS: u64 = 0x7377_6572;
        let identity = u64::from(packet.source.0) << 32 | u64::from(packet.sequence);
        let copy = copy_for.map_or(0, |host| u64::from(host.0) + 1);
        let mut random =
            Random::new(self.seed, SWITCH_ERRORS ^ packet.injected.0 << 32 ^ copy << 16, identity);
        let bytes = f64::from(packet.bytes) * f64::from(packet.hops);
        random.unit() > libm::exp(bytes * self.intact)
    }
}

#[cfg(test)]
mod tests;
