//! A marker between the messages tells everybody when to look.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::ChandyLamport;
use tenure_algorithms::agreement::chandy_lamport::{Message, Switch};
use tenure_core::monitors::ConsistentCut;
use tenure_core::service::snapshot::{Command, Event, Snapshot, TOKENS};
use tenure_core::{Monitor, Order, ProcessId};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

fn stage(size: u32) -> Stage<ChandyLamport> {
    Stage::alike(size, Order::Fifo, Variants::none())
}

fn give(to: u32) -> Command {
    Command::Give { to: p(to), tokens: 1 }
}

/// What the users were told since this was last asked.
fn told(stage: &mut Stage<ChandyLamport>) -> Vec<(u32, Event)> {
    let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(event) => Some((at.number(), event)),
        _ => None,
    });
    seen.collect()
}

/// Tokens go about at random while each of `initiators` takes a picture at some moment. What was
/// violated, if anything, and what the pictures show: tokens held, and under way.
fn run(
    size: u32,
    order: Order,
    variants: Variants<Switch>,
    initiators: u32,
    seed: u64,
) -> Result<Vec<(u64, u64)>, String> {
    let mut stage = Stage::<ChandyLamport>::alike(size, order, variants);
    let (mut monitor, mut dice, mut shown) = (ConsistentCut::new(), Dice(seed), Vec::new());
    let mut moments: Vec<(usize, u32)> = (1..=initiators).map(|at| (dice.below(30), at)).collect();
    for moment in 0..60 {
        let due = |(when, _): &(usize, u32)| *when == moment;
        moments.iter().filter(|it| due(it)).for_each(|(_, at)| {
            stage.command(p(*at), Command::Record);
        });
        moments.retain(|it| !due(it));
        match dice.pick(&stage.busy_links()) {
            Some(link) if dice.one_in(2) => stage.deliver(*link, &mut dice),
            _ => {
                let (at, to) = (dice.below(size as usize), dice.below(size as usize));
                stage.command(ProcessId::at(at), give(ProcessId::at(to).number()));
            }
        }
    }
    stage.drain(&mut dice);
    for (at, seen) in stage.take_seen() {
        monitor.observe(at, seen.observed()).map_err(|violation| violation.says)?;
        if let Seen::Event(Event::Collected { held, under_way, .. }) = seen {
            shown.push((held, under_way));
        }
    }
    Ok(shown)
}

/// The paper's first example: one process holds a token, then it is in the channel. The picture
/// is taken of the sender after it gave and of the receiver before it took.
#[test]
fn what_is_under_way_is_recorded_as_the_state_of_its_channel() {
    let mut stage = stage(2);
    stage.command(p(1), give(2));
    stage.command(p(2), Command::Record);
    stage.pass((p(2), p(1)), 0);
    stage.drain(&mut Dice(0));
    let snapshot = Snapshot { by: p(2), number: 1 };
    let told: Vec<_> = told(&mut stage);
    for event in [
        (2, Event::Recorded { snapshot, tokens: TOKENS }),
        (1, Event::Recorded { snapshot, tokens: TOKENS - 1 }),
        (2, Event::Closed { snapshot, channels: vec![(p(1), 1)] }),
        (2, Event::Collected { snapshot, held: 2 * TOKENS - 1, under_way: 1 }),
    ] {
        assert!(told.contains(&event), "{event:?} in {told:?}");
    }
}

#[test]
fn the_picture_need_not_show_a_moment_that_there_was() {
    let mut stage = stage(2);
    stage.command(p(1), Command::Record);
    stage.command(p(1), give(2));
    stage.command(p(2), give(1));
    stage.drain(&mut Dice(0));
    let snapshot = Snapshot { by: p(1), number: 1 };
    let told = told(&mut stage);
    // P1 had all its tokens only before it gave, and P2 had given one only after that.
    assert!(told.contains(&(1, Event::Recorded { snapshot, tokens: TOKENS })));
    assert!(told.contains(&(2, Event::Recorded { snapshot, tokens: TOKENS - 1 })));
    let all = Event::Collected { snapshot, held: 2 * TOKENS - 1, under_way: 1 };
    assert!(told.contains(&(1, all)), "{told:?}");
}

#[test]
fn a_snapshot_takes_a_marker_on_every_channel_and_a_report_of_everybody_else() {
    for size in 1..=7 {
        let mut stage = stage(size);
        stage.command(p(size), Command::Record);
        stage.drain(&mut Dice(0));
        let size = u64::from(size);
        let sent = [stage.sent_of("marker"), stage.sent_of("report")];
        assert_eq!(sent, [size * (size - 1), size - 1]);
    }
}

#[test]
fn markers_go_before_anything_else_that_is_sent_after_the_recording() {
    let mut stage = stage(3);
    stage.command(p(1), Command::Record);
    stage.command(p(1), give(2));
    let queue = stage.queue((p(1), p(2)));
    assert!(matches!(queue[..], [Message::Marker { .. }, Message::Tokens { tokens: 1 }]));
    // P3 hears of it first from P1, and the marker of P2 finds it recorded.
    stage.pass((p(1), p(3)), 0);
    assert_eq!(stage.queue((p(3), p(2))).len(), 1);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(3)), 0);
    assert_eq!(stage.sent_of("marker"), 6);
}

#[test]
fn whoever_asks_and_whenever_no_token_is_made_and_none_is_lost() {
    let mut under_way = 0;
    for seed in 0..300 {
        let size = 1 + seed as u32 % 5;
        let shown = run(size, Order::Fifo, Variants::none(), size, seed);
        let shown = shown.unwrap_or_else(|says| panic!("seed {seed}: {says}"));
        assert_eq!(shown.len(), size as usize, "seed {seed}: every picture is complete");
        let all = u64::from(size) * TOKENS;
        assert!(
            shown.iter().all(|(held, passing)| held + passing == all),
            "seed {seed}: {shown:?}"
        );
        under_way += shown.iter().map(|(_, passing)| passing).sum::<u64>();
    }
    assert!(under_way > 100, "there was something to find in the channels");
}

#[test]
fn a_marker_that_comes_late_and_a_channel_that_is_left_out_are_caught() {
    for switch in [Switch::LateMarkers, Switch::NoChannels] {
        let variants = Variants::none().with(switch);
        let caught = (0..300).any(|seed| run(3, Order::Fifo, variants, 1, seed).is_err());
        assert!(caught, "{switch:?}");
    }
}

#[test]
fn where_messages_overtake_each_other_the_picture_is_wrong() {
    let wrong = |seed| run(3, Order::Reordered, Variants::none(), 1, seed).is_err();
    assert!((0..300).any(wrong));
}
