//! A run of days is judged in the memory of one of minutes.

use std::path::{Path, PathBuf};

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Fence, Layer, ProcessId, Property, Service};
use tenure_trace::{
    Access, Header, Judge, Judgement, Kind, MergedFiles, Operation, Passage, Record, Source, Who,
    Writer,
};

const P1: ProcessId = ProcessId(0);
const P2: ProcessId = ProcessId(1);

/// The limits of what is looked back upon are of this size.
const LIMIT: usize = 1 << 16;

fn send(at: ProcessId, to: ProcessId, number: u64) -> Kind {
    let (layer, message) = (Layer::Mutex, "release".into());
    let passage = Passage { peer: to, layer, message, number, session: 0, content: None };
    if at == to { Kind::Receive(passage) } else { Kind::Send(passage) }
}

/// So many entries in turn, of which the first overlaps all others: it was stopped inside. Every
/// message is lost, every latency is another.
fn judge_entries(judge: &mut Judge, entries: std::ops::Range<u64>) {
    for entry in entries {
        let fence = Fence(0, entry + 1);
        let at = if entry == 0 { P1 } else { P2 };
        let mut time = entry * 1_000_000;
        let mut read = |who: Who, after: u64, kind| {
            time += after;
            judge.read(&Record::new(time, who, kind));
        };
        read(at.into(), 0, Kind::Command(Command::Enter.into()));
        read(at.into(), 1 + entry * 7, Kind::Event(Event::Entered { fence }.into()));
        let (operation, fence) = (Operation::Put, Some(fence));
        let put =
            Access { by: at, operation, fence, value: entry + 1, accepted: true, highest: None };
        read(Who::Resource, 1, Kind::Access(put));
        read(at.into(), 1, send(at, P1, entry));
        if at == P2 {
            read(at.into(), 1, Kind::Event(Event::Exited.into()));
        }
    }
}

#[test]
fn a_judge_holds_no_more_after_twice_the_time() {
    let mut judge = Judge::new(&Header::new("hand-made", Service::Mutex, 2, Source::Simulator));
    judge_entries(&mut judge, 0..1_000);
    assert!(judge.held() > 4_000, "{} are held: what grows is counted", judge.held());
    judge_entries(&mut judge, 1_000..3 * LIMIT as u64);
    let held = judge.held();
    judge_entries(&mut judge, 3 * LIMIT as u64..6 * LIMIT as u64);
    assert!(held <= 6 * LIMIT, "{held} are held");
    assert!(judge.held() <= 6 * LIMIT, "{held} were held, and then {}", judge.held());
    let judged = judge.clone().finish();
    assert_eq!((judged.entries, judged.overlaps), (6 * LIMIT as u64, 6 * LIMIT as u64 - 1));
    assert_eq!(judged.verdict, Judgement::Holds, "{judged}");

    // What is let in late is found however late it is.
    let access = Access {
        by: P1,
        operation: Operation::Put,
        fence: Some(Fence(0, 1)),
        value: 0,
        accepted: true,
        highest: None,
    };
    judge.read(&Record::new(u64::MAX, Who::Resource, Kind::Access(access)));
    let judged = judge.finish();
    assert_eq!(judged.properties[&Property::FencedAccess], Judgement::Violated);
    assert_eq!(judged.properties[&Property::MutualExclusion], Judgement::Violated);
}

/// Two nodes' files of so many messages from one to the other, of which the receiver has one more.
fn files(folder: &Path, messages: u64) -> [PathBuf; 2] {
    let paths = ["p1.ndjson", "p2.ndjson"].map(|name| folder.join(name));
    let header = Header::new("hand-made", Service::Mutex, 2, Source::Node);
    let [mut sends, mut receives] =
        paths.each_ref().map(|path| Writer::create(path, &header).unwrap());
    let passage = |peer, number| Passage {
        peer,
        layer: Layer::Mutex,
        message: "request".into(),
        number,
        session: 0,
        content: None,
    };
    for number in 1..=messages {
        // By its clock the receiver was first.
        sends.write(Record::new(number * 10 + 5, P1, Kind::Send(passage(P2, number)))).unwrap();
        let receive = Kind::Receive(passage(P1, number));
        receives.write(Record::new(number * 10, P2, receive)).unwrap();
    }
    let never = Kind::Receive(passage(P1, messages + 1));
    receives.write(Record::new(messages * 10 + 9, P2, never)).unwrap();
    paths
}

#[test]
fn files_are_merged_in_memory_that_does_not_grow_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let most_held = |messages: u64| {
        let mut files = MergedFiles::open(files(folder.path(), messages)).unwrap();
        let mut last = 0;
        for record in files.by_ref() {
            let record = record.unwrap();
            if let Kind::Receive(passage) = &record.kind {
                assert!(passage.number <= last + 1, "{record:?} came before its sending");
            } else if let Kind::Send(passage) = &record.kind {
                last = passage.number;
            }
        }
        assert_eq!((files.seams().unmatched, files.seams().contradictions), (1, 0));
        files.most_held()
    };
    let short = most_held(1_000);
    assert!(short >= 1_000, "{short}: what grows is counted");
    let (long, longer) = (most_held(LIMIT as u64 + 5_000), most_held(LIMIT as u64 + 10_000));
    assert!(longer <= 5 * LIMIT, "{longer} are held");
    assert!(longer <= long + 100, "{longer} are held, where {long} were of the shorter ones");
}
