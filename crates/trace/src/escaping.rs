//! Escaping of text from unknown sources, before people read it.
//!
//! A trace file may contain any text. A terminal would execute its escape sequences, a line feed
//! could fake a line of output, and a bidirectional mark could reverse the rest of a line. All text
//! that Tenure prints from traces passes through this module. It writes invisible characters as
//! escapes, such as `\u{1b}`.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Escapes all characters of `text` that are not visible. Visible characters, such as quotes and
/// backslashes, stay as they are.
///
/// ```
/// assert_eq!(tenure_trace::escape_invisible("\u{1b}[32mholds\n"), "\\u{1b}[32mholds\\n");
/// ```
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len() + 8);
    let _ = EscapingWriter(&mut seen).write_str(text);
    Cow::Owned(seen)
}

/// Escapes all characters of single-line JSON that are not visible. The meaning stays the same,
/// because such characters occur in strings only.
///
/// ```
/// assert_eq!(tenure_trace::escape_invisible_in_json("\"\u{202e}\""), r#""\u202e""#);
/// ```
pub fn escape_invisible_in_json(json: &str) -> String {
    let mut seen = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_visible(letter) {
            seen.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(seen, "\\u{unit:04x}");
            }
        }
    }
    seen
}

/// Returns true if a character is visible as itself. Returns false for example for control
/// characters, bidirectional marks, combining marks and characters of zero width.
pub(crate) fn is_visible(letter: char) -> bool {
    matches!(letter, ' '..='~') || letter.escape_debug().len() == 1
}

/// Writer that [escapes](escape_invisible) the invisible characters of all text that it writes.
pub(crate) struct EscapingWriter<W>(pub(crate) W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(place) = rest.find(|letter| !is_visible(letter)) {
            self.0.write_str(&rest[..place])?;
            let mut letters = rest[place..].chars();
            if let Some(letter) = letters.next() {
                write!(self.0, "{}", letter.escape_debug())?;
            }
            rest = letters.as_str();
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::service::mutex;
    use tenure_core::{Fence, Layer, ProcessId};

    use super::*;
    use crate::diagram::{
        DiagramOptions, DiagramPage, RowLabel, TimeDirection, TraceWindow, lay_out,
    };
    use crate::export;
    use crate::format::{
        Header, MessageRecord, Record, RecordKind, RecordSubject, RecordedCommand, RecordedEvent,
        TraceProducer,
    };
    use crate::live;
    use crate::show::RecordFormatter;
    use crate::verify::{TraceVerifier, Verification};
    use tenure_core::Service;

    /// Text with line ends, green letters that look like a verdict, a bell, a bidirectional mark,
    /// and a closing tag.
    const HOSTILE: &str = "x\n\r\u{1b}[32m  verdict  holds\u{7}\u{202e}\u{9b}0m\u{2028}</script>";

    fn header() -> Header {
        Header {
            violates: Some(HOSTILE.into()),
            replay: Some(HOSTILE.into()),
            options: vec![HOSTILE.into()],
            ..Header::new(HOSTILE, Service::Mutex, 2, TraceProducer::Node)
        }
    }

    fn records() -> Vec<Record> {
        let message_record = |peer| MessageRecord {
            peer: ProcessId(peer),
            layer: Layer::Mutex,
            message: HOSTILE.into(),
            number: 1,
            session: 0,
            content: Some(Box::new(json!({"said": HOSTILE, HOSTILE: 1}))),
        };
        let hostile = || json!({"type": HOSTILE, HOSTILE: [HOSTILE]});
        let kinds = [
            (0, RecordKind::Command(mutex::Command::Enter.into())),
            (0, RecordKind::Send(message_record(1))),
            (0, RecordKind::Drop(message_record(1))),
            (0, RecordKind::Send(MessageRecord { number: 2, ..message_record(1) })),
            (1, RecordKind::Receive(MessageRecord { number: 2, ..message_record(0) })),
            (1, RecordKind::Event(mutex::Event::Entered { fence: Fence(1, 1) }.into())),
            (1, RecordKind::Timer(HOSTILE.into())),
            (1, RecordKind::Note(HOSTILE.into())),
            (0, RecordKind::State(hostile())),
            (0, RecordKind::Command(RecordedCommand::Other(hostile()))),
            (0, RecordKind::Event(RecordedEvent::Other(hostile()))),
            (0, RecordKind::Other { kind: HOSTILE.into(), data: Some(hostile()) }),
        ];
        let of = |(at, kind)| Record::new(0, ProcessId(at), kind);
        let last = Record::new(0, RecordSubject::Parent, RecordKind::Note(HOSTILE.into()));
        kinds.into_iter().map(of).chain([last]).collect()
    }

    /// Returns all text outputs of the crate for hostile input, each with its name.
    fn outputs() -> Vec<(&'static str, String)> {
        let (header, records) = (header(), records());
        let mut show = RecordFormatter::new(&header);
        (show.shows_contents, show.shows_states) = (true, true);
        let lines: Vec<String> =
            records.iter().filter_map(|record| show.format_line(record)).collect();
        let mut verifier = TraceVerifier::new(&header);
        records.iter().for_each(|record| verifier.verify_record(record));
        let verification = Verification {
            torn: vec![HOSTILE.into()],
            empty: vec![HOSTILE.into()],
            ..verifier.finish()
        };
        let fields = vec!["said".to_owned()];
        let layout =
            lay_out(&header, &records, DiagramOptions { fields, ..DiagramOptions::default() });
        let mut page = DiagramPage::new(&header, TraceWindow::default());
        records.iter().for_each(|record| page.add_record(record));
        let mut html = Vec::new();
        page.write_html(None, &mut html).unwrap();
        let mut view = live::LiveView::new(2);
        records.iter().for_each(|record| view.apply_record(record));
        let snapshot = view.prune_and_snapshot(1);
        let news = snapshot.news.iter().map(|news| news.description.clone());
        let messages = snapshot.strip.messages.iter().map(|it| it.message.clone());
        vec![
            ("show", lines.join("\n")),
            ("verify", verification.to_string()),
            ("text down", layout.to_text(TimeDirection::Down, RowLabel::Place)),
            ("text right", layout.to_text(TimeDirection::Right, RowLabel::Place)),
            ("svg down", layout.to_svg(TimeDirection::Down)),
            ("svg right", layout.to_svg(TimeDirection::Right)),
            ("html", String::from_utf8(html).unwrap()),
            ("mermaid", export::to_mermaid(&header, &records)),
            ("shiviz", export::to_shiviz(&header, &records)),
            ("live", news.chain(messages).collect::<Vec<_>>().join("\n")),
        ]
    }

    #[test]
    fn outputs_escape_hostile_text() {
        let is_seen = |letter: char| !letter.is_control() && !"\u{202e}\u{2028}".contains(letter);
        let obeys = |output: &str| {
            let painted = |line: &str| line.trim_start().starts_with("verdict  holds");
            output.lines().any(|line| painted(line) || !line.chars().all(is_seen))
        };
        let description =
            |output: &str| ["\\u{1b}[32m", "\\u001b[32m"].iter().any(|it| output.contains(it));
        for (name, output) in outputs() {
            assert!(description(&output) && !obeys(&output), "{name}: {output}");
        }
    }

    #[test]
    fn visible_text_is_unchanged() {
        let text = "P2 → P1 “reply” \\ 'é' 日本 ▒█";
        assert!(matches!(escape_invisible(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn escaped_json_keeps_its_meaning() {
        let json = serde_json::to_string(&format!("{HOSTILE}\u{e0001}")).unwrap();
        let seen = escape_invisible_in_json(&json);
        assert!(seen.chars().all(is_visible), "{seen}");
        let [one, other] = [&json, &seen].map(|json| serde_json::from_str::<String>(json).unwrap());
        assert_eq!(one, other);
    }
}
