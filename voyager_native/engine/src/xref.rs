//! Crossposts: which indexed newsgroup owns an article.

use memchr::memchr;
use xxhash_rust::xxh3::xxh3_64;

/// The newsgroup that files an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The newsgroup that is being indexed.
    Own,
    /// Another indexed newsgroup: its index in the list given to [`Owners::new`].
    Other(usize),
}

/// Decides the owner of the articles of one newsgroup.
#[derive(Debug)]
pub struct Owners {
    own: Vec<u8>,
    /// Rank of `own` among the indexed newsgroups; `None` when it is not one of them.
    own_rank: Option<u32>,
    table: Table,
    /// `host own:` of the last article that was in no other newsgroup.
    learned: Vec<u8>,
    /// Crossposts that were decided, to be recognised whatever their article numbers are.
    met: Vec<Met>,
    /// The lengths of their texts: few have the length of the one that is looked for.
    lengths: [usize; MOST_MET],
    next_met: usize,
}

/// Crossposts that are remembered: more than uploads that go on at a time in most groups.
const MOST_MET: usize = 32;

/// An Xref that was decided.
#[derive(Debug)]
struct Met {
    text: Vec<u8>,
    /// All ones where a digit of an article number stands.
    numbers: Vec<u8>,
    owner: Owner,
}

impl Met {
    /// Remembers an Xref; too short ones are not worth it.
    fn new(xref: &[u8], owner: Owner) -> Option<Self> {
        if xref.len() < STEP {
            return None;
        }
        let mut numbers = vec![0; xref.len()];
        let mut start = 0;
        for word in xref.split(|byte| *byte == b' ') {
            let end = start + word.len();
            if let Some(colon) = word.iter().rposition(|byte| *byte == b':')
                && word[colon + 1..].iter().all(u8::is_ascii_digit)
            {
                numbers[start + colon + 1..end].fill(u8::MAX);
            }
            start = end + 1;
        }
        Some(Self {
            text: xref.to_vec(),
            numbers,
            owner,
        })
    }

    /// Whether an Xref of the same length differs in nothing but article numbers.
    #[inline]
    fn is_like(&self, xref: &[u8]) -> bool {
        let word = |bytes: &[u8; STEP]| u64::from_le_bytes(*bytes);
        // Not 0 where bytes differ, or where a number has something else than a digit: 0x30 to 0x39.
        let difference = |text: &[u8; STEP], numbers: &[u8; STEP], found: &[u8; STEP]| {
            let (text, numbers, found) = (word(text), word(numbers), word(found));
            let high = (found & (EACH * 0xf0)) ^ (EACH * 0x30);
            let beyond_nine = ((found & (EACH * 0x0f)) + EACH * 6) & (EACH * 0x10);
            ((text ^ found) & !numbers) | ((high | beyond_nine) & numbers)
        };
        let chunks = self.text.as_chunks::<STEP>().0.iter();
        let chunks = chunks.zip(self.numbers.as_chunks::<STEP>().0);
        for ((text, numbers), found) in chunks.zip(xref.as_chunks::<STEP>().0) {
            if difference(text, numbers, found) != 0 {
                return false;
            }
        }
        // The last step overlaps the one before.
        match (
            self.text.last_chunk(),
            self.numbers.last_chunk(),
            xref.last_chunk(),
        ) {
            (Some(text), Some(numbers), Some(found)) => difference(text, numbers, found) == 0,
            _ => false,
        }
    }
}

/// Bytes that are compared at once.
const STEP: usize = 8;
/// One in each of them.
const EACH: u64 = 0x0101_0101_0101_0101;

impl Owners {
    /// `own` is the newsgroup that is being indexed; `groups` all indexed newsgroups with their priority numbers.
    ///
    /// The lowest number owns; equal numbers go to the name that sorts first. An `own` that is not in
    /// `groups` owns everything.
    #[must_use]
    pub fn new(own: &str, groups: &[(String, u32)]) -> Self {
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|a, b| (groups[*a].1, &groups[*a].0).cmp(&(groups[*b].1, &groups[*b].0)));
        let mut table = Table::with_room_for(groups.len());
        let mut own_rank = None;
        for (rank, index) in (0..).zip(order) {
            let name = groups[index].0.as_bytes();
            if name == own.as_bytes() {
                own_rank = own_rank.or(Some(rank));
            }
            table.insert(name, rank, index);
        }
        Self {
            own: own.into(),
            own_rank,
            table,
            learned: Vec::new(),
            met: Vec::new(),
            lengths: [0; MOST_MET],
            next_met: 0,
        }
    }

    /// The owner of an article by its Xref field (with or without label); `own` always counts as listed.
    pub fn owner(&mut self, xref: &[u8]) -> Owner {
        let Some(own_rank) = self.own_rank else {
            return Owner::Own;
        };
        // An article number has at most twenty digits.
        if xref.len() <= self.learned.len() + 20
            && let Some(number) = xref.strip_prefix(self.learned.as_slice())
            && !self.learned.is_empty()
            && number.iter().all(u8::is_ascii_digit)
        {
            return Owner::Own;
        }
        for (met, length) in self.met.iter().zip(&self.lengths) {
            if *length == xref.len() && met.is_like(xref) {
                return met.owner;
            }
        }
        let mut best = (own_rank, Owner::Own);
        let mut names = 0;
        for name in group_names(xref) {
            names += 1;
            if name == self.own {
                continue;
            }
            if let Some((rank, index)) = self.table.get(name)
                && rank < best.0
            {
                best = (rank, Owner::Other(index));
            }
        }
        if names == 1 {
            self.learn(xref);
        } else if let Some(met) = Met::new(xref, best.1) {
            self.remember(met);
        }
        best.1
    }

    /// Keeps a decided crosspost, in place of the oldest one.
    fn remember(&mut self, met: Met) {
        self.lengths[self.next_met] = met.text.len();
        if self.met.len() < MOST_MET {
            self.met.push(met);
        } else {
            self.met[self.next_met] = met;
        }
        self.next_met = (self.next_met + 1) % MOST_MET;
    }

    /// Keeps the start of an Xref that lists `own` alone.
    fn learn(&mut self, xref: &[u8]) {
        let Some(colon) = xref.iter().rposition(|byte| *byte == b':') else {
            return;
        };
        let (start, number) = xref.split_at(colon + 1);
        let lists_own = start[..colon]
            .strip_suffix(self.own.as_slice())
            .is_some_and(|host| {
                host.last().is_none_or(|byte| *byte == b' ')
                    && !host.strip_suffix(b" ").unwrap_or(host).contains(&b' ')
            });
        if lists_own && !number.is_empty() && number.iter().all(u8::is_ascii_digit) {
            self.learned.clear();
            self.learned.extend_from_slice(start);
        }
    }
}

/// The newsgroup names of an Xref field (with or without label), in its order.
///
/// The server's name has no number; a word that has one is a newsgroup wherever it stands.
pub fn group_names(xref: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = xref;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr(b' ', rest).unwrap_or(rest.len());
            let word = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            let Some(colon) = word.iter().rposition(|byte| *byte == b':') else {
                continue;
            };
            let (name, number) = (&word[..colon], &word[colon + 1..]);
            if !name.is_empty() && number.first().is_some_and(u8::is_ascii_digit) {
                return Some(name);
            }
        }
        None
    })
}

/// Names of newsgroups by hash: open addressing, never more than half full.
#[derive(Debug)]
struct Table {
    slots: Vec<Option<Entry>>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    name: Box<[u8]>,
    rank: u32,
    index: usize,
}

impl Table {
    fn with_room_for(count: usize) -> Self {
        let len = (count * 2 + 1).next_power_of_two();
        Self {
            slots: std::iter::repeat_with(|| None).take(len).collect(),
        }
    }

    fn insert(&mut self, name: &[u8], rank: u32, index: usize) {
        let hash = xxh3_64(name);
        let mut at = self.slot(hash);
        while let Some(entry) = &self.slots[at] {
            if *entry.name == *name {
                return;
            }
            at = (at + 1) % self.slots.len();
        }
        self.slots[at] = Some(Entry {
            hash,
            name: name.into(),
            rank,
            index,
        });
    }

    fn get(&self, name: &[u8]) -> Option<(u32, usize)> {
        let hash = xxh3_64(name);
        let mut at = self.slot(hash);
        while let Some(entry) = &self.slots[at] {
            if entry.hash == hash && *entry.name == *name {
                return Some((entry.rank, entry.index));
            }
            at = (at + 1) % self.slots.len();
        }
        None
    }

    fn slot(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }
}
