//! The table of rates in the guide, compared with the rates in use: signalling, encoding, data.

use fabricsim_subnet::{Speed, Width};

const GUIDE: &str = include_str!("../../../docs/guide/infiniband-subnets.md");

/// Table II of the tutorial (MacArthur et al. 2017): name, signalling rate of a lane, encoding, data rate of a lane, in Gb/s.
const TUTORIAL: [(&str, f64, &str, f64); 5] = [
    ("SDR", 2.5, "8b/10b", 2.0),
    ("DDR", 5.0, "8b/10b", 4.0),
    ("QDR", 10.0, "8b/10b", 8.0),
    ("FDR", 14.0625, "64b/66b", 13.64),
    ("EDR", 25.78125, "64b/66b", 25.0),
];

/// A row of the guide: speed, signalling rate, encoding, data rates of one lane and of four.
fn rows() -> Vec<(Speed, f64, &'static str, f64, f64)> {
    let cells = |line: &'static str| -> Vec<&'static str> { line.split('|').map(str::trim).collect() };
    let row = |cells: Vec<&'static str>| {
        let number = |text: &str| text.parse::<f64>().ok();
        let speed = cells.get(1)?.parse().ok()?;
        Some((speed, number(cells.get(2)?)?, *cells.get(3)?, number(cells.get(4)?)?, number(cells.get(5)?)?))
    };
    GUIDE.lines().filter(|line| line.starts_with('|')).map(cells).filter_map(row).collect()
}

/// Part of the signalling rate that is data.
fn efficiency(encoding: &str) -> f64 {
    match encoding {
        "8b/10b" => 8.0 / 10.0,
        "64b/66b" => 64.0 / 66.0,
        "256b/257b, RS(544,514)" => 256.0 / 257.0 * 514.0 / 544.0,
        other => panic!("unknown encoding {other}"),
    }
}

#[test]
fn the_guide_has_the_rates_in_use() {
    let rows = rows();
    assert_eq!(rows.len(), 9);
    for (speed, signalling, encoding, lane, four) in rows {
        assert_eq!(speed.lane_rate().unwrap().as_gbps(), signalling, "{speed}");
        let data = speed.data_rate(Width::FOUR).as_gbps();
        assert!((data - four).abs() < 0.006 && (data / 4.0 - lane).abs() < 0.006, "{speed}: {data}");
        assert!((signalling * efficiency(encoding) - data / 4.0).abs() < 1e-6, "{speed}: {encoding}");
    }
}

#[test]
fn the_guide_has_the_tutorials_table() {
    let rows = rows();
    for (name, signalling, encoding, lane) in TUTORIAL {
        let row = rows.iter().find(|row| row.0.to_string() == name).unwrap();
        assert_eq!((row.1, row.2, row.3), (signalling, encoding, lane), "{name}");
        // "All per-lane signaling rates are multiples of 0.15625 Gbps."
        assert_eq!(signalling % 0.15625, 0.0, "{name}");
    }
}
