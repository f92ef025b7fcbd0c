//! When a node saves, and what leaves it then.

use alloc::vec;

use super::*;
use crate::protocol::Effects;

/// A list that is kept, and says what was added to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct List(Vec<u64>);

impl Protocol for List {
    type Config = ();
    type Command = u64;
    type Event = u64;
    type Message = ();
    type Timer = ();
    type Stable = (usize, Vec<u64>);

    fn boot(_: Group, (): &(), stable: Option<Self::Stable>, _: &mut impl Effects<Self>) -> Self {
        List(stable.map_or_else(Vec::new, |(_, list)| list))
    }

    fn stable(&self) -> Self::Stable {
        (0, self.0.clone())
    }

    fn unsaved(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let from = saved.1.len();
        (self.0.len() > from).then(|| (from, self.0[from..].to_vec()))
    }

    fn amend((_, saved): &mut Self::Stable, (from, change): Self::Stable) {
        saved.truncate(from);
        saved.extend(change);
    }

    /// Asked for 0, nothing is added.
    fn on_command(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        self.0.extend(Some(number).filter(|number| *number > 0));
        fx.emit(number);
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

fn node() -> Node<List> {
    let stable = Some((0, vec![1]));
    Node::boot(Group::new(ProcessId(0), 1), &(), stable, Still)
}

fn keep_back(node: &mut Node<List>, numbers: &[u64]) {
    numbers.iter().for_each(|number| node.step(Input::Command(*number)).keep_back());
}

fn released(node: &mut Node<List>) -> Vec<u64> {
    let mut events = Vec::new();
    while let Some(released) = node.release() {
        events.extend(released.events);
    }
    events
}

#[test]
fn one_save_covers_all_that_was_kept_back_before_it_and_nothing_after() {
    let mut node = node();
    keep_back(&mut node, &[2, 3, 4]);
    assert_eq!(released(&mut node), [], "nothing is saved yet");
    let first = node.save().expect("something to save");
    assert_eq!((first.change(), first.is_whole()), (&(1, vec![2, 3, 4]), false));
    // While the disk works.
    keep_back(&mut node, &[0, 5]);
    assert_eq!(node.save(), None, "one at a time");
    assert_eq!(released(&mut node), [], "the disk is not done");
    node.saved(first);
    let second = node.save().expect("something to save");
    assert_eq!(released(&mut node), [2, 3, 4]);
    assert_eq!(second.change(), &(4, vec![5]));
    assert!(node.is_waiting());
    node.saved(second);
    assert_eq!(released(&mut node), [0, 5]);
    assert!(!node.is_waiting());
    assert_eq!(node.written(), Some(&(0, vec![1, 2, 3, 4, 5])));
}

#[test]
fn what_needs_no_save_waits_only_for_those_before_it() {
    let mut node = node();
    let step = node.step(Input::Command(0));
    assert!(step.may_leave());
    drop(step.saved());
    let step = node.step(Input::Command(2));
    assert!(!step.may_leave());
    step.keep_back();
    let step = node.step(Input::Command(0));
    assert!(!step.may_leave(), "another step is before it");
    step.keep_back();
    let saving = node.save().expect("something to save");
    node.saved(saving);
    assert_eq!(released(&mut node), [2, 0]);
    assert!(node.step(Input::Command(0)).may_leave());
}

/// Who must not forget how often it was asked, and tells another; questions rest on nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Teller(u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Said {
    Promise(u64),
    Question(u64),
}

crate::labelled!(Said, Application, Promise => "promise", Question => "question");

impl Protocol for Teller {
    type Config = ();
    type Command = Said;
    type Event = ();
    type Message = Said;
    type Timer = ();
    type Stable = u64;

    fn boot(_: Group, (): &(), stable: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        Teller(stable.unwrap_or_default())
    }

    fn stable(&self) -> u64 {
        self.0
    }

    fn on_command(&mut self, said: Said, fx: &mut impl Effects<Self>) {
        self.0 += 1;
        fx.send(ProcessId(1), said);
    }

    fn on_message(&mut self, _: ProcessId, _: Said, _: &mut impl Effects<Self>) {}

    fn rests_on_saves(message: &Said) -> bool {
        matches!(message, Said::Promise(_))
    }
}

#[test]
fn what_rests_on_nothing_that_is_saved_may_leave_ahead_of_what_does() {
    let mut node: Node<Teller> = Node::boot(Group::new(ProcessId(0), 2), &(), Some(0), Still);
    for said in [Said::Promise(1), Said::Question(2), Said::Promise(3)] {
        let is_question = said == Said::Question(2);
        let mut step = node.step(Input::Command(said));
        let hurried: Vec<_> = step.hurry().map(|(_, message)| message).collect();
        assert_eq!(hurried, [Said::Question(2)][usize::from(!is_question)..]);
        step.keep_back();
    }
    let saving = node.save().expect("something to save");
    node.saved(saving);
    let mut left = Vec::new();
    while let Some(released) = node.release() {
        left.extend(released.messages.map(|(_, message)| message));
    }
    assert_eq!(left, [Said::Promise(1), Said::Promise(3)]);
}

/// A list of which the head may be cut, which nobody has to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Short {
    first: usize,
    list: Vec<u64>,
}

impl Protocol for Short {
    type Config = ();
    type Command = Option<u64>;
    type Event = u64;
    type Message = ();
    type Timer = ();
    /// Where it begins, where what is said begins, and that.
    type Stable = (usize, usize, Vec<u64>);

    fn boot(_: Group, (): &(), stable: Option<Self::Stable>, _: &mut impl Effects<Self>) -> Self {
        let (first, _, list) = stable.unwrap_or_default();
        Short { first, list }
    }

    fn stable(&self) -> Self::Stable {
        (self.first, self.first, self.list.clone())
    }

    fn unsaved(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let (_, from, rest) = self.urgent(saved).unwrap_or((0, self.end(), Vec::new()));
        (self.first != saved.0 || !rest.is_empty()).then_some((self.first, from, rest))
    }

    const DEFERS: bool = true;

    fn urgent(&self, (first, _, list): &Self::Stable) -> Option<Self::Stable> {
        let from = first + list.len();
        (self.end() > from).then(|| (*first, from, self.list[from - self.first..].to_vec()))
    }

    fn amend((first, begins, saved): &mut Self::Stable, change: Self::Stable) {
        saved.truncate(change.1 - *first);
        saved.extend(change.2);
        let cut = change.0.saturating_sub(*first);
        saved.drain(..cut);
        (*first, *begins) = (*first + cut, *first + cut);
    }

    /// Asked for nothing, all but the last are cut.
    fn on_command(&mut self, number: Option<u64>, fx: &mut impl Effects<Self>) {
        match number {
            Some(number) => self.list.push(number),
            None => {
                let cut = self.list.len().saturating_sub(1);
                self.list.drain(..cut);
                self.first += cut;
            }
        }
        fx.emit(number.unwrap_or(0));
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

impl Short {
    fn end(&self) -> usize {
        self.first + self.list.len()
    }
}

#[test]
fn what_need_not_be_saved_keeps_nobody_back_and_is_written_beside_what_must_be() {
    let saved = Some((0, 0, vec![1, 2]));
    let mut node: Node<Short> = Node::boot(Group::new(ProcessId(0), 1), &(), saved, Still);
    assert!(!node.is_long());
    let step = node.step(Input::Command(None));
    assert!(step.may_leave(), "whoever cuts its list promises nothing");
    drop(step.saved());
    assert!(node.is_long());
    node.step(Input::Command(Some(3))).keep_back();
    assert_eq!(node.rewrite(), None, "a change has to be saved first");
    let saving = node.save().expect("something to save");
    assert_eq!(saving.change(), &(0, 2, vec![3]), "and not that the head is gone");
    assert_eq!(node.rewrite(), Some((1, 1, vec![2, 3])));
    assert_eq!((node.rewrite(), node.is_long()), (None, false), "one at a time");
    node.saved(saving);
    // While that is written: a change to what was there before, and to what comes after it.
    node.step(Input::Command(Some(4))).keep_back();
    let saving = node.save().expect("something to save");
    assert_eq!(saving.change(), &(0, 3, vec![4]));
    node.saved(saving);
    assert_eq!(node.written(), Some(&(0, 0, vec![1, 2, 3, 4])));
    assert_eq!(node.replacement(), None, "the other whole is to replace what there is");
    node.rewritten();
    assert_eq!(node.written(), Some(&(1, 1, vec![2, 3, 4])));
    assert_eq!(node.replacement(), node.written());
    assert!(!node.is_long());
}

#[test]
fn what_is_kept_back_for_nothing_is_free_without_a_save() {
    let mut node = node();
    keep_back(&mut node, &[0, 0]);
    assert_eq!(node.save(), None);
    assert_eq!(released(&mut node), [0, 0]);
}

#[test]
#[should_panic(expected = "leave after those of the steps before it")]
fn no_step_overtakes_one_that_is_kept_back() {
    let mut node = node();
    keep_back(&mut node, &[2]);
    let _ = node.step(Input::Command(3)).saved();
}
