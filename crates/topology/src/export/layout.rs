//! Positions of the switches in drawings.

use crate::{Graph, Shape};

/// Offset of the next layer of a third dimension in drawings, to the right and down.
const LAYER: f64 = 0.35;

/// Column and row of each switch, from 0. Grids as they are, a third dimension obliquely; a group of a dragonfly is a
/// column; trees with the roots on top and each level spread over the width of the widest.
pub(super) fn layout(graph: &Graph) -> Vec<(f64, f64)> {
    if let Shape::Tree(tree) = &graph.shape {
        let height = usize::from(tree.level.iter().copied().max().unwrap_or(1));
        let mut count = vec![0_u32; height + 1];
        let numbers: Vec<u32> = tree
            .level
            .iter()
            .map(|&level| {
                count[usize::from(level)] += 1;
                count[usize::from(level)] - 1
            })
            .collect();
        let width = f64::from(count.iter().copied().max().unwrap_or(1));
        let place = |(&level, &number): (&u8, &u32)| {
            let spread = width / f64::from(count[usize::from(level)]);
            ((f64::from(number) + 0.5) * spread - 0.5, (height - usize::from(level)) as f64)
        };
        return tree.level.iter().zip(&numbers).map(place).collect();
    }
    if let Shape::Megafly(shape) = &graph.shape {
        // Groups side by side, spines above leaves.
        let width = shape.leaves.max(shape.spines) + 1;
        let place = |at: &[u32]| (f64::from(at[0] * width + at[2]), 2.0 * f64::from(1 - at[1]));
        return graph.switches.iter().map(|switch| place(&switch.coordinates)).collect();
    }
    let place = |coordinates: &[u32]| {
        let at = |d: usize| f64::from(coordinates.get(d).copied().unwrap_or(0));
        (at(0) + LAYER * at(2), at(1) + LAYER * at(2))
    };
    graph.switches.iter().map(|switch| place(&switch.coordinates)).collect()
}
