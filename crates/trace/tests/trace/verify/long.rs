//! Verification of long runs in bounded memory.

use std::path::{Path, PathBuf};

use tenure_core::{Fence, ProcessId, Property, Service};
use tenure_trace::{
    Header, Judgement, MergedFiles, Record, RecordKind, RecordSubject, ResourceAccessRecord,
    ResourceOperation, TraceProducer, TraceVerifier, Writer,
};

use crate::kinds::{P1, P2, enter, entered, exited, message};

/// Maximum number of messages, and of fences, that verification remembers.
const LIMIT: usize = 1 << 16;

fn send(at: ProcessId, to: ProcessId, number: u64) -> RecordKind {
    let message_record = message(to, "release", number);
    if at == to { RecordKind::Receive(message_record) } else { RecordKind::Send(message_record) }
}

/// Verifies the entries with these numbers. P1 makes entry 0 and never exits, so this entry
/// overlaps all others. P2 makes all other entries. No message arrives. Each entry has a different
/// waiting time, from the request to the entry.
fn verify_entries(verifier: &mut TraceVerifier, entries: std::ops::Range<u64>) {
    for entry in entries {
        let fence = Fence(0, entry + 1);
        let at = if entry == 0 { P1 } else { P2 };
        let mut time = entry * 1_000_000;
        let mut read = |who: RecordSubject, after: u64, kind| {
            time += after;
            verifier.verify_record(&Record::new(time, who, kind));
        };
        read(at.into(), 0, enter());
        read(at.into(), 1 + entry * 7, entered(fence));
        let (operation, fence) = (ResourceOperation::Put, Some(fence));
        let put = ResourceAccessRecord {
            by: at,
            operation,
            fence,
            value: entry + 1,
            accepted: true,
            highest: None,
        };
        read(RecordSubject::Resource, 1, RecordKind::Access(put));
        read(at.into(), 1, send(at, P1, entry));
        if at == P2 {
            read(at.into(), 1, exited());
        }
    }
}

#[test]
#[ignore = "long: 5 s"]
fn verifier_memory_is_bounded() {
    let mut verifier =
        TraceVerifier::new(&Header::new("hand-made", Service::Mutex, 2, TraceProducer::Simulator));
    verify_entries(&mut verifier, 0..1_000);
    assert!(
        verifier.retained_count() > 4_000,
        "{} are held: what grows is counted",
        verifier.retained_count()
    );
    verify_entries(&mut verifier, 1_000..2 * LIMIT as u64);
    let held = verifier.retained_count();
    verify_entries(&mut verifier, 2 * LIMIT as u64..3 * LIMIT as u64);
    assert!(held <= 6 * LIMIT, "{held} are held");
    assert!(
        verifier.retained_count() <= 6 * LIMIT,
        "{held} were held, and then {}",
        verifier.retained_count()
    );
    let verified = verifier.clone().finish();
    assert_eq!((verified.entries, verified.overlaps), (3 * LIMIT as u64, 3 * LIMIT as u64 - 1));
    assert_eq!(verified.verdict, Judgement::Holds, "{verified}");

    // A stale access is found however late it is.
    let access = ResourceAccessRecord {
        by: P1,
        operation: ResourceOperation::Put,
        fence: Some(Fence(0, 1)),
        value: 0,
        accepted: true,
        highest: None,
    };
    verifier.verify_record(&Record::new(
        u64::MAX,
        RecordSubject::Resource,
        RecordKind::Access(access),
    ));
    let verified = verifier.finish();
    assert_eq!(verified.properties[&Property::FencedAccess], Judgement::Violated);
    assert_eq!(verified.properties[&Property::MutualExclusion], Judgement::Violated);
}

/// Writes the traces of two nodes, and returns their paths. The first node sends `messages`
/// messages to the second. The second node also receives one message whose sending is not recorded.
fn files(folder: &Path, messages: u64) -> [PathBuf; 2] {
    let paths = ["p1.ndjson", "p2.ndjson"].map(|name| folder.join(name));
    let header = Header::new("hand-made", Service::Mutex, 2, TraceProducer::Node);
    let [mut sends, mut receives] =
        paths.each_ref().map(|path| Writer::create(path, &header).unwrap());
    for number in 1..=messages {
        // The clock of the receiver is slow, so the receipt has an earlier time than the sending.
        let send = RecordKind::Send(message(P2, "request", number));
        sends.write(Record::new(number * 10 + 5, P1, send)).unwrap();
        let receive = RecordKind::Receive(message(P1, "request", number));
        receives.write(Record::new(number * 10, P2, receive)).unwrap();
    }
    let never = RecordKind::Receive(message(P1, "request", messages + 1));
    receives.write(Record::new(messages * 10 + 9, P2, never)).unwrap();
    paths
}

#[test]
#[ignore = "long: 14 s"]
fn merge_memory_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let max_retained = |messages: u64| {
        let mut files = MergedFiles::open(files(folder.path(), messages)).unwrap();
        let mut last = 0;
        for record in files.by_ref() {
            let record = record.unwrap();
            if let RecordKind::Receive(message_record) = &record.kind {
                assert!(message_record.number <= last + 1, "{record:?} came before its sending");
            } else if let RecordKind::Send(message_record) = &record.kind {
                last = message_record.number;
            }
        }
        assert_eq!((files.merge_report().unmatched, files.merge_report().contradictions), (1, 0));
        files.peak_retained_count()
    };
    let short = max_retained(1_000);
    assert!(short >= 1_000, "{short}: what grows is counted");
    let (long, longer) = (max_retained(LIMIT as u64 + 5_000), max_retained(LIMIT as u64 + 10_000));
    assert!(longer <= 5 * LIMIT, "{longer} are held");
    assert!(longer <= long + 100, "{longer} are held, where {long} were of the shorter ones");
}
