//! What members of a lock service send each other and write into their log, and snapshots:
//! `cargo +nightly fuzz run member`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_server::exercise;

fuzz_target!(|bytes: &[u8]| {
    exercise::members(bytes);
    exercise::snapshot(bytes);
});
