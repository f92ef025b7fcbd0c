//! The same schedules of proposals, losses, crashes and elections through both, and whether they
//! commit the same.
//!
//! A schedule is drawn from a seed and knows neither of the two. After each thing that happens,
//! messages are carried until there are none; then the same processes must lead, all logs have the
//! same entries, and the same is committed. That asks for more than safety does: both might be
//! right and differ. Where they do, the schedule leaves it out, and here is why:
//!
//! - **Terms** are not compared. Whoever asks for a vote in a term that is over is answered by
//!   `raft-log` and ignored by `raft`, whose candidate may be elected by the others in an old term,
//!   and again when it has heard of a later one. So who stands has come to the latest term first,
//!   and does so as often as it may take.
//! - **When a follower learns** what is committed: `raft` tells it at once, `raft-log` with the
//!   next message. So each process's own part is compared at the end, behind heartbeats.
//! - **Who is heard first.** A leader that is about to be deposed by one answer may have sent
//!   entries to the others before, and counted theirs, or not: a heartbeat of `raft-log` carries
//!   what is missing, that of `raft` nothing, and they send in another order. So where somebody
//!   knows of a later term, nobody else hears the leader.
//! - **Who spares a leader.** Before it says that it would vote, a process of `raft-log` wants to
//!   know of no leader, one of `raft` to have heard of none for a while, and that for votes as
//!   well. So time passes for those of `raft`, and the timeouts of the others fire as well where
//!   candidates ask first.
//! - **Who goes on of two who ask** whether they would be elected: of `raft-log` the one with the
//!   better log, or else with the lower number, though another's timeout fired last; of `raft` each
//!   would vote for the other, and the schedule says who stands. Whoever asks goes on asking until
//!   its next timeout, which the schedule may never fire. So before somebody stands the others on
//!   its side leave it, as if one with a better log had asked them, and was not heard of again.
//! - **The first check of a quorum** counts for `raft-log` who voted, and for `raft` nobody. So a
//!   heartbeat comes before it, and a second check after it.

mod group;
mod schedule;

use std::process::exit;

use fastrand::Rng;
use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{self, Place, Switch};
use tenure_core::Algorithm;

use crate::peer::{self, Peer};
use group::Group;

pub use group::Forced;

/// How many schedules there are where nobody says.
const SCHEDULES: u64 = 2000;

impl Forced for RaftLog {
    const ELECTION: raft_log::Timer = raft_log::Timer::Election;
    const HEARTBEAT: raft_log::Timer = raft_log::Timer::Heartbeat;

    fn term(&self) -> u64 {
        self.highest_term()
    }

    fn better_asks(&self) -> Option<raft_log::Message> {
        let last = Place { index: u64::MAX, term: u64::MAX };
        Some(raft_log::Message::RequestPreVote { term: self.highest_term() + 1, last })
    }
}

impl Forced for Peer {
    const ELECTION: peer::Timer = peer::Timer::Election;
    const HEARTBEAT: peer::Timer = peer::Timer::Heartbeat;

    fn term(&self) -> u64 {
        self.node.raft.term
    }

    fn let_time_pass(&mut self) {
        self.node.raft.election_elapsed = self.node.raft.election_timeout();
    }
}

/// What came of a schedule.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    acts: usize,
    committed: usize,
}

/// Prints what came of schedules, and ends with 1 where the two disagree.
pub fn main(words: &[String]) {
    let number = |name: &str| {
        let place = words.iter().position(|word| word == name)?;
        words.get(place + 1)?.parse().ok()
    };
    let mistake = words.iter().position(|word| word == "--variant");
    let mistake = mistake.and_then(|place| words.get(place + 1)).map(|word| {
        Variants::named([word.as_str()]).unwrap_or_else(|unknown| {
            eprintln!("{unknown}");
            exit(2)
        })
    });
    let variants = mistake.unwrap_or_default();
    let told = number("--seed").is_some();
    let seeds = match number("--seed") {
        Some(seed) => seed..seed + 1,
        None => 0..number("--schedules").unwrap_or(SCHEDULES),
    };
    let (schedules, mut all) = (seeds.end - seeds.start, Figures::default());
    for seed in seeds {
        match differ(seed, variants, told) {
            Ok(figures) => {
                all.acts += figures.acts;
                all.committed += figures.committed;
            }
            Err(why) => {
                println!("seed {seed}: {why}");
                println!("again, step by step: cargo run --release -- differ --seed {seed}");
                exit(1)
            }
        }
    }
    let Figures { acts, committed } = all;
    println!("{schedules} schedules, {acts} things that happened: the same {committed} committed");
}

/// Leads both through the schedule of a seed.
fn differ(seed: u64, variants: Variants<Switch>, is_told: bool) -> Result<Figures, String> {
    let mut random = Rng::with_seed(seed);
    let (size, pre_vote) = (if random.bool() { 3 } else { 5 }, random.bool());
    let schedule = schedule::schedule(size, pre_vote, &mut random);
    let variants = if pre_vote { variants } else { variants.with(Switch::NoPreVote) };
    let config = raft_log::Config { variants, ..raft_log::Config::plain(size as u32, 1) };
    let mut ours = Group::<RaftLog>::new(size, config, pre_vote);
    let mut theirs = Group::<Peer>::new(size, peer::Config { tick: None, pre_vote }, pre_vote);
    for (number, (act, network)) in schedule.iter().enumerate() {
        let happened = |why: String| format!("after {number}, {act} in {network}: {why}");
        ours.act(act, network).map_err(|why| happened(format!("raft-log: {why}")))?;
        theirs.act(act, network).map_err(|why| happened(format!("raft 0.7: {why}")))?;
        if is_told {
            println!("{number:>3} {act} in {network}");
            println!("      raft-log {}\n      raft 0.7 {}", state(&ours), state(&theirs));
        }
        compare(&ours, &theirs).map_err(happened)?;
    }
    let committed = ours.history.len();
    let behind = |told: &[group::Told]| told.iter().position(|told| told.committed != committed);
    if let Some(place) = behind(&ours.told).or(behind(&theirs.told)) {
        return Err(format!("at the end p{} does not know all that is committed", place + 1));
    }
    Ok(Figures { acts: schedule.len(), committed })
}

fn compare(ours: &Group<RaftLog>, theirs: &Group<Peer>) -> Result<(), String> {
    for (place, (our, their)) in ours.told.iter().zip(&theirs.told).enumerate() {
        let at = place + 1;
        if our.leads != their.leads {
            let who = if our.leads { "raft-log" } else { "raft 0.7" };
            return Err(format!("p{at} leads in {who} alone"));
        }
        if our.log != their.log {
            let (our, their) = (&our.log, &their.log);
            return Err(format!("p{at} has {our:?} in raft-log and {their:?} in raft 0.7"));
        }
    }
    if ours.history != theirs.history {
        let (ours, theirs) = (&ours.history, &theirs.history);
        return Err(format!("raft-log has committed {ours:?} and raft 0.7 {theirs:?}"));
    }
    Ok(())
}

fn state<P: Forced>(group: &Group<P>) -> String {
    let told = group.told.iter().enumerate().map(|(place, told)| {
        let leads = if told.leads { "*" } else { "" };
        format!("p{}{leads} {}/{}", place + 1, told.committed, told.log.len())
    });
    told.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_commit_the_same_in_the_same_schedules() {
        let mut committed = 0;
        for seed in 0..400 {
            match differ(seed, Variants::none(), false) {
                Ok(figures) => committed += figures.committed,
                Err(why) => panic!("seed {seed}: {why} (cargo run -- differ --seed {seed})"),
            }
        }
        assert!(committed > 2000, "schedules in which something happens: {committed}");
    }

    #[test]
    fn with_a_mistake_on_they_disagree() {
        // Others need messages that overtake each other, or a vote that is asked for twice.
        for mistake in ["shorter-log", "unsaved-entry"] {
            let variants = Variants::named([mistake]).expect("a mistake that is declared");
            let found = (0..100).find(|seed| differ(*seed, variants, false).is_err());
            assert!(found.is_some(), "{mistake} shows in a schedule");
        }
    }
}
