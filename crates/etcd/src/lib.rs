//! Messages of the gRPC services of etcd, of the standard health service of gRPC, and of the
//! service that only `tenure serve` offers. `cargo xtask proto` generates all modules except
//! [`frames`] from the protobuf files in `proto/etcd`.
#![allow(missing_docs, clippy::all, reason = "the files beside this one are generated")]

pub mod frames;

#[rustfmt::skip]
pub mod authpb {
    include!("authpb.rs");
}

#[rustfmt::skip]
pub mod mvccpb {
    include!("mvccpb.rs");
}

#[rustfmt::skip]
pub mod etcdserverpb {
    include!("etcdserverpb.rs");
}

#[rustfmt::skip]
pub mod v3lockpb {
    include!("v3lockpb.rs");
}

#[rustfmt::skip]
pub mod v3electionpb {
    include!("v3electionpb.rs");
}

#[rustfmt::skip]
pub mod health {
    include!("grpc.health.v1.rs");
}

#[rustfmt::skip]
pub mod tenure {
    include!("tenure.rs");
}

/// Encoded descriptors of the messages and services. A program needs them to convert messages from
/// and to JSON.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("descriptors.bin");
