//! Draws the pictures of the worked examples. The script of each example is a golden file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{AlgorithmVisitor, Parameters, SumTypeMember, visit};
use tenure_algorithms::election::{
    Bully, ChangRoberts, EchoElection, GallagerHumbletSpira, HirschbergSinclair,
    InvitationElection, Peterson, bully, chang_roberts, echo_election, gallager_humblet_spira,
    hirschberg_sinclair, invitation, peterson,
};
use tenure_algorithms::mutex::{
    CarvalhoRoucairol, DiningPhilosophers, Lamport, NaimiTrehel, NishioLiManning, Raymond,
    carvalho_roucairol, dining_philosophers, lamport, raymond,
};
use tenure_core::tree::TreeShape;
use tenure_core::{
    Agreement, Algorithm, Election, Graph, Group, Mutex, ProcessId, Protocol, Rank,
    TICKS_PER_TIME_UNIT,
};
use tenure_sim::{Settings, Simulation};
use tenure_trace::diagram::{
    DiagramOptions, ProcessCondition, ReplicatedLogDiagram, ReplicatedLogMoment, TimeDirection,
    lay_out,
};
use tenure_trace::{
    Record, RecordKind, RecordSubject, RecordableProtocol, Schedule, Script, ScriptLine,
    ServiceCommand, Trace, TraceBuffer, run_golden_scripts,
};

use super::preset_clocks::PresetClocks;
use crate::common::runs::{parsed, text};

const GOLDEN: &str = "../algorithms/tests/golden";
const STORIES: &str = "tests/sim/pictures/stories";
const PICTURES: &str = "../../docs/book/src/pictures";

/// A worked example: its trace, and the options with which it is drawn.
struct Picture {
    name: &'static str,
    trace: Trace,
    direction: TimeDirection,
    fields: &'static [&'static str],
}

impl Picture {
    /// Runs a script of events. Returns the trace, and the options for drawing the trace. The times
    /// in the trace are rounds.
    fn of<P: SumTypeMember<Sum: RecordableProtocol>>(
        name: &'static str,
        path: &Path,
        config: impl Fn(Group) -> P::Config,
        direction: TimeDirection,
        fields: &'static [&'static str],
    ) -> Self {
        let config = |group| P::to_sum_type_config(config(group));
        Picture::of_type::<P::Sum>(name, path, &config, direction, fields)
    }

    /// Runs a script with the protocol `P` as its own type, not as a member of a sum type. Returns
    /// the trace, and the options for drawing the trace. The times in the trace are rounds.
    fn of_type<P: RecordableProtocol>(
        name: &'static str,
        path: &Path,
        config: &dyn Fn(Group) -> P::Config,
        direction: TimeDirection,
        fields: &'static [&'static str],
    ) -> Self {
        let script = script(path);
        let mut trace = performed::<P>(name, &script, config);
        caption::<P>(&mut trace.records, &script, config);
        in_rounds(&mut trace.records);
        Picture { name, trace, direction, fields }
    }

    /// Runs a script with an agreement algorithm of the catalogue. Returns the trace, and the
    /// options for drawing the trace. Time runs from left to right in the picture.
    fn of_agreement(name: &'static str, path: &Path, parameters: &Parameters) -> Self {
        let (mut trace, _) = agreement(name, parameters, &script(path));
        in_rounds(&mut trace.records);
        Picture { name, trace, direction: TimeDirection::Right, fields: &[] }
    }

    fn svg(&self) -> String {
        let fields = self.fields.iter().map(ToString::to_string).collect();
        let view = DiagramOptions { fields, ..DiagramOptions::default() };
        lay_out(&self.trace.header, &self.trace.records, view).to_svg(self.direction)
    }
}

fn golden_path(story: &str) -> PathBuf {
    Path::new(GOLDEN).join(story).with_extension("txt")
}

fn script(path: &Path) -> Script {
    let text = std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{}", path.display()));
    text.parse().unwrap()
}

fn performed<P: RecordableProtocol>(
    algorithm: &str,
    script: &Script,
    config: &dyn Fn(Group) -> P::Config,
) -> Trace {
    let schedule = Schedule::from_script::<P>(script, config).unwrap().pop().unwrap();
    let buffer = TraceBuffer::default();
    let group = Group::new(ProcessId(0), schedule.size);
    let simulation = Simulation::<P>::new(config(group), Settings::new(schedule.size));
    simulation.with_name(algorithm).run_schedule(&schedule, buffer.clone()).unwrap();
    parsed(&text(&buffer))
}

/// Visitor that performs a script with an agreement algorithm of the catalogue.
struct AgreementStory<'a> {
    name: &'a str,
    script: &'a Script,
}

impl AlgorithmVisitor for AgreementStory<'_> {
    /// The trace with captions, and the record counts of the trace without captions. The record
    /// counts are the result of [`Schedule::cumulative_record_counts_by_block`].
    type Output = (Trace, Vec<u64>);

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) -> Self::Output {
        unreachable!("only agreement algorithms are visited")
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> Self::Output {
        unreachable!("only agreement algorithms are visited")
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output {
        let config: &dyn Fn(Group) -> P::Config = &|_| config.clone();
        let mut trace = performed::<P>(self.name, self.script, config);
        let behind =
            Schedule::cumulative_record_counts_by_block::<P>(self.script, config, &trace.records);
        caption::<P>(&mut trace.records, self.script, config);
        (trace, behind.unwrap())
    }
}

fn agreement(name: &str, parameters: &Parameters, script: &Script) -> (Trace, Vec<u64>) {
    visit(name, parameters, AgreementStory { name, script }).expect("a name of the catalogue")
}

fn pictures() -> Vec<Picture> {
    let (right, down) = (TimeDirection::Right, TimeDirection::Down);
    let no_terms = |group: Group| bully::Config {
        variants: Variants::none().with(bully::VariantId::NoTerms),
        ..bully::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT)
    };
    let decreasing = |group: Group| {
        let ranks = (1..=group.size()).rev().map(Rank::from_id).collect();
        chang_roberts::Config::with_ranks(ranks, Variants::none())
    };
    let eight = |group: Group| hirschberg_sinclair::Config::with_defaults(group.size());
    let lamport = |_| lamport::Config::default();
    let stamps = Path::new(STORIES).join("stamps_7_and_15.txt");
    let recovery = golden_path("bully_without_terms/recovery");
    let all = golden_path("chang_roberts_decreasing/all_initiate");
    let phases = golden_path("hirschberg_sinclair/eight_processes");
    let two = golden_path("lamport/concurrent_requests");
    vec![
        Picture::of_type::<PresetClocks>("ricart-agrawala", &stamps, &clocks, right, &["stamp"]),
        Picture::of::<Bully>("bully", &recovery, no_terms, down, &[]),
        Picture::of::<ChangRoberts>("chang-roberts", &all, decreasing, right, &["rank"]),
        Picture::of::<HirschbergSinclair>("hirschberg-sinclair", &phases, eight, down, &["rank"]),
        Picture::of::<Lamport>("lamport", &two, lamport, right, &["stamp"]),
    ]
}

fn more_locks() -> Vec<Picture> {
    let path = |group: Group| raymond::Config::with_tree_shape(TreeShape::Path, group.size());
    let plain = |_| carvalho_roucairol::Config::default();
    let permissions = golden_path("carvalho_roucairol/permissions");
    let (tree, queue) = (golden_path("raymond/path"), golden_path("naimi_trehel/queue"));
    let anew = golden_path("nishio_li_manning/holder_crashes_inside");
    let right = TimeDirection::Right;
    let stamp = &["stamp"];
    vec![
        Picture::of::<CarvalhoRoucairol>("carvalho-roucairol", &permissions, plain, right, stamp),
        Picture::of::<Raymond>("raymond", &tree, path, right, &[]),
        Picture::of::<NaimiTrehel>("naimi-trehel", &queue, |_| (), right, &[]),
        Picture::of::<NishioLiManning>("nishio-li-manning", &anew, |_| (), right, &[]),
    ]
}

fn on_graphs() -> Vec<Picture> {
    let ring = |group: Group| Graph::ring(group.size());
    let line = |_| {
        let edges = [(0, 1, 1), (1, 2, 3), (2, 3, 2)];
        let edges = edges.map(|(one, other, it)| (ProcessId(one), ProcessId(other), it));
        let graph = Graph::new(4, edges).expect("a line is a graph");
        gallager_humblet_spira::Config { graph: Arc::new(graph), variants: Variants::none() }
    };
    let waves =
        Parameters { graph: Some(Arc::new(Graph::ring(4))), ..Parameters::with_defaults(4) };
    let philosophers = |group| dining_philosophers::Config::with_graph(ring(group));
    let extinction = |group| echo_election::Config::with_graph(ring(group));
    let fragments = golden_path("gallager_humblet_spira/two_fragments");
    let (echo, forks) = (golden_path("echo/ring"), golden_path("dining_philosophers/ring"));
    let election = golden_path("echo_election/extinction");
    let (right, name) = (TimeDirection::Right, "dining-philosophers");
    let mut dining = Picture::of::<DiningPhilosophers>(name, &forks, philosophers, right, &[]);
    (dining.trace.header.max_inside, dining.trace.header.fenced) = (4, false);
    let (name, level) = ("gallager-humblet-spira", &["level"]);
    vec![
        Picture::of::<GallagerHumbletSpira>(name, &fragments, line, right, level),
        Picture::of_agreement("echo", &echo, &waves),
        dining,
        Picture::of::<EchoElection>("echo-election", &election, extinction, right, &["rank"]),
    ]
}

fn more_elections() -> Vec<Picture> {
    let ring = |group: Group| peterson::Config::with_defaults(group.size());
    let groups =
        |group: Group| invitation::Config::with_defaults(group.size(), TICKS_PER_TIME_UNIT);
    let (winner, merge) =
        (golden_path("peterson/maximum_returns_to_owner"), golden_path("invitation/merge"));
    let right = TimeDirection::Right;
    vec![
        Picture::of::<Peterson>("peterson", &winner, ring, right, &["rank"]),
        Picture::of::<InvitationElection>("invitation", &merge, groups, right, &[]),
    ]
}

/// Picture of the replicated logs at several points of a script. Each point is the end of a block
/// of the script. Each point has a caption.
struct Logs {
    name: &'static str,
    story: &'static str,
    /// Number of processes in the script.
    size: u32,
    variants: &'static [&'static str],
    blocks: &'static [(usize, &'static str)],
}

const LOGS: [Logs; 3] = [
    Logs {
        name: "raft-log-figure-3-6",
        story: "raft_log_no_pre_vote/figure_3_6",
        size: 7,
        variants: &["no-pre-vote"],
        blocks: &[(0, "When P1 begins to lead"), (1, "In the end")],
    },
    Logs {
        name: "raft-log-figure-3-7",
        story: "raft_log_one_entry/figure_3_7",
        size: 5,
        variants: &["no-pre-vote", "one-entry"],
        blocks: &[(1, "(a)"), (2, "(b)"), (3, "(c)"), (4, "(d1)")],
    },
    Logs {
        name: "raft-log-two-leaders",
        story: "raft_log_no_pre_vote/two_leaders",
        size: 3,
        variants: &["no-pre-vote"],
        blocks: &[(0, "Split"), (1, "Whole again")],
    },
];

impl Logs {
    fn svg(&self) -> String {
        let variants = self.variants.iter().map(ToString::to_string).collect();
        let parameters = Parameters { variants, ..Parameters::with_defaults(self.size) };
        let script = script(&golden_path(self.story));
        let (trace, behind) = agreement("raft-log", &parameters, &script);
        let moments: Vec<ReplicatedLogMoment> = self
            .blocks
            .iter()
            .map(|(block, _)| ReplicatedLogMoment::AfterRecord(behind[*block]))
            .collect();
        let titles = self.blocks.iter().map(|(_, title)| *title);
        ReplicatedLogDiagram::from_records(&trace.header, &trace.records, &moments)
            .with_titles(titles)
            .to_svg(24)
    }
}

fn drawn() -> Vec<(&'static str, String)> {
    let logs = LOGS.iter().map(|logs| (logs.name, logs.svg()));
    let plain = pictures().into_iter().chain(more_locks()).chain(more_elections());
    let all = plain.chain(on_graphs());
    all.map(|picture| (picture.name, picture.svg())).chain(logs).collect()
}

/// Returns the initial clocks of a group: 14 at P2 and 6 at P3.
fn clocks(_: Group) -> Vec<u64> {
    vec![0, 14, 6]
}

/// Returns true if the record describes a step of a process, or the loss of a message.
fn is_step(kind: &RecordKind) -> bool {
    !matches!(
        kind,
        RecordKind::Boot
            | RecordKind::Send(_)
            | RecordKind::Event(_)
            | RecordKind::End
            | RecordKind::Note(_)
    )
}

/// Adds the remarks of the script to the trace. Each remark becomes a note before the step that the
/// remark describes.
fn caption<P>(records: &mut Vec<Record>, script: &Script, config: &dyn Fn(Group) -> P::Config)
where
    P: Protocol<Command: ServiceCommand>,
{
    let mut notes: Vec<(usize, String)> = Vec::new();
    for (place, block) in script.blocks.iter().enumerate() {
        let remarks = block.lines.iter().filter_map(|line| match line {
            ScriptLine::Comment(remark) => Some(remark.trim()),
            ScriptLine::Actions(_) => None,
        });
        let remark = remarks.collect::<Vec<_>>().join(" ");
        if !remark.starts_with("Step") {
            continue;
        }
        let before = Script { blocks: script.blocks[..place].to_vec() };
        let courses = Schedule::from_script::<P>(&before, config).unwrap();
        notes.push((courses.last().map_or(0, |schedule| schedule.actions.len()), remark));
    }
    let steps: Vec<usize> =
        (0..records.len()).filter(|record| is_step(&records[*record].kind)).collect();
    for (before, remark) in notes.into_iter().rev() {
        let place = steps.get(before).copied().unwrap_or(records.len());
        records.insert(place, Record::new(0, RecordSubject::Parent, RecordKind::Note(remark)));
    }
}

/// Replaces the times of the records by rounds. A message takes one round. The action of a user
/// gets a later round than all earlier events.
fn in_rounds(records: &mut [Record]) {
    let mut sent: HashMap<(ProcessId, ProcessId, u64), u64> = HashMap::new();
    let mut own: BTreeMap<RecordSubject, u64> = BTreeMap::new();
    let (mut latest, mut barrier, mut streak, mut started) = (0, 0, false, false);
    for record in records {
        let who = record.process;
        let mine = own.get(&who).copied();
        let arrived = |from, to, number| sent.get(&(from, to, number)).map_or(0, |time| time + 1);
        let asked = matches!(record.kind, RecordKind::Command(_) | RecordKind::Crash);
        let time = match (&record.kind, who) {
            (RecordKind::Boot, _) => 0,
            (RecordKind::Send(_) | RecordKind::Event(_), _) => mine.unwrap_or(0),
            (RecordKind::Receive(message_record), RecordSubject::Process(at)) => {
                let arrived = arrived(message_record.peer, at, message_record.number);
                arrived.max(barrier).max(mine.map_or(0, |mine| mine + 1))
            }
            (RecordKind::Drop(message_record), RecordSubject::Process(at)) => {
                arrived(at, message_record.peer, message_record.number).max(barrier)
            }
            _ if asked && streak => barrier,
            _ => {
                barrier = latest + u64::from(started);
                barrier
            }
        };
        if !matches!(record.kind, RecordKind::Send(_) | RecordKind::Event(_)) {
            streak = asked;
            started |= record.kind != RecordKind::Boot;
        }
        if let (RecordKind::Send(message_record), RecordSubject::Process(at)) = (&record.kind, who)
        {
            sent.insert((at, message_record.peer, message_record.number), time);
        }
        if !matches!(record.kind, RecordKind::Drop(_)) {
            own.insert(who, time);
        }
        latest = latest.max(time);
        record.time = time * TICKS_PER_TIME_UNIT;
    }
}

#[test]
fn two_timestamps_story_matches_golden() {
    run_golden_scripts::<PresetClocks>(STORIES, clocks);
}

/// Checks from which step on the picture shows that a process has the token. In Raymond's tree, the
/// first process has the token from the start. In the algorithm of Nishio, Li and Manning, a
/// process has a regenerated token from the step in which it enters the critical section.
#[test]
fn regenerated_token_lasts() {
    let since = |name: &str, at: ProcessId| {
        let picture = more_locks().into_iter().find(|it| it.name == name).expect("it is drawn");
        let layout =
            lay_out(&picture.trace.header, &picture.trace.records, DiagramOptions::default());
        let mut spans =
            layout.spans.iter().filter(|it| (it.at, it.condition) == (at, ProcessCondition::Token));
        let first = spans.next().expect("it has the token");
        (first.from, layout.steps.iter().position(|step| step.at == Some(at) && step.enters))
    };
    assert_eq!(since("raymond", ProcessId(0)).0, None);
    let (made, enters) = since("nishio-li-manning", ProcessId(1));
    assert!(made.is_some() && made == enters, "{made:?} {enters:?}");
}

/// Compares the pictures with the stored ones. `cargo xtask pictures` stores new pictures.
#[test]
fn example_pictures_are_current() {
    let rewrite = std::env::var("TENURE_PICTURES").is_ok_and(|wish| wish == "rewrite");
    for (name, svg) in drawn() {
        let path = Path::new(PICTURES).join(name).with_extension("svg");
        if rewrite {
            std::fs::create_dir_all(PICTURES).unwrap();
            std::fs::write(&path, svg).unwrap();
            continue;
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == svg, "{path:?} is old: run `cargo xtask pictures`, look");
    }
}

/// Returns each text of a picture with its bounding box: left, top, right, bottom.
fn texts(svg: &str) -> Vec<([i64; 4], String)> {
    let attribute = |element: &str, name: &str| {
        let value = element.split(&format!("{name}=\"")).nth(1)?.split('"').next()?;
        value.parse::<i64>().ok()
    };
    let element = |element: &str| {
        let description = element.split('>').nth(1)?.split('<').next()?.to_owned();
        let (x, y) = (attribute(element, " x")?, attribute(element, " y")?);
        // This estimate is narrower than the width that the picture reserves, because letters have
        // different widths.
        let wide = description.chars().count() as i64 * 6;
        let left = match () {
            () if element.contains("\"middle\"") => x - wide / 2,
            () if element.contains("\"end\"") => x - wide,
            () => x,
        };
        Some(([left, y - 9, left + wide, y + 2], description))
    };
    svg.split("<text ").skip(1).filter_map(element).collect()
}

#[test]
fn picture_texts_do_not_overlap() {
    for (name, svg) in drawn() {
        let frame = svg.split("viewBox=\"").nth(1).unwrap().split('"').next().unwrap();
        let frame: Vec<i64> = frame.split(' ').map(|number| number.parse().unwrap()).collect();
        let (left, top) = (frame[0], frame[1]);
        let (right, bottom) = (left + frame[2], top + frame[3]);
        let texts = texts(&svg);
        assert!(texts.len() > 10, "{name}");
        for (place, (one, description)) in texts.iter().enumerate() {
            let inside = one[0] >= left && one[1] >= top && one[2] <= right && one[3] <= bottom;
            assert!(inside, "{name}: `{description}` is cut");
            for (other, also) in &texts[place + 1..] {
                let beside = one[2] <= other[0] || other[2] <= one[0];
                let apart = beside || one[3] <= other[1] || other[3] <= one[1];
                assert!(apart, "{name}: `{description}` covers `{also}` at {one:?}");
            }
        }
    }
}
