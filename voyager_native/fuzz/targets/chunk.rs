//! See `voyager_fuzz::chunk`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::chunk(data));
