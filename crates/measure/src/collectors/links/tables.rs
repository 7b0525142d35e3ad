//! Tables of links.

use fabricsim_model::Table;

use super::{BUSY, BYTES, Links, PACKETS, STALLED, Series};
use crate::bins::{Bins, head};
use crate::input::{Rows, TableInput};

/// A row per sending port and lane that was used or stalled; for ports that were not, their first lane.
pub(super) fn links(links: &Links, input: &TableInput<'_>) -> Table {
    let shown: Vec<usize> = (0..links.counters.len())
        .filter(|place| {
            let of_port = &links.counters[place - place % links.lanes..][..links.lanes];
            let unused = of_port.iter().all(|counters| *counters == [0; 4]);
            let discards = [&links.discarded, &links.p_key]
                .into_iter()
                .any(|column| column.get(*place).is_some_and(|&count| count > 0));
            links.counters[*place] != [0; 4] || discards || (unused && place % links.lanes == 0)
        })
        .collect();
    let names = &input.names.ports;
    let name = |place: &usize| names[place / links.lanes].link.clone();
    let class = |place: &usize| names[place / links.lanes].class.clone();
    let whole =
        |counter: usize| shown.iter().map(|&place| links.counters[place][counter] as i64).collect::<Vec<_>>();
    let measured = input.measured.0 as f64;
    let fraction = |counter: usize| {
        let of = |place: &usize| links.counters[*place][counter] as f64 / measured;
        shown.iter().map(of).collect::<Vec<_>>()
    };
    let rate = shown.iter().map(|&place| input.gbps(links.counters[place][BYTES] as f64)).collect();

    let mut table = Table::new("links");
    table.text("link", "Direction of a link: from->to", shown.iter().map(name).collect());
    table.text("class", "Kind of link", shown.iter().map(class).collect());
    table.whole("lane", "", "Virtual lane", shown.iter().map(|place| (place % links.lanes) as i64).collect());
    let text = "Fraction of the measurement in which packets of the lane were sent";
    table.real("utilisation", "fraction", text, fraction(BUSY));
    let text = "Packets whose sending began in the measurement, without overhead";
    table.real("gbps", "Gb/s", text, rate);
    table.whole("bytes", "B", "Bytes of the packets whose sending began in the measurement", whole(BYTES));
    table.whole("packets", "", "Packets whose sending began in the measurement", whole(PACKETS));
    let text =
        "Fraction of the measurement in which the idle port had a packet of the lane, but no credits for it";
    table.real("stalled", "fraction", text, fraction(STALLED));
    let rare = |column: &[u64]| {
        shown.iter().map(|&place| column.get(place).copied().unwrap_or(0) as i64).collect::<Vec<_>>()
    };
    let text = "Micropackets of the packets whose sending began in the measurement that failed and were retransmitted";
    table.whole("retries", "", text, rare(&links.retries));
    let text = "Packets that the switch discarded in the measurement instead of sending them, because their time was over, the lane was stalled, or they exceed the MTU of the link";
    table.whole("discarded", "", text, rare(&links.discarded));
    let text =
        "Packets that arrived at the other end in the measurement with a bit error and were lost (VCRC)";
    table.whole("damaged", "", text, rare(&links.damaged));
    let text = "Packets that the switch at one of the ends discarded in the measurement because of their P_Key: from a host as they arrived, to a host instead of sending them";
    table.whole("p_key", "", text, rare(&links.p_key));
    let text =
        "Packets for multicast groups whose sending began in the measurement; `packets` counts them as well";
    table.whole("multicast", "", text, rare(&links.multicast));
    let of_port =
        |&place: &usize| links.flow_control.get(place - place % links.lanes).copied().unwrap_or(0) as i64;
    let text = "Flow-control packets or pause frames that the port sent in the measurement, for all lanes together; the utilisation is without them";
    table.whole("flow_control", "", text, shown.iter().map(of_port).collect());
    input.add_columns(&Rows::Links(&shown), &mut table);
    table
}

/// Use of every sending port over time.
pub(super) fn series(series: &Series, input: &TableInput<'_>) -> Table {
    let names: Vec<_> = input.names.ports.iter().map(|port| port.link.clone()).collect();
    let mut busy = Bins::new(series.busy.clone(), names.len(), input.outcome.end);
    let mut stalled = Bins::new(series.stalled.clone(), names.len(), input.outcome.end);
    busy.match_width(&mut stalled);
    let mut table = Table::new("link_series");
    head(&mut table, &busy, ("link", "Direction of a link: from->to"), &names);
    let fractions = |bins: &Bins<u64>| (0..names.len()).flat_map(|row| bins.fractions(row)).collect();
    table.real("utilisation", "fraction", "Fraction of the bin in which packets were sent", fractions(&busy));
    let text = "Fraction of the bin in which the idle port had a packet but no credits for it";
    table.real("stalled", "fraction", text, fractions(&stalled));
    table
}
