//! What nodes read from the disk: a state, and segments of a log:
//! `cargo +nightly fuzz run files`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_runtime::exercise;

fuzz_target!(|bytes: &[u8]| {
    exercise::files(bytes);
});
