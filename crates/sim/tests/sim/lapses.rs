//! What a crash in the middle of a save loses: it stands in the trace, and is lost again wherever
//! the run is made again.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{Raft, raft};
use tenure_core::{ProcessId, TICKS_PER_UNIT};
use tenure_sim::{Controls, Fault, Memory, Recovery, Settings, Simulation, When, Workload};
use tenure_trace::{Action, Course, Kind, Record, Who};

use crate::common::page::Page;

/// Three who elect; some of them crash.
fn three(faults: Vec<Fault>) -> Simulation<Raft> {
    let mut settings = Settings::new(3);
    settings.workload = Workload::elect();
    settings.limits.until = Some(20 * TICKS_PER_UNIT);
    settings.faults = faults;
    let plain = raft::Config::plain(3, TICKS_PER_UNIT);
    Simulation::new(raft::Config { variants: Variants::none(), ..plain }, settings)
}

/// P1 crashes at one of its saves, and comes back.
fn crash(save: u64, is_kept: bool) -> Fault {
    let recovery = Some(Recovery { after: 5 * TICKS_PER_UNIT, memory: Memory::Stable });
    Fault::Crash { process: ProcessId(0), when: When::Saving { save, is_kept }, recovery }
}

/// All that happened, but when.
fn happened(records: &[Record]) -> Vec<(Who, Kind)> {
    records.iter().map(|it| (it.process, it.kind.clone())).collect()
}

/// What happens along a course; nothing where it is not possible.
fn along(course: &Course) -> Option<Vec<(Who, Kind)>> {
    let page = Page::default();
    three(Vec::new()).follow(course, page.clone()).ok()?;
    Some(happened(&page.trace().records))
}

#[test]
fn what_a_crash_in_the_middle_of_a_save_lost_is_lost_again() {
    for (save, is_kept) in [(1, true), (1, false), (2, true), (2, false)] {
        let page = Page::default();
        three(vec![crash(save, is_kept)]).run_traced(page.clone(), Controls::new()).unwrap();
        let trace = page.trace();
        let crashes = trace.records.iter().filter(|it| it.kind == Kind::Crash).count();
        assert_eq!(crashes, 1, "{save} {is_kept}");
        let mutes = trace.records.iter().filter(|it| it.kind == Kind::Mute).count();
        assert_eq!(mutes, usize::from(is_kept), "what is not saved has not happened");
        let course = Course::of_trace(&trace).unwrap();
        let wanted = Some(happened(&trace.records));
        assert!(along(&course) == wanted, "{save} {is_kept}: {:?}", along(&course));
        let mut told = course.clone();
        told.actions.retain(|action| !matches!(action, Action::Mute(_)));
        assert_eq!(along(&told) != wanted, is_kept, "that nobody heard made a difference");
    }
}
