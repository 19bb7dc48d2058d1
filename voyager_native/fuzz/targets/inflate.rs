//! See `voyager_fuzz::inflate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::inflate(data));
