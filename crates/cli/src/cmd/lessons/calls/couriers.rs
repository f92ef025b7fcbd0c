//! Couriers between two generals who may be caught: why no number of confirmations is enough.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::{Effects, Group, Never, Order, ProcessId, Protocol, labelled};
use tenure_trace::Stage;

/// An army, which confirms what it hears.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Army {
    group: Group,
    most: u32,
    /// How many couriers have come through to it: all that it knows.
    heard: u32,
}

/// What the first army is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Attack;

/// What armies say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    /// "We attack", or "we have heard that …".
    Courier {
        /// How many there have been, this one included.
        number: u32,
    },
}

labelled!(Message, Application, Courier => "courier");

impl Protocol for Army {
    /// How many couriers there are at most.
    type Config = u32;
    type Command = Attack;
    type Event = ();
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, most: &u32, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Army { group, most: *most, heard: 0 }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Attack: Attack, fx: &mut impl Effects<Self>) {
        fx.send(self.group.successor(), Message::Courier { number: 1 });
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Courier { number } = message;
        self.heard += 1;
        if number < self.most {
            fx.send(from, Message::Courier { number: number + 1 });
        }
    }
}

/// What both armies know in the end, if so many couriers come through and the next is caught.
fn ends(most: u32, through: u32) -> [Army; 2] {
    let (first, second) = (ProcessId(0), ProcessId(1));
    let mut stage = Stage::<Army>::alike(2, Order::Fifo, most);
    stage.command(first, Attack);
    let link = |number: u32| if number % 2 == 1 { (first, second) } else { (second, first) };
    for number in 1..=through {
        stage.pass(link(number), 0);
    }
    if through < most {
        stage.lose(link(through + 1));
    }
    [first, second].map(|at| stage.process(at).expect("no army is ever down").clone())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Couriers {
    /// How many there are at most.
    most: u32,
    may_be_caught: bool,
}

/// Tries every run in which one of at most so many couriers is caught; none is if none may be.
///
/// `alike`: runs that differ by the last courier, which the army that sent it cannot tell apart.
/// `rules`: those of the form "attack as soon as so many couriers came through", one number an
/// army, under which both attack where none is caught. `alone`: those of them by which one attacks
/// alone in some run.
pub(super) fn chain(with: Couriers) -> Result<Value, Infallible> {
    let Couriers { most, may_be_caught } = with;
    let least = if may_be_caught { 0 } else { most };
    let runs: Vec<[Army; 2]> = (least..=most).map(|through| ends(most, through)).collect();
    // Whoever sent the last courier of the longer run.
    let sender = |longer: usize| (least as usize + longer + 1) % 2;
    let alike = (1..runs.len())
        .filter(|longer| runs[*longer][sender(*longer)] == runs[*longer - 1][sender(*longer)])
        .count() as u32;
    let (mut rules, mut alone) = (0, 0);
    for first in 0..=most {
        for second in 1..=most {
            let attacks = |run: &[Army; 2]| [run[0].heard >= first, run[1].heard >= second];
            if runs.last().map(attacks) == Some([true; 2]) {
                rules += 1;
                alone += u32::from(runs.iter().map(attacks).any(|[one, other]| one != other));
            }
        }
    }
    Ok(json!({ "alike": alike, "rules": rules, "alone": alone }))
}
