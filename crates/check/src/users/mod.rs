//! The users of the services that come with Tenure.

pub(crate) mod assumptions;
pub(crate) mod crashing;
pub(crate) mod entries;
pub(crate) mod stamping;
pub(crate) mod user;

mod clock;
mod commit;
mod detector;
mod election;
mod led;
mod mutex;
mod office;
mod replication;
mod stream;
mod tree;

pub use clock::ClockUser;
pub use commit::CommitUser;
pub use detector::DetectorUser;
pub use election::ElectionUser;
pub use led::LedUser;
pub use mutex::MutexUser;
pub use office::OfficeUser;
pub use replication::ReplicationUser;
pub use stream::StreamUser;
pub use tree::TreeUser;
