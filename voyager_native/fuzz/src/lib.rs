//! What must hold of the engine for any bytes. A function a target; it panics where it does not hold.
//!
//! The same rules are property tests in `engine/tests/hostile.rs`; here a fuzzer looks for the bytes.

use voyager_engine::assemble::{Assembler, Config};
use voyager_engine::chunk::{self, Encoder, Segment};
use voyager_engine::date::DateParser;
use voyager_engine::inflate::Inflater;
use voyager_engine::lines::{Scanner, scan};
use voyager_engine::subject;
use voyager_engine::text;
use voyager_engine::xref::{Owner, Owners, group_names};
use xxhash_rust::xxh3::xxh3_64;

/// A block in any encoding: inflated the same way with fresh and with used buffers.
pub fn inflate(block: &[u8]) {
    let mut out = Vec::new();
    let mut inflater = Inflater::new();
    let first = inflater.inflate(block, &mut out);
    if let Ok(framing) = &first {
        assert!(framing.text_len + Inflater::PADDING <= out.len());
        assert!(framing.trailing <= block.len());
        let text = out[..framing.text_len].to_vec();
        let again = inflater
            .inflate(block, &mut out)
            .expect("it went well before");
        assert_eq!(out[..again.text_len], text);
    } else {
        assert!(inflater.inflate(block, &mut out).is_err());
    }
}

/// Overview lines: each gives fields or a reason, whatever stands around it.
pub fn lines(overview: &[u8]) {
    let mut whole = Vec::new();
    Scanner::new().scan(overview, &mut |line| {
        let usable = line.number.is_some_and(|number| number > 0) && !line.message_id.is_empty();
        assert_eq!(usable, line.reason.is_none(), "{line:?}");
        for field in [
            line.subject,
            line.poster,
            line.date,
            line.message_id,
            line.xref,
        ] {
            assert!(!field.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')));
        }
        assert_ne!(line.size, Some(0));
        whole.push(format!("{line:?}"));
    });
    let mut single = Vec::new();
    for line in overview.split_inclusive(|byte| *byte == b'\n') {
        scan(line, &mut |line| single.push(format!("{line:?}")));
    }
    assert_eq!(whole, single);
}

/// A whole span: every line is in a file or has a reason, every file's record decodes, and the short way for usual
/// lines files them as the long way does.
pub fn span(overview: &[u8]) {
    // Two blocks, so that a file is cut by their edge. After the last line there must be some text, or it is no
    // usual one.
    let middle = overview[..overview.len() / 2]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let padding = [b'.'; 400];
    let file = |keep_articles: bool| {
        let mut assembler = Assembler::new(Config {
            group: "alt.binaries.test".to_owned(),
            low: 1,
            high: 1_000_000,
            groups: vec![
                ("alt.binaries.test".to_owned(), 2),
                ("alt.binaries.a".to_owned(), 1),
            ],
            now: 1_700_000_000,
            keep_articles,
        });
        let mut counted = 0;
        for part in [&overview[..middle], &overview[middle..], overview] {
            counted += assembler
                .add_text(&[part, b"\r\n", &padding].concat())
                .lines;
        }
        (counted, assembler.finish())
    };
    let (counted, tables) = file(true);
    assert_eq!(tables.lines, counted);
    let mut segments = 0;
    for stored in &tables.files.payload {
        let record = tables.files.payloads.get(*stored);
        segments += chunk::decode(record).expect("an own record decodes").len() as u64;
    }
    assert_eq!(segments + tables.rejected, tables.lines);
    let (quick_counted, quick) = file(false);
    assert_eq!(quick_counted, counted);
    assert_eq!(quick.rejects, tables.rejects);
    assert_eq!(quick.files, tables.files);
}

/// A Date header: the same with and without memory of another one.
pub fn date(header: &[u8]) {
    let fresh = DateParser::new().parse(header);
    let mut used = DateParser::new();
    let _ = used.parse(b"Sat, 09 Nov 2013 12:26:40 GMT");
    assert_eq!(used.parse(header), fresh);
    assert_eq!(used.parse(header), fresh);
}

/// A subject, as it is and decoded: everything that is handed out lies inside it.
pub fn subject(bytes: &[u8]) {
    let mut decoded = Vec::new();
    text::decode_header(bytes, &mut decoded);
    assert!(std::str::from_utf8(&decoded).is_ok());
    assert!(!decoded.contains(&0));
    for bytes in [bytes, &decoded] {
        let found = subject::parse(bytes);
        let is_text = std::str::from_utf8(bytes);
        let mut spans = vec![
            found.name,
            found.head,
            found.tail,
            found.request,
            found.file_counter,
        ];
        spans.extend(found.cuts);
        for span in &spans {
            assert!(
                span.start <= span.end && span.end as usize <= bytes.len(),
                "{found:?}"
            );
            if let Ok(text) = is_text {
                assert!(text.is_char_boundary(span.start as usize), "{found:?}");
                assert!(text.is_char_boundary(span.end as usize), "{found:?}");
            }
        }
        assert_eq!(found.counted, found.cuts.iter().any(|cut| !cut.is_empty()));
        assert!(found.counted || (found.part, found.total) == (0, 0));
        let segment = subject::segment(bytes);
        assert_eq!(
            format!("{:?}", subject::details(bytes, &segment)),
            format!("{found:?}")
        );
    }
}

/// Xref fields: the owner is the same with and without memory of those before.
pub fn xref(fields: &[u8]) {
    let groups: Vec<(String, u32)> = ["g", "h", "a.b"]
        .into_iter()
        .map(String::from)
        .zip([2, 1, 3])
        .collect();
    let mut used = Owners::new("g", &groups);
    for field in fields.split(|byte| *byte == b'\n') {
        let fresh = Owners::new("g", &groups).owner(field);
        assert_eq!(used.owner(field), fresh);
        let listed = group_names(field).any(|name| name == b"h");
        assert_eq!(fresh, if listed { Owner::Other(1) } else { Owner::Own });
    }
}

/// Bytes for a record or a chunk: decoded or refused, and what was decoded can be stored again.
///
/// They are tried as they are, and with a checksum that fits, behind which few random bytes come.
pub fn chunk(payload: &[u8]) {
    stored(payload);
    let checksum = xxh3_64(payload);
    stored(&[payload, &checksum.to_le_bytes()[..4]].concat());
    stored(&[payload, &checksum.to_le_bytes()].concat());
}

fn stored(payload: &[u8]) {
    if let Ok(segments) = chunk::decode(payload) {
        let rows: Vec<Segment<'_>> = segments.iter().collect();
        let mut record = Vec::new();
        if Encoder::new().encode(&rows, &mut record).is_ok() {
            let again = chunk::decode(&record).expect("an own record decodes");
            assert!(again.iter().eq(segments.iter()));
        }
    }
    if let Ok(files) = chunk::decode_chunk(payload) {
        for stored in &files.payload {
            let _ = chunk::decode(files.payloads.get(*stored));
        }
    }
    // Damage in the middle of what is whole is found too.
    let half = payload.len() / 2;
    let _ = chunk::merge([&payload[..half], &payload[half..]]);
}

/// Message-ids, one a line, with a size from their bytes: what is not too long is stored and comes back exactly.
pub fn record(ids: &[u8]) {
    let mut rows: Vec<Segment<'_>> = Vec::new();
    let mut part = 0_u32;
    for (at, id) in ids.split(|byte| *byte == b'\n').enumerate() {
        let step = id.last().map_or(1, |byte| 1 + u32::from(*byte) % 3);
        part = part.saturating_add(step);
        let size = id.iter().fold(at as u32, |size, byte| {
            size.wrapping_mul(31).wrapping_add(u32::from(*byte))
        });
        rows.push(Segment {
            part,
            size: size >> (at % 20),
            id,
        });
    }
    let mut record = Vec::new();
    let encoded = Encoder::new().encode(&rows, &mut record);
    let is_valid = |row: &Segment<'_>| (1..=255).contains(&row.id.len());
    assert_eq!(encoded.is_ok(), rows.iter().all(is_valid), "{encoded:?}");
    if encoded.is_ok() {
        let decoded = chunk::decode(&record).expect("an own record decodes");
        assert!(decoded.iter().eq(rows.iter().copied()), "{record:?}");
    }
}
