//! The monitors that come with Tenure, one property each.

mod agreement;
mod all_arrive;
mod any_agreement;
mod atomicity;
mod bypass;
mod bypass_meter;
mod consistent_cut;
mod decisions;
mod deliveries;
mod durability;
mod fencing;
mod fresh_terms;
mod irrevocability;
mod log;
mod mutual_exclusion;
mod names;
mod neighbours;
mod no_loss;
mod one_leader;
mod one_tree;
mod one_view;
mod order;
mod quiescence;
mod side;
mod spending;
mod steady_leader;
mod uniqueness;
mod validity;

pub use agreement::Agreement;
pub use all_arrive::AllArrive;
pub use any_agreement::AnyAgreement;
pub use atomicity::Atomicity;
pub use bypass::Bypass;
pub use bypass_meter::BypassMeter;
pub use consistent_cut::ConsistentCut;
pub use decisions::{DecidedOnce, OneDecision, Proposed};
pub use deliveries::{AllDeliver, DeliveredOnce, NoCreation, OneOrder};
pub use durability::Durability;
pub use fencing::Fencing;
pub use fresh_terms::FreshTerms;
pub use irrevocability::Irrevocability;
pub use log::{
    AnsweredOnce, Appended, CommittedOnce, Completeness, LinearizableReads, LogMatching,
    OneHistory, OneLeading,
};
pub use mutual_exclusion::MutualExclusion;
pub use names::{SmallNames, UniqueNames};
pub use neighbours::Neighbours;
pub use no_loss::NoLoss;
pub use one_leader::{OneLeader, Scope};
pub use one_tree::OneTree;
pub use one_view::OneView;
pub use order::Order;
pub use quiescence::Quiescence;
pub use side::{OnApplication, OnElection, OnMutex};
pub use spending::Spending;
pub use steady_leader::SteadyLeader;
pub use uniqueness::Uniqueness;
pub use validity::Validity;
