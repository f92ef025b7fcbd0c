//! Descriptions of all gRPC services of a member, and of their messages.

use std::sync::LazyLock;

use prost_reflect::DescriptorPool;
use tenure_etcd::FILE_DESCRIPTOR_SET;

/// The descriptors that the protobuf compiler wrote. They are decoded at the first use.
pub(crate) static DESCRIPTOR_POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("descriptors from the compiler are valid")
});
