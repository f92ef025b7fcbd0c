//! Texts in the diagram of a page: they are not cut, and do not overlap.

use serde_json::json;
use tenure_core::service::election;
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_trace::diagram::TraceWindow;
use tenure_trace::{Header, Record, RecordKind, Service, TraceProducer};

use crate::{elected, message_record, showing};

/// Script that redraws the diagram and returns the faulty texts. A text is faulty if it is cut, or
/// if it overlaps another text or the crown that marks a leader.
const OVER: &str = "(() => {
    const { picture } = viewer;
    const { marks, gutter } = picture;
    const text = marks.text;
    const words = [];
    marks.text = function (label, x, y, font, colour, align = 'center') {
        const width = marks.width(label, font);
        const left = align === 'left' ? x : x - width / 2;
        if (left > 20 && y > 34) words.push([label, left, y - 5, left + width, y + 5]);
        text.call(marks, label, x, y, font, colour, align);
    };
    picture.draw(picture);
    delete marks.text;
    if (words.length === 0) return ['no text'];
    const cut = words.filter(([, left]) => left < gutter).map(([label]) => `${label} is cut`);
    for (const step of picture.crowned) {
        const [x, y] = [picture.x(step), picture.y(picture.trace.at[step]) - 20];
        words.push(['crown', x - 7, y - 5, x + 7, y + 5]);
    }
    const over = words.flatMap(([one, ...a], place) => words.slice(place + 1)
        .filter(([, ...b]) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3])
        .map(([two]) => `${one} and ${two}`));
    return [...cut, ...over, ...(words.length > 10 ? [] : ['few words'])];
})()";

fn at(time: u64, who: u32, kind: RecordKind) -> Record {
    Record::new(time * TICKS_PER_TIME_UNIT, ProcessId(who), kind)
}

/// Returns a run in which a message travels around a ring of twenty processes. P7 becomes the
/// leader when it receives the message.
fn ring() -> (Header, Vec<Record>) {
    let mut records: Vec<Record> = (0..20)
        .map(|who| at(0, who, RecordKind::Command(election::Command::Elect.into())))
        .collect();
    for who in 0..19 {
        let time = u64::from(who);
        records.push(at(time, who, RecordKind::Send(message_record(who + 1, "election", 1))));
        records.push(at(
            time + 1,
            who + 1,
            RecordKind::Receive(message_record(who, "election", 1)),
        ));
        if who == 5 {
            records.push(at(time + 1, who + 1, elected(who + 1, 1)));
        }
    }
    (Header::new("ring", Service::Election, 20, TraceProducer::Simulator), records)
}

#[test]
fn diagram_texts_are_neither_cut_nor_overlapping() {
    let Some((mut tab, _folder)) = showing(&ring(), TraceWindow::default()) else { return };
    for wide in [1280, 900] {
        tab.emulate_display(wide, 800, "light");
        tab.wait_until(&format!("innerWidth === {wide}"));
        assert_eq!(tab.evaluate(OVER), json!([]), "at {wide} pixels");
    }
    assert_eq!(tab.complaints, [""; 0]);
}

/// Draws several simultaneous steps side by side, next to a label of the time axis. Checks that the
/// time of each of these steps is the time of the label.
#[test]
fn axis_shows_times_of_simultaneous_steps() {
    let mut records: Vec<Record> = Vec::new();
    for time in 0..4 {
        records.extend((0..9).map(|_| at(time, 0, RecordKind::Timer("Again".into()))));
    }
    let run = (Header::new("busy", Service::Election, 1, TraceProducer::Simulator), records);
    let Some((mut tab, _folder)) = showing(&run, TraceWindow::default()) else { return };
    let overlaps = "(() => {
        const { picture, trace } = viewer;
        const steps = Array.from({ length: trace.size }, (_, step) => step);
        const near = (x) => steps.filter((step) => Math.abs(picture.x(step) - x) < 12);
        return picture.ticks().flatMap(({ x, label }) => near(x)
            .filter((step) => Math.abs(trace.time[step] - label) > 0.5)
            .map((step) => `${trace.time[step]} at ${label}`));
    })()";
    assert_eq!(tab.evaluate(overlaps), json!([]));
    assert!(tab.evaluate("viewer.picture.ticks().length").as_u64() > Some(1));
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn page_distinguishes_message_kinds_like_svg() {
    let names = ["open", "alive", "look", "place", "renew", "watch", "deleted", "release"];
    let send = |(number, name)| at(number, 0, RecordKind::Send(message_record(1, name, number)));
    let records = (1..).zip(names).map(send).collect();
    let run = (Header::new("leased", Service::Mutex, 2, TraceProducer::Simulator), records);
    let Some((mut tab, _folder)) = showing(&run, TraceWindow::default()) else { return };
    let looks = "new Set(Array.from(document.querySelectorAll('.swatch'), (each) =>
        getComputedStyle(each).background)).size";
    assert_eq!(tab.evaluate(looks), json!(8));
    assert_eq!(tab.complaints, [""; 0]);
}
