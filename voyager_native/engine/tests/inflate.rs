//! Blocks as servers send them, and as they must not be taken.

use libdeflater::{CompressionLvl, Compressor};
use voyager_engine::inflate::{Encoding, InflateError, Inflater, Terminator};

const LINES: &[u8] = b"5\tsubject\tposter\tdate\t<a@b>\t\t740105\t5691\tXref: e g:5\r\n6\ts\tp\td\t<c@d>\t\t1\t1\t\r\n";

type Wrap = fn(&[u8]) -> Vec<u8>;

fn compressor() -> Compressor {
    Compressor::new(CompressionLvl::default())
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut out = vec![0; text.len() + 1000];
    let len = compressor().zlib_compress(text, &mut out).expect("room");
    out.truncate(len);
    out
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = vec![0; text.len() + 1000];
    let len = compressor().gzip_compress(text, &mut out).expect("room");
    out.truncate(len);
    out
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut out = vec![0; text.len() + 1000];
    let len = compressor().deflate_compress(text, &mut out).expect("room");
    out.truncate(len);
    out
}

fn inflate(block: &[u8]) -> Result<(Vec<u8>, Encoding, Terminator, usize), InflateError> {
    let mut out = Vec::new();
    let framing = Inflater::new().inflate(block, &mut out)?;
    assert!(
        out[framing.text_len..][..Inflater::PADDING]
            .iter()
            .all(|byte| *byte == 0),
        "padding"
    );
    Ok((
        out[..framing.text_len].to_vec(),
        framing.encoding,
        framing.terminator,
        framing.trailing,
    ))
}

#[test]
fn every_wrapping_with_every_place_of_the_terminator() {
    let inside = [LINES, b".\r\n"].concat();
    let wrappings: [(Encoding, Wrap); 3] = [
        (Encoding::Zlib, zlib),
        (Encoding::Gzip, gzip),
        (Encoding::Deflate, deflate),
    ];
    for (encoding, wrap) in wrappings {
        let bare = wrap(LINES);
        for after in [&b".\r\n"[..], b"\r\n.\r\n", b".\n", b"."] {
            let block = [&bare[..], after].concat();
            assert_eq!(
                inflate(&block),
                Ok((LINES.to_vec(), encoding, Terminator::After, 0))
            );
        }
        assert_eq!(
            inflate(&bare),
            Ok((LINES.to_vec(), encoding, Terminator::Missing, 0))
        );
        assert_eq!(
            inflate(&wrap(&inside)),
            Ok((LINES.to_vec(), encoding, Terminator::Inside, 0))
        );
    }
}

#[test]
fn any_valid_zlib_header() {
    let stream = zlib(LINES);
    for window in 0..=7_u8 {
        for level in 0..=3_u8 {
            let method = window << 4 | 8;
            let flags = (0..31).map(|check| level << 6 | check).find(|flags| {
                flags & 0x20 == 0 && u16::from_be_bytes([method, *flags]).is_multiple_of(31)
            });
            let Some(flags) = flags else { continue };
            let block = [&[method, flags], &stream[2..]].concat();
            let found = inflate(&block).map(|(text, encoding, ..)| (text, encoding));
            assert_eq!(
                found,
                Ok((LINES.to_vec(), Encoding::Zlib)),
                "{method:02x} {flags:02x}"
            );
        }
    }
}

#[test]
fn plain_blocks() {
    for text in [
        LINES,
        b"5\tx",
        b"\r\n5\tx\r\n",
        b"no overview at all\r\n",
        b"8\tx\r\n",
        b"Xy\r\n",
        b"hC\r\n",
    ] {
        let found = inflate(text).map(|(text, encoding, ..)| (text, encoding));
        assert_eq!(
            found,
            Ok((text.to_vec(), Encoding::Plain)),
            "{}",
            String::from_utf8_lossy(text)
        );
    }
    let inside = [LINES, b".\r\n"].concat();
    assert_eq!(
        inflate(&inside),
        Ok((LINES.to_vec(), Encoding::Plain, Terminator::Inside, 0))
    );
    assert_eq!(
        inflate(b".\r\n"),
        Ok((vec![], Encoding::Plain, Terminator::Inside, 0))
    );
    assert_eq!(
        inflate(b""),
        Ok((vec![], Encoding::Plain, Terminator::Missing, 0))
    );
}

#[test]
fn a_line_that_ends_in_a_dot_is_no_terminator() {
    let text = b"5\tsubject.\r\n";
    assert_eq!(
        inflate(text),
        Ok((text.to_vec(), Encoding::Plain, Terminator::Missing, 0))
    );
    assert_eq!(
        inflate(&zlib(text)),
        Ok((text.to_vec(), Encoding::Zlib, Terminator::Missing, 0))
    );
}

#[test]
fn an_empty_reply() {
    for text in [&b".\r\n"[..], b""] {
        for block in [zlib(text), gzip(text), deflate(text)] {
            assert_eq!(inflate(&block).map(|(text, ..)| text), Ok(vec![]));
        }
    }
}

#[test]
fn several_streams_after_one_another() {
    let twice = [LINES, LINES].concat();
    let block = [zlib(LINES), zlib(LINES), b".\r\n".to_vec()].concat();
    assert_eq!(
        inflate(&block),
        Ok((twice.clone(), Encoding::Zlib, Terminator::After, 0))
    );
    let block = [gzip(LINES), gzip(LINES)].concat();
    assert_eq!(
        inflate(&block),
        Ok((twice, Encoding::Gzip, Terminator::Missing, 0))
    );
}

#[test]
fn bytes_after_a_checked_stream_are_counted() {
    let block = [&zlib(LINES)[..], b"garbage\x00\xff"].concat();
    assert_eq!(
        inflate(&block),
        Ok((LINES.to_vec(), Encoding::Zlib, Terminator::Missing, 9))
    );
    let block = [&deflate(LINES)[..], b"garbage\x00\xff"].concat();
    assert_eq!(inflate(&block), Err(InflateError::Damaged));
}

#[test]
fn a_cut_or_damaged_stream_is_an_error() {
    let long = LINES.repeat(50);
    for stream in [zlib(&long), gzip(&long)] {
        for cut in 3..stream.len() {
            assert_eq!(
                inflate(&stream[..cut]),
                Err(InflateError::Damaged),
                "cut at {cut}"
            );
        }
        for at in 2..stream.len() {
            let mut damaged = stream.clone();
            damaged[at] ^= 0x55;
            // Parts of a gzip header say nothing about the text.
            assert!(
                inflate(&damaged).is_err()
                    || inflate(&damaged).is_ok_and(|(text, ..)| text == long),
                "at {at}"
            );
        }
    }
    let stream = deflate(&long);
    for cut in 1..stream.len() {
        assert!(inflate(&stream[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_bomb_is_stopped() {
    let bomb = zlib(&vec![b'0'; 64 << 20]);
    let Err(InflateError::TooLarge { limit }) = inflate(&bomb) else {
        panic!("a bomb of {} bytes", bomb.len())
    };
    assert!(limit <= Inflater::MAX_TEXT);
}

#[test]
fn a_kept_buffer_serves_blocks_of_all_sizes() {
    let mut inflater = Inflater::new();
    let mut out = Vec::new();
    for count in [1, 2000, 3, 0, 900] {
        let text = LINES.repeat(count);
        for block in [zlib(&text), text.clone()] {
            let framing = inflater.inflate(&block, &mut out).expect("a whole block");
            assert_eq!(out[..framing.text_len], text);
            assert!(
                out[framing.text_len..][..Inflater::PADDING]
                    .iter()
                    .all(|byte| *byte == 0)
            );
        }
    }
    assert!(inflater.inflate(b"\x78\x9c\xff\xff", &mut out).is_err());
    assert!(
        inflater.inflate(LINES, &mut out).is_ok(),
        "works on after an error"
    );
}
