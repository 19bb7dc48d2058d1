//! See `voyager_fuzz::lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::lines(data));
