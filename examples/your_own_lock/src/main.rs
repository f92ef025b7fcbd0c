//! A lock of your own: a program that adds the lock to all tools of Tenure.
//!
//! The algorithm is in `doorkeeper.rs`, and a property of your own in `request_before_entry.rs`.
//! With this file you can simulate, check, draw and step through the algorithm, and run it with
//! real processes. The options and the output are those of built-in algorithms.
//!
//! `cargo run -p your-own-lock -- check doorkeeper --variant second-key` shows that a second key
//! lets two processes enter. `--help` lists all commands.

mod doorkeeper;
mod request_before_entry;

use doorkeeper::{Doorkeeper, Mistake};
use request_before_entry::RequestBeforeEntry;
use tenure::algorithms::Variants;
use tenure::algorithms::channel::FifoChannel;
use tenure::core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure::core::{Algorithm, AlgorithmClass, Card, MessageCost, ToleratedFaults, Topology};

impl Algorithm for Doorkeeper {
    fn card(_: &Self::Config, size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Centralised,
            topology: Topology::Star,
            faults: ToleratedFaults::none("stops when a process crashes or a message is lost"),
            messages: MessageCost::per_entry("3 (0 at the door)", 0, Some(3)).zero_if_alone(size),
            variants: Variants::<Mistake>::declarations(),
            ..Card::mutex("doorkeeper", "knock, and wait for the key", "of your own")
        }
    }

    /// Predicts the number of messages per entry. `simulate` compares the prediction with the
    /// measured number. When the doorkeeper itself enters, it needs no messages.
    fn predicted_messages(_: &Self::Config, size: u32, scene: WorkloadKind) -> Option<Prediction> {
        let all_alike =
            Prediction::fraction(PredictionKind::Exact, 3 * u64::from(size - 1), size.into());
        (scene == WorkloadKind::AllEquallyOften).then_some(all_alike)
    }
}

fn main() -> std::process::ExitCode {
    let algorithms = tenure::catalogue![Doorkeeper, FifoChannel<Doorkeeper>];
    tenure::main(algorithms, tenure::monitors![RequestBeforeEntry::default()])
}
