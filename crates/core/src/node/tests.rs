//! Tests of the moment at which a node saves its state, and of the effects that it releases after
//! the save.

use alloc::vec;

use super::*;
use crate::protocol::Effects;

/// A persistent list that saves only its new elements.
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

    fn unsaved_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let from = saved.1.len();
        (self.0.len() > from).then(|| (from, self.0[from..].to_vec()))
    }

    fn apply_change((_, saved): &mut Self::Stable, (from, change): Self::Stable) {
        saved.truncate(from);
        saved.extend(change);
    }

    /// Appends the number, unless it is 0.
    fn on_command(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        self.0.extend(Some(number).filter(|number| *number > 0));
        fx.emit(number);
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

fn node() -> Node<List> {
    let stable = Some((0, vec![1]));
    Node::boot(Group::new(ProcessId(0), 1), &(), stable, ConstantEnvironment)
}

fn queue_effects(node: &mut Node<List>, numbers: &[u64]) {
    numbers.iter().for_each(|number| node.step(Input::Command(*number)).queue_effects());
}

fn released(node: &mut Node<List>) -> Vec<u64> {
    let mut events = Vec::new();
    while let Some(released) = node.release() {
        events.extend(released.events);
    }
    events
}

#[test]
fn save_covers_exactly_steps_queued_before() {
    let mut node = node();
    queue_effects(&mut node, &[2, 3, 4]);
    assert_eq!(released(&mut node), [], "nothing is saved yet");
    let first = node.begin_save().expect("something to save");
    assert_eq!((first.change(), first.is_complete_state()), (&(1, vec![2, 3, 4]), false));
    // These steps are queued during the save.
    queue_effects(&mut node, &[0, 5]);
    assert_eq!(node.begin_save(), None, "one at a time");
    assert_eq!(released(&mut node), [], "the disk is not done");
    node.finish_save(first);
    let second = node.begin_save().expect("something to save");
    assert_eq!(released(&mut node), [2, 3, 4]);
    assert_eq!(second.change(), &(4, vec![5]));
    assert!(node.has_pending_effects());
    node.finish_save(second);
    assert_eq!(released(&mut node), [0, 5]);
    assert!(!node.has_pending_effects());
    assert_eq!(node.latest_save_state(), Some(&(0, vec![1, 2, 3, 4, 5])));
}

#[test]
fn unchanged_step_waits_only_for_earlier_ones() {
    let mut node = node();
    let step = node.step(Input::Command(0));
    assert!(step.can_release());
    drop(step.mark_saved());
    let step = node.step(Input::Command(2));
    assert!(!step.can_release());
    step.queue_effects();
    let step = node.step(Input::Command(0));
    assert!(!step.can_release(), "another step is before it");
    step.queue_effects();
    let saving = node.begin_save().expect("something to save");
    node.finish_save(saving);
    assert_eq!(released(&mut node), [2, 0]);
    assert!(node.step(Input::Command(0)).can_release());
}

/// A process with a persistent counter. A `Promise` message may leave only after the counter is
/// saved. A `Question` message may leave earlier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PromiseCounter(u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum TestMessage {
    Promise(u64),
    Question(u64),
}

crate::labelled!(TestMessage, Application, Promise => "promise", Question => "question");

impl Protocol for PromiseCounter {
    type Config = ();
    type Command = TestMessage;
    type Event = ();
    type Message = TestMessage;
    type Timer = ();
    type Stable = u64;

    fn boot(_: Group, (): &(), stable: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        PromiseCounter(stable.unwrap_or_default())
    }

    fn stable(&self) -> u64 {
        self.0
    }

    fn on_command(&mut self, message: TestMessage, fx: &mut impl Effects<Self>) {
        self.0 += 1;
        fx.send(ProcessId(1), message);
    }

    fn on_message(&mut self, _: ProcessId, _: TestMessage, _: &mut impl Effects<Self>) {}

    fn must_wait_for_save(message: &TestMessage) -> bool {
        matches!(message, TestMessage::Promise(_))
    }
}

#[test]
fn independent_messages_leave_before_save() {
    let mut node: Node<PromiseCounter> =
        Node::boot(Group::new(ProcessId(0), 2), &(), Some(0), ConstantEnvironment);
    for message in [TestMessage::Promise(1), TestMessage::Question(2), TestMessage::Promise(3)] {
        let is_question = message == TestMessage::Question(2);
        let mut step = node.step(Input::Command(message));
        let early: Vec<_> =
            step.take_messages_before_save(|_| true).map(|(_, message)| message).collect();
        assert_eq!(early, [TestMessage::Question(2)][usize::from(!is_question)..]);
        step.queue_effects();
    }
    let saving = node.begin_save().expect("something to save");
    node.finish_save(saving);
    let mut left = Vec::new();
    while let Some(released) = node.release() {
        left.extend(released.messages.map(|(_, message)| message));
    }
    assert_eq!(left, [TestMessage::Promise(1), TestMessage::Promise(3)]);
}

/// A list that can drop its first elements. If a step drops elements, the effects of this step may
/// leave before the change is saved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CutList {
    first: usize,
    list: Vec<u64>,
}

impl Protocol for CutList {
    type Config = ();
    type Command = Option<u64>;
    type Event = u64;
    type Message = ();
    type Timer = ();
    /// A change of the list: the index of the oldest element that the list still contains, the
    /// index of the first new element, and the new elements. If the new elements are the whole
    /// list, the change is a complete state.
    type Stable = (usize, usize, Vec<u64>);

    fn boot(_: Group, (): &(), stable: Option<Self::Stable>, _: &mut impl Effects<Self>) -> Self {
        let (first, _, list) = stable.unwrap_or_default();
        CutList { first, list }
    }

    fn stable(&self) -> Self::Stable {
        (self.first, self.first, self.list.clone())
    }

    fn unsaved_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let (_, from, rest) = self.urgent_change(saved).unwrap_or((0, self.end(), Vec::new()));
        (self.first != saved.0 || !rest.is_empty()).then_some((self.first, from, rest))
    }

    const DEFERS_SAVES: bool = true;

    fn urgent_change(&self, (first, _, list): &Self::Stable) -> Option<Self::Stable> {
        let from = first + list.len();
        (self.end() > from).then(|| (*first, from, self.list[from - self.first..].to_vec()))
    }

    fn apply_change((first, begins, saved): &mut Self::Stable, change: Self::Stable) {
        saved.truncate(change.1 - *first);
        saved.extend(change.2);
        let cut = change.0.saturating_sub(*first);
        saved.drain(..cut);
        (*first, *begins) = (*first + cut, *first + cut);
    }

    /// Appends the number. If `number` is `None`, drops all elements except the last.
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

impl CutList {
    fn end(&self) -> usize {
        self.first + self.list.len()
    }
}

#[test]
fn deferred_change_delays_no_effects() {
    let saved = Some((0, 0, vec![1, 2]));
    let mut node: Node<CutList> =
        Node::boot(Group::new(ProcessId(0), 1), &(), saved, ConstantEnvironment);
    assert!(!node.needs_rewrite());
    let step = node.step(Input::Command(None));
    assert!(step.can_release(), "a cut list makes no promise");
    drop(step.mark_saved());
    assert!(node.needs_rewrite());
    node.step(Input::Command(Some(3))).queue_effects();
    assert_eq!(node.begin_rewrite(), None, "a change has to be saved first");
    let saving = node.begin_save().expect("something to save");
    assert_eq!(saving.change(), &(0, 2, vec![3]), "and not that the head is gone");
    assert_eq!(node.begin_rewrite(), Some((1, 1, vec![2, 3])));
    assert_eq!((node.begin_rewrite(), node.needs_rewrite()), (None, false), "one at a time");
    node.finish_save(saving);
    // During the rewrite, a change applies to the old state and to its replacement.
    node.step(Input::Command(Some(4))).queue_effects();
    let saving = node.begin_save().expect("something to save");
    assert_eq!(saving.change(), &(0, 3, vec![4]));
    node.finish_save(saving);
    assert_eq!(node.latest_save_state(), Some(&(0, 0, vec![1, 2, 3, 4])));
    assert_eq!(node.full_saved_state(), None, "the other whole is to replace what there is");
    node.finish_rewrite();
    assert_eq!(node.latest_save_state(), Some(&(1, 1, vec![2, 3, 4])));
    assert_eq!(node.full_saved_state(), node.latest_save_state());
    assert!(!node.needs_rewrite());
}

#[test]
fn queued_steps_without_changes_need_no_save() {
    let mut node = node();
    queue_effects(&mut node, &[0, 0]);
    assert_eq!(node.begin_save(), None);
    assert_eq!(released(&mut node), [0, 0]);
}

#[test]
#[should_panic(expected = "leave after those of the steps before it")]
fn step_cannot_overtake_queued_step() {
    let mut node = node();
    queue_effects(&mut node, &[2]);
    let _ = node.step(Input::Command(3)).mark_saved();
}
