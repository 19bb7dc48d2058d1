//! See `voyager_fuzz::subject`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::subject(data));
