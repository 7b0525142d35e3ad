//! Codes of 5 bits in the syndrome of AETH (IBA volume 1, section 9.7.5.2).

use fabricsim_units::Time;

/// End-to-end credits of a responder, as a code of 5 bits (table 48).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct CreditCode(u8);

/// Credits of the codes 0 to 30. From code 2 on, they double every second step.
const CREDITS: [u32; 31] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
    4096, 6144, 8192, 12288, 16384, 24576, 32768,
];

impl CreditCode {
    /// The responder does not report credits.
    pub const UNLIMITED: Self = Self(0x1f);

    /// The lower 5 bits.
    pub const fn new(code: u8) -> Self {
        Self(code & 0x1f)
    }

    /// The code, 0 to 31.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The largest code that promises no more than `credits` receive requests.
    pub fn at_most(credits: u32) -> Self {
        Self(CREDITS.partition_point(|&value| value <= credits) as u8 - 1)
    }

    /// Receive requests that the code promises; `None` if it does not report credits.
    pub fn credits(self) -> Option<u32> {
        CREDITS.get(usize::from(self.0)).copied()
    }
}

/// Time that a requester waits after an RNR NAK, as a code of 5 bits (table 46).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct RnrTimer(u8);

/// Times of the codes, in units of 10 us.
const TIMES: [u64; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

impl RnrTimer {
    /// The lower 5 bits.
    pub const fn new(code: u8) -> Self {
        Self(code & 0x1f)
    }

    /// The code, 0 to 31. Code 0 is the longest time.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The least time that is not shorter than `time`; the longest time, 655.36 ms, if there is none.
    pub fn at_least(time: Time) -> Self {
        let codes = (1..TIMES.len() as u8).map(Self);
        codes.into_iter().find(|code| code.time() >= time).unwrap_or(Self(0))
    }

    /// The time, 10 us to 655.36 ms. A requester may wait longer.
    pub fn time(self) -> Time {
        Time::us(10 * TIMES[usize::from(self.0 & 0x1f)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_rounded_down() {
        let codes = [0, 1, 3, 4, 5, 6, 7, 8, 11, 12, 32767, 32768, u32::MAX];
        let credits = codes.map(|credits| CreditCode::at_most(credits).credits().unwrap());
        assert_eq!(credits, [0, 1, 3, 4, 4, 6, 6, 8, 8, 12, 24576, 32768, 32768]);
        assert_eq!(CreditCode::UNLIMITED.credits(), None);
        for code in 2..29 {
            let credits = |code| CreditCode::new(code).credits().unwrap();
            assert_eq!(credits(code + 2), 2 * credits(code), "code {code}");
        }
    }

    #[test]
    fn waits_are_rounded_up() {
        assert_eq!(RnrTimer::at_least(Time::us(1)).code(), 1);
        assert_eq!(RnrTimer::at_least(Time::us(50)).time(), Time::us(60));
        assert_eq!(RnrTimer::new(14).time(), Time::us(1280));
        assert_eq!(RnrTimer::new(31).time(), Time::us(491_520));
        assert_eq!(RnrTimer::at_least(Time::ms(600)).code(), 0);
        assert_eq!(RnrTimer::new(0).time(), Time::us(655_360));
    }
}
