//! Experiments that follow a script, performed with the real protocols.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_algorithms::application::{
    ThreePhaseCommit, WithElection, three_phase_commit, with_election,
};
use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_algorithms::compose::NamedLocks;
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::{UnknownVariant, VariantId, Variants};
use tenure_core::{
    Agreement, Algorithm, Election, Mutex, ProcessId, Rank, Service, TICKS_PER_TIME_UNIT,
};
use tenure_sim::{Settings, Simulation};
use tenure_trace::diagram::{
    DiagramOptions, ReplicatedLogDiagram, ReplicatedLogMoment, RowLabel, TimeDirection, lay_out,
};
use tenure_trace::{
    RecordableProtocol, ReplicatedLogStates, Schedule, Script, ScriptAction, Trace, TraceBuffer,
    perform_script as performed,
};

use super::preset_clocks::PresetClocks;
use crate::cmd::output::line_width;
use crate::lessons::ActionResult;

macro_rules! stories {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../../stories/", $name, ".txt")))),*]
    };
}

/// Scripts by name. A lesson writes `/` in place of the hyphen that follows the name of the
/// algorithm. For example, it names the script `bully-recovery` as `bully/recovery`.
///
/// Several crates use the files of these scripts. The files in this crate are therefore symbolic
/// links. `cargo package` replaces the links by copies.
const STORIES: &[(&str, &str)] = stories! {
    "bully-recovery" "central-queue" "chang-roberts-cases" "congenial-philosophers-in-order"
    "drinking-philosophers-one-bottle-each" "hirschberg-sinclair-phases" "lamport-first-entry"
    "named-leader-crashes" "raft-log-concurrent-pre-votes" "raft-log-figure-3-6"
    "raft-log-figure-3-7" "raft-log-figure-3-7-d2" "raft-log-leadership-transfer" "raft-log-members"
    "raft-log-new-member-does-not-catch-up" "raft-log-slow-follower" "raft-log-two-leaders"
    "raft-log-waiting-read" "raft-no-vote-before-promise-expires"
    "raft-resignation-transfers-leadership" "repaired-ring-regeneration-restarts-after-crash"
    "ricart-agrawala-7-15" "ricart-agrawala-replies" "three-phase-commit-partition"
    "three-phase-commit-ready" "three-phase-commit-uncertain"
    "tolerant-ricart-agrawala-restarted-process-requests-twice"
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoryArguments {
    algorithm: String,
    /// Name of a script in [`STORIES`], or the text of a script.
    script: String,
    /// Names of two processes that change roles: each name replaces the other name in the script.
    swapped: Option<[String; 2]>,
    #[serde(default)]
    variants: Vec<String>,
    #[serde(default)]
    ids: Vec<u32>,
    coordinator: Option<u32>,
    /// Initial values of the logical clocks, in the order of the processes. `None` if all clocks
    /// start at 0.
    clocks: Option<Vec<u64>>,
}

/// Performs a script, which consists of blocks of actions. The result has the data that
/// `tenure simulate` returns for the same schedule, and a few additional keys:
///
/// - `transcript`: for each block with actions, the lines that describe its steps.
/// - `sent`: for each of these blocks, the number of messages that are sent.
/// - `logs`, if the protocol keeps logs: the log of each process after each block. A log has the
///   terms of its entries, and the highest index that the process knows to be committed. If the
///   process has a snapshot, the log also has the last index in the snapshot.
pub(super) fn perform_script(with: StoryArguments) -> Result<ActionResult, String> {
    with.check_arguments()?;
    let file = with.script.replace('/', "-");
    let known = STORIES.iter().find(|(name, _)| *name == file);
    let script = known.map_or(with.script.as_str(), |(_, script)| script);
    let script = match &with.swapped {
        Some([one, other]) => &swapped(script, one, other),
        None => script,
    };
    let script: Script = script.parse().map_err(to_message)?;
    let algorithm = with.algorithm.as_str();
    let story = StoryRunner { algorithm, script: &script, ranks: Vec::new(), judged: None };
    let size = story.size();
    match (algorithm, &with.clocks) {
        ("named:coordinated:bully", _) => {
            let plain = bully::Config::with_defaults(size, TICKS_PER_TIME_UNIT);
            let config = bully::Config { variants: variants(&with)?, ..plain };
            story.perform::<NamedLocks<Bully>>(&config.into())
        }
        ("ricart-agrawala", Some(clocks)) => story.perform::<PresetClocks>(clocks),
        ("three-phase-commit", _) => story.perform_commit(size, variants(&with)?),
        (name, _) => catalogue::visit(name, &with.parameters(size)?, story).map_err(to_message)?,
    }
}

impl StoryArguments {
    fn parameters(&self, size: u32) -> Result<Parameters, String> {
        let mut parameters = Parameters::with_defaults(size);
        parameters.variants.clone_from(&self.variants);
        if self.algorithm == "bully" {
            parameters.variants.push("no-terms".to_owned());
        }
        if !self.ids.is_empty() {
            parameters.ranks = self.ids.iter().map(|id| Rank::from_id(*id)).collect();
        }
        if let Some(number) = self.coordinator {
            let place = number.checked_sub(1);
            let place = place.ok_or("invalid coordinator 0: expected at least 1")?;
            parameters.coordinator = ProcessId(place);
        }
        Ok(parameters)
    }

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

fn variants<S: VariantId>(with: &StoryArguments) -> Result<Variants<S>, String> {
    let named = Variants::from_names(with.variants.iter().map(String::as_str));
    named.map_err(|error: UnknownVariant| error.to_string())
}

struct StoryRunner<'a> {
    algorithm: &'a str,
    script: &'a Script,
    /// Rank of each process. Empty if the ranks equal the process numbers.
    ranks: Vec<Rank>,
    /// Service whose properties are checked, such as mutual exclusion. `None` if all properties of
    /// the algorithm are checked.
    judged: Option<Service>,
}

impl AlgorithmVisitor for StoryRunner<'_> {
    type Output = Result<ActionResult, String>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        self.perform::<P>(&config)
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        self.perform::<P>(&config)
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output {
        let judged = Some(P::card(&config, self.size()).service);
        StoryRunner { judged, ..self }.perform::<P>(&config)
    }
}

impl StoryRunner<'_> {
    /// Returns the number of processes in the last action [`ScriptAction::Group`] of the script.
    /// Returns 1 if the script has no such action.
    fn size(&self) -> u32 {
        let actions = self.script.blocks.iter().flat_map(|block| block.actions_with_lines());
        let sizes = actions.filter_map(|(_, action)| match action {
            ScriptAction::Group(size) => Some(*size),
            _ => None,
        });
        sizes.last().unwrap_or(1)
    }

    /// Performs a script of three-phase commit. The first process starts the transaction and has
    /// the highest rank. Only the properties of the transaction are checked, not those of
    /// elections.
    fn perform_commit(
        self,
        size: u32,
        variants: Variants<three_phase_commit::VariantId>,
    ) -> Result<ActionResult, String> {
        let ranks: Vec<Rank> = (1..=size).rev().map(Rank::from_id).collect();
        let plain = bully::Config::with_defaults(size, TICKS_PER_TIME_UNIT);
        let election = bully::Config { ranks: ranks.as_slice().into(), ..plain };
        let story = StoryRunner { ranks, judged: Some(Service::Other), ..self };
        let config = with_election::Config { application: variants, election };
        story.perform::<WithElection<ThreePhaseCommit, Bully>>(&config)
    }

    /// Performs the script. If a step of the script is impossible, the data of the result contains
    /// only the reason. All expectations of the experiment then fail.
    fn perform<P>(&self, config: &P::Config) -> Result<ActionResult, String>
    where
        P: RecordableProtocol<Config: Clone>,
    {
        match performed::<P>(self.script, |_| config.clone()) {
            Ok(transcript) => self.replay::<P>(&transcript, config),
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

    fn replay<P>(&self, transcript: &[String], config: &P::Config) -> Result<ActionResult, String>
    where
        P: RecordableProtocol<Config: Clone>,
    {
        let script = self.script;
        let transcript: Vec<Vec<&str>> = transcript
            .iter()
            .zip(&script.blocks)
            .filter(|(_, block)| block.actions_with_lines().next().is_some())
            .map(|(block, _)| block.lines().collect())
            .collect();
        let uniform = |_| config.clone();
        let schedule = Schedule::from_script::<P>(script, uniform).map_err(to_message)?;
        let schedule = schedule.last().ok_or("the script has no group")?;
        let page = TraceBuffer::default();
        let ranks = self.ranks.as_slice().into();
        let settings = Settings { ranks, ..Settings::new(schedule.size) };
        let mut simulation = Simulation::<P>::new(config.clone(), settings);
        if let Some(service) = self.judged {
            simulation = simulation.with_service(service);
        }
        let report =
            simulation.with_name(self.algorithm.to_owned()).run_schedule(schedule, page.clone());
        let mut data = serde_json::to_value(report.map_err(to_message)?).map_err(to_message)?;
        let sends =
            |lines: &Vec<&str>| lines.iter().filter(|it| it.starts_with("  sends ")).count();
        let sent: Vec<usize> = transcript.iter().map(sends).collect();
        let trace = Trace::parse(&page.take_bytes(), "story").map_err(to_message)?;
        let Trace { header, records, .. } = trace;
        let behind = Schedule::cumulative_record_counts_by_block::<P>(script, uniform, &records)
            .map_err(to_message)?;
        let moments: Vec<ReplicatedLogMoment> =
            behind.into_iter().map(ReplicatedLogMoment::AfterRecord).collect();
        let logs = ReplicatedLogDiagram::from_records(&header, &records, &moments);
        if let Value::Object(fields) = &mut data {
            fields.insert("sent".to_owned(), json!(sent));
            fields.insert("transcript".to_owned(), json!(transcript));
            if !logs.is_empty() {
                let all: Vec<Value> =
                    logs.logs_by_moment().map(|logs| terms(logs, header.n)).collect();
                fields.insert("logs".to_owned(), Value::Array(all));
            }
        }
        let picture = if logs.is_empty() {
            let layout = lay_out(&header, &records, DiagramOptions::default());
            layout.to_text_within(TimeDirection::Down, RowLabel::Place, line_width())
        } else {
            logs.to_text(line_width(), false)
        };
        Ok(ActionResult { data, picture: Some(picture) })
    }
}

fn terms(logs: &ReplicatedLogStates, size: u32) -> Value {
    let kept = (0..size).map(ProcessId).filter_map(|at| Some((at, logs.log(at)?)));
    let log = |(at, kept): (ProcessId, &tenure_trace::ReplicatedLogState)| {
        let terms: Vec<u64> = kept.entries.iter().map(|entry| entry.term).collect();
        let mut log = json!({ "terms": terms, "committed": kept.commit_index });
        if kept.snapshot_index > 0 {
            log["snapshot"] = kept.snapshot_index.into();
        }
        (at.to_string(), log)
    };
    Value::Object(kept.map(log).collect::<Map<String, Value>>())
}

fn to_message(error: impl ToString) -> String {
    error.to_string()
}

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
        let made =
            perform_script(serde_json::from_value(with).expect("a story")).expect("it is made");
        assert_eq!(made.data["transcript"][0][0], "line 2: no such message is under way: p2→p3");
        assert!(made.data.get("sent").is_none(), "and nothing else");
    }

    fn performed(with: Value) -> Result<ActionResult, String> {
        perform_script(serde_json::from_value(with).expect("a story"))
    }

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
