//! Minimum spanning tree of Gallager, Humblet and Spira: each process learns which of its edges
//! belong to the tree.
//!
//! R. G. Gallager, P. A. Humblet, P. M. Spira, *A distributed algorithm for minimum-weight spanning
//! trees*, ACM TOPLAS 5(1), 1983.
//!
//! | | |
//! |---|---|
//! | assumes | a connected graph, first-in-first-out channels, no crash |
//! | messages for the tree | at most 2E + 5N⌊log₂N⌋, where the paper states 2E + 5N log₂N |
//! | messages to announce that the tree is complete | N − 2 |
//!
//! **Why it is right.** The algorithm and its rules are those of [`GallagerHumbletSpira`]. In that
//! algorithm, subtrees (*fragments*) merge until one is left. The two ends of the edge that joined
//! the last fragments learn that no edge leaves the fragment. So the fragment is the whole tree,
//! and the two ends announce this result along the tree. A process that receives the announcement
//! knows all its branches, because no process adds a branch after the last merge. The paper halts
//! without an announcement, so only the two ends know that the tree is complete.

use core::fmt;

use alloc::vec::Vec;

use tenure_core::service::election;
use tenure_core::service::spanning_tree::{Command, Event};
use tenure_core::theory::{Prediction, WorkloadKind};
use tenure_core::{
    Algorithm, Card, CostUnit, Effects, Group, Labelled, Layer, MessageCost, MessageLabel, Never,
    ProcessId, Property, Protocol, Service,
};

use crate::Variants;
use crate::election::GallagerHumbletSpira;
use crate::election::gallager_humblet_spira::{self, Config, VariantId};

/// One process of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MinimumSpanningTree {
    fragment: GallagerHumbletSpira,
}

/// A message of [`GallagerHumbletSpira`], the algorithm that builds the tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Message(pub gallager_humblet_spira::Message);

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        MessageLabel { layer: Layer::Agreement, ..self.0.label() }
    }
}

impl Protocol for MinimumSpanningTree {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let fragment = GallagerHumbletSpira::boot(group, config, None, &mut fragment_effects(fx));
        MinimumSpanningTree { fragment }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Build = command;
        let was_complete = self.is_complete();
        self.fragment.on_command(election::Command::Elect, &mut fragment_effects(fx));
        self.report(was_complete, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let was_complete = self.is_complete();
        self.fragment.on_message(from, message.0, &mut fragment_effects(fx));
        self.report(was_complete, fx);
    }
}

impl MinimumSpanningTree {
    /// Returns true if this process knows that the tree is complete.
    pub fn is_complete(&self) -> bool {
        self.fragment.leader().is_some()
    }

    /// Informs the user if the tree became complete in this step. `was_complete` is true if the
    /// tree was complete before this step.
    fn report(&self, was_complete: bool, fx: &mut impl Effects<Self>) {
        if self.is_complete() && !was_complete {
            let mut neighbours: Vec<ProcessId> = self.fragment.branch_neighbours().collect();
            neighbours.sort_unstable();
            fx.emit(Event::Built { neighbours });
        }
    }
}

/// Returns the effects sink for [`GallagerHumbletSpira`] inside this protocol. The sink sends the
/// messages of [`GallagerHumbletSpira`] as messages of this protocol, and discards its election
/// events.
fn fragment_effects(
    fx: &mut impl Effects<MinimumSpanningTree>,
) -> impl Effects<GallagerHumbletSpira> {
    fx.child_effects(Message, |timer| timer, |_: election::Event| None)
}

impl Algorithm for MinimumSpanningTree {
    fn card(config: &Config, size: u32) -> Card {
        let election = GallagerHumbletSpira::card(config, size);
        let agreement = Card::agreement(
            Service::SpanningTree,
            "minimum-spanning-tree",
            "fragments of the minimum spanning tree merge, and each process learns its edges",
            "Gallager, Humblet & Spira, ACM TOPLAS 5(1), 1983",
        )
        .with_promises([Property::MinimumSpanningTree]);
        Card {
            service: agreement.service,
            name: agreement.name,
            title: agreement.title,
            paper: agreement.paper,
            promises: agreement.promises,
            messages: MessageCost { per: CostUnit::Agreement, ..election.messages },
            variants: Variants::<VariantId>::declarations(),
            ..election
        }
    }

    fn predicted_messages(config: &Config, size: u32, kind: WorkloadKind) -> Option<Prediction> {
        GallagerHumbletSpira::predicted_messages(config, size, kind)
    }
}
