//! Numbering of the switches of a grid: 3 bits for a global partition, 12 for an entry in it.
//!
//! A router sends what is for another partition by one port for all of it, so that it cannot correct a dimension
//! within that partition before it has reached it. Packets still go in dimension order if a dimension is divided only
//! where all dimensions before it in the order are divided into single coordinates: slabs along the first dimension,
//! or where it has fewer than eight coordinates and these slabs are too large, bars along the second.

use fabricsim_spec::SpecError;
use fabricsim_topology::GridShape;

/// Most global partitions: the destination's bits 14 to 12.
pub(super) const MOST_PARTITIONS: u64 = 8;

/// Most switches of a partition: the destination's bits 11 to 0.
pub(super) const MOST_ENTRIES: u64 = 4096;

/// Most switches of a machine.
const MOST_SWITCHES: u64 = MOST_PARTITIONS * MOST_ENTRIES;

/// The division of a grid into partitions.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Of each dimension, where its blocks begin, and its radix. Blocks differ in length by at most one.
    starts: Vec<Vec<u32>>,
}

impl Layout {
    /// The division into the given numbers of blocks, or into as few partitions as will do.
    ///
    /// # Errors
    ///
    /// Too many switches for 15 bits, or numbers of blocks that are not allowed.
    pub(super) fn new(
        shape: &GridShape,
        order: &[usize],
        blocks: Option<&[u32]>,
        file: &str,
    ) -> Result<Self, SpecError> {
        let radices = &shape.dimensions;
        let switches: u64 = radices.iter().map(|&k| u64::from(k)).product();
        if switches > MOST_SWITCHES {
            let message = format!(
                "`look-up-tables` have room for {MOST_SWITCHES} switches ({MOST_PARTITIONS} partitions of \
                 {MOST_ENTRIES}), not for {switches}; `dimension-order` has no such limit"
            );
            return Err(SpecError::at_key(file, "routing.algorithm", message));
        }
        let blocks = match blocks {
            Some(blocks) => {
                check(radices, order, blocks)
                    .map_err(|message| SpecError::at_key(file, "routing.partitions", message))?;
                blocks.to_vec()
            }
            None => fewest(radices, order)
                .map_err(|message| SpecError::at_key(file, "routing.algorithm", message))?,
        };
        let start =
            |k: u32, b: u32| (0..=b).map(move |i| (u64::from(i) * u64::from(k) / u64::from(b)) as u32);
        Ok(Self { starts: radices.iter().zip(blocks).map(|(&k, b)| start(k, b).collect()).collect() })
    }

    /// Number of partitions.
    pub(super) fn partitions(&self) -> u16 {
        self.starts.iter().map(|starts| starts.len() as u16 - 1).product()
    }

    /// Blocks of each dimension.
    pub(super) fn blocks(&self) -> Vec<usize> {
        self.starts.iter().map(|starts| starts.len() - 1).collect()
    }

    /// Most switches of a partition.
    pub(super) fn entries(&self) -> usize {
        (0..self.starts.len()).map(|dimension| self.longest_block(dimension) as usize).product()
    }

    /// True if a dimension is divided.
    pub(super) fn divides(&self, dimension: usize) -> bool {
        self.starts[dimension].len() > 2
    }

    /// Coordinates of the longest block of a dimension.
    pub(super) fn longest_block(&self, dimension: usize) -> u32 {
        self.starts[dimension].windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1)
    }

    /// The block of a coordinate.
    fn block(&self, dimension: usize, coordinate: u32) -> usize {
        self.starts[dimension].partition_point(|&start| start <= coordinate) - 1
    }

    /// The coordinates of a partition in a dimension: the first, and that after the last.
    pub(super) fn range(&self, partition: u16, dimension: usize) -> (u32, u32) {
        let before: usize = self.starts[..dimension].iter().map(|starts| starts.len() - 1).product();
        let starts = &self.starts[dimension];
        let block = usize::from(partition) / before % (starts.len() - 1);
        (starts[block], starts[block + 1])
    }

    /// Global partition and local entry of a switch: the first dimension runs fastest in both.
    pub(super) fn number(&self, coordinates: &[u32]) -> (u16, u16) {
        let (mut partition, mut entry, mut partitions, mut entries) = (0, 0, 1, 1);
        for (dimension, &coordinate) in coordinates.iter().enumerate() {
            let starts = &self.starts[dimension];
            let block = self.block(dimension, coordinate);
            partition += block * partitions;
            partitions *= starts.len() - 1;
            entry += (coordinate - starts[block]) as usize * entries;
            entries *= (starts[block + 1] - starts[block]) as usize;
        }
        (partition as u16, entry as u16)
    }
}

/// Checks numbers of blocks. The error describes what is wrong.
fn check(radices: &[u32], order: &[usize], blocks: &[u32]) -> Result<(), String> {
    if blocks.len() != radices.len() {
        return Err(format!(
            "{blocks:?} has {} entries: give one for each of the {} dimensions, for example {:?}",
            blocks.len(),
            radices.len(),
            fewest(radices, order).unwrap_or_else(|_| vec![1; radices.len()])
        ));
    }
    if let Some(d) = (0..blocks.len()).find(|&d| blocks[d] == 0 || blocks[d] > radices[d]) {
        return Err(format!(
            "{} blocks in dimension {d}: give 1 to {}, its radix, so that the blocks cover it",
            blocks[d], radices[d]
        ));
    }
    let partitions: u64 = blocks.iter().map(|&b| u64::from(b)).fold(1, u64::saturating_mul);
    if partitions > MOST_PARTITIONS {
        return Err(format!(
            "{blocks:?} are {partitions} partitions: the global table has {MOST_PARTITIONS}"
        ));
    }
    let last = order.iter().rposition(|&d| blocks[d] > 1).unwrap_or(0);
    if let Some(&d) = order[..last].iter().find(|&&d| blocks[d] != radices[d]) {
        return Err(format!(
            "{blocks:?} divides dimension {}, and dimension {d}, which is corrected before it, into {} blocks: packets \
             would leave dimension order. Divide dimension {d} into its {} coordinates, or only dimension {}",
            order[last], blocks[d], radices[d], order[0]
        ));
    }
    let largest = largest(radices, blocks);
    if largest > MOST_ENTRIES {
        let better = match fewest(radices, order) {
            Ok(blocks) => format!(", for example {blocks:?}"),
            Err(why) => format!("; but {why}"),
        };
        return Err(format!(
            "{blocks:?} makes a partition of {largest} switches: the local table has {MOST_ENTRIES} entries. Give more \
             blocks{better}"
        ));
    }
    Ok(())
}

/// As few blocks as will do.
fn fewest(radices: &[u32], order: &[usize]) -> Result<Vec<u32>, String> {
    let mut blocks = vec![1; radices.len()];
    for &d in order {
        let others: u64 = blocks.iter().map(|&b| u64::from(b)).product();
        for count in 1..=u64::from(radices[d]).min(MOST_PARTITIONS / others) {
            blocks[d] = count as u32;
            if largest(radices, &blocks) <= MOST_ENTRIES {
                return Ok(blocks);
            }
        }
        if blocks[d] < radices[d] {
            break;
        }
    }
    Err(format!(
        "{radices:?} cannot be divided into {MOST_PARTITIONS} partitions of at most {MOST_ENTRIES} switches along \
         dimension {}: {blocks:?} leaves {}. `routing.order` says which dimension is divided first",
        order[0],
        largest(radices, &blocks)
    ))
}

/// Switches of the largest partition.
fn largest(radices: &[u32], blocks: &[u32]) -> u64 {
    radices.iter().zip(blocks).map(|(&k, &b)| u64::from(k.div_ceil(b))).product()
}
