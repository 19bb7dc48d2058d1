//! One upload: its files, and its articles in the order in which they arrive.

use super::dice::{Dice, HEX, TOKEN, UPPER_HEX, WORD};
use super::names;

/// How the subject of a segment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `[01/20] - "name" yEnc (1/9) 104857600`
    WithSize,
    /// `[1/20] - "name" yEnc (1/9)`
    Plain,
    /// `base [1/20] yEnc (1/9)`
    Bare,
    /// `[001/20] "name" yEnc (1/9)`
    Padded,
    /// `id [1/20] - "name" yEnc (1/9)`
    Tagged,
    /// `"name" yEnc (1/9)`
    NameOnly,
    /// `"name" yEnc (001/9)`
    NamePadded,
    /// `[12345]-[FULL]-[#a.b.x@EFNet]-[ Title ]-[01/20] - "name" yEnc (1/9)`
    Request,
    /// `Title [01/20] - "name" yEnc (1/9)`
    Titled,
    /// `(01/20) "name" - 12.34 MB - yEnc (1/9)`
    Sized,
    /// `[ TOWN ]-[ www.example.invalid ] [01/20] - "name" - 12,34 MB yEnc (1/9)`
    Banner,
    /// `Title - File 01 of 20 - name yEnc (1/9)`
    FileOf,
    /// `<<< Title >>> [01 of 20] "name" yEnc (1/9)`
    Arrows,
    /// `Title - (01/20) - "name" yEnc (1/9)`
    Round,
    /// Random characters, new for each article.
    Random,
}

/// How message-ids are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdForm {
    Nyuu,
    NgPost,
    RandomWord,
    JBinUp,
    UuidAtHost,
    Camelsystem,
    PowerPost,
    /// As `PowerPost`, with a new token for each article.
    PowerPostEach,
    Guid,
    Server,
    Mixed,
}

/// Whose From the articles have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "how often the From changes")]
pub(super) enum PosterForm {
    PerUpload,
    PerFile,
    PerArticle,
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) parts: u32,
    pub(super) size: u64,
    pub(super) number: u64,
    token: String,
    poster: String,
}

/// What an upload is before its files are named.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) form: Form,
    pub(super) ids: IdForm,
    pub(super) posters: PosterForm,
    pub(super) title: String,
    pub(super) poster: String,
    pub(super) article_size: u64,
    /// Most articles that are in flight at a time.
    pub(super) window: u32,
    /// Probability that an article never arrives.
    pub(super) lost: f64,
    /// File counters start at this.
    pub(super) first_index: u32,
    pub(super) crossposts: Vec<usize>,
    pub(super) rate: f64,
    pub(super) host: String,
    pub(super) tag: String,
    pub(super) sd: f64,
}

#[derive(Debug)]
struct Flying {
    file: usize,
    part: u32,
    id: String,
    /// Entropy of the id in bits.
    bits: f64,
}

/// One article as a line of an overview needs it.
#[derive(Debug)]
pub(super) struct Article {
    pub(super) subject: String,
    pub(super) poster: String,
    pub(super) id: String,
    pub(super) size: u64,
    /// Number of the file and part; none when nothing but the tool could tell.
    pub(super) place: Option<(u64, u32)>,
    /// Entropy of id and size in bits, given the form of the file's ids and the mean of its sizes.
    pub(super) bits: f64,
}

/// An upload under way.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) plan: Plan,
    pub(super) number: u64,
    files: Vec<File>,
    next: (usize, u32),
    flying: Vec<Flying>,
    clock_ms: u64,
}

impl Upload {
    /// An upload of files with these names, sizes in bytes and numbers.
    pub(super) fn new(
        plan: Plan,
        number: u64,
        files: Vec<(String, u64)>,
        first_file: u64,
        now_ms: u64,
        dice: &mut Dice,
    ) -> Self {
        let files = (first_file..)
            .zip(files)
            .map(|(number, (name, size))| File {
                name,
                parts: u32::try_from(size.div_ceil(plan.article_size))
                    .unwrap_or(1)
                    .max(1),
                size,
                number,
                token: dice.text(TOKEN, 20),
                poster: match plan.posters {
                    PosterForm::PerFile => names::random_poster(dice),
                    _ => plan.poster.clone(),
                },
            })
            .collect();
        Self {
            plan,
            number,
            files,
            next: (0, 1),
            flying: Vec::new(),
            clock_ms: now_ms,
        }
    }

    /// Starts the upload somewhere in its middle, as a span does.
    pub(super) fn skip_files(&mut self, count: usize) {
        self.next.0 = count.min(self.files.len().saturating_sub(1));
    }

    fn take_off(&mut self, dice: &mut Dice) {
        while self.flying.len() < self.plan.window as usize {
            let (at, part) = self.next;
            let Some(file) = self.files.get(at) else {
                return;
            };
            self.next = if part >= file.parts {
                (at + 1, 1)
            } else {
                (at, part + 1)
            };
            self.clock_ms += 2 + u64::from(dice.below(self.plan.window * 6));
            if self.plan.lost > 0.0 && dice.chance(self.plan.lost) {
                continue;
            }
            let (id, bits) = self.id(file, part, dice);
            self.flying.push(Flying {
                file: at,
                part,
                id,
                bits,
            });
        }
    }

    /// A message-id and its entropy in bits.
    fn id(&self, file: &File, part: u32, dice: &mut Dice) -> (String, f64) {
        // What is random in a version 4 UUID, in a letter, in a letter or digit.
        const UUID: f64 = 122.0;
        let (letter, word) = (26f64.log2(), 62f64.log2());
        let parts = file.parts;
        let (form, choice) = match self.plan.ids {
            IdForm::Mixed => {
                let forms = [IdForm::Nyuu, IdForm::NgPost, IdForm::RandomWord];
                (dice.pick(&forms), 3f64.log2())
            }
            form => (form, 0.0),
        };
        let (id, bits) = match form {
            IdForm::Nyuu => {
                let letters: String = (0..24)
                    .map(|at| {
                        let first = if at % 2 == 0 { b'A' } else { b'a' };
                        char::from(first + dice.below(26) as u8)
                    })
                    .collect();
                let id = format!("{letters}-{:013}@nyuu", self.clock_ms);
                (id, 24.0 * letter + f64::from(self.plan.window * 6).log2())
            }
            IdForm::NgPost => (format!("{}@ngPost", dice.uuid(HEX)), UUID),
            IdForm::RandomWord | IdForm::Mixed => {
                let local = dice.text(WORD, 26);
                let host = dice.text(WORD, 8);
                (
                    format!("{local}@{host}.{}", dice.text(WORD, 3)),
                    37.0 * word,
                )
            }
            IdForm::JBinUp => (
                format!("{}_{part}o{parts}@JBinUp.local", dice.text(WORD, 20)),
                20.0 * word,
            ),
            IdForm::UuidAtHost => (format!("{}@{}", dice.uuid(HEX), self.plan.host), UUID),
            IdForm::Camelsystem => (
                format!(
                    "part{part}of{parts}.{}@camelsystem-powerpost.local",
                    file.token
                ),
                0.0,
            ),
            IdForm::PowerPost => (
                format!("part{part}of{parts}.{}@powerpost2000AA.local", file.token),
                0.0,
            ),
            IdForm::PowerPostEach => (
                format!(
                    "part{part}of{parts}.{}@powerpost2000AA.local",
                    dice.text(WORD, 22)
                ),
                22.0 * word,
            ),
            IdForm::Guid => (
                format!(
                    "Part{part}of{parts}.{}@{}",
                    dice.uuid(UPPER_HEX),
                    self.plan.host
                ),
                UUID,
            ),
            IdForm::Server => (
                format!(
                    "{:05x}${:x}$d979c5b1${:05}@news.example.invalid",
                    dice.below(1 << 20),
                    self.clock_ms / 1000,
                    dice.below(32768)
                ),
                35.0,
            ),
        };
        (id, bits + choice)
    }

    /// The next article that arrives; none when the upload is over.
    pub(super) fn next_article(&mut self, dice: &mut Dice) -> Option<Article> {
        self.take_off(dice);
        if self.flying.is_empty() {
            return None;
        }
        let near = self.flying.len().min(6) as u32;
        let far = self.flying.len() as u32;
        let at = if dice.once_in(20) {
            dice.below(far)
        } else {
            dice.below(near)
        };
        let Flying {
            file: at,
            part,
            id,
            bits,
        } = self.flying.remove(at as usize);
        let file = &self.files[at];
        let subject = match self.plan.form {
            Form::Random => {
                let len = dice.between(24, 43);
                dice.text(WORD, len)
            }
            _ => self.subject(at, part),
        };
        let poster = match self.plan.posters {
            PosterForm::PerArticle => names::article_poster(dice),
            _ => file.poster.clone(),
        };
        let raw = if part == file.parts {
            file.size - u64::from(part - 1) * self.plan.article_size
        } else {
            self.plan.article_size
        };
        // yEnc escapes about one byte in 64 and adds a line end for every 128.
        let encoded = raw as f64 * (1.0157 + 2.0 / 128.0) + 700.0;
        let noise =
            dice.normal() * self.plan.sd * (raw as f64 / self.plan.article_size as f64).sqrt();
        Some(Article {
            place: (self.plan.form != Form::Random).then_some((file.number, part)),
            subject,
            poster,
            id,
            size: whole(encoded + noise),
            // A normal number of deviation d has log2(d) + log2(sqrt(2 pi e)) bits.
            bits: bits + self.plan.sd.log2() + 2.047,
        })
    }

    fn subject(&self, at: usize, part: u32) -> String {
        let File {
            name, parts, size, ..
        } = &self.files[at];
        let Plan { title, tag, .. } = &self.plan;
        let index = at as u32 + self.plan.first_index;
        let count = self.files.len();
        let width = count.to_string().len().max(2);
        let megabytes = *size as f64 / 1e6;
        match self.plan.form {
            Form::WithSize => {
                format!("[{index:0width$}/{count}] - \"{name}\" yEnc ({part}/{parts}) {size}")
            }
            Form::Plain => format!("[{index}/{count}] - \"{name}\" yEnc ({part}/{parts})"),
            Form::Bare => format!("{name} [{index}/{count}] yEnc ({part}/{parts})"),
            Form::Padded => format!("[{index:03}/{count}] \"{name}\" yEnc ({part}/{parts})"),
            Form::Tagged => format!("{tag} [{index}/{count}] - \"{name}\" yEnc ({part}/{parts})"),
            Form::NameOnly | Form::Random => format!("\"{name}\" yEnc ({part}/{parts})"),
            Form::NamePadded => format!("\"{name}\" yEnc ({part:03}/{parts})"),
            Form::Request => format!(
                "[{tag}]-[FULL]-[#a.b.teevee@EFNet]-[ {title} ]-[{index:02}/{count:02}] - \"{name}\" yEnc ({part}/{parts})"
            ),
            Form::Titled => {
                format!("{title} [{index:02}/{count}] - \"{name}\" yEnc ({part}/{parts})")
            }
            Form::Sized => {
                format!(
                    "({index:02}/{count}) \"{name}\" - {megabytes:.2} MB - yEnc ({part}/{parts})"
                )
            }
            Form::Banner => format!(
                "[ TOWN ]-[ www.example.invalid ]-[ partner of www.example.test ] [{index:02}/{count}] - \"{name}\" - {} MB yEnc ({part}/{parts})",
                format!("{megabytes:.2}").replace('.', ",")
            ),
            Form::FileOf => {
                format!("{title} - File {index:02} of {count} - {name} yEnc ({part}/{parts})")
            }
            Form::Arrows => {
                format!("<<< {title} >>> [{index:02} of {count}] \"{name}\" yEnc ({part}/{parts})")
            }
            Form::Round => {
                format!("{title} - ({index:02}/{count}) - \"{name}\" yEnc ({part}/{parts})")
            }
        }
    }
}

/// A size in bytes; no article is smaller than its headers.
#[expect(clippy::cast_sign_loss, reason = "400 at least")]
fn whole(size: f64) -> u64 {
    size.max(400.0) as u64
}
