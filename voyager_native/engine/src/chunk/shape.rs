//! The separators of an id: what ids that are built alike have in common.

/// Whether two ids have the same separators in the same order.
pub(super) fn same_shape(left: &[u8], right: &[u8]) -> bool {
    let mut left = left;
    let mut right = right;
    loop {
        let (left_word, right_word) = (word_len(left), word_len(right));
        if (left_word == 0) != (right_word == 0) {
            return false;
        }
        left = &left[left_word..];
        right = &right[right_word..];
        match (left.split_first(), right.split_first()) {
            (None, None) => return true,
            (Some((left_mark, left_rest)), Some((right_mark, right_rest)))
                if left_mark == right_mark =>
            {
                left = left_rest;
                right = right_rest;
            }
            _ => return false,
        }
    }
}

/// A number that is the same for ids of one shape: a hash of their separators.
pub(super) fn shape_of(id: &[u8]) -> u64 {
    let mut shape = 0u64;
    let mut word_start = 0;
    let (eights, rest) = id.as_chunks();
    let mut last = [b'0'; 8];
    last[..rest.len()].copy_from_slice(rest);
    for (start, eight) in (0..).step_by(8).zip(eights.iter().chain([&last])) {
        let mut marks = marks_of(u64::from_le_bytes(*eight));
        while marks != 0 {
            let at = start + (marks.trailing_zeros() / 8) as usize;
            marks &= marks - 1;
            let mark = u64::from(id[at]) << 1 | u64::from(at > word_start);
            shape = (shape.rotate_left(5) ^ mark).wrapping_mul(0x517c_c1b7_2722_0a95);
            word_start = at + 1;
        }
    }
    shape << 1 | u64::from(id.len() > word_start)
}

/// The highest bits of those of eight bytes that are neither letters nor digits.
const fn marks_of(bytes: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    // The highest bit of a sum says that a byte without its own is at least that character.
    let low = bytes & (0x7f * ONES);
    let small = low | (0x20 * ONES);
    let digit = (low + (0x80 - b'0' as u64) * ONES) & !(low + (0x7f - b'9' as u64) * ONES);
    let letter = (small + (0x80 - b'a' as u64) * ONES) & !(small + (0x7f - b'z' as u64) * ONES);
    !((digit | letter) & !bytes) & (0x80 * ONES)
}

/// Length of the letters and digits at the start.
pub(super) fn word_len(id: &[u8]) -> usize {
    id.iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_letter_nor_digit_is_a_mark() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut bytes = *b"a0Z9zA5b";
                bytes[place] = byte;
                let mark = u64::from(!byte.is_ascii_alphanumeric()) << (8 * place + 7);
                assert_eq!(marks_of(u64::from_le_bytes(bytes)), mark);
            }
        }
    }
}
