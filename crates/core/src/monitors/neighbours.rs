use alloc::format;

use crate::card::Topology;
use crate::monitor::{Monitor, Observation, Violation};
use crate::process::ProcessId;
use crate::property::Property;

/// Messages go only to neighbours on the ring of the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NeighboursOnly {
    topology: Topology,
    size: u32,
}

impl NeighboursOnly {
    /// Creates the monitor for a group of `size` processes.
    pub const fn of(topology: Topology, size: u32) -> Self {
        NeighboursOnly { topology, size }
    }
}

impl<C, E> Monitor<C, E> for NeighboursOnly {
    fn property(&self) -> Property {
        Property::Topology
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, C, E>) -> Result<(), Violation> {
        match seen {
            Observation::Sent { to } if !self.topology.joins(self.size, at, to) => {
                let message = match self.topology {
                    Topology::UnidirectionalRing => {
                        format!("{at} sends to {to}, which is not its successor on the ring")
                    }
                    _ => format!("{at} sends to {to}, which is not its neighbour on the ring"),
                };
                Err(Violation { at, message })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MutexObservation;

    #[test]
    fn detects_message_to_non_neighbour() {
        let sends = |topology, to| {
            let sent = MutexObservation::Sent { to: ProcessId(to) };
            NeighboursOnly::of(topology, 3).observe(ProcessId(2), sent)
        };
        assert_eq!(sends(Topology::UnidirectionalRing, 0), Ok(()));
        let message = sends(Topology::UnidirectionalRing, 1).expect_err("it is behind").message;
        assert_eq!(message, "P3 sends to P2, which is not its successor on the ring");
        assert_eq!(sends(Topology::BidirectionalRing, 1), Ok(()));
        assert_eq!(sends(Topology::Complete, 1), Ok(()));
    }
}
