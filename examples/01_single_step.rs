//! Steps one process by hand: passes an input, saves the state, and releases the effects.
//!
//! `cargo run -p tenure --example 01_single_step`
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use tenure::algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure::core::service::mutex::Command;
use tenure::core::{Group, Input, LamportClock, Node, ProcessId, Timestamp};

fn main() {
    let (me, other) = (ProcessId(0), ProcessId(1));
    let config = ricart_agrawala::Config::default();
    let mut node: Node<RicartAgrawala> =
        Node::boot(Group::new(me, 2), &config, None, tenure::core::ConstantEnvironment);
    step(&mut node, "P1 boots", None);

    step(&mut node, "P1 asks to enter", Some(Input::Command(Command::Enter)));

    // P2 has asked as well, at the same logical time. The smaller id has priority, so P1 defers its
    // reply.
    let stamp = Timestamp { clock: LamportClock::default().tick(), process: other };
    let request = ricart_agrawala::Message::Request { stamp };
    let input = Input::Message { from: other, message: request };
    step(&mut node, "P1 receives the request of P2", Some(input));

    let reply = ricart_agrawala::Message::Reply { to: 1, clock: 1 };
    let input = Input::Message { from: other, message: reply };
    step(&mut node, "P1 receives the reply of P2", Some(input));

    step(&mut node, "P1 leaves", Some(Input::Command(Command::Exit)));
}

fn step(node: &mut Node<RicartAgrawala>, title: &str, input: Option<Input<RicartAgrawala>>) {
    let step = match input {
        Some(input) => node.step(input),
        None => node.boot_step(),
    };
    // Ricart–Agrawala keeps no stable state. Other algorithms write it to disk here.
    assert!(step.change_before_release().is_none());
    let released = step.mark_saved();
    println!("{title}");
    for (to, message) in released.messages {
        println!("    sends to {to}: {message:?}");
    }
    for event in released.events {
        println!("    tells its user: {event:?}");
    }
}
