//! Counts what is in no file, with a few samples.

use crate::reason::Reason;
use crate::tables::Rejects;

/// Most samples of one reason.
const SAMPLES: usize = 5;
/// Longest sample in bytes.
const SAMPLE_LEN: usize = 500;

#[derive(Debug, Default)]
struct Tally {
    count: u64,
    samples: Vec<Vec<u8>>,
}

/// Why a line is in no file, with the owner where that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Reason(Reason),
    /// Another indexed newsgroup owns the article: its index.
    Crosspost(usize),
}

/// The counts of one span.
#[derive(Debug)]
pub(super) struct Tallies {
    reasons: Vec<Tally>,
    owners: Vec<(String, Tally)>,
}

impl Tallies {
    /// Counts of nothing; `groups` are the newsgroups that may own articles.
    pub(super) fn new<'a>(groups: impl Iterator<Item = &'a str>) -> Self {
        Self {
            reasons: Reason::ALL.iter().map(|_| Tally::default()).collect(),
            owners: groups
                .map(|group| (group.to_owned(), Tally::default()))
                .collect(),
        }
    }

    /// Counts a line (or a block, or an id) under its cause.
    #[inline]
    pub(super) fn add(&mut self, cause: Cause, sample: &[u8]) {
        let tally = match cause {
            Cause::Reason(reason) => &mut self.reasons[reason as usize],
            Cause::Crosspost(owner) => &mut self.owners[owner].1,
        };
        tally.count += 1;
        if tally.samples.len() < SAMPLES {
            let len = sample.len().min(SAMPLE_LEN);
            tally.samples.push(sample[..len].to_vec());
        }
    }

    /// Number of a cause among [`Self::names`].
    pub(super) fn number(cause: Cause) -> u16 {
        match cause {
            Cause::Reason(reason) => reason as u16,
            Cause::Crosspost(owner) => (Reason::ALL.len() + owner) as u16,
        }
    }

    /// The names of all causes.
    pub(super) fn names(&self) -> Vec<String> {
        let reasons = Reason::ALL.iter().map(|reason| reason.as_str().to_owned());
        let owners = self.owners.iter().map(|(group, _)| owner_name(group));
        reasons.chain(owners).collect()
    }

    /// The table of what was counted.
    pub(super) fn into_table(self) -> Rejects {
        let mut table = Rejects::default();
        let reasons = Reason::ALL.iter().map(|reason| reason.as_str().to_owned());
        let owners = self
            .owners
            .into_iter()
            .map(|(group, tally)| (owner_name(&group), tally));
        for (name, tally) in reasons.zip(self.reasons).chain(owners) {
            if tally.count > 0 {
                table.reason.push(name);
                table.count.push(tally.count);
                table.samples.push(tally.samples);
            }
        }
        table
    }
}

fn owner_name(group: &str) -> String {
    format!("{}:{group}", Reason::Crosspost)
}
