//! A majority of each view decides who belongs to the next.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RicciardiBirman;
use tenure_algorithms::agreement::ricciardi_birman::Switch;
use tenure_core::monitors::OneView;
use tenure_core::service::membership::{Command, Event, View};
use tenure_core::{Monitor, Order, ProcessSet, Verdict};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

fn stage(size: u32) -> Stage<RicciardiBirman> {
    Stage::alike(size, Order::Fifo, Variants::none())
}

fn view(number: u64, members: &[u32]) -> View {
    View { number, members: members.iter().copied().map(p).collect() }
}

/// The newest view that each of those who are up knows of.
fn views(stage: &Stage<RicciardiBirman>) -> Vec<View> {
    stage.live().iter().filter_map(|at| Some(stage.process(*at)?.view().clone())).collect()
}

/// Everybody who is up notices that `dead` is not.
fn noticed(stage: &mut Stage<RicciardiBirman>, dead: u32) {
    for at in stage.live() {
        stage.suspicion(at, p(dead), Verdict::Suspect);
    }
}

/// Somebody leaves, somebody comes back, some die and some are suspected in vain, and everything
/// happens in random order. What was violated, if anything; and whether all who are up belong to
/// one view in the end, and nobody else does.
fn run(size: u32, variants: Variants<Switch>, crashes: u32, seed: u64) -> Result<bool, String> {
    let mut stage = Stage::<RicciardiBirman>::alike(size, Order::Fifo, variants);
    let (mut monitor, mut dice, mut crashes) = (OneView::new(), Dice(seed), crashes);
    let mut wrong: Vec<(u32, u32)> = Vec::new();
    for _ in 0..120 {
        let some = |dice: &mut Dice| 1 + dice.below(size as usize) as u32;
        let (at, peer) = (some(&mut dice), some(&mut dice));
        match dice.below(24) {
            0 if stage.is_up(p(at)) => {
                let command = if dice.one_in(2) { Command::Leave } else { Command::Join };
                stage.command(p(at), command);
            }
            1 if crashes > 0 && stage.is_up(p(at)) => {
                crashes -= 1;
                stage.crash(p(at));
                noticed(&mut stage, at);
            }
            2 if at != peer && stage.is_up(p(at)) && stage.is_up(p(peer)) => {
                stage.suspicion(p(at), p(peer), Verdict::Suspect);
                wrong.push((at, peer));
            }
            3 => {
                for (at, peer) in wrong.drain(..) {
                    if stage.is_up(p(at)) && stage.is_up(p(peer)) {
                        stage.suspicion(p(at), p(peer), Verdict::Trust);
                    }
                }
            }
            _ => {
                if let Some(link) = dice.pick(&stage.busy_links()) {
                    stage.deliver(*link, &mut dice);
                }
            }
        }
    }
    for (at, peer) in wrong {
        if stage.is_up(p(at)) && stage.is_up(p(peer)) {
            stage.suspicion(p(at), p(peer), Verdict::Trust);
        }
    }
    for at in stage.live() {
        stage.command(at, Command::Join);
    }
    stage.drain(&mut dice);
    for (at, seen) in stage.take_seen() {
        monitor.observe(at, seen.observed()).map_err(|violation| violation.says)?;
    }
    let live: ProcessSet = stage.live().into_iter().collect();
    let views = views(&stage);
    Ok(views.iter().all(|view| view.members == live && *view == views[0]))
}

#[test]
fn the_senior_proposes_and_a_majority_decides_in_three_steps() {
    for size in 2..=6 {
        let mut stage = stage(size);
        stage.command(p(size), Command::Leave);
        stage.drain(&mut Dice(0));
        let others = u64::from(size) - 1;
        let kinds = ["wish", "propose", "accept", "install", "interrogate", "refuse"];
        let sent = kinds.map(|kind| stage.sent_of(kind));
        assert_eq!(sent, [others, others, others, others, 0, 0]);
        let members: Vec<u32> = (1..size).collect();
        assert_eq!(views(&stage), vec![view(2, &members); size as usize]);
    }
}

#[test]
fn whoever_takes_over_asks_first_what_was_accepted() {
    let mut stage = stage(3);
    stage.command(p(3), Command::Leave);
    stage.pass((p(3), p(1)), 0);
    // P2 accepts that P3 leaves. P1 hears of it, installs that, and dies before it told anybody.
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(stage.process(p(1)).map(|it| it.view().clone()), Some(view(2, &[1, 2])));
    for at in [2, 3] {
        while !stage.queue((p(1), p(at))).is_empty() {
            stage.lose((p(1), p(at)));
        }
    }
    stage.crash(p(1));
    noticed(&mut stage, 1);
    stage.drain(&mut Dice(0));
    // P2 alone is no majority of the second view: it asks P1 in vain, and there is no third.
    assert_eq!(stage.sent_of("interrogate"), 2 + 1);
    assert_eq!(views(&stage), [view(2, &[1, 2]), view(2, &[1, 2])]);
}

#[test]
fn a_crash_of_the_senior_costs_two_steps_more_and_the_next_one_does_it() {
    let mut stage = stage(5);
    stage.crash(p(1));
    noticed(&mut stage, 1);
    stage.drain(&mut Dice(0));
    assert_eq!(views(&stage), vec![view(2, &[2, 3, 4, 5]); 4]);
    assert_eq!(stage.sent_of("interrogate"), 4);
    assert_eq!(stage.sent_of("promise"), 3);
}

/// The primary partition: who is cut off with fewer than half decides nothing.
#[test]
fn a_minority_waits_and_comes_back_when_it_is_trusted() {
    let mut stage = stage(5);
    let (few, many) = ([1, 2], [3, 4, 5]);
    for (here, there) in [(&few[..], &many[..]), (&many, &few)] {
        for at in here {
            for peer in there {
                stage.suspicion(p(*at), p(*peer), Verdict::Suspect);
            }
        }
    }
    // Nothing passes between the two sides.
    let is_cut = |from: u32, to: u32| few.contains(&from) != few.contains(&to);
    let mut dice = Dice(1);
    while let Some(link) = dice.pick(&stage.busy_links()).copied() {
        match is_cut(link.0.number(), link.1.number()) {
            true => stage.lose(link),
            false => stage.deliver(link, &mut dice),
        }
    }
    let (first, second) = (view(1, &[1, 2, 3, 4, 5]), view(2, &[3, 4, 5]));
    assert_eq!(views(&stage), [&first, &first, &second, &second, &second].map(View::clone));
    for (at, peer) in few.into_iter().flat_map(|few| many.map(|many| (few, many))) {
        stage.suspicion(p(at), p(peer), Verdict::Trust);
        stage.suspicion(p(peer), p(at), Verdict::Trust);
    }
    stage.drain(&mut Dice(0));
    let views = views(&stage);
    assert_eq!(views[0].members, ProcessSet::first(5));
    assert!(views.iter().all(|view| *view == views[0]), "{views:?}");
}

/// P1 proposes that P3 leaves, and promises P2, who takes it for dead, before anybody has heard of
/// that. P2 trusts it again, and has nothing to propose. P1 is to make its proposal again.
#[test]
fn who_is_refused_for_the_sake_of_somebody_who_gave_up_asks_again() {
    let mut stage = stage(3);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.pass((p(2), p(1)), 0);
    stage.pass((p(2), p(3)), 0);
    stage.pass((p(2), p(3)), 0);
    stage.command(p(3), Command::Leave);
    stage.pass((p(3), p(1)), 0);
    stage.pass((p(2), p(1)), 0);
    stage.suspicion(p(2), p(1), Verdict::Trust);
    stage.drain(&mut Dice(0));
    assert_eq!(views(&stage), vec![view(2, &[1, 2]); 3]);
}

#[test]
fn whatever_is_suspected_there_is_one_view_of_a_number_and_in_the_end_one_of_all_who_are_up() {
    for seed in 0..1000 {
        let size = 3 + seed as u32 % 4;
        assert_eq!(run(size, Variants::none(), 0, seed), Ok(true), "seed {seed}");
        assert!(run(size, Variants::none(), 1, seed).is_ok(), "seed {seed}, and one dies");
    }
}

#[test]
fn who_does_not_wait_for_a_majority_or_does_not_ask_is_caught() {
    for switch in [Switch::Minority, Switch::TwoPhases] {
        let variants = Variants::none().with(switch);
        let caught = (0..2000).any(|seed| run(3, variants, 0, seed).is_err());
        assert!(caught, "{switch:?}");
    }
}

/// What a user is told: that it belongs, or that it does not.
#[test]
fn who_leaves_is_told_so_and_so_is_who_comes_back() {
    let mut stage = stage(3);
    let mut told = |command| {
        stage.command(p(2), command);
        stage.drain(&mut Dice(0));
        let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
            Seen::Event(event) if at == p(2) => Some(event),
            _ => None,
        });
        seen.collect::<Vec<_>>()
    };
    assert_eq!(told(Command::Leave), [Event::Removed { view: view(2, &[1, 3]) }]);
    assert_eq!(told(Command::Join), [Event::Installed { view: view(3, &[1, 2, 3]) }]);
}
