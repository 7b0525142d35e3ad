//! Rows of the table of flows.

use std::collections::{BTreeMap, BTreeSet};

use super::Flows;
use crate::OfferedLoad;
use crate::flow::{Flow, FlowEntry, FlowRow, FlowRows, Key};

/// The flows with packets, those with an offered load, and `further` ones that other collectors need, by source and
/// destination. An offered load is that of one of `hosts` hosts.
pub(super) fn rows<'a>(
    flows: &'a Flows,
    further: Vec<Key>,
    offers: &[OfferedLoad],
    hosts: u32,
) -> FlowRows<'a> {
    let mut sharing: BTreeSet<u16> = flows.sharing.clone();
    let mut rows = BTreeMap::new();
    for (key, place, flow, histogram) in flows.sorted() {
        rows.insert(key, FlowRow { key, offered: 0.0, flow: *flow, histogram, place: Some(place) });
    }
    let new = |key| FlowRow { key, offered: 0.0, flow: Flow::default(), histogram: None, place: None };
    for (source, destination) in further {
        let destination = destination.filter(|_| !flows.by_source());
        if destination.is_some() || flows.by_source() {
            rows.entry((source, destination)).or_insert_with(|| new((source, destination)));
        }
    }
    let mut unknown = vec![offers.is_empty(); hosts as usize];
    for offer in offers {
        let destination = offer.destination.filter(|_| !flows.by_source());
        if destination.is_none() && !flows.by_source() {
            unknown[offer.source.index()] |= offer.bytes > 0;
        } else if offer.bytes > 0 {
            let key = (offer.source, destination);
            let row = rows.entry(key).or_insert_with(|| new(key));
            row.offered += offer.bytes as f64;
            let entry = offer.stream.map_or_else(FlowEntry::default, FlowEntry::of);
            sharing.extend(row.flow.entry.add(entry).into_iter().flatten());
        }
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    rows.iter_mut().filter(|row| unknown[row.key.0.index()]).for_each(|row| row.offered = f64::NAN);
    FlowRows { rows, sharing }
}
