//! The golden stories of the worked examples, counted: what is sent, who enters, who leads.

use tenure_claims::claims;

/// A story as it is written, below its blocks of actions.
struct Story(String);

impl Story {
    fn of(path: &str) -> Story {
        let path = format!("tests/golden/{path}.txt");
        Story(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
    }

    /// From the block that has this line on.
    fn from(&self, line: &str) -> Story {
        let at = self.0.find(line).unwrap_or_else(|| panic!("there is no {line}"));
        Story(self.0[at..].to_owned())
    }

    /// Its blocks, one by one.
    fn blocks(&self) -> impl Iterator<Item = Story> {
        self.0.split("\n\n").map(|block| Story(block.to_owned()))
    }

    /// What each process sends: who, to whom, and which kind of message.
    fn sends(&self) -> Vec<(&str, &str, &str)> {
        let mut who = "";
        let mut sends = Vec::new();
        for line in self.0.lines() {
            match line.strip_prefix("  sends ").and_then(|sent| sent.split_once(' ')) {
                Some((to, message)) => sends.push((who, to, first(message))),
                None if !line.starts_with(' ') => who = first(line).trim_end_matches("'s"),
                None => {}
            }
        }
        sends
    }

    /// How many messages of these kinds are sent.
    fn counts<const N: usize>(&self, kinds: [&str; N]) -> [usize; N] {
        let sends = self.sends();
        let all = sends.len();
        let counts = kinds.map(|kind| sends.iter().filter(|sent| sent.2 == kind).count());
        assert_eq!(counts.iter().sum::<usize>(), all, "there are other kinds");
        counts
    }

    /// To whom an event of this name happens, in order.
    fn told(&self, event: &str) -> Vec<&str> {
        let mut who = "";
        let mut told = Vec::new();
        for line in self.0.lines() {
            match line.strip_prefix("  is told ") {
                Some(it) if it.starts_with(event) => told.push(who),
                None if !line.starts_with(' ') => who = first(line).trim_end_matches("'s"),
                _ => {}
            }
        }
        told
    }
}

fn first(line: &str) -> &str {
    line.split([' ', ';']).next().unwrap_or_default()
}

#[claims("W-05", "W-06")]
#[test]
fn a_coordinator_and_its_queue() {
    let kinds = ["Request", "Grant", "Release"];
    let empty = Story::of("central/uncontended");
    assert_eq!((empty.counts(kinds), empty.told("Entered")), ([1, 1, 1], vec!["P2"]));
    let queue = Story::of("central/queue");
    assert_eq!((queue.counts(kinds), queue.told("Entered")), ([3, 3, 3], vec!["P2", "P6", "P1"]));
    let desk = queue.from("P5 is ").0;
    let queued = desk.split("queue: ").nth(1).expect("a queue").split(']').next();
    assert_eq!(queued.map(|it| it.matches("process: P1").count()), Some(1), "{queued:?}");
    assert_eq!(queued.map(|it| it.matches("process: ").count()), Some(1), "{queued:?}");
}

#[claims("W-07", "W-08")]
#[test]
fn replies_from_all_of_two_others() {
    let lamport = Story::of("lamport/first_entry");
    assert_eq!(lamport.counts(["Request", "Reply", "Release"]), [2, 2, 2]);
    assert_eq!(lamport.blocks().nth(2).expect("P2 replies").told("Entered"), [""; 0]);
    assert_eq!(lamport.from("deliver p3→p1").told("Entered"), ["P1"]);
    let ricart = Story::of("ricart_agrawala/everybody_replies");
    assert_eq!((ricart.counts(["Request", "Reply"]), ricart.told("Entered").len()), ([4, 4], 2));
    assert_eq!(ricart.from("enter p2").counts(["Request", "Reply"]), [2, 2]);
    assert_eq!(ricart.from("exit p1").counts(["Reply"]), [1], "P1 replied when it had left");
}

/// P4 asks before them, so that P2's clock is ahead of P3's; what it sends is not counted.
#[claims("W-09")]
#[test]
fn two_that_ask_at_once() {
    let story = Story::of("ricart_agrawala/two_at_once");
    let sends = story.sends();
    let among = |kind| {
        let these =
            sends.iter().filter(|(from, to, sent)| *sent == kind && *from != "P4" && *to != "P4");
        these.count()
    };
    assert_eq!((among("Request"), among("Reply")), (4, 4));
    assert_eq!(story.told("Entered"), ["P3", "P4", "P2"]);
    assert!(story.0.contains("request: (1, P3), awaited: {P1, P2, P4} }, deferred: [(2, P2)] }"));
    assert!(story.0.contains("request: (2, P2), awaited: {P1, P3, P4} }, deferred: [] }"));
}

#[claims("W-10", "W-11", "W-12", "W-13", "W-15")]
#[test]
fn elections_on_a_ring() {
    let kinds = ["Election", "Elected"];
    let single = Story::of("chang_roberts/single");
    assert_eq!(single.counts(kinds), [4 + 5, 5], "3N − 1");
    let decreasing = Story::of("chang_roberts_decreasing/all");
    let rounds: Vec<usize> = decreasing.blocks().map(|block| block.counts(kinds)[0]).collect();
    // The head of the story, its start and five rounds, the announcement.
    assert_eq!(rounds, [0, 5, 4, 3, 2, 1, 0, 0]);
    assert_eq!(decreasing.counts(kinds), [5 * 6 / 2, 5]);
    let highest = Story::of("chang_roberts_28/comes_back");
    assert_eq!(highest.counts(kinds), [2 + 6, 6]);
    assert_eq!(highest.told("Elected { leader: P3").len(), 6);
    let two = Story::of("chang_roberts/two");
    assert_eq!(two.told("Elected { leader: P4").len(), 4);
    assert_eq!(two.told("Elected").len(), 4);
}

/// What is sent in each block: the rank that goes on, or none.
#[claims("W-14")]
#[test]
fn every_case_of_a_rank_that_arrives() {
    let story = Story::of("chang_roberts/cases");
    let case = |line: &str| {
        let block = story.from(line).blocks().next().expect("there is a block");
        let what = block.0.split("----\n").nth(1).expect("with an outcome").to_owned();
        let arrived = what.lines().skip_while(|line| !line.contains(" receives "));
        arrived.map(str::to_owned).collect::<Vec<_>>()
    };
    let goes_on = |line: &str, passed: &str, phase: &str| {
        let lines = case(line);
        assert!(lines[1].starts_with("  sends ") && lines[1].ends_with(passed), "{lines:?}");
        assert!(lines.last().expect("a look").contains(phase), "{lines:?}");
    };
    let participant = "phase: Participant";
    goes_on("elect p3", "Election { rank: 4 }", participant);
    goes_on("deliver p4→p1", "Election { rank: 4 }", participant);
    goes_on("deliver p1→p2", "Election { rank: 4 }", participant);
    goes_on("\ndeliver p3→p4; look", "Elected { rank: 4, leader: P4 }", "phase: NonParticipant");
    let discarded = case("elect p2");
    assert_eq!(discarded.len(), 2, "nothing is sent: {discarded:?}");
    assert!(discarded[1].contains(participant));
    assert_eq!(story.from("stabilize").0.matches("phase: NonParticipant").count(), 4);
}

#[claims("W-16", "W-17", "W-18")]
#[test]
fn phases_of_eight() {
    let story = Story::of("hirschberg_sinclair_eight/phases");
    let said = |line: &&str, what: &str| line.starts_with("  sends ") && line.contains(what);
    let lines = |what: &str| story.0.lines().filter(|line| said(line, what)).count();
    let messages = [0, 1, 2, 3].map(|phase| lines(&format!("phase: {phase}")));
    let candidates = [0, 1, 2, 3].map(|phase| lines(&format!("phase: {phase}, hops: 1,")) / 2);
    assert_eq!((messages, candidates), ([24, 24, 24, 16], [8, 4, 2, 1]));
    for phase in 0..4 {
        assert!(messages[phase] <= 4 * (1 << phase) * candidates[phase], "phase {phase}");
        let most = if phase == 0 { 8 } else { 8 / ((1 << (phase - 1)) + 1) };
        assert_eq!(candidates[phase], most, "phase {phase}: as many as there can be");
    }
    assert_eq!(lines("phase: 3, hops: 8,"), 2, "all the way round");
    let all = story.sends().len();
    assert_eq!((all, lines("Elected")), (24 + 24 + 24 + 16 + 8, 8));
    assert!((all as f64) < 222.76);
    assert_eq!(story.told("Elected { leader: P1").len(), 8);
}

/// Step 1 is not counted.
#[claims("W-19")]
#[test]
fn two_crashes_and_two_recoveries() {
    let kinds = ["Election", "Answer", "Coordinator"];
    let story = Story::of("bully_without_terms/recovery").from("crash p1; crash p4");
    assert_eq!(story.counts(kinds), [9, 4, 9]);
    assert_eq!(story.sends().len(), 22);
    let blocks: Vec<[usize; 3]> = story.blocks().map(|block| block.counts(kinds)).collect();
    let spoken: Vec<_> = blocks.into_iter().filter(|counts| *counts != [0; 3]).collect();
    // Step 7 is told in two blocks.
    let expected = [[2, 0, 0], [1, 1, 0], [0, 0, 3], [3, 0, 0], [3, 3, 0], [0, 0, 3], [0, 0, 3]];
    assert_eq!(spoken, expected);
}
