//! See `voyager_fuzz::span`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::span(data));
