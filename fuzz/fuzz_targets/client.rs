//! What clients send a member of a lock service, as gRPC and as JSON, and their tokens:
//! `cargo +nightly fuzz run client`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_server::exercise;

fuzz_target!(|bytes: &[u8]| {
    exercise::messages(bytes);
    exercise::json(bytes);
    exercise::token(bytes);
});
