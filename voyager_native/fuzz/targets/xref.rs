//! See `voyager_fuzz::xref`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| voyager_fuzz::xref(data));
