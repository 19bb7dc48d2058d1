//! Made-up overviews with known files, for benchmarks and tests.
//!
//! No real article is behind a line. The statistics follow what is known of real groups: posting tools and their
//! shares, sizes, crossposts, articles that arrive out of order.

mod dice;
mod mixes;
mod names;
mod upload;

use std::fmt::Write as _;

use dice::Dice;
use upload::Upload;

/// Which kind of group an overview imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Eight old ways of writing subjects, one upload after the other, one line in a hundred odd.
    Classic,
    /// Half of the lines have a random subject each, a third of the uploads a random From for each article.
    Modern,
    /// A large group of 2026: 36 uploads at a time, a third of them with random subjects.
    Boneless,
    /// A group of 2013: 36 uploads at a time, readable, four fifths crossposted.
    Ath,
}

impl Mix {
    /// Every mix with its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("classic", Self::Classic),
        ("modern", Self::Modern),
        ("boneless", Self::Boneless),
        ("ath", Self::Ath),
    ];

    /// The newsgroup that the lines are of.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::Classic => "alt.binaries.example.classic",
            Self::Modern => "alt.binaries.example.modern",
            Self::Boneless => "alt.binaries.example.boneless",
            Self::Ath => "alt.binaries.example.ath",
        }
    }

    /// The newsgroups that are indexed besides, with their priority numbers; the own one has 5.
    #[must_use]
    pub fn groups(self) -> Vec<(String, u32)> {
        let others = OTHER_GROUPS.iter().enumerate().map(|(index, group)| {
            // The last one owns what is crossposted to it, the others do not.
            let priority = if index == OTHER_GROUPS.len() - 1 {
                1
            } else {
                10
            };
            ((*group).to_owned(), priority)
        });
        others.chain([(self.group().to_owned(), 5)]).collect()
    }

    const fn is_parallel(self) -> bool {
        matches!(self, Self::Boneless | Self::Ath)
    }
}

const OTHER_GROUPS: [&str; 10] = [
    "alt.binaries.example.hdtv",
    "alt.binaries.example.teevee",
    "alt.binaries.example.multimedia",
    "alt.binaries.example.tv",
    "alt.binaries.example.movies",
    "alt.binaries.example.hdtv.x264",
    "alt.binaries.example.town",
    "alt.binaries.example.cores",
    "alt.binaries.example.big",
    "alt.binaries.example.mom",
];

/// Lines that say nothing of a file, or say it oddly.
const ODD: [&str; 5] = [
    "no counter text post about nothing",
    "=?UTF-8?B?w4RybmVz?= (1/1)",
    "Re: request \"x\" please",
    "foo (12/3) yEnc",
    "\"00-foo.nfo\" yEnc (0/0)",
];

/// Where a line belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Origin {
    /// Article number.
    pub number: u64,
    /// Number of the upload; none for odd lines.
    pub upload: Option<u64>,
    /// Number of the file and part in it; none where the headers do not tell.
    pub place: Option<(u64, u32)>,
    /// Entropy of message-id and size in bits, given the form of the file's ids and the mean of its sizes.
    pub bits: f64,
}

/// Writes the lines of one overview.
#[derive(Debug)]
pub struct Generator {
    mix: Mix,
    dice: Dice,
    uploads: Vec<Upload>,
    lost: f64,
    next_upload: u64,
    next_file: u64,
    number: u64,
    other_numbers: [u64; OTHER_GROUPS.len()],
    now_ms: u64,
    current: usize,
    burst: u32,
}

impl Generator {
    /// A generator for a mix; `lost` is the probability that an article never arrives (at least that of the mix).
    #[must_use]
    pub fn new(mix: Mix, seed: u64, lost: f64) -> Self {
        let (now, number, parallel) = match mix {
            Mix::Classic => (1_384_000_000, 1_000_000_000, 8),
            Mix::Modern => (1_757_000_000, 12_000_000_000, 8),
            Mix::Boneless => (1_791_200_000, 161_234_000_000, 36),
            Mix::Ath => (1_380_000_000, 884_300_000, 36),
        };
        let mut generator = Self {
            mix,
            dice: Dice::new(seed),
            uploads: Vec::new(),
            lost,
            next_upload: 1,
            next_file: 1,
            number,
            other_numbers: std::array::from_fn(|index| 2_000_000_000 + index as u64 * 7_000_000),
            now_ms: now * 1000,
            current: 0,
            burst: 0,
        };
        for _ in 0..parallel {
            let mut upload = generator.new_upload();
            if mix.is_parallel() {
                upload.skip_files(generator.dice.below(20) as usize);
            }
            generator.uploads.push(upload);
        }
        generator
    }

    fn new_upload(&mut self) -> Upload {
        let (mut plan, files) = mixes::draw(self.mix, self.now_ms / 1000, &mut self.dice);
        plan.lost = plan.lost.max(self.lost);
        let number = self.next_upload;
        let first_file = self.next_file;
        self.next_upload += 1;
        self.next_file += files.len() as u64;
        Upload::new(plan, number, files, first_file, self.now_ms, &mut self.dice)
    }

    /// Appends the next line, with its line end, to `out`.
    pub fn write_line(&mut self, out: &mut Vec<u8>) -> Origin {
        self.choose();
        let mut article = loop {
            if let Some(article) = self.uploads[self.current].next_article(&mut self.dice) {
                break article;
            }
            self.uploads[self.current] = self.new_upload();
        };
        let upload = &self.uploads[self.current];
        let mut origin = Some(upload.number);
        let crossposts = upload.plan.crossposts.clone();
        if !self.mix.is_parallel() && self.dice.once_in(100) {
            self.dice.pick(&ODD).clone_into(&mut article.subject);
            article.place = None;
            origin = None;
        }
        self.number += 1 + u64::from(self.mix.is_parallel() && self.dice.once_in(400));
        self.now_ms += match self.mix {
            Mix::Ath => 17,
            Mix::Boneless => 2,
            Mix::Classic | Mix::Modern => u64::from(self.dice.below(20)),
        };
        let date = self.date();
        let size = article.size + article.subject.len() as u64;
        let lines = size / 131 + 8;
        let number = self.number;
        let mut line = format!(
            "{number}\t{}\t{}\t{date}\t<{}>\t\t{size}\t{lines}\tXref: news.example.invalid {}:{number}",
            article.subject,
            article.poster,
            article.id,
            self.mix.group()
        );
        for group in crossposts {
            self.other_numbers[group] += 1 + u64::from(self.dice.below(3));
            let _ = write!(
                line,
                " {}:{}",
                OTHER_GROUPS[group], self.other_numbers[group]
            );
        }
        line.push_str("\r\n");
        out.extend_from_slice(line.as_bytes());
        Origin {
            number,
            upload: origin,
            place: article.place,
            bits: article.bits,
        }
    }

    /// Which upload the next line is of.
    fn choose(&mut self) {
        if self.burst > 0 {
            self.burst -= 1;
            return;
        }
        if self.mix.is_parallel() {
            let rates: Vec<f64> = self.uploads.iter().map(|upload| upload.plan.rate).collect();
            self.current = self.dice.weighted(&rates);
            self.burst = if self.mix == Mix::Ath {
                0
            } else {
                self.dice.below(4)
            };
        } else {
            self.current = self.dice.below(self.uploads.len() as u32) as usize;
            self.burst = self.dice.below(12);
        }
    }

    /// The Date header of now, in one of the ways of the mix.
    fn date(&mut self) -> String {
        let seconds = self.now_ms / 1000 - u64::from(self.dice.below(4));
        let upload = self.uploads[self.current].number;
        match self.mix {
            Mix::Classic => match self.dice.below(3) {
                0 => date_text(seconds, false, true, "GMT"),
                1 => date_text(seconds, true, true, "GMT"),
                _ => date_text(seconds, false, true, "-0500"),
            },
            Mix::Modern if self.dice.once_in(5) => date_text(seconds, true, false, "UTC"),
            Mix::Modern => date_text(seconds, true, true, "GMT"),
            _ if upload.is_multiple_of(2) => date_text(seconds, true, true, "+0000"),
            _ => date_text(seconds, true, true, "GMT"),
        }
    }
}

/// A Date header (RFC 5322), with or without the day of the week, with a year of four or two digits.
fn date_text(seconds: u64, with_weekday: bool, is_long: bool, zone: &str) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let days = seconds / 86_400;
    // Civil date from the day number (Hinnant's algorithm, years from March).
    let shifted = days + 719_468;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12;
    let year = year_of_era + shifted / 146_097 * 400 + u64::from(month < 2);
    let weekday = if with_weekday {
        format!("{}, ", DAYS[(days % 7) as usize])
    } else {
        String::new()
    };
    let year = if is_long {
        year.to_string()
    } else {
        format!("{:02}", year % 100)
    };
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let month = MONTHS[month as usize];
    format!("{weekday}{day:02} {month} {year} {hour:02}:{minute:02}:{second:02} {zone}")
}

/// Compresses text as servers do: zlib, level 6.
///
#[must_use]
pub fn deflate(text: &[u8]) -> Vec<u8> {
    let level = libdeflater::CompressionLvl::new(6).unwrap_or_default();
    let mut compressor = libdeflater::Compressor::new(level);
    let mut out = vec![0; compressor.zlib_compress_bound(text.len())];
    // The bound is what the library asks for, so it cannot be too small.
    let len = compressor.zlib_compress(text, &mut out).unwrap_or(0);
    out.truncate(len);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(
            date_text(1_384_000_000, true, true, "GMT"),
            "Sat, 09 Nov 2013 12:26:40 GMT"
        );
        assert_eq!(
            date_text(951_782_400, false, false, "UTC"),
            "29 Feb 00 00:00:00 UTC"
        );
    }

    #[test]
    fn a_seed_gives_the_same_lines_again() {
        for (_, mix) in Mix::ALL {
            let lines = |seed| {
                let mut out = Vec::new();
                let mut generator = Generator::new(mix, seed, 0.0);
                for _ in 0..500 {
                    generator.write_line(&mut out);
                }
                out
            };
            assert_eq!(lines(7), lines(7));
            assert_ne!(lines(7), lines(8));
        }
    }
}
