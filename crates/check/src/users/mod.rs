//! Users of Tenure's services, as the checker models them.

pub(crate) mod assumptions;
pub(crate) mod crashes;
pub(crate) mod entries;
pub(crate) mod stamping;
pub(crate) mod user;

mod agreement;
mod clock;
mod combined;
mod commit;
mod detector;
mod election;
mod mutex;
mod replication;
mod stream;
mod tree;

pub use agreement::AgreementUser;
pub use clock::ClockUser;
pub use combined::CombinedUser;
pub use commit::CommitUser;
pub use detector::DetectorUser;
pub use election::ElectionUser;
pub use mutex::MutexUser;
pub use replication::ReplicationUser;
pub use stream::StreamUser;
pub use tree::SpanningTreeUser;
