//! An experiment with couriers between two generals, who must attack together. If a courier may be
//! captured, no number of confirmations makes a joint attack certain.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure_core::{ChannelOrder, Effects, Group, Never, ProcessId, Protocol, labelled};
use tenure_trace::TestCluster;

/// One of two armies. When a courier arrives, the army sends a courier back to confirm the arrival,
/// until `max_couriers` couriers were sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Army {
    group: Group,
    max_couriers: u32,
    /// Number of couriers that have arrived. The army has no other information.
    received: u32,
}

/// Command to the first army to attack and to send the first courier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Attack;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    /// A courier with the text "we attack", or with an acknowledgement.
    Courier {
        /// Number of couriers that were sent so far, including this one.
        number: u32,
    },
}

labelled!(Message, Application, Courier => "courier");

impl Protocol for Army {
    /// Maximum number of couriers that the two armies send in total.
    type Config = u32;
    type Command = Attack;
    type Event = ();
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, max_couriers: &u32, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Army { group, max_couriers: *max_couriers, received: 0 }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Attack: Attack, fx: &mut impl Effects<Self>) {
        fx.send(self.group.successor(), Message::Courier { number: 1 });
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Courier { number } = message;
        self.received += 1;
        if number < self.max_couriers {
            fx.send(from, Message::Courier { number: number + 1 });
        }
    }
}

/// Returns the final states of both armies if the first `through` couriers arrive and the next one
/// is captured. If `through` equals `max_couriers`, no courier is captured.
fn ends(max_couriers: u32, through: u32) -> [Army; 2] {
    let (first, second) = (ProcessId(0), ProcessId(1));
    let mut cluster = TestCluster::<Army>::with_same_config(2, ChannelOrder::Fifo, max_couriers);
    cluster.issue_command(first, Attack);
    let link = |number: u32| if number % 2 == 1 { (first, second) } else { (second, first) };
    for number in 1..=through {
        cluster.deliver_at(link(number), 0);
    }
    if through < max_couriers {
        cluster.lose_oldest(link(through + 1));
    }
    [first, second].map(|at| cluster.process(at).expect("no army is ever down").clone())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CourierArguments {
    max_couriers: u32,
    may_be_caught: bool,
}

/// Explores all runs of two armies that send couriers to each other. In one run, every courier
/// arrives. If couriers may be captured, there are further runs: in each of them, one courier is
/// captured, and no further courier is sent.
///
/// A rule gives each army a number, which is at least 1 for the second army. An army attacks once
/// it has received this number of couriers. The result has three numbers:
///
/// - `alike` counts pairs of runs that differ only in the arrival of the last courier. In both
///   runs, the sender of this courier ends in the same state.
/// - `rules` is the number of rules by which both armies attack if every courier arrives.
/// - `alone` is the number of these rules by which one army attacks alone in some run.
pub(super) fn explore_captures(with: CourierArguments) -> Result<Value, Infallible> {
    let CourierArguments { max_couriers, may_be_caught } = with;
    let least = if may_be_caught { 0 } else { max_couriers };
    let runs: Vec<[Army; 2]> =
        (least..=max_couriers).map(|through| ends(max_couriers, through)).collect();
    // Each run has one courier more than the previous run. Computes the army that sent this
    // courier.
    let sender = |longer: usize| (least as usize + longer + 1) % 2;
    let alike = (1..runs.len())
        .filter(|longer| runs[*longer][sender(*longer)] == runs[*longer - 1][sender(*longer)])
        .count() as u32;
    let (mut rules, mut alone) = (0, 0);
    for first in 0..=max_couriers {
        for second in 1..=max_couriers {
            let attacks = |run: &[Army; 2]| [run[0].received >= first, run[1].received >= second];
            if runs.last().map(attacks) == Some([true; 2]) {
                rules += 1;
                alone += u32::from(runs.iter().map(attacks).any(|[one, other]| one != other));
            }
        }
    }
    Ok(json!({ "alike": alike, "rules": rules, "alone": alone }))
}
