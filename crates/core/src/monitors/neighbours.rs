use alloc::format;

use crate::card::Topology;
use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;

/// Messages go only to neighbours on the ring that a card names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Neighbours {
    topology: Topology,
    size: u32,
}

impl Neighbours {
    /// Of a group of `size` processes.
    pub const fn of(topology: Topology, size: u32) -> Self {
        Neighbours { topology, size }
    }
}

impl<C, E> Monitor<C, E> for Neighbours {
    fn property(&self) -> Property {
        Property::Topology
    }

    fn observe(&mut self, at: ProcessId, seen: Observed<'_, C, E>) -> Result<(), Violation> {
        match seen {
            Observed::Sent { to } if !self.topology.joins(self.size, at, to) => {
                let says = match self.topology {
                    Topology::UnidirectionalRing => {
                        format!("{at} sends to {to}, who does not come next on the ring")
                    }
                    _ => format!("{at} sends to {to}, who is not beside it on the ring"),
                };
                Err(Violation { at, says })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OfMutex;

    #[test]
    fn on_a_ring_of_three_everybody_is_beside_everybody_and_next_to_one() {
        let sends = |topology, to| {
            let sent = OfMutex::Sent { to: ProcessId(to) };
            Neighbours::of(topology, 3).observe(ProcessId(2), sent)
        };
        assert_eq!(sends(Topology::UnidirectionalRing, 0), Ok(()));
        let says = sends(Topology::UnidirectionalRing, 1).expect_err("it is behind").says;
        assert_eq!(says, "P3 sends to P2, who does not come next on the ring");
        assert_eq!(sends(Topology::BidirectionalRing, 1), Ok(()));
        assert_eq!(sends(Topology::Complete, 1), Ok(()));
    }
}
