//! Contract of algorithms for Byzantine agreement, in which some of the generals lie.
//!
//! L. Lamport, R. Shostak and M. Pease, *The Byzantine generals problem*, ACM TOPLAS 4(3), 1982.
//! One general commands and the others are its lieutenants. Messages are oral: a message that is
//! sent arrives unchanged, its receiver knows the sender, and a missing message is noticed. A liar
//! may send any content, and different contents to different generals.
//!
//! All algorithms that do not follow this contract assume that processes do not lie.

use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;

use crate::card::Variant;
use crate::process::{Group, ProcessId};

/// The commanding general. All other processes are its lieutenants.
pub const COMMANDER: ProcessId = ProcessId(0);

/// Order that the commander gives: retreat or attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plan {
    /// Retreat, the default: a general assumes this order for a missing message and after a tie.
    Retreat,
    /// Attack: a general obeys this order only if more than half of the values that it compares are
    /// this order.
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

/// A reported order, with the generals that passed it on. Each general on `path` sent the order to
/// the next general on `path`. The last general sent this message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OralMessage {
    /// Generals that passed the order on: the commander first, the sender last.
    pub path: Vec<ProcessId>,
    /// Order that the sender reports.
    pub plan: Plan,
}

/// Messages to send, each with its receiver.
pub type OutgoingMessages = Vec<(ProcessId, OralMessage)>;

/// Local state of one general that follows the algorithm.
///
/// A liar sends as many messages as a loyal general, to the same receivers, but with any orders in
/// them. A liar that stays silent need not be considered: for a missing message, receivers assume
/// the default order.
pub trait General: Clone + fmt::Debug + Eq + Hash {
    /// Configuration, which is the same for all generals.
    type Config;

    /// Creates the general `group.me()` in its initial state: it has received no message.
    fn boot(group: Group, config: &Self::Config) -> Self;

    /// Issues the order `plan` and returns the messages that the commander sends. The caller must
    /// ensure that this general is the [`COMMANDER`].
    fn command(&mut self, plan: Plan) -> OutgoingMessages;

    /// Receives a message, and returns the messages that the general sends in response.
    fn receive(&mut self, message: OralMessage) -> OutgoingMessages;

    /// Returns the order that the general has decided to obey. For the commander, this is the order
    /// that it has issued. Returns `None` before the commander has issued an order, or before a
    /// lieutenant has received all messages.
    fn decision(&self) -> Option<Plan>;
}

/// Card of an algorithm for Byzantine agreement: its source, assumptions, costs and variants. A
/// card is made for a group size and a number of tolerated liars.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GeneralsCard {
    /// Name of the algorithm on the command line.
    pub name: &'static str,
    /// Title of the algorithm, in one line.
    pub title: &'static str,
    /// Publication that describes the algorithm: authors, title and year.
    pub paper: &'static str,
    /// Assumptions of the algorithm, in words.
    pub assumes: &'static str,
    /// Smallest number of generals that the algorithm needs to tolerate the number of liars for
    /// which this card was made.
    pub least_generals: u32,
    /// Total number of messages, as a formula in the number *n* of generals and the number *m* of
    /// liars.
    pub messages: &'static str,
    /// Total number of messages of a run with the numbers of generals and of tolerated liars for
    /// which this card was made.
    #[cfg_attr(feature = "serde", serde(rename = "count"))]
    pub message_count: u64,
    /// Variants that the algorithm declares.
    pub variants: Vec<Variant>,
}
