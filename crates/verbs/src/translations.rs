//! The cache of address translations of an adapter: pages of memory whose places it knows.

use fabricsim_units::Time;

/// Entries among which a page has its place, as caches of hardware have them; the one used longest ago makes room.
const WAYS: u32 = 8;

/// Size of the cache, and the time of a page that it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationCosts {
    /// Pages that it knows.
    pub entries: u32,
    /// Bytes of a page, a power of two.
    pub page: u64,
    /// From the request for the translation of a page in the host's memory until the adapter has it: one at a time.
    pub miss: Time,
}

impl TranslationCosts {
    /// Sets of the cache, and entries of each: the page with number n belongs to set n modulo the number of sets.
    pub fn sets(&self) -> (u64, u64) {
        let ways = self.entries.clamp(1, WAYS);
        (u64::from(self.entries.max(1).div_ceil(ways)), u64::from(ways))
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u64,
    /// Number of the use.
    used: u64,
}

/// The cache. Without one every translation is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Translations {
    cache: Option<Box<Cache>>,
}

#[derive(Clone, Debug)]
struct Cache {
    costs: TranslationCosts,
    /// Of the first set, then of the next.
    entries: Vec<Option<Entry>>,
    uses: u64,
    misses: u64,
    /// Time at which the translation that was last requested is there.
    free: Time,
    /// Time from which what came last can be placed: data reaches memory in order.
    placed: Time,
}

impl Translations {
    pub(crate) fn new(costs: Option<TranslationCosts>) -> Self {
        let cache = |costs: TranslationCosts| {
            let (sets, ways) = costs.sets();
            let entries = vec![None; (sets * ways) as usize];
            Box::new(Cache { costs, entries, uses: 0, misses: 0, free: Time::ZERO, placed: Time::ZERO })
        };
        Self { cache: costs.map(cache) }
    }

    /// Time from which the adapter knows where all of some memory is: pieces with address and length, wanted from `since` on.
    pub(crate) fn known(&mut self, since: Time, pieces: impl Iterator<Item = (u64, u32)>) -> Time {
        let Some(cache) = &mut self.cache else { return since };
        pieces.map(|piece| cache.known(since, piece)).max().unwrap_or(since)
    }

    /// The same for memory to which data is written that has come at `since`: not before what came earlier.
    pub(crate) fn placed(&mut self, since: Time, pieces: impl Iterator<Item = (u64, u32)>) -> Time {
        let known = self.known(since, pieces);
        self.behind(known)
    }

    /// Time at which data that could be placed at `since` can be placed behind all earlier.
    pub(crate) fn behind(&mut self, since: Time) -> Time {
        let Some(cache) = &mut self.cache else { return since };
        cache.placed = cache.placed.max(since);
        cache.placed
    }

    /// Time at which what came last can be placed.
    pub(crate) fn placed_until(&self) -> Time {
        self.cache.as_ref().map_or(Time::ZERO, |cache| cache.placed)
    }

    /// Pages that were looked for, and those that were not in the cache.
    pub(crate) fn counts(&self) -> (u64, u64) {
        self.cache.as_ref().map_or((0, 0), |cache| (cache.uses, cache.misses))
    }
}

impl Cache {
    fn known(&mut self, since: Time, (va, length): (u64, u32)) -> Time {
        let page = self.costs.page.max(1);
        let last = va.saturating_add(u64::from(length).saturating_sub(1)) / page;
        let mut at = since;
        for page in va / page..=last {
            if !self.look(page) {
                self.free = self.free.max(since) + self.costs.miss;
                at = self.free;
            }
        }
        at
    }

    /// True if a page is in the cache; afterwards it is.
    fn look(&mut self, page: u64) -> bool {
        self.uses += 1;
        let (sets, ways) = self.costs.sets();
        let first = (page % sets * ways) as usize;
        let set = &mut self.entries[first..first + ways as usize];
        let used = self.uses;
        if let Some(found) = set.iter_mut().flatten().find(|entry| entry.page == page) {
            found.used = used;
            return true;
        }
        self.misses += 1;
        let oldest = set.iter_mut().min_by_key(|entry| entry.map_or(0, |entry| entry.used));
        if let Some(entry) = oldest {
            *entry = Some(Entry { page, used });
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISS: Time = Time::ns(400);

    fn cache(entries: u32) -> Translations {
        Translations::new(Some(TranslationCosts { entries, page: 4096, miss: MISS }))
    }

    /// Time that one look at some memory takes, once everything earlier is over.
    fn wait(of: &mut Translations, va: u64, length: u32) -> Time {
        let since = Time::ms(1);
        of.cache.as_mut().unwrap().free = Time::ZERO;
        of.known(since, [(va, length)].into_iter()) - since
    }

    #[test]
    fn a_page_is_looked_for_once() {
        let mut of = cache(16);
        for (va, length, misses) in
            [(0, 1, 1), (4095, 1, 0), (4095, 2, 1), (8192, 4 * 4096, 4), (0, 24_576, 0)]
        {
            assert_eq!(wait(&mut of, va, length), Time(MISS.0 * misses), "{length} B at {va}");
        }
        assert_eq!(of.counts(), (1 + 1 + 2 + 4 + 6, 6));
    }

    #[test]
    fn the_page_used_longest_ago_makes_room() {
        let mut of = cache(2);
        let pages = [(0, 1), (1, 1), (0, 0), (2, 1), (0, 0), (1, 1), (2, 1)];
        for (page, misses) in pages {
            assert_eq!(wait(&mut of, page * 4096, 8), Time(MISS.0 * misses), "page {page}");
        }
    }

    /// Nine pages of one set of eight; the pages of other sets stay.
    #[test]
    fn pages_share_the_places_of_their_set() {
        let mut of = cache(32);
        assert_eq!(wait(&mut of, 4096, 8), MISS);
        for page in 0..9 {
            assert_eq!(wait(&mut of, page * 4 * 4096, 8), MISS);
        }
        assert_eq!((wait(&mut of, 0, 8), wait(&mut of, 4096, 8)), (MISS, Time::ZERO));
    }

    #[test]
    fn translations_come_one_at_a_time_and_data_in_order() {
        let mut of = cache(16);
        let now = Time::us(1);
        assert_eq!(of.placed(now, [(0, 8)].into_iter()), now + MISS);
        assert_eq!(of.known(now, [(4096, 8), (8192, 8)].into_iter()), now + Time(3 * MISS.0));
        // The page is known; what came before is not yet placed.
        assert_eq!(of.known(now, [(0, 8)].into_iter()), now);
        assert_eq!(of.placed(now, [(0, 8)].into_iter()), now + MISS);
        assert_eq!(Translations::default().placed(now, [(0, 8)].into_iter()), now);
    }
}
