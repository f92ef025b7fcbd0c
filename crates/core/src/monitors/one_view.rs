use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::membership::{Command, Event, View};

/// Views of one number are the same everywhere, nobody installs one that it does not belong to, and
/// nobody goes back to an older one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneView {
    /// By number: whom somebody said to belong to it.
    members: BTreeMap<u64, ProcessSet>,
    /// By process: the newest that it was told of.
    newest: BTreeMap<ProcessId, u64>,
}

impl OneView {
    /// Before the first view.
    pub fn new() -> Self {
        OneView::default()
    }

    fn on_told(&mut self, at: ProcessId, view: &View, belongs: bool) -> Result<(), String> {
        let View { number, members } = view;
        if members.contains(at) != belongs {
            let does = if belongs { "installs" } else { "is removed by" };
            return Err(format!("{at} {does} {view}"));
        }
        let known = self.members.entry(*number).or_insert_with(|| members.clone());
        if known != members {
            return Err(format!("{at} is told of {view}, and somebody was of {known:?}"));
        }
        match self.newest.insert(at, *number) {
            Some(newest) if newest >= *number => {
                Err(format!("{at} goes from view {newest} to view {number}"))
            }
            _ => Ok(()),
        }
    }
}

impl Monitor<Command, Event> for OneView {
    fn property(&self) -> Property {
        Property::OneView
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let judged = match seen {
            Observed::Event(Event::Installed { view }) => self.on_told(at, view, true),
            Observed::Event(Event::Removed { view }) => self.on_told(at, view, false),
            Observed::Recovered => {
                self.newest.remove(&at);
                Ok(())
            }
            Observed::Command { .. } | Observed::Crashed | Observed::Sent { .. } => Ok(()),
        };
        judged.map_err(|says| Violation { at, says })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn view(number: u64, members: &[u32]) -> View {
        View { number, members: members.iter().copied().map(ProcessId).collect() }
    }

    #[test]
    fn two_views_of_one_number_a_stranger_and_a_step_back_are_seen() {
        let installed = |number, members| Event::Installed { view: view(number, members) };
        let removed = |number, members| Event::Removed { view: view(number, members) };
        for (events, holds) in [
            (vec![(0, installed(1, &[0, 1])), (1, installed(1, &[0, 1]))], true),
            (vec![(0, installed(2, &[0])), (1, removed(2, &[0]))], true),
            (vec![(0, installed(2, &[0])), (1, installed(2, &[1]))], false),
            (vec![(0, installed(2, &[0])), (1, removed(2, &[2]))], false),
            (vec![(1, installed(2, &[0]))], false),
            (vec![(1, removed(2, &[0, 1]))], false),
            (vec![(0, installed(2, &[0])), (0, installed(1, &[0, 1]))], false),
        ] {
            let mut monitor = OneView::new();
            let mut judged = events
                .iter()
                .map(|(at, event)| monitor.observe(ProcessId(*at), Observed::Event(event)));
            assert_eq!(judged.all(|it| it.is_ok()), holds, "{events:?}");
        }
    }
}
