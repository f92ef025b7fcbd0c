//! A lock of your own: `doorkeeper.rs` is the algorithm, and this is all else that it needs to be
//! simulated, checked, drawn, stepped through and run by real processes, with the options and the
//! output of those that are built in.
//!
//! `cargo run -p your-own-lock -- check doorkeeper --variant second-key` shows what is wrong with
//! a second key; `--help` tells the rest.

mod doorkeeper;

use doorkeeper::{Doorkeeper, Mistake};
use tenure::algorithms::Variants;
use tenure::algorithms::channel::Fifo;
use tenure::core::theory::{Expected, Precision, Scene};
use tenure::core::{Algorithm, Card, Cost, Faults, Strategy, Topology};

impl Algorithm for Doorkeeper {
    fn card(_: &Self::Config, size: u32) -> Card {
        Card {
            strategy: Strategy::Centralised,
            topology: Topology::Star,
            faults: Faults::none("stops when anybody crashes, and when a message is lost"),
            messages: Cost::per_entry("3 (0 at the door)", 0, Some(3)).none_alone(size),
            variants: Variants::<Mistake>::declared(),
            ..Card::mutex("doorkeeper", "knock, and wait for the key", "of your own")
        }
    }

    /// What `simulate` holds beside what it measures: the door's own entries cost nothing.
    fn expected(_: &Self::Config, size: u32, scene: Scene) -> Option<Expected> {
        let all_alike = Expected::shared(Precision::Exact, 3 * u64::from(size - 1), size.into());
        (scene == Scene::Alike).then_some(all_alike)
    }
}

fn main() -> std::process::ExitCode {
    tenure::main(tenure::catalogue![Doorkeeper, Fifo<Doorkeeper>])
}
