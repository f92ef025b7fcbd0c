//! The messages that clients of etcd and its servers exchange, as far as locks and elections need
//! them, made of the protobufs in `proto/etcd` by `cargo xtask proto`.
#![allow(missing_docs, clippy::all, reason = "the files beside this one are made by a program")]

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

/// The messages and services as data, by which JSON is understood.
pub const DESCRIPTORS: &[u8] = include_bytes!("descriptors.bin");
