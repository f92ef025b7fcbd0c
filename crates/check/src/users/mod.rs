//! The users of the services that come with Tenure.

mod detector;
mod election;
mod mutex;
mod office;
mod stream;

pub use detector::DetectorUser;
pub use election::ElectionUser;
pub use mutex::MutexUser;
pub use office::OfficeUser;
pub use stream::StreamUser;
