//! Owners of crossposted articles.

use proptest::prelude::*;
use voyager_engine::xref::{Owner, Owners, group_names};

fn groups(list: &[(&str, u32)]) -> Vec<(String, u32)> {
    list.iter()
        .map(|(name, priority)| ((*name).to_string(), *priority))
        .collect()
}

const THREE: [(&str, u32); 3] = [
    ("alt.binaries.boneless", 3),
    ("alt.binaries.test", 1),
    ("alt.binaries.misc", 2),
];

#[test]
fn the_lowest_priority_number_owns() {
    let list = groups(&THREE);
    let mut boneless = Owners::new("alt.binaries.boneless", &list);
    assert_eq!(
        boneless.owner(b"Xref: e alt.binaries.boneless:5"),
        Owner::Own
    );
    assert_eq!(
        boneless.owner(b"e alt.binaries.boneless:5 alt.binaries.misc:6"),
        Owner::Other(2)
    );
    assert_eq!(
        boneless.owner(b"e alt.binaries.misc:6 alt.binaries.boneless:5 alt.binaries.test:7"),
        Owner::Other(1)
    );
    let mut test = Owners::new("alt.binaries.test", &list);
    assert_eq!(
        test.owner(b"e alt.binaries.misc:6 alt.binaries.boneless:5 alt.binaries.test:7"),
        Owner::Own
    );
    assert_eq!(
        test.owner(b"e alt.binaries.teevee:6 alt.binaries.test:7"),
        Owner::Own
    );
}

#[test]
fn the_own_newsgroup_counts_even_when_the_xref_lacks_it() {
    let mut owners = Owners::new("alt.binaries.test", &groups(&THREE));
    for xref in [
        "",
        "Xref: e",
        "e alt.binaries.misc:6",
        "e a.b.test:1",
        "nonsense",
        ":",
        "::::",
    ] {
        assert_eq!(owners.owner(xref.as_bytes()), Owner::Own, "{xref}");
    }
    let mut misc = Owners::new("alt.binaries.misc", &groups(&THREE));
    assert_eq!(misc.owner(b"e alt.binaries.test:6"), Owner::Other(1));
}

#[test]
fn a_newsgroup_that_is_not_indexed_owns_all_of_its_articles() {
    let mut owners = Owners::new("alt.binaries.new", &groups(&THREE));
    assert_eq!(
        owners.owner(b"e alt.binaries.test:6 alt.binaries.new:1"),
        Owner::Own
    );
    assert_eq!(Owners::new("x", &[]).owner(b"e y:1 x:2"), Owner::Own);
}

#[test]
fn a_short_name_is_not_the_long_one() {
    let list = groups(&[
        ("alt.binaries.test", 5),
        ("alt.binaries.boneless", 1),
        ("a.b", 2),
    ]);
    let mut owners = Owners::new("alt.binaries.test", &list);
    assert_eq!(
        owners.owner(b"e alt.binaries.test:6084661439 alt.binaries.x:1 a.b.boneless:192526866"),
        Owner::Own
    );
    assert_eq!(
        owners.owner(b"e alt.binaries.test:6 alt.binaries.boneless.d:1"),
        Owner::Own
    );
    assert_eq!(
        owners.owner(b"e alt.binaries.test:6 alt.binaries.boneless:1"),
        Owner::Other(1)
    );
}

#[test]
fn equal_priorities_give_one_owner_seen_from_every_newsgroup() {
    let list = groups(&[("b", 1), ("a", 1), ("c", 1)]);
    assert_eq!(
        Owners::new("b", &list).owner(b"e b:1 c:2 a:3"),
        Owner::Other(1)
    );
    assert_eq!(
        Owners::new("c", &list).owner(b"e b:1 c:2 a:3"),
        Owner::Other(1)
    );
    assert_eq!(Owners::new("a", &list).owner(b"e b:1 c:2 a:3"), Owner::Own);
}

#[test]
fn what_was_learned_from_one_article_does_not_decide_for_others() {
    let mut owners = Owners::new("alt.binaries.boneless", &groups(&THREE));
    for _ in 0..3 {
        assert_eq!(
            owners.owner(b"news.x.com alt.binaries.boneless:123"),
            Owner::Own
        );
        assert_eq!(
            owners.owner(b"news.x.com alt.binaries.boneless:124 alt.binaries.test:9"),
            Owner::Other(1)
        );
        assert_eq!(
            owners.owner(b"news.x.com alt.binaries.boneless:"),
            Owner::Own
        );
        assert_eq!(owners.owner(b"alt.binaries.misc:7"), Owner::Other(2));
        assert_eq!(
            owners.owner(b"news.y.com alt.binaries.boneless:125"),
            Owner::Own
        );
        assert_eq!(
            owners.owner(b"alt.binaries.test:4 alt.binaries.boneless:126"),
            Owner::Other(1)
        );
    }
}

#[test]
fn names_come_in_order_with_or_without_label_and_host() {
    let names = |xref: &'static str| -> Vec<&str> {
        group_names(xref.as_bytes())
            .filter_map(|name| std::str::from_utf8(name).ok())
            .collect()
    };
    assert_eq!(names("Xref: e b.c:1 a.b:22"), ["b.c", "a.b"]);
    assert_eq!(names("news.x.com  b.c:1  a.b:22 "), ["b.c", "a.b"]);
    assert_eq!(names("b.c:1"), ["b.c"]);
    assert_eq!(names("Xref:"), [""; 0]);
    assert_eq!(names(""), [""; 0]);
}

#[test]
fn thousands_of_newsgroups_are_told_apart() {
    let list: Vec<(String, u32)> = (0..5000)
        .map(|i| (format!("alt.binaries.g{i}"), 5000 - i))
        .collect();
    let mut owners = Owners::new("alt.binaries.g0", &list);
    for i in [1_usize, 77, 4999] {
        assert_eq!(
            owners.owner(format!("e alt.binaries.g0:1 alt.binaries.g{i}:2").as_bytes()),
            Owner::Other(i)
        );
    }
    assert_eq!(
        owners.owner(b"e alt.binaries.g0:1 alt.binaries.g5000:2"),
        Owner::Own
    );
}

/// An Xref with some newsgroups, among them such whose names differ in digits, and numbers of any length.
fn any_xref() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => (prop::sample::select(vec![
            "alt.binaries.test", "alt.binaries.x264", "alt.binaries.x265", "alt.binaries.a1", "alt.binaries.b1",
        ]), "[0-9]{0,4}").prop_map(|(name, number)| format!("{name}:{number}")),
        1 => "[a-z0-9:]{0,12}",
    ];
    prop::collection::vec(word, 0..5).prop_map(|words| format!("news.example {}", words.join(" ")))
}

proptest! {
    #[test]
    fn what_was_met_before_changes_nothing(xrefs in prop::collection::vec(any_xref(), 1..80)) {
        let groups: Vec<(String, u32)> = [
            ("alt.binaries.test", 5), ("alt.binaries.x264", 1), ("alt.binaries.x265", 9), ("alt.binaries.a1", 2),
        ].map(|(name, priority)| (name.to_owned(), priority)).into();
        let mut used = Owners::new("alt.binaries.test", &groups);
        for xref in &xrefs {
            let fresh = Owners::new("alt.binaries.test", &groups).owner(xref.as_bytes());
            prop_assert_eq!(used.owner(xref.as_bytes()), fresh, "{}", xref);
        }
    }
}
