//! See `voyager_fuzz::date`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::date(data));
