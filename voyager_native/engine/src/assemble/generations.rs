//! Tells the reposts of a file apart.
//!
//! A part that was posted twice under different message-ids means that the file was posted twice. Copies of
//! one part belong to the postings in the order of their article numbers. A part that is there less often than
//! others was lost in some posting: its copies go where their numbers are nearest to those of the nearest part
//! that was lost in none. Nothing depends on the order in which the articles were seen.
//!
//! Copies that only few parts have were sent again by a poster who got no answer the first time. The file is
//! whole without them, with the copy of each part that is nearest to the parts beside it; they are apart, behind
//! the postings. So the end of an earlier posting, which the edge of a span cut off, stays apart as well.

use super::log::{Head, Log};
use super::sealed::IdSet;

/// With more postings than this the copies of a part are dealt out in order, whatever was lost.
const MOST_WEIGHED: usize = 64;
/// At most one part in so many is sent again by retries; more are a repost.
const PARTS_A_RETRY: usize = 10;

/// The articles of one file, apart by posting; each ascending by part. Indices into the log.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) generations: Vec<Vec<usize>>,
    /// Articles whose message-id is that of an article with a lower number.
    pub(super) duplicates: Vec<usize>,
}

/// Removes duplicates and tells postings apart.
pub(super) fn settle(log: &Log, ids: &mut IdSet) -> Settled {
    if let Some(order) = ids.in_order(log) {
        return Settled {
            generations: vec![order],
            duplicates: Vec::new(),
        };
    }
    let mut order: Vec<usize> = (0..log.heads.len()).collect();
    // By number and part, then by part and number; ids and places decide what is left.
    let by = |left: &usize, right: &usize, key: fn(&Head) -> (u64, u64)| {
        let (first, second) = (&log.heads[*left], &log.heads[*right]);
        key(first)
            .cmp(&key(second))
            .then_with(|| log.id(first).cmp(log.id(second)))
            .then(left.cmp(right))
    };
    order.sort_unstable_by(|left, right| by(left, right, |head| (head.number, head.part.into())));
    ids.reset(order.len());
    let mut duplicates = Vec::new();
    order.retain(|index| {
        let is_new = ids.insert(log, *index as u32);
        if !is_new {
            duplicates.push(*index);
        }
        is_new
    });
    order.sort_unstable_by(|left, right| by(left, right, |head| (head.part.into(), head.number)));
    let part = |index: &usize| log.heads[*index].part;
    let copies = || order.chunk_by(|a, b| part(a) == part(b));
    let postings = copies().map(<[usize]>::len).max().unwrap_or(0);
    let generations = if postings <= 1 {
        vec![order]
    } else {
        let copies: Vec<&[usize]> = copies().collect();
        deal(&log.heads, &copies, postings)
    };
    Settled {
        generations,
        duplicates,
    }
}

/// Deals the copies of every part out to the postings; `most` is the number of copies that some part has.
fn deal(heads: &[Head], copies: &[&[usize]], most: usize) -> Vec<Vec<usize>> {
    let mut generations = vec![Vec::new(); most];
    let postings = postings_of(copies);
    let whole: Vec<&[usize]> = copies
        .iter()
        .copied()
        .filter(|copies| copies.len() == postings)
        .collect();
    for copies in copies {
        let is_weighed = copies.len() != postings && most <= MOST_WEIGHED;
        if !is_weighed || whole.is_empty() {
            for (generation, index) in generations.iter_mut().zip(*copies) {
                generation.push(*index);
            }
            continue;
        }
        let anchor = nearest(heads, &whole, heads[copies[0]].part);
        if copies.len() < postings {
            for (index, generation) in copies.iter().zip(match_copies(heads, copies, anchor)) {
                generations[generation].push(*index);
            }
            continue;
        }
        let chosen = match_copies(heads, anchor, copies);
        let rest = (0..copies.len()).filter(|place| !chosen.contains(place));
        let places = chosen.iter().copied().chain(rest);
        for (generation, place) in generations.iter_mut().zip(places) {
            generation.push(copies[place]);
        }
    }
    generations
}

/// How often the file was posted: so many copies have more parts than retries bring about.
fn postings_of(copies: &[&[usize]]) -> usize {
    let mut counts: Vec<usize> = copies.iter().map(|copies| copies.len()).collect();
    counts.sort_unstable_by(|left, right| right.cmp(left));
    let retried = (counts.len() / PARTS_A_RETRY).max(1);
    counts.get(retried).copied().unwrap_or(1)
}

/// The whole part nearest to `part`; of two equally near ones the lower.
fn nearest<'a>(heads: &[Head], whole: &[&'a [usize]], part: u32) -> &'a [usize] {
    let part_of = |copies: &[usize]| heads[copies[0]].part;
    let above = whole.partition_point(|copies| part_of(copies) < part);
    let below = above.checked_sub(1).map(|index| whole[index]);
    match (below, whole.get(above)) {
        (Some(below), Some(above)) if part_of(above) - part < part - part_of(below) => above,
        (Some(below), _) => below,
        (None, Some(above)) => above,
        (None, None) => &[],
    }
}

/// Ascending postings for copies such that the distances of their numbers to those of the anchor are least.
fn match_copies(heads: &[Head], copies: &[usize], anchor: &[usize]) -> Vec<usize> {
    let distance = |copy: usize, posting: usize| {
        heads[copies[copy]]
            .number
            .abs_diff(heads[anchor[posting]].number)
    };
    // best[c][p]: least distance when copies c.. go to postings p.. .
    let (count, postings) = (copies.len(), anchor.len());
    let mut best = vec![vec![0u128; postings + 1]; count + 1];
    for copy in (0..count).rev() {
        best[copy][postings] = u128::MAX;
        for posting in (0..postings).rev() {
            let here = best[copy + 1][posting + 1].saturating_add(distance(copy, posting).into());
            best[copy][posting] = here.min(best[copy][posting + 1]);
        }
    }
    let mut posting = 0;
    (0..count)
        .map(|copy| {
            while best[copy][posting] == best[copy][posting + 1] {
                posting += 1;
            }
            posting += 1;
            posting - 1
        })
        .collect()
}
