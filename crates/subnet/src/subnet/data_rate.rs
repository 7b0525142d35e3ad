use fabricsim_units::Rate;

use super::{Speed, Width};

/// Widths by how usual they are.
const WIDTHS: [u8; 5] = [4, 1, 2, 8, 12];

/// Rates closer than a part of this are taken as the same: 54.545 Gb/s is FDR.
const CLOSE: u64 = 10_000;

impl Speed {
    /// Width and speed of a link with a data rate, the most usual width if several have it; `None` if no link of InfiniBand has it.
    pub fn of_rate(rate: Rate) -> Option<(Width, Self)> {
        let bits = rate.bits_per_second();
        let is_close = |other: u64| bits.abs_diff(other) <= other / CLOSE;
        let links = WIDTHS
            .into_iter()
            .filter_map(Width::new)
            .flat_map(|width| Self::all().map(move |speed| (width, speed)));
        links.into_iter().find(|&(width, speed)| is_close(speed.data_rate(width).bits_per_second()))
    }

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

    #[test]
    fn a_rate_has_the_most_usual_link() {
        let of = |gbps: &str| Speed::of_rate(format!("{gbps} Gb/s").parse().unwrap());
        let four = |speed| Some((Width::FOUR, speed));
        let one = |speed| Some((Width::new(1).unwrap(), speed));
        for (gbps, link) in [
            ("200", four(Speed::Hdr)),
            ("54.545", four(Speed::Fdr)),
            ("100", four(Speed::Edr)),
            ("25", one(Speed::Edr)),
            ("10", one(Speed::Fdr10)),
            ("8", four(Speed::Sdr)),
            ("300", Some((Width::new(12).unwrap(), Speed::Edr))),
            ("29.257", None),
            ("54.6", None),
        ] {
            assert_eq!(of(gbps), link, "{gbps} Gb/s");
        }
    }

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
