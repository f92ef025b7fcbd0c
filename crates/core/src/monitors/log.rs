//! Monitors of a replicated log. They judge the properties in Figure 3.2 of D. Ongaro's thesis
//! (*Consensus: bridging theory and practice*, Stanford 2014) that are visible from outside. They
//! also judge guarantees for users, such as linearizable reads.

mod answers;
mod committed_once;
mod known_logs;
mod leader_completeness;
mod linearizable_reads;
mod matching;
mod state_machine_safety;

pub use answers::{AnsweredOnce, CommittedWasAppended};
pub use committed_once::CommittedOnce;
pub use leader_completeness::LeaderCompleteness;
pub use linearizable_reads::LinearizableReads;
pub use matching::{ElectionSafety, LogMatching};
pub use state_machine_safety::StateMachineSafety;
