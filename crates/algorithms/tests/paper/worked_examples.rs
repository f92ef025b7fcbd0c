//! Tests of the worked examples. Each story is a run, written down step by step in a file under
//! `tests/golden`. The tests count the messages, entries and leaders in each story.

/// Text of a golden file (a *story*). The text shows the steps of a run. Empty lines separate the
/// blocks of the text.
struct Story(String);

impl Story {
    fn of(path: &str) -> Story {
        let path = format!("golden/{path}.txt");
        Story(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
    }

    /// Returns the part of the story that begins at this text.
    fn from(&self, line: &str) -> Story {
        let at = self.0.find(line).unwrap_or_else(|| panic!("no line {line}"));
        Story(self.0[at..].to_owned())
    }

    fn blocks(&self) -> impl Iterator<Item = Story> {
        self.0.split("\n\n").map(|block| Story(block.to_owned()))
    }

    /// Returns the lines of the story. Each line comes with the process that takes the step in this
    /// line.
    fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.lines().scan("", |process, line| {
            if !line.starts_with(' ') {
                *process = first(line).trim_end_matches("'s");
            }
            Some((*process, line))
        })
    }

    /// Returns the sent messages: sender, receiver and kind of each.
    fn sends(&self) -> Vec<(&str, &str, &str)> {
        let sends = self.lines().filter_map(|(process, line)| {
            let (to, message) = line.strip_prefix("  sends ")?.split_once(' ')?;
            Some((process, to, first(message)))
        });
        sends.collect()
    }

    fn counts<const N: usize>(&self, kinds: [&str; N]) -> [usize; N] {
        let sends = self.sends();
        let all = sends.len();
        let counts = kinds.map(|kind| sends.iter().filter(|sent| sent.2 == kind).count());
        assert_eq!(counts.iter().sum::<usize>(), all, "unexpected message kinds");
        counts
    }

    fn processes_with(&self, event: &str) -> Vec<&str> {
        let emits =
            |line: &str| line.strip_prefix("  emits ").is_some_and(|it| it.starts_with(event));
        self.lines().filter(|(_, line)| emits(line)).map(|(process, _)| process).collect()
    }
}

fn first(line: &str) -> &str {
    line.split([' ', ';']).next().unwrap_or_default()
}

#[test]
fn coordinator_and_queue() {
    let kinds = ["Request", "Grant", "Release"];
    let empty = Story::of("central/uncontended");
    assert_eq!((empty.counts(kinds), empty.processes_with("Entered")), ([1, 1, 1], vec!["P2"]));
    let queue = Story::of("central/queue");
    assert_eq!(
        (queue.counts(kinds), queue.processes_with("Entered")),
        ([3, 3, 3], vec!["P2", "P6", "P1"])
    );
    let coordinator = queue.from("P5 is ").0;
    let queued = coordinator.split("queue: ").nth(1).expect("a queue").split(']').next();
    assert_eq!(queued.map(|it| it.matches("process: P1").count()), Some(1), "{queued:?}");
    assert_eq!(queued.map(|it| it.matches("process: ").count()), Some(1), "{queued:?}");
}

#[test]
fn lamport_and_ricart_agrawala_replies() {
    let lamport = Story::of("lamport/first_entry");
    assert_eq!(lamport.counts(["Request", "Reply", "Release"]), [2, 2, 2]);
    assert_eq!(lamport.blocks().nth(2).expect("P2 replies").processes_with("Entered"), [""; 0]);
    assert_eq!(lamport.from("deliver p3→p1").processes_with("Entered"), ["P1"]);
    let ricart = Story::of("ricart_agrawala/all_reply");
    assert_eq!(
        (ricart.counts(["Request", "Reply"]), ricart.processes_with("Entered").len()),
        ([4, 4], 2)
    );
    assert_eq!(ricart.from("enter p2").counts(["Request", "Reply"]), [2, 2]);
    assert_eq!(ricart.from("exit p1").counts(["Reply"]), [1], "P1 replied on exit");
}

/// P2 and P3 request at the same time. P2 has already received a request of P4, so P2's timestamp
/// is larger than P3's timestamp. P3 enters before P2. The counts omit the messages from and to P4.
#[test]
fn concurrent_requests() {
    let story = Story::of("ricart_agrawala/concurrent_requests");
    let sends = story.sends();
    let among = |kind| {
        let these =
            sends.iter().filter(|(from, to, sent)| *sent == kind && *from != "P4" && *to != "P4");
        these.count()
    };
    assert_eq!((among("Request"), among("Reply")), (4, 4));
    assert_eq!(story.processes_with("Entered"), ["P3", "P4", "P2"]);
    assert!(story.0.contains("request: (1, P3), awaited: {P1, P2, P4} }, deferred: [(2, P2)] }"));
    assert!(story.0.contains("request: (2, P2), awaited: {P1, P3, P4} }, deferred: [] }"));
}

#[test]
fn chang_roberts_examples() {
    let kinds = ["Election", "Elected"];
    let single = Story::of("chang_roberts/single_initiator");
    assert_eq!(single.counts(kinds), [4 + 5, 5], "3N − 1");
    let decreasing = Story::of("chang_roberts_decreasing/all_initiate");
    let rounds: Vec<usize> = decreasing.blocks().map(|block| block.counts(kinds)[0]).collect();
    // Number of messages in each block of the story. The blocks are the head, the start, five
    // rounds, and the announcement.
    assert_eq!(rounds, [0, 5, 4, 3, 2, 1, 0, 0]);
    assert_eq!(decreasing.counts(kinds), [5 * 6 / 2, 5]);
    let highest = Story::of("chang_roberts_28/maximum_returns_to_owner");
    assert_eq!(highest.counts(kinds), [2 + 6, 6]);
    assert_eq!(highest.processes_with("Elected { leader: P3").len(), 6);
    let two = Story::of("chang_roberts/two_initiators");
    assert_eq!(two.processes_with("Elected { leader: P4").len(), 4);
    assert_eq!(two.processes_with("Elected").len(), 4);
}

/// A rank arrives at a process. The test checks for each case whether the process forwards a rank,
/// and which rank it forwards.
#[test]
fn every_case_of_an_arriving_rank() {
    let story = Story::of("chang_roberts/cases");
    let case = |line: &str| {
        let block = story.from(line).blocks().next().expect("there is a block");
        let outcome = block.0.split("----\n").nth(1).expect("with an outcome").to_owned();
        let arrived = outcome.lines().skip_while(|line| !line.contains(" receives "));
        arrived.map(str::to_owned).collect::<Vec<_>>()
    };
    let assert_forwarded = |line: &str, passed: &str, phase: &str| {
        let lines = case(line);
        assert!(lines[1].starts_with("  sends ") && lines[1].ends_with(passed), "{lines:?}");
        assert!(lines.last().expect("a look").contains(phase), "{lines:?}");
    };
    let participant = "phase: Participant";
    assert_forwarded("elect p3", "Election { rank: 4 }", participant);
    assert_forwarded("deliver p4→p1", "Election { rank: 4 }", participant);
    assert_forwarded("deliver p1→p2", "Election { rank: 4 }", participant);
    assert_forwarded(
        "\ndeliver p3→p4; look",
        "Elected { rank: 4, leader: P4 }",
        "phase: NonParticipant",
    );
    let discarded = case("elect p2");
    assert_eq!(discarded.len(), 2, "no message is sent: {discarded:?}");
    assert!(discarded[1].contains(participant));
    assert_eq!(story.from("stabilize").0.matches("phase: NonParticipant").count(), 4);
}

#[test]
fn phases_of_eight() {
    let story = Story::of("hirschberg_sinclair_eight/phases");
    let sends = |line: &&str, word: &str| line.starts_with("  sends ") && line.contains(word);
    let lines = |word: &str| story.0.lines().filter(|line| sends(line, word)).count();
    let messages = [0, 1, 2, 3].map(|phase| lines(&format!("phase: {phase}")));
    let candidates = [0, 1, 2, 3].map(|phase| lines(&format!("phase: {phase}, hops: 1,")) / 2);
    assert_eq!((messages, candidates), ([24, 24, 24, 16], [8, 4, 2, 1]));
    for phase in 0..4 {
        assert!(messages[phase] <= 4 * (1 << phase) * candidates[phase], "phase {phase}");
        let most = if phase == 0 { 8 } else { 8 / ((1 << (phase - 1)) + 1) };
        assert_eq!(candidates[phase], most, "phase {phase}: the maximum");
    }
    assert_eq!(lines("phase: 3, hops: 8,"), 2, "all the way around");
    let all = story.sends().len();
    assert_eq!((all, lines("Elected")), (24 + 24 + 24 + 16 + 8, 8));
    assert!((all as f64) < 222.76);
    assert_eq!(story.processes_with("Elected { leader: P1").len(), 8);
}

/// Two processes of the bully algorithm crash and recover, as in an example of textbooks. The test
/// compares the numbers of election, answer and coordinator messages in the golden file with the
/// published numbers. The count begins with the crashes.
#[test]
fn two_crashes_and_two_recoveries() {
    let kinds = ["Election", "Answer", "Coordinator"];
    let story = Story::of("bully_without_terms/recovery").from("crash p1; crash p4");
    assert_eq!(story.counts(kinds), [9, 4, 9]);
    assert_eq!(story.sends().len(), 22);
    let blocks: Vec<[usize; 3]> = story.blocks().map(|block| block.counts(kinds)).collect();
    let rounds_with_messages: Vec<_> =
        blocks.into_iter().filter(|counts| *counts != [0; 3]).collect();
    // In the golden file, step 7 of the example consists of two blocks.
    let expected = [[2, 0, 0], [1, 1, 0], [0, 0, 3], [3, 0, 0], [3, 3, 0], [0, 0, 3], [0, 0, 3]];
    assert_eq!(rounds_with_messages, expected);
}
