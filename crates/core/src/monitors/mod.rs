//! The monitors that come with Tenure, one property each.

mod agreement;
mod any_agreement;
mod atomicity;
mod bypass;
mod bypass_meter;
mod decisions;
mod deliveries;
mod durability;
mod fencing;
mod irrevocability;
mod mutual_exclusion;
mod no_loss;
mod one_leader;
mod one_tree;
mod order;
mod side;
mod uniqueness;
mod validity;

pub use agreement::Agreement;
pub use any_agreement::AnyAgreement;
pub use atomicity::Atomicity;
pub use bypass::Bypass;
pub use bypass_meter::BypassMeter;
pub use decisions::{DecidedOnce, OneDecision, Proposed};
pub use deliveries::{AllDeliver, DeliveredOnce, NoCreation, OneOrder};
pub use durability::Durability;
pub use fencing::Fencing;
pub use irrevocability::Irrevocability;
pub use mutual_exclusion::MutualExclusion;
pub use no_loss::NoLoss;
pub use one_leader::{OneLeader, Scope};
pub use one_tree::OneTree;
pub use order::Order;
pub use side::{OnApplication, OnElection, OnMutex};
pub use uniqueness::Uniqueness;
pub use validity::Validity;
