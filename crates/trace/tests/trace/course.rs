//! What a trace says was done, and how a run goes on.

use tenure_core::{Order, ProcessId, TICKS_PER_UNIT};
use tenure_trace::{
    Action, Asked, Choice, Course, Header, Impossible, Kind, Passage, Record, Service, Source,
    Stage, Theatre, Trace, Who,
};

use crate::tiny::{Message, Tiny};

const P1: ProcessId = ProcessId(0);
const P2: ProcessId = ProcessId(1);
const P3: ProcessId = ProcessId(2);

fn trace(repeats: u32, records: impl IntoIterator<Item = (Who, Kind)>) -> Trace {
    let header = Header { repeats, ..Header::new("tiny", Service::Mutex, 3, Source::Simulator) };
    let record = |(place, (who, kind)): (usize, (Who, Kind))| {
        Record::new(place as u64 * TICKS_PER_UNIT, who, kind)
    };
    let records = records.into_iter().enumerate().map(record).collect();
    Trace { header, records, torn: None }
}

fn of(who: ProcessId, kind: Kind) -> (Who, Kind) {
    (who.into(), kind)
}

fn request(peer: ProcessId) -> Passage {
    Passage::of(&Message::Request, peer, 0, 1)
}

fn enter() -> Kind {
    Kind::Command(Asked::from(tenure_core::service::mutex::Command::Enter))
}

fn actions(words: &[&str]) -> Vec<Action> {
    words.iter().map(|word| word.parse().expect("an action")).collect()
}

/// The checker writes that it boots and crashes before the first step, and takes one for a crash.
#[test]
fn who_crashes_before_the_first_step_of_a_search_was_down_from_the_start() {
    let records = [of(P1, Kind::Boot), of(P2, Kind::Boot), of(P2, Kind::Crash), of(P1, enter())];
    let mut run = trace(0, records);
    let course = |run: &Trace| Course::of_trace(run).expect("a course");
    let crashes = actions(&["crash p2", "enter p1"]);
    assert_eq!((course(&run).down, course(&run).actions), (vec![P3], crashes.clone()));
    run.header.source = Source::Checker;
    assert_eq!((course(&run).down, course(&run).actions), (vec![P3], crashes));
    run.records[..3].iter_mut().for_each(|record| record.time = 0);
    let (down, asked) = (vec![P3, P2], actions(&["enter p1"]));
    assert_eq!((course(&run).down, course(&run).actions), (down, asked));
}

/// What was sent at a boot is under way: the crash that followed was a step.
#[test]
fn who_sent_something_at_its_boot_was_up() {
    let records = [
        of(P1, Kind::Boot),
        of(P2, Kind::Boot),
        of(P3, Kind::Boot),
        of(P2, Kind::Send(request(P1))),
        of(P2, Kind::Crash),
        of(P2, Kind::Recover),
        of(P1, Kind::Receive(request(P2))),
    ];
    let course = Course::of_trace(&trace(0, records.clone())).expect("a course");
    assert_eq!(course.down, []);
    assert_eq!(course.actions, actions(&["crash p2", "recover p2", "deliver p2→p1"]));
    // Record by record, how many steps were begun.
    let records = trace(0, records).records;
    let done = |end: usize| course.done_in(&records[..end]);
    assert_eq!([4, 5, 6, 7].map(done), [0, 1, 2, 3]);
}

/// The same steps with other draws are another run. What was drawn at a boot comes before all that
/// can be said.
#[test]
fn what_was_drawn_is_said_before_the_step_that_draws_it() {
    let drew = |value| of(P1, Kind::Choice(Choice { value, bound: 9 }));
    let records = [
        of(P1, Kind::Boot),
        drew(7),
        of(P2, Kind::Boot),
        of(P3, Kind::Boot),
        of(P1, enter()),
        drew(3),
        drew(0),
        of(P1, Kind::Send(request(P2))),
        of(P2, Kind::Receive(request(P1))),
    ];
    let course = Course::of_trace(&trace(1, records)).expect("a course");
    let said = ["choose p1 3", "choose p1 0", "enter p1", "deliver p1→p2"];
    assert_eq!(course.actions, actions(&said));
    assert_eq!((course.steps(), course.circle), (2, 1));
}

#[test]
fn what_a_partition_holds_back_stays_where_it_is_until_it_heals() {
    let sides = vec![vec![P1], vec![P2, P3]];
    let records = [
        of(P1, Kind::Boot),
        of(P2, Kind::Boot),
        of(P3, Kind::Boot),
        (Who::Parent, Kind::Partition(sides)),
        of(P2, enter()),
        of(P2, Kind::Send(request(P1))),
    ];
    let course = Course::of_trace(&trace(0, records)).expect("a course");
    assert_eq!(course.actions, actions(&["split p1 | p2 p3", "enter p2"]));
    assert_eq!(course.carried_on::<Tiny>(|_| 0, 0).expect("the same").actions, course.actions);
    let mut stage = Stage::<Tiny>::new(3, Order::Fifo, |_| 0);
    Theatre::follow::<std::convert::Infallible>(&mut stage, &course).expect("it is possible");
    let deliver = &actions(&["deliver p2→p1"])[0];
    assert_eq!(stage.perform(deliver), Err(Impossible::Now(deliver.clone())));
    stage.perform(&Action::Heal).expect("it heals");
    assert_eq!(stage.perform(deliver), Ok(()));
}

#[test]
fn a_circle_goes_round_as_often_as_there_are_steps_for_it() {
    let boots = [P1, P2, P3].map(|at| of(at, Kind::Boot));
    let begins =
        [of(P2, enter()), of(P2, Kind::Send(request(P1))), of(P2, Kind::Drop(request(P1)))];
    let second = Passage { number: 2, ..request(P1) };
    let circle = [
        of(P2, Kind::Timer("AskAgain".into())),
        of(P2, Kind::Send(second.clone())),
        of(P2, Kind::Drop(second)),
    ];
    let records = boots.into_iter().chain(begins).chain(circle);
    let course = Course::of_trace(&trace(2, records)).expect("a course");
    assert_eq!((course.actions.len(), course.circle), (4, 2));
    let carried = course.carried_on::<Tiny>(|_| 0, 6).expect("it goes round").actions;
    assert_eq!(carried.len(), 4 + 6);
    assert!(carried[2..].chunks(2).all(|round| round == &course.actions[2..]), "{carried:?}");
}
