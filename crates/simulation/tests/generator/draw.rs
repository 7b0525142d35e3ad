//! Random numbers of the generator: the same on every machine.

/// A splitmix64 sequence.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `count` - 1.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn range(&mut self, low: u32, high: u32) -> u32 {
        low + self.below((high - low + 1) as usize) as u32
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// True `n` times of `of`.
    pub fn chance(&mut self, n: usize, of: usize) -> bool {
        self.below(of) < n
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// A time above 0 of up to 128 ns, often round.
    pub fn time(&mut self) -> String {
        if self.chance(1, 2) {
            self.pick(&["1 ps", "1 ns", "5 ns", "64 ns", "128 ns"]).to_owned()
        } else {
            format!("{} ps", self.range(1, 100_000))
        }
    }

    pub fn rate(&mut self) -> &'static str {
        self.pick(&["8 Gb/s", "32 Gb/s", "16 Gb/s", "10 Gb/s", "7 Gb/s", "100 Gb/s", "13.7 Gb/s"])
    }
}
