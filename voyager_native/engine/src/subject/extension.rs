//! File extensions: whether a text looks like a file name.

/// How much a text looks like a file name: 2 = a known extension, 1 = some extension, 0 = none.
pub(super) fn extension_rank(name: &[u8]) -> u8 {
    let Some(dot) = memchr::memrchr(b'.', name) else {
        return 0;
    };
    rank_of(&name[dot + 1..])
}

/// [`extension_rank`] of an extension without its dot.
pub(super) fn rank_of(extension: &[u8]) -> u8 {
    const LONGEST: usize = 8;
    if extension.is_empty() || extension.len() > LONGEST {
        return 0;
    }
    let mut lower = [0; LONGEST];
    for (to, from) in lower.iter_mut().zip(extension) {
        if !from.is_ascii_alphanumeric() {
            return 0;
        }
        *to = from.to_ascii_lowercase();
    }
    let lower = &lower[..extension.len()];
    if is_known(lower) {
        2
    } else if lower.iter().all(u8::is_ascii_digit) {
        u8::from(lower.len() <= 5)
    } else {
        u8::from((2..=4).contains(&lower.len()))
    }
}

/// Extensions (lower case) of files that are commonly posted, by length, in order.
const KNOWN_2: &[u8] = b"7zdbgzrmtsxz";
const KNOWN_3: &[u8] = b"\
    3ds3gpaacac3aceapeapkarjasfassaviazwbinbmpbupbz2cabcbrcbzccdchmciacsscsv\
    cuedatdebdmgdocdtsevoexeflvgcmghogifhtmidxifoimgisojarjpglitloglzhm2vm3u\
    m4am4bm4vmd5mdfmdsmidmkvmovmp3mp4mpcmpgmsindsnfonrgnspnzboggogmparpdbpdf\
    phppkgpngpptprcpsdrarrpmrtfsfvsitsqxsrrsrssrtsubswftartgztifttftxturlvdi\
    vobvttwavwmawmvxcixlsxmlxpszip";
const KNOWN_4: &[u8] = b"\
    aiffazw3bdmvclpidivxdjvudocxepubflacheichtmljpegjsonm2tsm3u8mobimpegmpls\
    opuspar2pptxrmvbtemptiffvmdkwbfswebmwebpxlsxxvid";

/// Whether files with this extension (lower case) are commonly posted.
fn is_known(extension: &[u8]) -> bool {
    match extension {
        // Volumes: r00, s00 … z01, and 001.
        [b'r'..=b'z' | b'0'..=b'9', a, b] if a.is_ascii_digit() && b.is_ascii_digit() => true,
        [a, b] => KNOWN_2.as_chunks().0.binary_search(&[*a, *b]).is_ok(),
        [a, b, c] => KNOWN_3.as_chunks().0.binary_search(&[*a, *b, *c]).is_ok(),
        [a, b, c, d] => KNOWN_4
            .as_chunks()
            .0
            .binary_search(&[*a, *b, *c, *d])
            .is_ok(),
        _ => matches!(extension, b"torrent" | b"appimage"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order() {
        assert!(KNOWN_2.as_chunks::<2>().0.is_sorted() && KNOWN_2.as_chunks::<2>().1.is_empty());
        assert!(KNOWN_3.as_chunks::<3>().0.is_sorted() && KNOWN_3.as_chunks::<3>().1.is_empty());
        assert!(KNOWN_4.as_chunks::<4>().0.is_sorted() && KNOWN_4.as_chunks::<4>().1.is_empty());
    }

    #[test]
    fn ranks() {
        for name in [
            "a.rar",
            "a.R00",
            "a.z01",
            "a.001",
            "a.PAR2",
            "a.7z",
            "a.torrent",
            ".nzb",
            "a.zip",
            "a.3ds",
            "a.xvid",
        ] {
            assert_eq!(extension_rank(name.as_bytes()), 2, "{name}");
        }
        for name in ["a.7", "a.12345", "a.com", "a.ag", "a.x264"] {
            assert_eq!(extension_rank(name.as_bytes()), 1, "{name}");
        }
        for name in [
            "a",
            "a.",
            "a.b",
            "a.123456",
            "a.x264-b",
            "a.verylong",
            "a. rar",
            "a.r\u{e4}r",
            "",
        ] {
            assert_eq!(extension_rank(name.as_bytes()), 0, "{name}");
        }
    }
}
