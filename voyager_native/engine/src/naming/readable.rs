//! Random or readable: whether a name of printable ASCII says anything about the content.

use regex::Regex;

use super::{RulesError, pattern};

/// The rules of readable names, as they are given. Patterns are asked whether they are anywhere in a name.
#[derive(Clone, Debug, Default)]
pub struct ReadableTables {
    /// How surprising a letter is after another: 27 rows of 27 digits, the start of a word and `a` to `z` by
    /// `a` to `z` and the end.
    pub surprise: Vec<String>,
    /// Surely readable, unless the name may hold an id.
    pub surely: String,
    /// Ids that a name may hold.
    pub may_hold_id: String,
    /// An ending that says nothing, at the end.
    pub extension: String,
    /// What stands in random names only.
    pub ids: Vec<String>,
    /// What stands in readable names only.
    pub marks: Vec<String>,
    /// A year.
    pub year: String,
}

/// The rules of readable names, ready for use.
#[derive(Debug)]
pub struct ReadableRules {
    surprise: Vec<[u32; 27]>,
    surely: Regex,
    may_hold_id: Regex,
    extension: Regex,
    ids: Vec<Regex>,
    marks: Vec<Regex>,
    year: Regex,
}

/// What is looked at of a name.
const MOST_CHARACTERS: usize = 400;
const LONG_NOISE: usize = 12;
const MOST_OF_A_WORD: usize = 20;
const MOST_SYLLABLES: usize = 12;
const END: usize = 26;

impl ReadableRules {
    /// The rules of these tables.
    ///
    /// # Errors
    /// When a pattern is none or the table of letters has another size.
    pub fn new(tables: &ReadableTables) -> Result<Self, RulesError> {
        let row = |text: &String| -> Option<[u32; 27]> {
            let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(10)).collect();
            digits?.try_into().ok()
        };
        let surprise: Option<Vec<_>> = tables.surprise.iter().map(row).collect();
        let surprise = surprise.filter(|rows| rows.len() == END + 1);
        let each = |name: &'static str, texts: &[String]| {
            let compiled = texts.iter().map(|text| pattern(name, text));
            compiled.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            surprise: surprise.ok_or_else(|| RulesError::Missing("surprise".to_owned()))?,
            surely: pattern("surely", &tables.surely)?,
            may_hold_id: pattern("may_hold_id", &tables.may_hold_id)?,
            extension: pattern("extension", &tables.extension)?,
            ids: each("ids", &tables.ids)?,
            marks: each("marks", &tables.marks)?,
            year: pattern("year", &tables.year)?,
        })
    }

    /// Whether a name is readable; none of a name beyond printable ASCII, for which more has to be known.
    #[must_use]
    pub fn is_readable(&self, name: &str) -> Option<bool> {
        let is_plain = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        is_plain.then(|| self.says_something(name))
    }

    fn says_something(&self, name: &str) -> bool {
        if self.surely.is_match(name) && !self.may_hold_id.is_match(name) {
            return true;
        }
        let mut rest = &name[..name.len().min(MOST_CHARACTERS)];
        rest = rest.trim_end_matches(['"', '\'', ' ']);
        while let Some(ending) = self.extension.find(rest)
            && ending.start() < rest.len()
        {
            rest = &rest[..ending.start()];
        }
        if self.ids.iter().any(|id| id.is_match(rest)) {
            return false;
        }
        self.marks.iter().any(|mark| mark.is_match(rest)) || self.has_words(rest)
    }

    fn has_words(&self, name: &str) -> bool {
        let tokens: Vec<&str> = name
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|token| !token.is_empty())
            .collect();
        let is_alone = tokens.len() == 1;
        if is_alone && is_run_together(tokens[0]) {
            return false;
        }
        let mut words = Vec::new();
        for token in &tokens {
            self.words_of(token, is_alone, &mut words);
        }
        let noise = tokens
            .iter()
            .filter(|token| is_noise(token))
            .map(|token| token.len())
            .max()
            .unwrap_or(0);
        let letters: usize = words.iter().map(|word| word.len()).sum();
        if noise > LONG_NOISE && letters * 2 < noise {
            return false;
        }
        if words.iter().any(|word| word.len() > 3) || (!words.is_empty() && tokens == words) {
            return true;
        }
        let brief = tokens.iter().filter(|token| is_brief(token)).count();
        if self.year.is_match(name) {
            return brief > 1 || !words.is_empty();
        }
        brief == tokens.len() && (brief > 1 || (brief == 1 && !is_number(tokens[0])))
    }

    /// The runs of letters of a token that can be spoken; a lone token must do better.
    fn words_of<'t>(&self, token: &'t str, is_alone: bool, words: &mut Vec<&'t str>) {
        if token.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            words.extend(self.is_word(token, is_alone).then_some(token));
            return;
        }
        if is_hexadecimal(token) {
            return;
        }
        let runs: Vec<&str> = token
            .split(|letter: char| letter.is_ascii_digit())
            .filter(|run| !run.is_empty())
            .collect();
        // Digits between letters are what generators make; a number at one end is ordinary.
        if let [run] = runs[..]
            && run.len() > 3
        {
            words.extend(self.is_word(run, is_alone).then_some(run));
        } else if runs.len() < 4 {
            let long = runs.into_iter().filter(|run| run.len() > 7);
            words.extend(long.filter(|run| self.is_word(run, true)));
        }
    }

    fn is_word(&self, run: &str, is_alone: bool) -> bool {
        let length = run.len();
        if length < 3 {
            return false;
        }
        let humps = pairs(run)
            .filter(|(before, after)| before.is_ascii_lowercase() && after.is_ascii_uppercase())
            .count();
        if humps > 2 && length < 4 * (humps + 1) {
            return false;
        }
        let limit = match length {
            ..5 => 4.7,
            5..7 => 4.6,
            7..10 => 4.45,
            _ => 4.3,
        };
        self.surprise_of(run) <= if is_alone { limit - 0.3 } else { limit }
    }

    /// How unlike a word a run of letters is: mean bits a letter.
    fn surprise_of(&self, run: &str) -> f64 {
        let (mut row, mut total) = (0, 0);
        for byte in run.bytes() {
            let column = usize::from(byte.to_ascii_lowercase() - b'a');
            total += self.surprise[row][column];
            row = column + 1;
        }
        f64::from(total + self.surprise[row][END]) / (run.len() as f64 + 1.0)
    }
}

fn pairs(text: &str) -> impl Iterator<Item = (u8, u8)> {
    text.bytes().zip(text.bytes().skip(1))
}

fn is_number(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_digit())
}

/// Tells a token too short for a generator: `Up`, `24`, `1984`.
fn is_brief(token: &str) -> bool {
    if is_number(token) {
        token.len() < 5
    } else {
        token.len() < 4 && token.bytes().all(|byte| byte.is_ascii_alphabetic())
    }
}

/// Tells a token in which digits stand between letters, or capitals anywhere.
fn is_noise(token: &str) -> bool {
    let changes = || {
        let differ = |(before, after): &(u8, u8)| match before {
            b'a'..=b'z' => after.is_ascii_uppercase() || after.is_ascii_digit(),
            b'A'..=b'Z' => after.is_ascii_digit(),
            _ => after.is_ascii_alphabetic(),
        };
        pairs(token).filter(differ).count()
    };
    token.len() > LONG_NOISE && changes() > token.len() / 6
}

/// Tells a lone token of words without a border between them, or of syllables.
fn is_run_together(token: &str) -> bool {
    let bare = token.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let has_capitals = || {
        pairs(token)
            .any(|(before, after)| before.is_ascii_lowercase() && after.is_ascii_uppercase())
            || (!bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    if token.len() >= MOST_OF_A_WORD && !has_capitals() {
        return true;
    }
    bare.len() >= MOST_SYLLABLES && is_syllables(bare)
}

/// Tells letters that are a consonant and a vowel in turn.
fn is_syllables(letters: &str) -> bool {
    letters.bytes().enumerate().all(|(place, byte)| {
        let is_vowel = matches!(byte | 0x20, b'a' | b'e' | b'i' | b'o' | b'u');
        byte.is_ascii_alphabetic() && is_vowel == (place % 2 == 1)
    })
}

/// Tells a token of hexadecimal digits with letters and numbers among them.
fn is_hexadecimal(token: &str) -> bool {
    let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let upper = |byte: u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte);
    let has_letter = || token.bytes().any(|byte| byte.is_ascii_lowercase());
    has_digit
        && ((token.len() >= 10 && token.bytes().all(lower) && has_letter())
            || (token.len() >= 16 && token.bytes().all(upper)))
}

#[cfg(test)]
mod tests {
    use super::{END, ReadableRules, ReadableTables};

    #[test]
    fn an_ending_that_may_be_empty_ends() {
        let tables = ReadableTables {
            surprise: vec!["1".repeat(END + 1); END + 1],
            surely: "never this".to_owned(),
            may_hold_id: "never this".to_owned(),
            extension: r"(?:\.[a-z]{3})?$".to_owned(),
            ids: vec![r"^\d+$".to_owned()],
            marks: vec!["mark".to_owned()],
            year: r"\d{4}".to_owned(),
        };
        let rules = ReadableRules::new(&tables).expect("patterns");
        assert_eq!(rules.is_readable("12345.rar.par"), Some(false));
        assert_eq!(rules.is_readable("mark.rar"), Some(true));
        assert_eq!(rules.is_readable(""), Some(false));
    }
}
