//! The uploads of each mix.

use super::Mix;
use super::dice::{Dice, HEX, LETTERS, WORD};
use super::names;
use super::upload::{Form, IdForm, Plan, PosterForm};

/// What an upload consists of: its plan, and its files with their sizes in bytes.
pub(super) type Parcel = (Plan, Vec<(String, u64)>);

/// Draws the next upload of a mix. `now` is in epoch seconds.
pub(super) fn draw(mix: Mix, now: u64, dice: &mut Dice) -> Parcel {
    match mix {
        Mix::Boneless => boneless(dice),
        Mix::Ath => ath(now, dice),
        Mix::Classic => classic(dice),
        Mix::Modern => modern(dice),
    }
}

/// An upload of a large group of 2026: half of it obfuscated in one way or another.
fn boneless(dice: &mut Dice) -> Parcel {
    const KINDS: [(Form, IdForm, PosterForm, f64); 6] = [
        (Form::WithSize, IdForm::Nyuu, PosterForm::PerFile, 0.23),
        (Form::Plain, IdForm::NgPost, PosterForm::PerFile, 0.11),
        (
            Form::Random,
            IdForm::RandomWord,
            PosterForm::PerArticle,
            0.36,
        ),
        (Form::WithSize, IdForm::Nyuu, PosterForm::PerUpload, 0.15),
        (Form::WithSize, IdForm::JBinUp, PosterForm::PerUpload, 0.08),
        (Form::Bare, IdForm::UuidAtHost, PosterForm::PerUpload, 0.07),
    ];
    let kind = dice.weighted(&KINDS.map(|kind| kind.3));
    let (form, ids, posters, _) = KINDS[kind];
    let title = names::title(dice, false);
    let article_size = if dice.once_in(4) { 768_000 } else { 716_800 };
    let base = match kind {
        0 => dice.text(HEX, 32),
        5 => dice.text(WORD, 24),
        _ => title.clone(),
    };
    let volume = dice.pick(&[104_857_600, 104_857_600, 52_428_800, 209_715_200]);
    let count = dice.between(4, 63);
    let files = (1..=count)
        .map(|index| {
            let size = size_of(index, count, volume, article_size, dice);
            let is_parity = index > count * 9 / 10;
            let name = match kind {
                0 if dice.chance(0.8) => {
                    let len = dice.between(22, 31);
                    dice.text(WORD, len)
                }
                0 => format!("{base}.7z.{index:03}"),
                1 => dice.text(WORD, 25),
                5 => base.clone(),
                _ if is_parity => format!("{base}.vol{index:03}+{}.par2", 1 << dice.below(6)),
                _ => format!("{base}.part{index:02}.rar"),
            };
            (name, size)
        })
        .collect();
    let crossposts = if dice.chance(0.4) {
        dice.between(1, 3)
    } else {
        0
    };
    let plan = Plan {
        form,
        ids,
        posters,
        poster: names::random_poster(dice),
        article_size,
        window: dice.between(10, 49),
        lost: 0.0,
        first_index: 1,
        crossposts: other_groups(crossposts, dice),
        rate: (dice.unit() + 0.02).powf(1.5),
        host: format!("{}.xyz", dice.text(LETTERS, 8)),
        tag: dice.text(HEX, 32),
        sd: 106.0,
        title,
    };
    (plan, files)
}

/// An upload of a group of 2013: readable, by the tools of that time, most of it crossposted.
fn ath(now: u64, dice: &mut Dice) -> Parcel {
    const KINDS: [(IdForm, f64); 5] = [
        (IdForm::Camelsystem, 0.10),
        (IdForm::PowerPost, 0.05),
        (IdForm::Guid, 0.34),
        (IdForm::JBinUp, 0.43),
        (IdForm::Server, 0.08),
    ];
    let kind = dice.weighted(&KINDS.map(|kind| kind.1));
    let title = names::title(dice, true);
    let low = title.to_ascii_lowercase();
    let article_size = dice.pick(&[384_000, 640_000]);
    let volume = dice.pick(&[50_000_000, 20_000_000]);
    let count = dice.between(12, 71);
    let files = (1..=count)
        .map(|index| {
            let size = size_of(index, count, volume, article_size, dice);
            let name = match index {
                1 => format!("{low}.nfo"),
                _ if index > count * 9 / 10 => {
                    format!("{low}.vol{index:03}+{:02}.par2", 1 << dice.below(6))
                }
                _ => format!("{low}.part{index:02}.rar"),
            };
            (name, size)
        })
        .collect();
    let form = if kind <= 2 && dice.once_in(3) {
        Form::Request
    } else if dice.once_in(2) {
        Form::Plain
    } else {
        Form::Titled
    };
    let crossposts = if dice.chance(0.8) {
        dice.between(1, 3)
    } else {
        0
    };
    let plan = Plan {
        form,
        ids: KINDS[kind].0,
        posters: PosterForm::PerUpload,
        poster: names::old_poster(dice),
        article_size,
        window: dice.between(4, 20),
        lost: 0.0,
        first_index: 1,
        crossposts: other_groups(crossposts, dice),
        rate: (dice.unit() + 0.02).powf(1.5),
        host: format!("{}.local", now - u64::from(dice.below(60))),
        tag: dice.between(100_000, 199_999).to_string(),
        sd: (article_size as f64 * 4.0 / 256.0).sqrt(),
        title,
    };
    (plan, files)
}

/// An upload in one of eight old ways of writing subjects.
fn classic(dice: &mut Dice) -> Parcel {
    const FORMS: [Form; 8] = [
        Form::Request,
        Form::Titled,
        Form::Sized,
        Form::Banner,
        Form::NamePadded,
        Form::FileOf,
        Form::Arrows,
        Form::Round,
    ];
    let title = names::title(dice, true);
    let mut parcel = volumes(&title, false, 395_000, dice);
    let poster = names::old_poster(dice);
    parcel.0 = Plan {
        form: dice.pick(&FORMS),
        ids: IdForm::PowerPostEach,
        title,
        poster,
        tag: dice.between(10_000, 399_999).to_string(),
        ..parcel.0
    };
    parcel
}

/// An upload of the 2020s: a third has a new subject for each article, most others random names.
fn modern(dice: &mut Dice) -> Parcel {
    const FORMS: [Form; 4] = [Form::WithSize, Form::Padded, Form::Tagged, Form::NameOnly];
    let title = names::title(dice, false);
    let kind = dice.unit();
    let base = if kind >= 0.9 {
        title.clone()
    } else {
        let len = dice.pick(&[20, 24, 32]);
        dice.text(WORD, len)
    };
    let mut parcel = volumes(&base, kind < 0.9, 729_000, dice);
    let poster = names::random_poster(dice);
    parcel.0 = Plan {
        form: if kind < 0.35 {
            Form::Random
        } else {
            dice.pick(&FORMS)
        },
        ids: IdForm::Mixed,
        posters: match kind {
            ..0.35 => PosterForm::PerArticle,
            _ if dice.chance(0.3) => PosterForm::PerArticle,
            _ => PosterForm::PerUpload,
        },
        title,
        poster,
        tag: dice.text(HEX, 32),
        ..parcel.0
    };
    parcel
}

/// A set of volumes with its small files and parity, and a plan without its style.
fn volumes(base: &str, is_random: bool, article_size: u64, dice: &mut Dice) -> Parcel {
    let count = dice.pick(&[5, 12, 20, 35, 50, 80]);
    let segments: u64 = dice.pick(&[20, 66, 131, 137, 200]);
    let mut files: Vec<(String, u64)> = Vec::new();
    let full = |segments: u64, dice: &mut Dice| {
        segments * article_size - u64::from(dice.below(article_size as u32 * 9 / 10))
    };
    if !is_random && dice.chance(0.8) {
        files.push((format!("{base}.nfo"), 4000));
        files.push((format!("{base}.sfv"), 900));
    }
    for index in 1..=count {
        let name = if segments.is_multiple_of(2) {
            format!("{base}.part{index:02}.rar")
        } else if is_random {
            format!("{base}.7z.{index:03}")
        } else if index == 1 {
            format!("{base}.rar")
        } else {
            format!("{base}.r{:02}", index - 2)
        };
        files.push((name, full(segments, dice)));
    }
    files.push((format!("{base}.par2"), 20_000));
    let mut first = 0;
    for blocks in [1, 2, 4, 8, 16, 32] {
        let name = format!("{base}.vol{first:03}+{blocks:02}.par2");
        files.push((name, full(blocks, dice)));
        first += blocks;
    }
    let crossposts = dice.pick(&[0, 0, 0, 1, 2]);
    let plan = Plan {
        form: Form::Plain,
        ids: IdForm::Mixed,
        posters: PosterForm::PerUpload,
        title: String::new(),
        poster: String::new(),
        article_size,
        window: 1,
        lost: 0.003,
        first_index: u32::from(!dice.once_in(10)),
        crossposts: other_groups(crossposts, dice),
        rate: 1.0,
        host: String::new(),
        tag: String::new(),
        sd: (article_size as f64 * 4.0 / 256.0).sqrt(),
    };
    (plan, files)
}

/// The size of a file: small first, parity of random size after nine tenths, a shorter last one.
fn size_of(index: u32, count: u32, volume: u64, article_size: u64, dice: &mut Dice) -> u64 {
    if index == 1 {
        u64::from(dice.between(2_000, 21_999))
    } else if index > count * 9 / 10 {
        (1 << dice.below(7)) * article_size
    } else if index == count {
        volume / 3 + u64::from(dice.below(volume as u32 / 2))
    } else {
        volume
    }
}

/// Indices of newsgroups to which an upload is crossposted.
fn other_groups(count: u32, dice: &mut Dice) -> Vec<usize> {
    let start = dice.below(10);
    (0..count)
        .map(|step| ((start + step * 3) % 10) as usize)
        .collect()
}
