//! Generates Rust code from the protobufs in `etcd`: `tenure-proto DESTINATION`.
//!
//! It needs no `protoc`. It also writes a descriptor set, by which the server converts messages
//! from and to JSON.

use std::path::{Path, PathBuf};

use prost::Message;

const FILES: [&str; 7] = [
    "auth.proto",
    "kv.proto",
    "rpc.proto",
    "lock.proto",
    "election.proto",
    "health.proto",
    "tenure.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let destination =
        PathBuf::from(std::env::args().nth(1).ok_or("the destination folder is missing")?);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("etcd");
    let mut descriptors = protox::compile(FILES.map(|file| sources.join(file)), [&sources])?;
    // Comments are only of use in the protobufs.
    descriptors.file.iter_mut().for_each(|file| file.source_code_info = None);
    std::fs::create_dir_all(&destination)?;
    std::fs::write(destination.join("descriptors.bin"), descriptors.encode_to_vec())?;
    let mut config = prost_build::Config::new();
    config.bytes([".tenure"]).out_dir(destination).compile_fds(descriptors)?;
    Ok(())
}
