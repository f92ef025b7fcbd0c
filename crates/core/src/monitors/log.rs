//! What is expected of a log that a group keeps: the five properties of Figure 3.2 of D. Ongaro's
//! thesis (*Consensus: bridging theory and practice*, Stanford 2014) that can be seen from outside,
//! and what users may rely on.

mod answers;
mod applied;
mod books;
mod completeness;
mod matching;
mod once;
mod reads;

pub use answers::{AnsweredOnce, Appended};
pub use applied::OneHistory;
pub use completeness::Completeness;
pub use matching::{LogMatching, OneLeading};
pub use once::CommittedOnce;
pub use reads::LinearizableReads;
