//! Joins neighbouring positions of texts into the items that describe them most cheaply.

use std::ops::Range;

use super::alphabet::{
    ALPHABETS, BYTES, COST16, COST16_OF_KINDS, PRINTABLE, SMALLEST, kind, kind_of,
};
use super::pieces::Item;
use super::plan::ITEM_COST;
use super::survey::{Look, Texts};

/// What neighbouring positions hold while they are being joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The same in all rows.
    Text,
    /// Characters of the alphabet of their kinds.
    Varying,
    /// An item that is ready, by its index.
    Special(usize),
}

/// Neighbouring positions that are described together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) what: What,
    pub(super) kinds: u8,
    pub(super) at: usize,
    pub(super) len: usize,
}

/// A stretch of texts as characters of one alphabet.
pub(super) fn one_item(texts: &Texts<'_>, stretch: Range<usize>) -> Item {
    let mut run = Run {
        what: What::Varying,
        kinds: 0,
        at: stretch.start,
        len: stretch.len(),
    };
    run.kinds = run
        .characters(texts)
        .fold(0, |kinds, byte| kinds | kind_of(byte));
    Item::Run {
        alphabet: run.alphabet(texts),
        len: run.len,
    }
}

/// A listed alphabet of up to four symbols, when that is cheaper than the alphabet of the kinds.
pub(super) fn few_symbols(texts: &Texts<'_>, kinds: u8, at: usize) -> Option<Item> {
    let count = texts.count();
    let mut seen = [0u64; 4];
    // Most positions that seem to have few symbols show more of them soon.
    for start in (0..count).step_by(16) {
        for row in start..count.min(start + 16) {
            let byte = texts.byte(row, at);
            seen[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        if seen.iter().map(|some| some.count_ones()).sum::<u32>() > 4 {
            return None;
        }
    }
    let mut symbols = Vec::with_capacity(4);
    for (quarter, mut some) in (0..4u8).zip(seen) {
        while some != 0 {
            symbols.push(quarter << 6 | some.trailing_zeros() as u8);
            some &= some - 1;
        }
    }
    let len = symbols.len();
    let gain = COST16_OF_KINDS[kinds as usize].saturating_sub(COST16[len]) * count as u64;
    (gain > ITEM_COST + 128 * len as u64).then_some(Item::Listed { symbols, len: 1 })
}

/// Appends a run; joins it with those before it where describing them apart costs more than it saves.
pub(super) fn push_run(runs: &mut Vec<Run>, mut run: Run, count: u64, look: Look) {
    let cost = |kinds: u8| COST16_OF_KINDS[kinds as usize];
    // Letters a-f alone are letters, with digits they are hexadecimal: a union may be cheaper.
    let loss = |union: u8, run: &Run| run.len as u64 * cost(union).saturating_sub(cost(run.kinds));
    while let Some(before) = runs.last_mut() {
        match (before.what, run.what) {
            (What::Text, What::Text) => {}
            (What::Varying, What::Varying) => {
                let union = before.kinds | run.kinds;
                // Digits are so few of the letters and digits that some characters may have none by chance.
                let is_chance = (before.kinds ^ run.kinds) == kind::DIGIT;
                let count = if is_chance { look.looked(count) } else { count };
                if (loss(union, before) + loss(union, &run)) * count >= ITEM_COST {
                    break;
                }
                run.kinds = union;
            }
            _ => break,
        }
        run.at = before.at;
        run.len += before.len;
        runs.pop();
    }
    runs.push(run);
}

/// Turns runs into items; single positions of two alphabets in turn become one item.
pub(super) fn describe(runs: &[Run], specials: &mut [Item], texts: &Texts<'_>) -> Vec<Item> {
    let mut items = Vec::with_capacity(runs.len());
    let mut at = 0;
    while let Some(run) = runs.get(at) {
        let rest = &runs[at..];
        at += 1;
        match run.what {
            What::Text => items.push(Item::Text { len: run.len }),
            What::Special(index) => {
                let taken = Item::Text { len: 0 };
                items.push(std::mem::replace(&mut specials[index], taken));
            }
            What::Varying => {
                let in_turn = |(step, next): &(usize, &Run)| {
                    next.what == What::Varying
                        && next.len == 1
                        && next.smallest() == rest[step % 2].smallest()
                };
                let turns = rest.iter().enumerate().take_while(in_turn).count();
                if turns < 4 {
                    items.push(run.plain_item(texts));
                    continue;
                }
                // Of one smallest alphabet, but some may have bytes beyond it.
                let alphabet = |first: usize| {
                    let turn = rest[first..turns].iter().step_by(2);
                    turn.map(|run| run.alphabet(texts)).max().unwrap_or(BYTES)
                };
                items.push(Item::Alternating {
                    even: alphabet(0),
                    odd: alphabet(1),
                    len: turns,
                });
                at += turns - 1;
            }
        }
    }
    items
}

impl Run {
    fn range(&self) -> Range<usize> {
        self.at..self.at + self.len
    }

    fn smallest(&self) -> u8 {
        SMALLEST[self.kinds as usize]
    }

    /// Every character at the positions of the run.
    fn characters<'a>(&self, texts: &'a Texts<'_>) -> impl Iterator<Item = u8> + use<'a> {
        let range = self.range();
        (0..texts.count()).flat_map(move |row| range.clone().map(move |at| texts.byte(row, at)))
    }

    fn alphabet(&self, texts: &Texts<'_>) -> u8 {
        alphabet_of(self.kinds, self.characters(texts))
    }

    fn plain_item(&self, texts: &Texts<'_>) -> Item {
        let alphabet = self.alphabet(texts);
        let len = self.len;
        let count = texts.count();
        if alphabet >= 9 && count * len >= 64 {
            let mut seen = [false; 256];
            for byte in self.characters(texts) {
                seen[usize::from(byte)] = true;
            }
            let symbols: Vec<u8> = (0..=254).filter(|byte| seen[usize::from(*byte)]).collect();
            let saved = COST16[ALPHABETS[usize::from(alphabet)].len()]
                .saturating_sub(COST16[symbols.len().max(1)]);
            let worth = saved * (count * len) as u64 > 128 * symbols.len() as u64;
            if worth && symbols.len() >= 2 && !seen[255] {
                return Item::Listed { symbols, len };
            }
        }
        Item::Run { alphabet, len }
    }
}

/// Number of the smallest fixed alphabet that holds characters of these kinds.
pub(super) fn alphabet_of(kinds: u8, characters: impl IntoIterator<Item = u8>) -> u8 {
    let alphabet = SMALLEST[kinds as usize];
    let beyond = |byte: u8| !(33..=126).contains(&byte);
    if alphabet == PRINTABLE && characters.into_iter().any(beyond) {
        return BYTES;
    }
    alphabet
}
