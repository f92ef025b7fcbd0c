//! Golden stories, performed on the real protocols.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_algorithms::agreement::{RaftLog, raft_log};
use tenure_algorithms::application::{Led, ThreePhaseCommit, led, three_phase_commit};
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_algorithms::compose::Named;
use tenure_algorithms::election::{
    Bully, ChangRoberts, HirschbergSinclair, Raft, bully, chang_roberts, hirschberg_sinclair, raft,
};
use tenure_algorithms::mutex::{
    Central, Lamport, RepairedRing, RicartAgrawala, TolerantRicartAgrawala, central, lamport,
    ricart_agrawala, token_ring,
};
use tenure_algorithms::{Switch, UnknownVariant, Variants};
use tenure_core::{Group, ProcessId, Rank, Service, TICKS_PER_UNIT};
use tenure_lessons::Made;
use tenure_sim::{Settings, Simulation};
use tenure_trace::diagram::{Direction, LogPicture, Margin, Moment, View, lay_out};
use tenure_trace::{Course, Header, Logs, Reader, Record, Recorded, Script, perform as performed};

use super::aged::Aged;
use crate::cmd::output::width;

macro_rules! stories {
    ($($name:literal => $file:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../stories/", $file)))),*]
    };
}

/// Stories that are told elsewhere, too: links, which become files where this crate is packed.
const STORIES: &[(&str, &str)] = stories! {
    "bully/recovery" => "bully-recovery.txt"
    "central/queue" => "central-queue.txt"
    "chang-roberts/cases" => "chang-roberts-cases.txt"
    "hirschberg-sinclair/phases" => "hirschberg-sinclair-phases.txt"
    "lamport/first-entry" => "lamport-first-entry.txt"
    "named/leader-dies" => "named-leader-dies.txt"
    "raft/a-promise-is-kept" => "raft-a-promise-is-kept.txt"
    "raft/hand-over" => "raft-hand-over.txt"
    "raft-log/a-member-that-does-not-catch-up" => "raft-log-a-member-that-does-not-catch-up.txt"
    "raft-log/figure-3-6" => "raft-log-figure-3-6.txt"
    "raft-log/figure-3-7" => "raft-log-figure-3-7.txt"
    "raft-log/figure-3-7-d2" => "raft-log-figure-3-7-d2.txt"
    "raft-log/members" => "raft-log-members.txt"
    "raft-log/given-to-one" => "raft-log-given-to-one.txt"
    "raft-log/slow-follower" => "raft-log-slow-follower.txt"
    "raft-log/two-ask-at-once" => "raft-log-two-ask-at-once.txt"
    "raft-log/two-leaders" => "raft-log-two-leaders.txt"
    "raft-log/waiting-read" => "raft-log-waiting-read.txt"
    "repaired-ring/overtaken" => "repaired-ring-overtaken.txt"
    "ricart-agrawala/replies" => "ricart-agrawala-replies.txt"
    "ricart-agrawala/7-15" => "ricart-agrawala-7-15.txt"
    "three-phase-commit/parted" => "three-phase-commit-parted.txt"
    "three-phase-commit/ready" => "three-phase-commit-ready.txt"
    "three-phase-commit/uncertain" => "three-phase-commit-uncertain.txt"
    "tolerant-ricart-agrawala/asks-once-more" => "tolerant-ricart-agrawala-asks-once-more.txt"
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Story {
    algorithm: String,
    /// The name of a story, or a script.
    script: String,
    /// Two processes that change places.
    swapped: Option<[String; 2]>,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default)]
    ids: Vec<u32>,
    coordinator: Option<u32>,
    /// The clocks at the start, by process.
    clocks: Option<Vec<u64>>,
}

/// Performs a story. The data is that of a run of `tenure simulate` with the same course, and
/// `told`: the lines of the story, block by block; and `sent`: how many messages in each. Where
/// logs are kept, `logs` has what they are behind each block, by process: the terms of the entries,
/// and up to which index they are known to be committed.
pub(super) fn perform(with: Story) -> Result<Made, String> {
    let known = STORIES.iter().find(|(name, _)| *name == with.script);
    let script = known.map_or(with.script.as_str(), |(_, script)| script);
    let script = match &with.swapped {
        Some([one, other]) => &swapped(script, one, other),
        None => script,
    };
    let ranks = || with.ids.iter().map(|id| Rank::of_id(*id)).collect();
    let algorithm = &with.algorithm;
    let story = With { algorithm, script, ranked: |_| Vec::new(), judged: None };
    match with.algorithm.as_str() {
        "bully" => {
            let variants = variants(&with)?.with(bully::Switch::NoTerms);
            let plain = |group: Group| bully::Config::plain(group.size(), TICKS_PER_UNIT);
            story.on::<Bully>(|group| bully::Config { variants, ..plain(group) })
        }
        "central" => {
            let coordinator = ProcessId(with.coordinator.unwrap_or(1) - 1);
            story.on_all::<Central>(central::Config { coordinator, ..Default::default() })
        }
        "chang-roberts" => {
            let variants = variants(&with)?;
            story.on_all::<ChangRoberts>(chang_roberts::Config::of(ranks(), variants))
        }
        "hirschberg-sinclair" => {
            let config = hirschberg_sinclair::Config::of(ranks());
            story.on_all::<HirschbergSinclair>(config)
        }
        "lamport" => {
            let variants = variants(&with)?;
            story.on_all::<Lamport>(lamport::Config { variants })
        }
        "named:coordinated:bully" => story
            .on::<Named<Bully>>(|group| bully::Config::plain(group.size(), TICKS_PER_UNIT).into()),
        "raft" => {
            let variants = variants(&with)?;
            let plain = |group: Group| raft::Config::plain(group.size(), TICKS_PER_UNIT);
            story.on::<Raft>(|group| raft::Config { variants, ..plain(group) })
        }
        "raft-log" => story.of_a_log(&with.variants),
        "repaired-ring" => story.on_all::<RepairedRing>(token_ring::Config::default()),
        "ricart-agrawala" => match with.clocks {
            Some(clocks) => story.on_all::<Aged>(clocks),
            None => {
                let variants = variants(&with)?;
                let config = ricart_agrawala::Config { variants };
                story.on_all::<RicartAgrawala>(config)
            }
        },
        "three-phase-commit" => story.of_transactions(),
        "tolerant-ricart-agrawala" => story.on_all::<TolerantRicartAgrawala>(()),
        other => Err(format!("there are no stories of {other}")),
    }
}

fn variants<S: Switch>(with: &Story) -> Result<Variants<S>, String> {
    let named = Variants::named(with.variants.iter().map(String::as_str));
    named.map_err(|error: UnknownVariant| error.to_string())
}

/// A script, and of what.
struct With<'a> {
    algorithm: &'a str,
    script: &'a str,
    /// The ranks of so many; none where they are those of their numbers.
    ranked: fn(u32) -> Vec<Rank>,
    /// The service by which it is judged; by all that it offers where none is said.
    judged: Option<Service>,
}

/// The ranks of so many, of whom the first has the highest.
fn first_wins(size: u32) -> Vec<Rank> {
    (1..=size).rev().map(Rank::of_id).collect()
}

impl With<'_> {
    /// Of a transaction in three phases, which the first begins. What is judged is the transaction:
    /// whom those who are parted elect is no part of what they decide.
    fn of_transactions(self) -> Result<Made, String> {
        let story = With { ranked: first_wins, judged: Some(Service::Other), ..self };
        story.on::<Led<ThreePhaseCommit, Bully>>(|group| {
            let plain = bully::Config::plain(group.size(), TICKS_PER_UNIT);
            let election = bully::Config { ranks: first_wins(group.size()).into(), ..plain };
            let application = three_phase_commit::Config { variants: Variants::none() };
            led::Config { application, election }
        })
    }

    /// Of a log with these variants.
    fn of_a_log(&self, variants: &[String]) -> Result<Made, String> {
        let config = |group: Group| {
            let variants = variants.to_vec();
            let parameters = Parameters { variants, ..Parameters::plain(group.size()) };
            raft_log::Config::configured(&parameters)
        };
        config(Group::new(ProcessId(0), 1)).map_err(said)?;
        self.on::<RaftLog>(|group| config(group).expect("its variants are known for one process"))
    }

    fn on_all<P>(&self, config: P::Config) -> Result<Made, String>
    where
        P: Recorded<Config: Clone>,
    {
        self.on::<P>(|_| config.clone())
    }

    /// What comes of it; why nothing does where a step of it is not possible: then whatever is
    /// expected of it fails.
    fn on<P>(&self, config: impl Fn(Group) -> P::Config) -> Result<Made, String>
    where
        P: Recorded,
    {
        let script: Script = self.script.parse().map_err(said)?;
        match performed::<P>(&script, &config) {
            Ok(told) => self.followed::<P>(&script, &told, config),
            Err(impossible) => {
                let why = impossible.to_string();
                let data = json!({ "told": [[why]] });
                Ok(Made { data, picture: Some(format!("This cannot be told: {why}.\n")) })
            }
        }
    }

    fn followed<P>(
        &self,
        script: &Script,
        told: &[String],
        config: impl Fn(Group) -> P::Config,
    ) -> Result<Made, String>
    where
        P: Recorded,
    {
        let told: Vec<Vec<&str>> = told
            .iter()
            .zip(&script.blocks)
            .filter(|(_, block)| block.actions().next().is_some())
            .map(|(told, _)| told.lines().collect())
            .collect();
        let course = Course::of_script::<P>(script, &config).map_err(said)?;
        let course = course.last().ok_or("the story has no group")?;
        let page = Page::default();
        let group = Group::new(ProcessId(0), course.size);
        let ranks = (self.ranked)(course.size).into();
        let settings = Settings { ranks, ..Settings::new(course.size) };
        let mut simulation = Simulation::<P>::new(config(group), settings);
        if let Some(service) = self.judged {
            simulation = simulation.serving(service);
        }
        let report = simulation.named(self.algorithm.to_owned()).follow(course, page.clone());
        let mut data = serde_json::to_value(report.map_err(said)?).map_err(said)?;
        let sends =
            |lines: &Vec<&str>| lines.iter().filter(|it| it.starts_with("  sends ")).count();
        let sent: Vec<usize> = told.iter().map(sends).collect();
        let (header, records) = page.read()?;
        let behind = Course::behind_blocks::<P>(script, &config, &records).map_err(said)?;
        let moments: Vec<Moment> = behind.into_iter().map(Moment::Behind).collect();
        let logs = LogPicture::of(&header, &records, &moments);
        if let Value::Object(fields) = &mut data {
            fields.insert("sent".to_owned(), json!(sent));
            fields.insert("told".to_owned(), json!(told));
            if !logs.is_empty() {
                let all: Vec<Value> = logs.logs().map(|logs| terms(logs, header.n)).collect();
                fields.insert("logs".to_owned(), Value::Array(all));
            }
        }
        let picture = if logs.is_empty() {
            let layout = lay_out(&header, &records, View::default());
            layout.to_text_within(Direction::Down, Margin::Place, width())
        } else {
            logs.to_text(width(), false)
        };
        Ok(Made { data, picture: Some(picture) })
    }
}

/// The logs of all, as data.
fn terms(logs: &Logs, size: u32) -> Value {
    let kept = (0..size).map(ProcessId).filter_map(|at| Some((at, logs.of(at)?)));
    let log = |(at, kept): (ProcessId, &tenure_trace::Kept)| {
        let terms: Vec<u64> = kept.entries.iter().map(|entry| entry.term).collect();
        let mut told = json!({ "terms": terms, "committed": kept.committed });
        if kept.snapshot > 0 {
            told["snapshot"] = kept.snapshot.into();
        }
        (at.to_string(), told)
    };
    Value::Object(kept.map(log).collect::<Map<String, Value>>())
}

fn said(error: impl ToString) -> String {
    error.to_string()
}

/// A script in which two processes have changed places.
fn swapped(script: &str, one: &str, other: &str) -> String {
    script.replace(one, "\u{0}").replace(other, one).replace('\u{0}', other)
}

/// A file in memory that outlives its writer.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn read(&self) -> Result<(Header, Vec<Record>), String> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reader = Reader::new(bytes.as_slice(), "story").map_err(said)?;
        let header = reader.header().clone();
        let records: Result<Vec<Record>, _> = reader.by_ref().collect();
        Ok((header, records.map_err(said)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_told_is_not_what_is_expected() {
        let script = "group 3\nelect p1; lose p2→p3\n----\n";
        let with = json!({ "algorithm": "bully", "script": script });
        let made = perform(serde_json::from_value(with).expect("a story")).expect("it is made");
        assert_eq!(made.data["told"][0][0], "line 2: no such message is under way: p2→p3");
        assert!(made.data.get("sent").is_none(), "and nothing else is said of it");
    }

    #[test]
    fn who_changes_places_does_so_everywhere() {
        assert_eq!(swapped("enter p1; enter p6", "p1", "p6"), "enter p6; enter p1");
    }
}
