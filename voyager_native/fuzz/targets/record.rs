//! See `voyager_fuzz::record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::record(data));
