//! Patterns on coordinates, with formulas on host numbers without coordinates. Dally and Towles 2004,
//! table 3.1: s_x is a coordinate of the source's switch, d_x of the destination's, k the radix of that dimension. The
//! number of the host on its switch is kept.

use std::collections::BTreeMap;

use fabricsim_spec::name;
use fabricsim_units::HostId;

use crate::pattern::{PatternInput, Plan, bits, fixed};
use crate::{HostGrid, Problem, WorkloadError};

/// `d_x = (s_x + ceil(k/2) - 1) mod k` in each dimension; without coordinates the same on host numbers.
pub(super) fn tornado(context: &PatternInput) -> Result<Plan, WorkloadError> {
    shift(context, |k| k.div_ceil(2) - 1)
}

/// `d_x = (s_x + 1) mod k` in each dimension; without coordinates the same on host numbers.
pub(super) fn neighbour(context: &PatternInput) -> Result<Plan, WorkloadError> {
    shift(context, |_| 1)
}

/// In an even number of dimensions 2m with k_i = k_(i+m), the halves of the coordinates are exchanged (x and y in two
/// dimensions); otherwise x and y if they have the same radix; otherwise, and without coordinates, the halves of the
/// bits of the host number.
pub(super) fn transpose(context: &PatternInput) -> Result<Plan, WorkloadError> {
    let Some(grid) = &context.hosts.grid else { return bits::transpose(context) };
    let k = &grid.dimensions;
    let half = k.len() / 2;
    if half > 0 && k.len() % 2 == 0 && k[..half] == k[half..] {
        return on_grid(context, grid, |at| at.rotate_left(half));
    }
    if k.len() > 2 && k[0] == k[1] {
        return on_grid(context, grid, |at| at.swap(0, 1));
    }
    bits::transpose(context)
}

fn shift(context: &PatternInput, by: impl Fn(u32) -> u32) -> Result<Plan, WorkloadError> {
    let further = |x: u32, k: u32| ((u64::from(x) + u64::from(by(k))) % u64::from(k)) as u32;
    let Some(grid) = &context.hosts.grid else {
        let hosts = context.hosts.names.len() as u32;
        return fixed(context, |source| Ok(HostId(further(source.0, hosts))));
    };
    on_grid(context, grid, |at| {
        at.iter_mut().zip(&grid.dimensions).for_each(|(x, &k)| *x = further(*x, k));
    })
}

fn on_grid(
    context: &PatternInput,
    grid: &HostGrid,
    change: impl Fn(&mut [u32]),
) -> Result<Plan, WorkloadError> {
    let places = grid.coordinates.iter().zip(&grid.slot);
    let hosts: BTreeMap<(&[u32], u32), HostId> =
        places.enumerate().map(|(i, (at, &slot))| ((at.as_slice(), slot), HostId(i as u32))).collect();
    fixed(context, |source| {
        let mut coordinates = grid.coordinates[source.index()].clone();
        let slot = grid.slot[source.index()];
        change(&mut coordinates);
        hosts.get(&(coordinates.as_slice(), slot)).copied().ok_or_else(|| {
            let host = context.hosts.names[source.index()].clone();
            let pattern = name(&context.traffic.pattern);
            context.place.error("pattern", Problem::NoHostThere { pattern, host, coordinates, slot })
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{destinations, grid, hosts, refused, silent};
    use crate::{HostGrid, Hosts};

    /// Destinations by source; a silent source is written as its own destination.
    fn table(hosts: &Hosts, pattern: &str) -> Vec<u32> {
        let fixed = destinations(hosts, &format!("pattern = '{pattern}'"));
        (0..).zip(fixed).map(|(source, destination)| destination.unwrap_or(source)).collect()
    }

    #[test]
    fn tornado_goes_half_way() {
        assert_eq!(table(&grid(&[8], 1), "tornado"), [3, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(table(&grid(&[5], 1), "tornado"), [2, 3, 4, 0, 1]);
        // 4x3, x fastest: one further in each dimension.
        assert_eq!(table(&grid(&[4, 3], 1), "tornado"), [5, 6, 7, 4, 9, 10, 11, 8, 1, 2, 3, 0]);
        assert_eq!(table(&hosts(8), "tornado"), [3, 4, 5, 6, 7, 0, 1, 2]);
        // Two hosts per switch: the number on the switch is kept.
        assert_eq!(table(&grid(&[3], 2), "tornado"), [2, 3, 4, 5, 0, 1]);
        assert!(refused(&grid(&[2, 2], 1), "pattern = 'tornado'").contains("none of the 4 sources"));
    }

    #[test]
    fn neighbour_goes_one_further() {
        assert_eq!(table(&hosts(4), "neighbour"), [1, 2, 3, 0]);
        assert_eq!(table(&grid(&[3, 3], 1), "neighbour"), [4, 5, 3, 7, 8, 6, 1, 2, 0]);
        assert_eq!(table(&grid(&[2, 1], 2), "neighbour"), [2, 3, 0, 1]);
    }

    #[test]
    fn transpose_exchanges_coordinates() {
        assert_eq!(table(&grid(&[3, 3], 1), "transpose"), [0, 3, 6, 1, 4, 7, 2, 5, 8]);
        assert_eq!(table(&grid(&[2, 2], 2), "transpose"), [0, 1, 4, 5, 2, 3, 6, 7]);
        // Three dimensions: x and y; z stays.
        assert_eq!(table(&grid(&[2, 2, 3], 1), "transpose"), [0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11]);
        // Four: (x, y) and (z, w), which on a hypercube are the halves of the bits.
        assert_eq!(table(&grid(&[2, 2, 2, 2], 1), "transpose"), table(&hosts(16), "transpose"));
        // No equal radices: the halves of the bits.
        assert_eq!(table(&grid(&[8, 2], 1), "transpose"), table(&hosts(16), "transpose"));
        assert!(refused(&grid(&[4, 3], 1), "pattern = 'transpose'").contains("not 12"));
    }

    #[test]
    fn the_diagonal_is_silent_or_sends_to_itself() {
        let square = grid(&[3, 3], 1);
        assert_eq!(silent(&square, "pattern = 'transpose'"), [0, 4, 8]);
        let own = "pattern = 'transpose'\nself_flows = 'send'";
        assert_eq!(silent(&square, own), [0; 0]);
        assert_eq!(destinations(&square, own), [0, 3, 6, 1, 4, 7, 2, 5, 8].map(Some));
        // Without coordinates, too, and where all are on the diagonal.
        assert_eq!(destinations(&hosts(4), own), [0, 2, 1, 3].map(Some));
        assert_eq!(
            destinations(&grid(&[2, 2], 1), "pattern = 'tornado'\nself_flows = 'send'"),
            [0, 1, 2, 3].map(Some)
        );
    }

    #[test]
    fn a_place_without_host_is_named() {
        let mut uneven = grid(&[3], 1);
        uneven.names.push("H3".to_owned());
        uneven.rates.push(uneven.rates[0]);
        let HostGrid { coordinates, slot, .. } = uneven.grid.as_mut().unwrap();
        coordinates.push(vec![2]);
        slot.push(1);
        let error = refused(&uneven, "pattern = 'neighbour'");
        assert!(
            error.contains("traffic.0.pattern: `neighbour` leads from H3 to number 1 at [0], and no"),
            "{error}"
        );
        assert_eq!(destinations(&uneven, "pattern = 'neighbour'\nsources = ['H0', 'H2']")[2], Some(0));
    }
}
