//! Files of a node on disk: state file, registry, and segments of the change log:
//! `cargo +nightly fuzz run files`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_runtime::fuzzing;

fuzz_target!(|bytes: &[u8]| {
    fuzzing::fuzz_store_files(bytes);
});
