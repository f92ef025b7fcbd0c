//! Descriptions of all gRPC services of a member, and of their messages.

use std::sync::LazyLock;

use prost_reflect::DescriptorPool;
use tenure_etcd::DESCRIPTORS;

/// The descriptors that the protobuf compiler wrote. They are decoded at the first use.
pub(crate) static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(DESCRIPTORS).expect("descriptors from the compiler are valid")
});
