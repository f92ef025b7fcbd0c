//! The monitors that come with Tenure, one property each.

mod agreement;
mod agreement_monitor;
mod all_arrive;
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
mod message_budget;
mod mutual_exclusion;
mod names;
mod neighbours;
mod no_loss;
mod one_leader;
mod one_tree;
mod one_view;
mod order;
mod projection;
mod quiescence;
mod steady_leader;
mod uniqueness;
mod validity;
mod waves;

pub use agreement::Agreement;
pub use agreement_monitor::AgreementMonitor;
pub use all_arrive::AllArrive;
pub use atomicity::Atomicity;
pub use bypass::Bypass;
pub use bypass_meter::BypassMeter;
pub use consistent_cut::ConsistentCut;
pub use decisions::{DecidedOnce, DecidedWasProposed, OneDecision};
pub use deliveries::{AllDeliver, DeliveredOnce, NoCreation, TotalOrder};
pub use durability::Durability;
pub use fencing::Fencing;
pub use fresh_terms::FreshTerms;
pub use irrevocability::Irrevocability;
pub use log::{
    AnsweredOnce, CommittedOnce, CommittedWasAppended, ElectionSafety, LeaderCompleteness,
    LinearizableReads, LogMatching, StateMachineSafety,
};
pub use message_budget::MessageBudget;
pub use mutual_exclusion::MutualExclusion;
pub use names::{SmallNames, UniqueNames};
pub use neighbours::NeighboursOnly;
pub use no_loss::NoLoss;
pub use one_leader::{OneLeader, Scope};
pub use one_tree::OneTree;
pub use one_view::OneView;
pub use order::Order;
pub use projection::{OnApplication, OnElection, OnMutex};
pub use quiescence::Quiescence;
pub use steady_leader::SteadyLeader;
pub use uniqueness::Uniqueness;
pub use validity::Validity;
pub use waves::{AllReached, WaveTree};
