//! The monitors that come with Tenure, one property each.

mod agreement;
mod bypass;
mod fencing;
mod mutual_exclusion;
mod no_loss;
mod one_leader;
mod order;
mod side;

pub use agreement::Agreement;
pub use bypass::Bypass;
pub use fencing::Fencing;
pub use mutual_exclusion::MutualExclusion;
pub use no_loss::NoLoss;
pub use one_leader::{OneLeader, Scope};
pub use order::Order;
pub use side::{OnElection, OnMutex};
