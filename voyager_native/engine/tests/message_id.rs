//! Segment counters in message-ids.

use voyager_engine::message_id::part_of;

#[test]
fn powerpost_ids_carry_the_segment_counter() {
    assert_eq!(
        part_of(b"part1of201.gdBsOLiW6kktveIiYr0@powerpost2000AA.local"),
        Some((1, 201))
    );
    assert_eq!(
        part_of(b"Part211of211.CE0633039DF9BE46C1446B18D86B0BA8@1452090703.local"),
        Some((211, 211))
    );
    assert_eq!(part_of(b"PART0of5.x"), Some((0, 5)));
}

#[test]
fn other_ids_do_not() {
    for id in [
        &b"RDHZ5Hrju9kROB63dnCE_91o168@JBinUp.local"[..],
        b"part1of201",
        b"part1of201@x",
        b"partof201.x",
        b"part1of.x",
        b"part12345678901of2.x",
        b"part1o2.x",
        b"xpart1of2.x",
        b"party1of2.x",
        b"part1of2x.y",
        b"",
    ] {
        assert_eq!(part_of(id), None, "{}", String::from_utf8_lossy(id));
    }
}
