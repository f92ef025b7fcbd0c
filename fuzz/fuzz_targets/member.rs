//! Messages between members of a lock service, log entries and snapshots:
//! `cargo +nightly fuzz run member`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_server::fuzzing;

fuzz_target!(|bytes: &[u8]| {
    fuzzing::check_peer_messages(bytes);
    fuzzing::check_snapshot(bytes);
});
