//! The users of the services that come with Tenure.

pub(crate) mod assumptions;
pub(crate) mod crashing;
pub(crate) mod entries;
pub(crate) mod stamping;
pub(crate) mod user;

mod agreement;
mod both;
mod clock;
mod commit;
mod detector;
mod election;
mod mutex;
mod replication;
mod stream;
mod tree;

pub use agreement::AgreementUser;
pub use both::BothUser;
pub use clock::ClockUser;
pub use commit::CommitUser;
pub use detector::DetectorUser;
pub use election::ElectionUser;
pub use mutex::MutexUser;
pub use replication::ReplicationUser;
pub use stream::StreamUser;
pub use tree::TreeUser;
