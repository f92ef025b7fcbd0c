//! What others wrote, where people read it.
//!
//! A file may hold anything: a terminal would obey its escape sequences, a line feed begins a line
//! that looks like ours, a mark of direction turns the rest of it round. Whatever is told in words
//! goes through here, and what cannot be seen is told by its number, `\u{1b}`.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// `text`, with everything that is not plainly seen written out.
///
/// ```
/// assert_eq!(tenure_trace::plain("\u{1b}[32mholds\n"), "\\u{1b}[32mholds\\n");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len() + 8);
    let _ = Plain(&mut seen).write_str(text);
    Cow::Owned(seen)
}

/// JSON that means the same and shows nothing but what is plainly seen: such letters stand in
/// strings only. For JSON in one line.
///
/// ```
/// assert_eq!(tenure_trace::plain_json("\"\u{202e}\""), r#""\u202e""#);
/// ```
pub fn plain_json(json: &str) -> String {
    let mut seen = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_plain(letter) {
            seen.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(seen, "\\u{unit:04x}");
            }
        }
    }
    seen
}

/// Whether a letter is seen and stands for itself: no control, no mark of direction, nothing
/// without a width of its own.
pub(crate) fn is_plain(letter: char) -> bool {
    matches!(letter, ' '..='~') || letter.escape_debug().len() == 1
}

/// Writes everything [plainly](plain).
pub(crate) struct Plain<W>(pub(crate) W);

impl<W: Write> Write for Plain<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(place) = rest.find(|letter| !is_plain(letter)) {
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
    use crate::diagram::{Direction, Margin, Page, View, Window, lay_out};
    use crate::export;
    use crate::format::{Asked, Header, Kind, Passage, Record, Source, Told, Who};
    use crate::live;
    use crate::show::Show;
    use crate::verify::{Judge, Verification};
    use tenure_core::Service;

    /// Ends a line, paints a verdict in green, rings, turns round, and ends a tag.
    const HOSTILE: &str = "x\n\r\u{1b}[32m  verdict  holds\u{7}\u{202e}\u{9b}0m\u{2028}</script>";

    fn header() -> Header {
        Header {
            violates: Some(HOSTILE.into()),
            replay: Some(HOSTILE.into()),
            options: vec![HOSTILE.into()],
            ..Header::new(HOSTILE, Service::Mutex, 2, Source::Node)
        }
    }

    fn records() -> Vec<Record> {
        let passage = |peer| Passage {
            peer: ProcessId(peer),
            layer: Layer::Mutex,
            message: HOSTILE.into(),
            number: 1,
            session: 0,
            content: Some(Box::new(json!({"said": HOSTILE, HOSTILE: 1}))),
        };
        let hostile = || json!({"type": HOSTILE, HOSTILE: [HOSTILE]});
        let kinds = [
            (0, Kind::Command(mutex::Command::Enter.into())),
            (0, Kind::Send(passage(1))),
            (0, Kind::Drop(passage(1))),
            (0, Kind::Send(Passage { number: 2, ..passage(1) })),
            (1, Kind::Receive(Passage { number: 2, ..passage(0) })),
            (1, Kind::Event(mutex::Event::Entered { fence: Fence(1, 1) }.into())),
            (1, Kind::Timer(HOSTILE.into())),
            (1, Kind::Note(HOSTILE.into())),
            (0, Kind::State(hostile())),
            (0, Kind::Command(Asked::Other(hostile()))),
            (0, Kind::Event(Told::Other(hostile()))),
            (0, Kind::Other { kind: HOSTILE.into(), data: Some(hostile()) }),
        ];
        let of = |(at, kind)| Record::new(0, ProcessId(at), kind);
        let last = Record::new(0, Who::Parent, Kind::Note(HOSTILE.into()));
        kinds.into_iter().map(of).chain([last]).collect()
    }

    /// Each output and what it is called.
    fn outputs() -> Vec<(&'static str, String)> {
        let (header, records) = (header(), records());
        let mut show = Show::new(&header);
        (show.contents, show.states) = (true, true);
        let lines: Vec<String> = records.iter().filter_map(|record| show.line(record)).collect();
        let mut judge = Judge::new(&header);
        records.iter().for_each(|record| judge.read(record));
        let verification = Verification {
            torn: vec![HOSTILE.into()],
            empty: vec![HOSTILE.into()],
            ..judge.finish()
        };
        let fields = vec!["said".to_owned()];
        let layout = lay_out(&header, &records, View { fields, ..View::default() });
        let mut page = Page::new(&header, Window::default());
        records.iter().for_each(|record| page.read(record));
        let mut html = Vec::new();
        page.write(None, &mut html).unwrap();
        let mut view = live::View::new(2);
        records.iter().for_each(|record| view.read(record));
        let snapshot = view.snapshot(1);
        let news = snapshot.news.iter().map(|news| news.says.clone());
        let letters = snapshot.strip.letters.iter().map(|letter| letter.message.clone());
        vec![
            ("show", lines.join("\n")),
            ("verify", verification.to_string()),
            ("text down", layout.to_text(Direction::Down, Margin::Place)),
            ("text right", layout.to_text(Direction::Right, Margin::Place)),
            ("svg down", layout.to_svg(Direction::Down)),
            ("svg right", layout.to_svg(Direction::Right)),
            ("html", String::from_utf8(html).unwrap()),
            ("mermaid", export::mermaid(&header, &records)),
            ("shiviz", export::shiviz(&header, &records)),
            ("live", news.chain(letters).collect::<Vec<_>>().join("\n")),
        ]
    }

    #[test]
    fn no_output_obeys_what_a_trace_says() {
        let is_seen = |letter: char| !letter.is_control() && !"\u{202e}\u{2028}".contains(letter);
        let obeys = |told: &str| {
            let painted = |line: &str| line.trim_start().starts_with("verdict  holds");
            told.lines().any(|line| painted(line) || !line.chars().all(is_seen))
        };
        let says = |told: &str| ["\\u{1b}[32m", "\\u001b[32m"].iter().any(|it| told.contains(it));
        for (name, told) in outputs() {
            assert!(says(&told) && !obeys(&told), "{name}: {told}");
        }
    }

    #[test]
    fn what_is_plain_stays_as_it_is() {
        let text = "P2 → P1 “reply” \\ 'é' 日本 ▒█";
        assert!(matches!(plain(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn json_means_the_same_when_it_is_plain() {
        let json = serde_json::to_string(&format!("{HOSTILE}\u{e0001}")).unwrap();
        let seen = plain_json(&json);
        assert!(seen.chars().all(is_plain), "{seen}");
        let [one, other] = [&json, &seen].map(|json| serde_json::from_str::<String>(json).unwrap());
        assert_eq!(one, other);
    }
}
