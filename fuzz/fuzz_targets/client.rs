//! Requests of clients to a member of a lock service, in gRPC and JSON, and their tokens:
//! `cargo +nightly fuzz run client`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_server::fuzzing;

fuzz_target!(|bytes: &[u8]| {
    fuzzing::check_client_messages(bytes);
    fuzzing::check_json_request(bytes);
    fuzzing::check_token(bytes);
});
