use proptest::prelude::*;

use super::*;

/// Every way must give what `check` gives for [`Plain`].
fn alike<T: PartialEq + std::fmt::Debug>(plain: &T, wide: impl Fn(Wide) -> T) {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = Avx2::new() {
        assert_eq!(*plain, wide(avx2));
    }
    #[cfg(not(target_arch = "x86_64"))]
    assert_eq!(*plain, wide(Plain));
}

#[cfg(target_arch = "x86_64")]
type Wide = Avx2;
#[cfg(not(target_arch = "x86_64"))]
type Wide = Plain;

fn framed(inner: &[u8]) -> (Vec<u8>, usize, usize) {
    // What stands around must not count.
    let around = b"\xff&=. (:<>\x7f \t0123456789abcdefghijk\xff".repeat(6);
    let text = [&around, inner, &around].concat();
    (text, around.len(), around.len() + inner.len())
}

#[test]
fn every_byte_is_of_its_kinds() {
    for byte in (b' '..=u8::MAX).chain([b'\t']) {
        for len in [1, 31, 32, 33, 64, 65, 128, 129] {
            let mut inner = vec![b'x'; len];
            inner[len - 1] = byte;
            let (text, start, end) = framed(&inner);
            let kinds = Plain.kinds(&text, start, end);
            assert_eq!(kinds.odd, byte >= 0x80 || b"&=".contains(&byte));
            assert_eq!(kinds.marks, b" ([{</|\\.:".contains(&byte));
            alike(&kinds, |wide| wide.kinds(&text, start, end));
            alike(&Plain.is_id(&text, start, end), |wide| {
                wide.is_id(&text, start, end)
            });
            alike(&Plain.tail(&text, end), |wide| wide.tail(&text, end));
        }
    }
}

proptest! {
    #[test]
    fn numbers_are_read_alike(
        first in 0..10_000_000_000_000_000_u64,
        second in 0..100_000_u64,
        width in 1..=16_usize,
        (at, byte) in (0..40_usize, any::<u8>()),
    ) {
        let (left, right) = (format!("{first}"), format!("{second:0width$}"));
        let digits = [left.len(), right.len()];
        let end = |number: &str| -> [u8; NUMBER] {
            let text = format!("=============== {number}").into_bytes();
            *text.last_chunk().expect("sixteen bytes")
        };
        let mut ends = [end(&left), end(&right)];
        let of = |ends: &[[u8; NUMBER]; 2]| Plain.numbers([&ends[0], &ends[1]], digits);
        prop_assert_eq!(of(&ends), Some([first, second]));
        alike(&of(&ends), |wide| wide.numbers([&ends[0], &ends[1]], digits));
        if let Some(found) = ends.as_flattened_mut().get_mut(at) {
            *found = byte;
        }
        alike(&of(&ends), |wide| wide.numbers([&ends[0], &ends[1]], digits));
    }

    #[test]
    fn all_ways_see_the_same(inner in prop::collection::vec(b' '..=255, 0..200), byte in b' '..=255) {
        let (text, start, end) = framed(&inner);
        alike(&Plain.kinds(&text, start, end), |wide| wide.kinds(&text, start, end));
        alike(&Plain.tail(&text, end), |wide| wide.tail(&text, end));
        alike(&Plain.last_of(&text, end, byte), |wide| wide.last_of(&text, end, byte));
        alike(&Plain.is_id(&text, start, end), |wide| wide.is_id(&text, start, end));
    }

    #[test]
    fn forms_fit_alike(
        inner in "[0-9a-f:]{1,250}",
        at in 0..250_usize,
        byte in b' '..=255,
    ) {
        let inner = inner.into_bytes();
        let is_free = |at: usize| inner[at].is_ascii_digit() && !at.is_multiple_of(5);
        let form = Form::steps::<4>(&inner, is_free);
        let mut other = inner.clone();
        let at = at % other.len();
        other[at] = byte;
        let (text, start, _) = framed(&other);
        let fits = byte == inner[at] || (is_free(at) && byte.is_ascii_digit());
        prop_assert_eq!(Plain.is_like(&text, start, &form), fits);
        alike(&fits, |wide| wide.is_like(&text, start, &form));
        let mut known = [0; 2 * MARGIN];
        known[..inner.len()].copy_from_slice(&inner);
        let same = byte == inner[at];
        prop_assert_eq!(Plain.begins(&text, start, &known, inner.len()), same);
        alike(&same, |wide| wide.begins(&text, start, &known, inner.len()));
    }
}
