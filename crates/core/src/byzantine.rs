//! Contract of agreement among generals of whom some lie.
//!
//! L. Lamport, R. Shostak and M. Pease, *The Byzantine generals problem*, ACM TOPLAS 4(3), 1982.
//! One general commands and the others are its lieutenants. Messages are oral: a message that is
//! sent arrives unchanged, its receiver knows the sender, and a missing message is noticed. A liar
//! may send any content, and different contents to different generals.
//!
//! No other algorithm of Tenure tolerates liars.

use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;

use crate::card::Variant;
use crate::process::{Group, ProcessId};

/// The commanding general. The others are its lieutenants.
pub const COMMANDER: ProcessId = ProcessId(0);

/// Order of the commander.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plan {
    /// The default: of a tie, and of a message that is missing.
    Retreat,
    /// The other order.
    Attack,
}

impl Plan {
    /// Both orders, the default first.
    pub const ALL: [Plan; 2] = [Plan::Retreat, Plan::Attack];

    /// Returns the name of the order.
    pub const fn name(self) -> &'static str {
        match self {
            Plan::Retreat => "retreat",
            Plan::Attack => "attack",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// "The last general on the path tells me that it received this order along the rest of the path."
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OralMessage {
    /// Generals that passed the order on: the commander first, the sender last.
    pub path: Vec<ProcessId>,
    /// Order that the sender reports.
    pub plan: Plan,
}

/// Messages with their receivers.
pub type Outgoing = Vec<(ProcessId, OralMessage)>;

/// One general that follows the algorithm.
///
/// A liar follows it too, but sends any order in place of the right one. A general that sends
/// nothing is a liar that sends the default.
pub trait General: Clone + fmt::Debug + Eq + Hash {
    /// Configuration, which is the same for all generals.
    type Config;

    /// Creates a general of the group.
    fn boot(group: Group, config: &Self::Config) -> Self;

    /// Issues an order, at the commander. Returns its messages.
    fn command(&mut self, plan: Plan) -> Outgoing;

    /// Receives a message. Returns the messages that the general sends in turn.
    fn receive(&mut self, message: OralMessage) -> Outgoing;

    /// Returns the order that the general obeys, or `None` before it has all messages.
    fn obeys(&self) -> Option<Plan>;
}

/// The claims of an algorithm for generals.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GeneralsCard {
    /// Name on the command line.
    pub name: &'static str,
    /// Title in one line.
    pub title: &'static str,
    /// Source: authors, title, year.
    pub paper: &'static str,
    /// Assumptions, in words.
    pub assumes: &'static str,
    /// Fewest generals for the number of liars of the card.
    pub least_generals: u32,
    /// Number of messages in a formula of n generals and m liars.
    pub messages: &'static str,
    /// The same number for the sizes of the card.
    pub count: u64,
    /// Variants that the algorithm declares.
    pub variants: Vec<Variant>,
}
