//! Monitor of group membership.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use crate::monitor::{Monitor, MonitorResult, Observation, Violation};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::membership::{Command, Event, View};

/// Monitor of group membership: two views with the same number are equal. Each process belongs to
/// every view that it installs. The numbers of the views that a process reports increase until it
/// crashes and recovers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ViewAgreement {
    /// Members of each reported view, by the number of the view.
    members: BTreeMap<u64, ProcessSet>,
    /// Number of the last view that each process has reported since its last recovery.
    newest: BTreeMap<ProcessId, u64>,
}

impl ViewAgreement {
    /// Judges the report of `view` by the process `at`. `belongs` is true if `at` reports that it
    /// has installed the view, and false if the view has removed `at`.
    fn on_told(&mut self, at: ProcessId, view: &View, belongs: bool) -> Result<(), String> {
        let View { number, members } = view;
        if members.contains(at) != belongs {
            let does = if belongs { "installs" } else { "is removed by" };
            return Err(format!("{at} {does} {view}"));
        }
        let known = self.members.entry(*number).or_insert_with(|| members.clone());
        if known != members {
            return Err(format!("{at} reports {view}, and another process {known:?}"));
        }
        match self.newest.insert(at, *number) {
            Some(newest) if newest >= *number => {
                Err(format!("{at} goes from view {newest} to view {number}"))
            }
            _ => Ok(()),
        }
    }
}

impl Monitor<Command, Event> for ViewAgreement {
    fn property(&self) -> Property {
        Property::ViewAgreement
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let judged = match seen {
            Observation::Event(Event::Installed { view }) => self.on_told(at, view, true),
            Observation::Event(Event::Removed { view }) => self.on_told(at, view, false),
            Observation::Recovered => {
                self.newest.remove(&at);
                Ok(())
            }
            Observation::Command { .. } | Observation::Crashed | Observation::Sent { .. } => Ok(()),
        };
        judged.map_err(|message| Violation { at, message })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::monitors::testing::holds_for_events;

    fn view(number: u64, members: &[u32]) -> View {
        View { number, members: members.iter().copied().map(ProcessId).collect() }
    }

    #[test]
    fn detects_inconsistent_views() {
        let installed = |number, members| Event::Installed { view: view(number, members) };
        let removed = |number, members| Event::Removed { view: view(number, members) };
        for (events, is_right) in [
            (vec![(0, installed(1, &[0, 1])), (1, installed(1, &[0, 1]))], true),
            (vec![(0, installed(2, &[0])), (1, removed(2, &[0]))], true),
            (vec![(0, installed(2, &[0])), (1, installed(2, &[1]))], false),
            (vec![(0, installed(2, &[0])), (1, removed(2, &[2]))], false),
            (vec![(1, installed(2, &[0]))], false),
            (vec![(1, removed(2, &[0, 1]))], false),
            (vec![(0, installed(2, &[0])), (0, installed(1, &[0, 1]))], false),
        ] {
            assert_eq!(holds_for_events(ViewAgreement::default(), &events), is_right, "{events:?}");
        }
    }
}
