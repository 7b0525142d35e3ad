use fabricsim_units::Rate;

use super::{Speed, Width};

impl Speed {
    /// Data rate of a link, after encoding (tutorial, table II): 8b/10b up to QDR, 64b/66b up to EDR, and the forward error correction
    /// of PAM4 lanes from HDR on, which leaves 50, 100 and 200 Gb/s a lane.
    pub fn data_rate(self, width: Width) -> Rate {
        let per_lane: u64 = match self {
            Self::Sdr => 2_000_000_000,
            Self::Ddr => 4_000_000_000,
            Self::Qdr => 8_000_000_000,
            Self::Fdr10 => 10_000_000_000,
            Self::Fdr => 13_636_363_636,
            Self::Edr => 25_000_000_000,
            Self::Hdr => 50_000_000_000,
            Self::Ndr => 100_000_000_000,
            Self::Xdr => 200_000_000_000,
        };
        let bits = per_lane * u64::from(width.lanes());
        Rate::new(bits).unwrap_or_else(|| unreachable!("a link has at least a lane, of a rate above zero"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table II of the tutorial, and the speeds after it, as the usual width has them.
    #[test]
    fn links_of_four_lanes() {
        let gbps = |speed: Speed| speed.data_rate(Width::FOUR).as_gbps();
        let expected =
            [("SDR", 8.0), ("DDR", 16.0), ("QDR", 32.0), ("FDR10", 40.0), ("FDR", 54.545), ("EDR", 100.0)];
        for (name, rate) in expected.into_iter().chain([("HDR", 200.0), ("NDR", 400.0), ("XDR", 800.0)]) {
            let speed: Speed = name.parse().unwrap();
            assert!((gbps(speed) - rate).abs() < 1e-3, "{name}: {}", gbps(speed));
        }
    }
}
