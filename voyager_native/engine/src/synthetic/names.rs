//! Made-up names of uploads, files and posters.

use std::fmt::Write as _;

use super::dice::{Dice, LETTERS, WORD};

const WORDS: [&str; 40] = [
    "River", "Stone", "Paper", "Garden", "Silver", "Window", "Market", "Engine", "Harbor",
    "Winter", "Forest", "Signal", "Bridge", "Copper", "Valley", "Mirror", "Planet", "Castle",
    "Summer", "Thunder", "Dark", "Night", "House", "Star", "Lost", "Blue", "Red", "King", "Queen",
    "City", "Road", "First", "Dream", "Fire", "Ice", "Storm", "Golden", "Hidden", "Ocean",
    "Shadow",
];
const TEAMS: [&str; 12] = [
    "ALPHA", "BRAVO", "CASTOR", "DELTA", "ECHO", "FoXTR", "GAMMA", "HOTEL", "iNDIGO", "KiLO",
    "LiMA", "NOVA",
];
const OLD_FORMS: [&str; 5] = [
    "720p.HDTV.x264",
    "HDTV.x264",
    "1080p.BluRay.x264",
    "480p.HDTV.x264",
    "DVDRip.XviD",
];
const NEW_FORMS: [&str; 5] = [
    "1080p.WEB.H264",
    "2160p.WEB-DL.DDP5.1.HEVC",
    "1080p.BluRay.x265",
    "720p.WEB.h264",
    "1080p.WEB-DL.DDP5.1.H.264",
];

/// The name of an upload as groups of their time write it.
pub(super) fn title(dice: &mut Dice, is_old: bool) -> String {
    let mut name = String::new();
    for _ in 0..dice.between(1, 3) {
        name.push_str(dice.pick(&WORDS));
        name.push('.');
    }
    if dice.once_in(3) {
        let last = if is_old { 2013 } else { 2026 };
        name.push_str(&dice.between(1990, last).to_string());
    } else {
        let (season, episode) = (dice.between(1, 12), dice.between(1, 24));
        let _ = write!(name, "S{season:02}E{episode:02}");
    }
    let form = dice.pick(if is_old { &OLD_FORMS } else { &NEW_FORMS });
    format!("{name}.{form}-{}", dice.pick(&TEAMS))
}

/// A random From.
pub(super) fn random_poster(dice: &mut Dice) -> String {
    let len = dice.between(6, 11);
    let name = dice.text(WORD, len);
    let len = dice.between(8, 13);
    let user = dice.text(WORD, len);
    let len = dice.between(6, 10);
    let host = dice.text(LETTERS, len);
    format!("{name} <{user}@{host}.{}>", dice.pick(&["com", "net"]))
}

/// A From of fourteen random characters, as tools make it for each article.
pub(super) fn article_poster(dice: &mut Dice) -> String {
    let name = dice.text(WORD, 14);
    let user = dice.text(WORD, 14);
    let host = dice.text(WORD, 6);
    format!("{name} <{user}@{host}.{}>", dice.text(LETTERS, 3))
}

/// The From of an old uploader.
pub(super) fn old_poster(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => "teevee@4u.tv (teevee)".to_owned(),
        1 => "Yenc@power-post.org (Yenc-PP-A&A)".to_owned(),
        _ => format!(
            "{}@{}.com ({})",
            dice.pick(&WORDS),
            dice.pick(&WORDS),
            dice.pick(&WORDS)
        ),
    }
}
