//! Scripted stories, performed with the real protocols.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_algorithms::agreement::{
    CongenialPhilosophers, DrinkingPhilosophers, RaftLog, drinking_philosophers, raft_log,
};
use tenure_algorithms::application::{Led, ThreePhaseCommit, led, three_phase_commit};
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_algorithms::compose::Named;
use tenure_algorithms::election::{
    Bully, ChangRoberts, HirschbergSinclair, Raft, bully, chang_roberts, hirschberg_sinclair, raft,
};
use tenure_algorithms::mutex::{
    Central, Lamport, RepairedRing, RicartAgrawala, TolerantRicartAgrawala, central, lamport,
    repaired_ring, ricart_agrawala,
};
use tenure_algorithms::{Switch, UnknownVariant, Variants};
use tenure_core::{Graph, Group, ProcessId, Rank, Service, TICKS_PER_UNIT};
use tenure_sim::{Settings, Simulation};
use tenure_trace::diagram::{Direction, LogPicture, Margin, Moment, View, lay_out};
use tenure_trace::{Logs, Recorded, Schedule, Script, Trace, perform as performed};

use super::preset_clocks::PresetClocks;
use crate::cmd::output::width;
use crate::cmd::shared_buffer::SharedBuffer;
use crate::lessons::ActionResult;

macro_rules! stories {
    ($($name:literal => $file:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../stories/", $file)))),*]
    };
}

/// Stories that are shared with other crates: links, which become files when this crate is
/// packaged.
const STORIES: &[(&str, &str)] = stories! {
    "bully/recovery" => "bully-recovery.txt"
    "central/queue" => "central-queue.txt"
    "chang-roberts/cases" => "chang-roberts-cases.txt"
    "congenial-philosophers/in-order" => "congenial-philosophers-in-order.txt"
    "drinking-philosophers/one-bottle-each" => "drinking-philosophers-one-bottle-each.txt"
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
    /// Name of a story, or a script.
    script: String,
    /// Two processes to swap.
    swapped: Option<[String; 2]>,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default)]
    ids: Vec<u32>,
    coordinator: Option<u32>,
    /// Initial clocks, by process.
    clocks: Option<Vec<u64>>,
}

/// Performs a story. The result has the data of `tenure simulate` for the same schedule, with
/// additional keys: `transcript` has the lines of the story by block, and `sent` the number of
/// messages in each block. If the protocol keeps logs, `logs` has the logs after each block, by
/// process: the terms of the entries, and the highest index known to be committed.
pub(super) fn perform(with: Story) -> Result<ActionResult, String> {
    with.check_arguments()?;
    let known = STORIES.iter().find(|(name, _)| *name == with.script);
    let script = known.map_or(with.script.as_str(), |(_, script)| script);
    let script = match &with.swapped {
        Some([one, other]) => &swapped(script, one, other),
        None => script,
    };
    let ranks = || with.ids.iter().map(|id| Rank::of_id(*id)).collect();
    let algorithm = &with.algorithm;
    let story = StoryRunner { algorithm, script, ranks_of: |_| Vec::new(), judged: None };
    match with.algorithm.as_str() {
        "bully" => {
            let variants = variants(&with)?.with(bully::Switch::NoTerms);
            let plain = |group: Group| bully::Config::plain(group.size(), TICKS_PER_UNIT);
            story.perform_with::<Bully>(|group| bully::Config { variants, ..plain(group) })
        }
        "central" => story.perform_uniform::<Central>(with.central()?),
        "chang-roberts" => {
            let variants = variants(&with)?;
            story.perform_uniform::<ChangRoberts>(chang_roberts::Config::of(ranks(), variants))
        }
        "congenial-philosophers" => {
            story.perform_uniform::<CongenialPhilosophers>(Variants::none())
        }
        "drinking-philosophers" => story.perform_with::<DrinkingPhilosophers>(on_ring),
        "hirschberg-sinclair" => {
            let config = hirschberg_sinclair::Config::of(ranks());
            story.perform_uniform::<HirschbergSinclair>(config)
        }
        "lamport" => {
            let variants = variants(&with)?;
            story.perform_uniform::<Lamport>(lamport::Config { variants })
        }
        "named:coordinated:bully" => {
            let variants = variants(&with)?;
            let plain = |group: Group| bully::Config::plain(group.size(), TICKS_PER_UNIT);
            story.perform_with::<Named<Bully>>(|group| {
                bully::Config { variants, ..plain(group) }.into()
            })
        }
        "raft" => {
            let variants = variants(&with)?;
            let plain = |group: Group| raft::Config::plain(group.size(), TICKS_PER_UNIT);
            story.perform_with::<Raft>(|group| raft::Config { variants, ..plain(group) })
        }
        "raft-log" => story.perform_log(&with.variants),
        "repaired-ring" => story.perform_uniform::<RepairedRing>(repaired_ring::Config::default()),
        "ricart-agrawala" => match with.clocks {
            Some(clocks) => story.perform_uniform::<PresetClocks>(clocks),
            None => {
                let variants = variants(&with)?;
                let config = ricart_agrawala::Config { variants };
                story.perform_uniform::<RicartAgrawala>(config)
            }
        },
        "three-phase-commit" => story.perform_commit(variants(&with)?),
        "tolerant-ricart-agrawala" => story.perform_uniform::<TolerantRicartAgrawala>(()),
        other => Err(format!("unsupported algorithm '{other}' for a story")),
    }
}

impl Story {
    /// Returns the configuration of a story of the centralised lock.
    fn central(&self) -> Result<central::Config, String> {
        let number = self.coordinator.unwrap_or(1);
        let place = number.checked_sub(1).ok_or("invalid coordinator 0: expected at least 1")?;
        Ok(central::Config { coordinator: ProcessId(place), variants: variants(self)? })
    }

    /// Rejects arguments that have no effect on a story of this algorithm.
    fn check_arguments(&self) -> Result<(), String> {
        let used: &[&str] = match self.algorithm.as_str() {
            "bully"
            | "lamport"
            | "named:coordinated:bully"
            | "raft"
            | "raft-log"
            | "three-phase-commit" => &["variants"],
            "ricart-agrawala" if self.clocks.is_some() => &["clocks"],
            "ricart-agrawala" => &["variants"],
            "central" => &["coordinator", "variants"],
            "chang-roberts" => &["ids", "variants"],
            "hirschberg-sinclair" => &["ids"],
            _ => &[],
        };
        let given = [
            ("variants", !self.variants.is_empty()),
            ("ids", !self.ids.is_empty()),
            ("coordinator", self.coordinator.is_some()),
            ("clocks", self.clocks.is_some()),
        ];
        match given.iter().find(|(name, is_given)| *is_given && !used.contains(name)) {
            Some((name, _)) => {
                Err(format!("'{name}' has no effect on a story of {}", self.algorithm))
            }
            None => Ok(()),
        }
    }
}

fn variants<S: Switch>(with: &Story) -> Result<Variants<S>, String> {
    let named = Variants::named(with.variants.iter().map(String::as_str));
    named.map_err(|error: UnknownVariant| error.to_string())
}

/// Returns the configuration of philosophers on a ring.
fn on_ring(group: Group) -> drinking_philosophers::Config {
    drinking_philosophers::Config::of(Graph::ring(group.size()))
}

/// A script and its algorithm.
struct StoryRunner<'a> {
    algorithm: &'a str,
    script: &'a str,
    /// Ranks for a group size; empty for ranks equal to the process numbers.
    ranks_of: fn(u32) -> Vec<Rank>,
    /// Service whose properties are checked; `None` for all of the algorithm.
    judged: Option<Service>,
}

/// Returns ranks of which the first process has the highest.
fn first_wins(size: u32) -> Vec<Rank> {
    (1..=size).rev().map(Rank::of_id).collect()
}

impl StoryRunner<'_> {
    /// Performs a story of three-phase commit, started by the first process. Only the transaction
    /// is checked: the election in a partition is not part of the decision.
    fn perform_commit(
        self,
        variants: Variants<three_phase_commit::Switch>,
    ) -> Result<ActionResult, String> {
        let story = StoryRunner { ranks_of: first_wins, judged: Some(Service::Other), ..self };
        story.perform_with::<Led<ThreePhaseCommit, Bully>>(|group| {
            let plain = bully::Config::plain(group.size(), TICKS_PER_UNIT);
            let election = bully::Config { ranks: first_wins(group.size()).into(), ..plain };
            let application = three_phase_commit::Config { variants };
            led::Config { application, election }
        })
    }

    /// Performs a story of a log with these variants.
    fn perform_log(&self, variants: &[String]) -> Result<ActionResult, String> {
        let config = |group: Group| {
            let variants = variants.to_vec();
            let parameters = Parameters { variants, ..Parameters::plain(group.size()) };
            raft_log::Config::configured(&parameters)
        };
        config(Group::new(ProcessId(0), 1)).map_err(to_message)?;
        self.perform_with::<RaftLog>(|group| {
            config(group).expect("the variants were validated for one process")
        })
    }

    fn perform_uniform<P>(&self, config: P::Config) -> Result<ActionResult, String>
    where
        P: Recorded<Config: Clone>,
    {
        self.perform_with::<P>(|_| config.clone())
    }

    /// Performs the story. If a step is impossible, the result has the reason, so that all
    /// expectations fail.
    fn perform_with<P>(&self, config: impl Fn(Group) -> P::Config) -> Result<ActionResult, String>
    where
        P: Recorded,
    {
        let script: Script = self.script.parse().map_err(to_message)?;
        match performed::<P>(&script, &config) {
            Ok(transcript) => self.replay::<P>(&script, &transcript, config),
            Err(impossible) => {
                let why = impossible.to_string();
                let data = json!({ "transcript": [[why]] });
                Ok(ActionResult {
                    data,
                    picture: Some(format!("This story cannot be performed: {why}.\n")),
                })
            }
        }
    }

    fn replay<P>(
        &self,
        script: &Script,
        transcript: &[String],
        config: impl Fn(Group) -> P::Config,
    ) -> Result<ActionResult, String>
    where
        P: Recorded,
    {
        let transcript: Vec<Vec<&str>> = transcript
            .iter()
            .zip(&script.blocks)
            .filter(|(_, block)| block.actions().next().is_some())
            .map(|(block, _)| block.lines().collect())
            .collect();
        let schedule = Schedule::from_script::<P>(script, &config).map_err(to_message)?;
        let schedule = schedule.last().ok_or("the script has no group")?;
        let page = SharedBuffer::default();
        let group = Group::new(ProcessId(0), schedule.size);
        let ranks = (self.ranks_of)(schedule.size).into();
        let settings = Settings { ranks, ..Settings::new(schedule.size) };
        let mut simulation = Simulation::<P>::new(config(group), settings);
        if let Some(service) = self.judged {
            simulation = simulation.with_service(service);
        }
        let report = simulation.with_name(self.algorithm.to_owned()).follow(schedule, page.clone());
        let mut data = serde_json::to_value(report.map_err(to_message)?).map_err(to_message)?;
        let sends =
            |lines: &Vec<&str>| lines.iter().filter(|it| it.starts_with("  sends ")).count();
        let sent: Vec<usize> = transcript.iter().map(sends).collect();
        let Trace { header, records, .. } = page.read("story").map_err(to_message)?;
        let behind =
            Schedule::records_after_blocks::<P>(script, &config, &records).map_err(to_message)?;
        let moments: Vec<Moment> = behind.into_iter().map(Moment::Behind).collect();
        let logs = LogPicture::of(&header, &records, &moments);
        if let Value::Object(fields) = &mut data {
            fields.insert("sent".to_owned(), json!(sent));
            fields.insert("transcript".to_owned(), json!(transcript));
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
        Ok(ActionResult { data, picture: Some(picture) })
    }
}

/// Returns the logs of all processes as JSON.
fn terms(logs: &Logs, size: u32) -> Value {
    let kept = (0..size).map(ProcessId).filter_map(|at| Some((at, logs.of(at)?)));
    let log = |(at, kept): (ProcessId, &tenure_trace::LogState)| {
        let terms: Vec<u64> = kept.entries.iter().map(|entry| entry.term).collect();
        let mut log = json!({ "terms": terms, "committed": kept.committed });
        if kept.snapshot > 0 {
            log["snapshot"] = kept.snapshot.into();
        }
        (at.to_string(), log)
    };
    Value::Object(kept.map(log).collect::<Map<String, Value>>())
}

fn to_message(error: impl ToString) -> String {
    error.to_string()
}

/// Swaps two processes in a script.
fn swapped(script: &str, one: &str, other: &str) -> String {
    script.replace(one, "\u{0}").replace(other, one).replace('\u{0}', other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_step_replaces_the_result() {
        let script = "group 3\nelect p1; lose p2→p3\n----\n";
        let with = json!({ "algorithm": "bully", "script": script });
        let made = perform(serde_json::from_value(with).expect("a story")).expect("it is made");
        assert_eq!(made.data["transcript"][0][0], "line 2: no such message is under way: p2→p3");
        assert!(made.data.get("sent").is_none(), "and nothing else");
    }

    fn performed(with: Value) -> Result<ActionResult, String> {
        perform(serde_json::from_value(with).expect("a story"))
    }

    /// A variant changes the story or is rejected.
    #[test]
    fn variants_take_effect() {
        let phases = |variants: &[&str]| {
            let script = "group 3\nelect p1; stabilize; begin p1; stabilize\n----\n";
            let with = json!({
                "algorithm": "three-phase-commit", "script": script, "variants": variants
            });
            performed(with).expect("it is made").data["transcript"].clone()
        };
        assert_ne!(phases(&[]), phases(&["two-phases"]));
        let grants = |variants: &[&str]| {
            performed(json!({
                "algorithm": "central", "script": "central/queue", "variants": variants
            }))
        };
        assert!(grants(&["untagged-grant"]).is_ok());
        assert!(grants(&["backwards"]).expect_err("unknown").contains("unknown variant"));
    }

    #[test]
    fn arguments_without_effect_are_rejected() {
        for (with, expected) in [
            (json!({ "algorithm": "repaired-ring", "variants": ["backwards"] }), "'variants'"),
            (json!({ "algorithm": "tolerant-ricart-agrawala", "variants": ["x"] }), "'variants'"),
            (json!({ "algorithm": "hirschberg-sinclair", "variants": ["x"] }), "'variants'"),
            (
                json!({ "algorithm": "ricart-agrawala", "clocks": [0], "variants": ["x"] }),
                "'variants'",
            ),
            (json!({ "algorithm": "bully", "ids": [2, 1] }), "'ids'"),
            (json!({ "algorithm": "lamport", "coordinator": 1 }), "'coordinator'"),
            (json!({ "algorithm": "bully", "clocks": [0] }), "'clocks'"),
            (json!({ "algorithm": "central", "coordinator": 0 }), "invalid coordinator 0"),
            (json!({ "algorithm": "named:coordinated:bully", "variants": ["x"] }), "unknown"),
        ] {
            let mut with = with;
            with["script"] = "group 3\n----\n".into();
            let rejected = performed(with.clone()).expect_err("rejected");
            assert!(rejected.contains(expected), "{with}: {rejected}");
        }
    }

    #[test]
    fn swaps_processes_everywhere() {
        assert_eq!(swapped("enter p1; enter p6", "p1", "p6"), "enter p6; enter p1");
    }
}
