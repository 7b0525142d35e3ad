use fabricsim_model::Random;
use fabricsim_spec::{LinkErrors, LinkParameters, LinkRetry, Links};
use fabricsim_units::Time;

/// Failures of micropackets in one direction of a link; or of bytes, where the link retransmits nothing and a packet with a failure is
/// lost.
///
/// Bits fail independently. The distance to the next micropacket that fails is drawn once and counted down, so that packets
/// without errors cost a subtraction. The draws depend only on the packets of this direction, in their order.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct RetryState {
    random: Random,
    /// One over the logarithm of the chance that a micropacket arrives.
    scale: f64,
    /// Micropackets that arrive before the next one fails.
    intact: u64,
    /// Bytes of data in a micropacket.
    data: u32,
    /// Delay of each failure; none if packets with failures are lost.
    round_trip: Option<Time>,
}

/// Consequence of the failures of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Nothing failed.
    Nothing,
    /// As many micropackets were retransmitted, which took this time.
    Retransmitted(u32, Time),
    /// The packet is lost.
    Lost,
}

impl RetryState {
    /// The errors of a direction of a link; `None` if it has none.
    pub fn new(seed: u64, channel: u32, link: &LinkParameters, links: &Links) -> Option<Self> {
        const LINK_ERRORS: u64 = 0x6c69_6e6b;
        if link.bit_error_rate <= 0.0 {
            return None;
        }
        let LinkRetry { data, bits, .. } = links.retry;
        let (data, bits, round_trip) = match links.errors {
            LinkErrors::Retry => (data.0 as u32, bits, Some(links.retry.round_trip(link))),
            LinkErrors::Lose => (1, 8, None),
        };
        let mut state = Self {
            random: Random::new(seed, LINK_ERRORS, u64::from(channel)),
            scale: 1.0 / (f64::from(bits) * libm::log1p(-link.bit_error_rate)),
            intact: 0,
            data,
            round_trip,
        };
        state.intact = state.draw();
        Some(state)
    }

    /// A geometric number: at least n with the chance that n micropackets in a row arrive.
    fn draw(&mut self) -> u64 {
        (libm::log(self.random.unit()) * self.scale) as u64
    }

    /// Returns the number of micropackets of a packet of `bytes` that fail, including retransmitted ones.
    #[inline]
    pub fn failures(&mut self, bytes: u32) -> u32 {
        let micropackets = u64::from(bytes.div_ceil(self.data));
        if micropackets <= self.intact {
            self.intact -= micropackets;
            return 0;
        }
        self.failures_of(micropackets)
    }

    #[cold]
    fn failures_of(&mut self, mut micropackets: u64) -> u32 {
        let mut failures = 0;
        while micropackets > self.intact {
            micropackets -= self.intact;
            failures += 1;
            self.intact = self.draw();
        }
        self.intact -= micropackets;
        failures
    }

    /// Consequence of the failures of a packet of `bytes`, which is sent now.
    #[inline]
    pub fn send(&mut self, bytes: u32) -> Failed {
        match (self.failures(bytes), self.round_trip) {
            (0, _) => Failed::Nothing,
            (failures, Some(round_trip)) => Failed::Retransmitted(failures, round_trip * u64::from(failures)),
            (_, None) => Failed::Lost,
        }
    }
}
