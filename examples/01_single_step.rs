//! One process, stepped by hand: tell it something, save, release.
//!
//! `cargo run -p tenure --example 01_single_step`
#![allow(clippy::print_stdout, reason = "an example is here to print")]

use tenure::algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure::core::service::mutex::Command;
use tenure::core::{Group, Input, LamportClock, Node, ProcessId, Stamp};

fn main() {
    let (me, other) = (ProcessId(0), ProcessId(1));
    let config = ricart_agrawala::Config::default();
    let mut node: Node<RicartAgrawala> =
        Node::boot(Group::new(me, 2), &config, None, tenure::core::Still);
    tell(&mut node, "P1 boots", None);

    tell(&mut node, "P1 asks to enter", Some(Input::Command(Command::Enter)));

    // P2 asked as well, at the same logical time; the smaller id goes first, so P1 defers it.
    let stamp = Stamp { clock: LamportClock::default().tick(), process: other };
    let request = ricart_agrawala::Message::Request { stamp };
    let input = Input::Message { from: other, message: request };
    tell(&mut node, "P1 receives the request of P2", Some(input));

    let reply = ricart_agrawala::Message::Reply { to: 1, clock: 1 };
    let input = Input::Message { from: other, message: reply };
    tell(&mut node, "P1 receives the reply of P2", Some(input));

    tell(&mut node, "P1 leaves", Some(Input::Command(Command::Exit)));
}

fn tell(node: &mut Node<RicartAgrawala>, what: &str, input: Option<Input<RicartAgrawala>>) {
    let step = match input {
        Some(input) => node.step(input),
        None => node.pending(),
    };
    // Ricart–Agrawala keeps nothing across a crash; a step that does is written to disk here.
    assert!(step.unsaved().is_none());
    let released = step.saved();
    println!("{what}");
    for (to, message) in released.messages {
        println!("    sends to {to}: {message:?}");
    }
    for event in released.events {
        println!("    tells its user: {event:?}");
    }
}
