//! Reasons for the refusal of a connection, with their messages, wire codes and metric names.

use std::fmt;

/// Defines the refusals, in order of their codes. Each line has the effect of a refusal on the
/// refused node, its name in metrics, and the message that is sent to the refused side.
macro_rules! refusals {
    ($($(#[$doc:meta])* $Name:ident: $Severity:ident, $name:literal, $message:literal;)+) => {
        /// Reason for the refusal of a connection during its handshake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Refusal {
            $($(#[$doc])* $Name,)+
        }

        impl Refusal {
            /// All reasons, in order of their codes.
            pub const ALL: [Refusal; 14] = [$(Refusal::$Name),+];

            /// Returns the name of this reason in metrics, in lower case with underscores.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Refusal::$Name => $name,)+
                }
            }

            /// Returns the message that is sent to the refused side.
            pub(crate) const fn message(self) -> &'static str {
                match self {
                    $(Refusal::$Name => $message,)+
                }
            }

            /// Returns the effect of this refusal on the refused node.
            pub(crate) const fn severity(self) -> Severity {
                match self {
                    $(Refusal::$Name => Severity::$Severity,)+
                }
            }
        }
    };
}

refusals! {
    /// The input of the dialer is not a handshake.
    Malformed: Transient, "malformed", "this is not a handshake of tenure";
    /// The version of the dialer is newer than this build supports.
    NewerVersion: Transient, "newer_version",
        "this node does not support that version yet; upgrade it first";
    /// The version of the dialer is older than this build supports.
    OlderVersion: Transient, "older_version",
        "this node no longer supports that version; upgrade yours";
    /// The dialer belongs to another cluster.
    WrongCluster: NeedsMajority, "wrong_cluster", "this node belongs to another cluster";
    /// The group of the dialer has a different number of processes.
    WrongGroupSize: NeedsMajority, "wrong_group_size",
        "the group of this node has a different number of processes";
    /// The dialer is not a process of the group, or is one that must not dial this process.
    WrongSender: Transient, "wrong_sender", "no such process dials this node";
    /// The dialer expects another process at this address.
    WrongReceiver: Transient, "wrong_receiver", "another process uses this address";
    /// The session of the dialer is older than one that is known.
    OldSession: Final, "old_session",
        "a newer session of this process has been seen; if it replaces a member, remove that \
         member first";
    /// The dialer or the acceptor did not prove a key of the group.
    Unproven: Transient, "unproven",
        "no key of the group was proven; compare the keys of both nodes";
    /// The handshake took too long.
    TooSlow: Transient, "too_slow", "the handshake took too long";
    /// Too many handshakes were in progress, and this one was the oldest.
    CrowdedOut: Transient, "crowded_out", "too many handshakes at once";
    /// The connection failed during the handshake.
    Broken: Transient, "broken", "the connection failed during the handshake";
    /// Another node runs as the same process, from a copy of its state.
    Twin: Final, "twin", "another node runs as this process, with the same session";
    /// The session of the dialer is too high to follow the newest known session of its process.
    FarSession: Final, "far_session", "this session is too far above the last that was seen";
}

/// Effect that a refusal by a peer has on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// No effect: another attempt may succeed.
    Transient,
    /// The refusing peer belongs to another group. This node is evicted if at least half of the
    /// group refuses it for this reason.
    NeedsMajority,
    /// This node is evicted.
    Final,
}

impl Refusal {
    /// Returns the code of this reason on the wire and in metrics, from 1. Codes are never reused.
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the reason with this code, if this build knows it.
    pub(crate) fn from_code(code: u8) -> Option<Refusal> {
        Refusal::ALL.into_iter().find(|refusal| refusal.code() == code)
    }

    /// Returns the reason and probable cause of an eviction by this refusal.
    pub const fn eviction_reason(self) -> &'static str {
        match self {
            Refusal::OldSession => {
                "a newer session of this process has been seen; its saved state was lost or is an \
                 old copy, or another node runs as this process"
            }
            Refusal::Twin => {
                "another node runs as this process, from a copy of its state, or the state of this \
                 node was lost; stop one of the two"
            }
            Refusal::FarSession => {
                "this session is too far above the last one that was seen; the saved state belongs \
                 to another process"
            }
            Refusal::WrongCluster => {
                "it belongs to another cluster, and the remaining peers are no majority; compare \
                 cluster.name"
            }
            Refusal::WrongGroupSize => {
                "its group has a different size, and the remaining peers are no majority; compare \
                 cluster.addresses"
            }
            other => other.message(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_consecutive_from_one() {
        for (place, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(refusal.code()), place + 1, "{refusal:?}");
        }
    }
}
