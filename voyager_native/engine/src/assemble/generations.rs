//! Tells the reposts of a file apart.
//!
//! A part that was posted twice under different message-ids means that the file was posted twice. Copies of
//! one part belong to the postings in the order of their article numbers. A part that is there less often than
//! others was lost in some posting: its copies go where their numbers are nearest to those of the nearest part
//! that was lost in none. Nothing depends on the order in which the articles were seen.

use super::log::{Head, Log};
use super::sealed::IdSet;

/// With more postings than this the copies of a part are dealt out in order, whatever was lost.
const MOST_WEIGHED: usize = 64;

/// The articles of one file, apart by posting; each ascending by part. Indices into the log.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) generations: Vec<Vec<usize>>,
    /// Articles whose message-id is that of an article with a lower number.
    pub(super) duplicates: Vec<usize>,
}

/// Removes duplicates and tells postings apart.
pub(super) fn settle(log: &Log, ids: &mut IdSet) -> Settled {
    let mut order: Vec<usize> = (0..log.heads.len()).collect();
    let key = |index: &usize| {
        let head = &log.heads[*index];
        (head.number, head.part)
    };
    order.sort_by(|left, right| {
        key(left)
            .cmp(&key(right))
            .then_with(|| log.id(&log.heads[*left]).cmp(log.id(&log.heads[*right])))
    });
    ids.reset(order.len());
    let mut duplicates = Vec::new();
    order.retain(|index| {
        let is_new = ids.insert(log, *index as u32);
        if !is_new {
            duplicates.push(*index);
        }
        is_new
    });
    // Stable: copies of one part stay in the order of their numbers.
    order.sort_by_key(|index| log.heads[*index].part);
    let part = |index: &usize| log.heads[*index].part;
    let copies: Vec<&[usize]> = order.chunk_by(|a, b| part(a) == part(b)).collect();
    let postings = copies.iter().map(|copies| copies.len()).max().unwrap_or(0);
    let generations = if postings <= 1 {
        vec![order]
    } else {
        deal(&log.heads, &copies, postings)
    };
    Settled {
        generations,
        duplicates,
    }
}

/// Deals the copies of every part out to the postings.
fn deal(heads: &[Head], copies: &[&[usize]], postings: usize) -> Vec<Vec<usize>> {
    let mut generations = vec![Vec::new(); postings];
    let whole: Vec<&[usize]> = copies
        .iter()
        .copied()
        .filter(|copies| copies.len() == postings)
        .collect();
    for copies in copies {
        if copies.len() == postings || postings > MOST_WEIGHED {
            for (generation, index) in generations.iter_mut().zip(*copies) {
                generation.push(*index);
            }
            continue;
        }
        let anchor = nearest(heads, &whole, heads[copies[0]].part);
        for (index, generation) in copies.iter().zip(match_copies(heads, copies, anchor)) {
            generations[generation].push(*index);
        }
    }
    generations
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
