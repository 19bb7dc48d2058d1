//! The closed list of reasons.

use std::collections::HashSet;

use voyager_engine::reason::Reason;

#[test]
fn names_are_distinct_and_stable() {
    let names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    assert!(names.iter().all(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }));
    assert_eq!(Reason::NoCounter.to_string(), "no_counter");
    assert!(Reason::ALL.is_sorted());
}
