//! Uploads of which every file has a name and a poster of its own, told by a counter that runs on.

use std::collections::{HashMap, HashSet};

/// What decides whether a file continues an upload.
#[derive(Clone, Copy, Debug)]
pub struct RunRules {
    /// A longer silence, in milliseconds, means two uploads.
    pub pause_ms: i64,
    /// Numbers may be this far from the next one.
    pub swapped_files: u64,
    /// So many of the latest uploads are looked at.
    pub open_runs: usize,
    /// Distances of article numbers below this are alike.
    pub edge_numbers: u64,
    /// A file is of the run that it is this many times nearer to than to any other.
    pub clearly_nearer: u64,
}

/// A file under a counter.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The counter that it is under.
    pub counter: u64,
    /// The set that it is of.
    pub set: u64,
    /// Its number.
    pub index: i64,
    /// The first article number.
    pub start: u64,
    /// The last article number.
    pub end: u64,
    /// Its number of segments.
    pub parts: u64,
    /// When its first article was posted, in milliseconds.
    pub since_ms: Option<i64>,
    /// When its last article was posted.
    pub until_ms: Option<i64>,
}

/// The run of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Its place among the runs of its counter.
    pub number: u32,
    /// Whether a file of it might as well be of another one.
    pub doubtful: bool,
}

/// An upload while its files are put together, in the order in which they began.
#[derive(Debug)]
struct Open {
    /// The highest number so far.
    latest: i64,
    /// The last article number of that file.
    end: u64,
    /// Its number of segments: most files of an upload are equally big.
    parts: u64,
    /// When it was posted.
    until_ms: Option<i64>,
    indexes: HashSet<i64>,
    /// Its place among all runs.
    place: usize,
}

/// How far a file is from a run; less is nearer.
type Distance = (u64, bool, u64);

/// The run of each file; files come sorted by counter and place.
#[must_use]
pub fn follow(pieces: &[Piece], rules: RunRules) -> Vec<Run> {
    // The run of each file among all runs; the number of each run and whether it is in doubt.
    let mut places: Vec<usize> = Vec::with_capacity(pieces.len());
    let mut told: Vec<Run> = Vec::new();
    let mut runs: Vec<Open> = Vec::new();
    let mut of_set: HashMap<u64, usize> = HashMap::new();
    let mut counter = None;
    for piece in pieces {
        if counter != Some(piece.counter) {
            counter = Some(piece.counter);
            runs.clear();
            of_set.clear();
        }
        let mut chosen = of_set
            .get(&piece.set)
            .copied()
            .filter(|run| !runs[*run].indexes.contains(&piece.index));
        if chosen.is_none() {
            let (nearest, other) = two_nearest(&runs, piece, rules);
            chosen = nearest;
            if let (Some(nearest), Some(other)) = (nearest, other) {
                told[runs[nearest].place].doubtful = true;
                told[runs[other].place].doubtful = true;
            }
        }
        let number = chosen.unwrap_or_else(|| {
            runs.push(Open {
                latest: piece.index,
                end: piece.end,
                parts: piece.parts,
                until_ms: piece.until_ms,
                indexes: HashSet::new(),
                place: told.len(),
            });
            let number = runs.len() - 1;
            told.push(Run {
                number: number as u32,
                doubtful: false,
            });
            number
        });
        let run = &mut runs[number];
        run.indexes.insert(piece.index);
        if piece.index >= run.latest {
            (run.latest, run.end, run.parts) = (piece.index, piece.end, piece.parts);
        }
        run.until_ms = run.until_ms.max(piece.until_ms);
        of_set.entry(piece.set).or_insert(number);
        places.push(run.place);
    }
    places.into_iter().map(|place| told[place]).collect()
}

/// The run that a file continues, and another one if it might as well be that.
fn two_nearest(runs: &[Open], piece: &Piece, rules: RunRules) -> (Option<usize>, Option<usize>) {
    let mut nearest: Option<(usize, Distance)> = None;
    let mut next: Option<(usize, Distance)> = None;
    let first = runs.len().saturating_sub(rules.open_runs);
    for (number, run) in runs.iter().enumerate().skip(first) {
        let steps = piece.index.saturating_sub(run.latest).saturating_sub(1);
        if steps.unsigned_abs() > rules.swapped_files || run.indexes.contains(&piece.index) {
            continue;
        }
        if let (Some(since), Some(until)) = (piece.since_ms, run.until_ms)
            && until < since.saturating_sub(rules.pause_ms)
        {
            continue;
        }
        let distance = (
            steps.unsigned_abs(),
            piece.parts != run.parts,
            piece.start.abs_diff(run.end),
        );
        if nearest.is_none_or(|(_, best)| distance < best) {
            next = nearest;
            nearest = Some((number, distance));
        } else if next.is_none_or(|(_, best)| distance < best) {
            next = Some((number, distance));
        }
    }
    let (Some((number, best)), Some((other, second))) = (nearest, next) else {
        return (nearest.map(|(number, _)| number), None);
    };
    let far = u128::from(rules.clearly_nearer) * u128::from(best.2.max(rules.edge_numbers));
    let is_clear = (second.0, second.1) != (best.0, best.1) || u128::from(second.2) >= far;
    (Some(number), (!is_clear).then_some(other))
}

#[cfg(test)]
mod tests {
    use super::{Piece, Run, RunRules, follow};

    const RULES: RunRules = RunRules {
        pause_ms: 1_000,
        swapped_files: 3,
        open_runs: 12,
        edge_numbers: 200,
        clearly_nearer: 4,
    };

    fn piece(set: u64, index: i64, start: u64) -> Piece {
        Piece {
            counter: 1,
            set,
            index,
            start,
            end: start + 9,
            parts: 10,
            since_ms: Some(0),
            until_ms: Some(0),
        }
    }

    fn numbers(pieces: &[Piece]) -> Vec<(u32, bool)> {
        let told = follow(pieces, RULES);
        told.iter().map(|run| (run.number, run.doubtful)).collect()
    }

    #[test]
    fn numbers_that_follow_each_other_are_one_run() {
        let pieces: Vec<Piece> = (1..6)
            .map(|at| piece(at, at.cast_signed(), at * 10))
            .collect();
        assert_eq!(numbers(&pieces), [(0, false); 5]);
    }

    #[test]
    fn a_file_that_may_be_of_two_runs_puts_both_in_doubt() {
        let pieces = [piece(1, 1, 10), piece(2, 1, 20), piece(3, 2, 30)];
        let told = numbers(&pieces);
        assert_eq!(told[0].0, 0);
        assert_eq!(told[1].0, 1);
        assert!(told.iter().all(|(_, doubtful)| *doubtful));
    }

    #[test]
    fn a_long_silence_begins_a_run() {
        let mut late = piece(2, 2, 20);
        late.since_ms = Some(1_001);
        assert_eq!(numbers(&[piece(1, 1, 10), late])[1].0, 1);
        late.since_ms = None;
        assert_eq!(numbers(&[piece(1, 1, 10), late])[1].0, 0);
    }

    #[test]
    fn another_counter_begins_anew() {
        let mut other = piece(2, 2, 20);
        other.counter = 2;
        let told = follow(&[piece(1, 1, 10), other], RULES);
        assert_eq!(told, [Run::default(); 2]);
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut far = piece(1, i64::MAX, u64::MAX - 9);
        far.since_ms = Some(i64::MIN);
        let near = piece(2, i64::MIN, 0);
        assert_eq!(follow(&[near, far, near, far], RULES).len(), 4);
    }
}
