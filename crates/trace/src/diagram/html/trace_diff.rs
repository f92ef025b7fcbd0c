//! Comparison of two runs as a self-contained page.

use std::fmt::Write;

use super::PALETTE_CSS;
use super::safe::escape_html;
use crate::trace_diff::{AlignedEvent, DiffSide, TraceDiff};

/// Number of common events that the page shows before and after each difference. The page folds the
/// other common events.
const CONTEXT_EVENTS: usize = 3;

const STYLE: &str = "\
*{box-sizing:border-box}
body{margin:0;padding:12px 18px 30px;background:var(--paper);color:var(--ink);
font:15px/1.45 system-ui,Helvetica,Arial,'Liberation Sans',sans-serif}
h1{font-size:19px;margin:0 0 4px}
p{margin:4px 0 12px}
a{color:inherit}
.row{display:grid;grid-template-columns:minmax(0,1fr) 22px minmax(0,1fr)}
.row>*{padding:2px 8px;overflow-wrap:anywhere}
.row>i{padding:2px 0;text-align:center;font-style:normal;font-weight:bold}
.names{position:sticky;top:0;background:var(--panel);font-weight:bold}
.one{border-left:4px solid var(--inside);background:var(--side0)}
.two{border-left:4px solid var(--waits);background:var(--side1)}
summary{padding:2px 8px;color:var(--soft);cursor:pointer}
#parts{
margin:6px 0 0;padding:2px 8px;border-top:3px solid var(--focus);color:var(--focus);
font-weight:bold;
}
";

impl TraceDiff {
    /// Renders the comparison as an HTML page that marks the first difference. `first` and `second`
    /// are the names of the two runs on the page.
    pub fn to_html(&self, [first, second]: [&str; 2]) -> String {
        let mut rows = String::new();
        let mut place = 0;
        for part in self.events.chunk_by(|one, next| in_both(one) == in_both(next)) {
            if in_both(&part[0]) {
                let ends = place + part.len() == self.events.len();
                same(&mut rows, part, place == 0, ends);
            } else {
                if place == self.same_until {
                    rows.push_str("<p id=\"parts\">Here they part</p>\n");
                }
                apart(&mut rows, part);
            }
            place += part.len();
        }
        let title = format!("{} and {}", escape_html(first), escape_html(second));
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
             <style>\n{PALETTE_CSS}{STYLE}</style>\n</head>\n\
             <body>\n<h1>{title}</h1>\n<p>{}{}</p>\n\
             <main>\n<div class=\"row names\"><span>{}</span><i></i><span>{}</span></div>\n\
             {rows}</main>\n</body>\n</html>\n",
            self.summary(),
            if self.differs() { " <a href=\"#parts\">Where they part</a>" } else { "" },
            escape_html(first),
            escape_html(second),
        )
    }

    fn differs(&self) -> bool {
        self.same_until < self.events.len()
    }

    /// Describes in words how many events the runs have in common, and how many events occur in
    /// only one of the runs.
    pub fn summary(&self) -> String {
        let TraceDiff { same_until, both, is_approximate, .. } = self;
        if !self.differs() {
            return format!("The same happens in both, {both} events.");
        }
        let [first, second] = [DiffSide::First, DiffSide::Second].map(|run| self.event_count(run));
        let note = if *is_approximate {
            " These numbers are approximate: the runs differ too much, and more events may be in \
             both."
        } else {
            ""
        };
        format!(
            "The first {same_until} events are the same. In both happen {both} events, in the \
             first alone {first}, in the second alone {second}.{note}"
        )
    }
}

fn in_both(event: &AlignedEvent) -> bool {
    event.run == DiffSide::Both
}

/// Renders events that both runs have in common. Shows the events near a difference, and folds the
/// other events if there are at least two. `begins` is true if no event precedes these events, and
/// `ends` is true if no event follows.
fn same(rows: &mut String, part: &[AlignedEvent], begins: bool, ends: bool) {
    let head = if begins { 0 } else { CONTEXT_EVENTS };
    let tail = if ends { 0 } else { CONTEXT_EVENTS };
    let folds = part.len() > head + tail + 1;
    for (place, event) in part.iter().enumerate() {
        if folds && place == head {
            let more = part.len() - head - tail;
            let _ = writeln!(rows, "<details><summary>… {more} events in both</summary>");
        }
        if folds && place == part.len() - tail {
            rows.push_str("</details>\n");
        }
        row(rows, Some(event), Some(event), ("", ""));
    }
    if folds && tail == 0 {
        rows.push_str("</details>\n");
    }
}

/// Renders events that occur in only one of the runs, with the events of the two runs side by side.
fn apart(rows: &mut String, part: &[AlignedEvent]) {
    let of = |run| part.iter().filter(move |event| event.run == run);
    let (mut first, mut second) = (of(DiffSide::First), of(DiffSide::Second));
    loop {
        match (first.next(), second.next()) {
            (None, None) => return,
            (first, second) => row(rows, first, second, ("one", "two")),
        }
    }
}

fn row(
    rows: &mut String,
    first: Option<&AlignedEvent>,
    second: Option<&AlignedEvent>,
    (one, two): (&str, &str),
) {
    let cell = |event: Option<&AlignedEvent>, class: &str| {
        let description = event.map_or_else(String::new, |event| escape_html(&event.description));
        match event {
            Some(_) if !class.is_empty() => format!("<span class=\"{class}\">{description}</span>"),
            _ => format!("<span>{description}</span>"),
        }
    };
    let sign = match (one, first, second) {
        ("", ..) => "",
        (_, Some(_), Some(_)) => "|",
        (_, Some(_), None) => "&lt;",
        _ => "&gt;",
    };
    let (first, second) = (cell(first, one), cell(second, two));
    let _ = writeln!(rows, "<div class=\"row\">{first}<i>{sign}</i>{second}</div>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(events: &[(DiffSide, &str)]) -> TraceDiff {
        let event = |(run, description): &(DiffSide, &str)| AlignedEvent {
            run: *run,
            description: (*description).to_owned(),
        };
        let events: Vec<AlignedEvent> = events.iter().map(event).collect();
        TraceDiff {
            same_until: events.iter().take_while(|event| in_both(event)).count(),
            both: events.iter().filter(|event| in_both(event)).count(),
            is_approximate: false,
            events,
        }
    }

    #[test]
    fn marks_first_difference_and_folds_common_events() {
        let mut events = vec![(DiffSide::Both, "P1 boots"); 9];
        events.extend([(DiffSide::First, "P1 <asks>"), (DiffSide::Second, "P2 asks")]);
        let page = contrast(&events).to_html(["a.ndjson", "b.ndjson"]);
        assert_eq!(page.matches("id=\"parts\"").count(), 1);
        assert!(page.contains("<summary>… 6 events in both</summary>"), "{page}");
        assert!(page.contains("<span class=\"one\">P1 &lt;asks&gt;</span><i>|</i>"), "{page}");
        assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
        assert!(!page.contains("approximate"), "{page}");
        let approximate = TraceDiff { is_approximate: true, ..contrast(&events) };
        let page = approximate.to_html(["a", "b"]);
        assert!(page.contains("alone 1. These numbers are approximate: "), "{page}");
        let same = contrast(&events[..9]).to_html(["a", "b"]);
        assert!(!same.contains("parts\"") && same.contains("The same happens in both, 9 events."));
        assert_eq!(same.matches("<details>").count(), same.matches("</details>").count());
    }
}
