//! Reasons for rejecting a connection, with their messages, wire codes and names in metrics.

use std::fmt;

/// Defines the reasons, in order of their codes. Each line contains the severity, the name in
/// metrics, and the message that the rejected node receives.
macro_rules! rejection_reasons {
    ($($(#[$doc:meta])* $Name:ident: $Severity:ident, $name:literal, $message:literal;)+) => {
        /// Reason for rejecting a connection, during its handshake or after it. Below, the remote
        /// side is the side whose connection is rejected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RejectionReason {
            $($(#[$doc])* $Name,)+
        }

        impl RejectionReason {
            /// All reasons, in order of their codes.
            pub const ALL: [RejectionReason; 15] = [$(RejectionReason::$Name),+];

            /// Returns the name of this reason in metrics, in lower case with underscores.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RejectionReason::$Name => $name,)+
                }
            }

            pub(crate) const fn message(self) -> &'static str {
                match self {
                    $(RejectionReason::$Name => $message,)+
                }
            }

            pub(crate) const fn severity(self) -> Severity {
                match self {
                    $(RejectionReason::$Name => Severity::$Severity,)+
                }
            }
        }
    };
}

rejection_reasons! {
    /// The input from the remote side is not a handshake.
    Malformed: Transient, "malformed", "this is not a handshake of tenure";
    /// The version of the dialer is newer than the rejecting build supports.
    NewerVersion: Transient, "newer_version",
        "this node does not support that version yet; upgrade it first";
    /// The version of the dialer is older than the rejecting build supports. Also reported if the
    /// acceptor responds with another version.
    OlderVersion: Transient, "older_version",
        "this node no longer supports that version; upgrade yours";
    /// The dialer belongs to another cluster.
    WrongCluster: NeedsMajority, "wrong_cluster", "this node belongs to another cluster";
    /// The dialer and the acceptor are configured with different group sizes.
    WrongGroupSize: NeedsMajority, "wrong_group_size",
        "the group of this node has a different number of processes";
    /// The dialer is not in the group, must not dial this node, or authenticated with the key of
    /// another process.
    WrongSender: Transient, "wrong_sender", "no such process dials this node";
    /// The dialer expects another process at this address.
    WrongReceiver: Transient, "wrong_receiver", "another process uses this address";
    /// The rejecting side knows a newer session of the remote process.
    OldSession: Final, "old_session",
        "a newer session of this process has been seen; if it replaces a member, remove that \
         member first";
    /// The dialer or the acceptor did not prove that it owns a key of the group.
    Unproven: Transient, "unproven",
        "no key of the group was proven; compare the keys of both nodes";
    /// The handshake took too long.
    TooSlow: Transient, "too_slow", "the handshake took too long";
    /// Too many handshakes were in progress, and this one was the oldest.
    CrowdedOut: Transient, "crowded_out", "too many handshakes at once";
    /// The connection failed during the handshake.
    Broken: Transient, "broken", "the connection failed during the handshake";
    /// Another running node has the process id and the session of the rejected node. One of the two
    /// nodes started from a copy of the saved state.
    Twin: Final, "twin", "another node runs as this process, with the same session";
    /// The session number of the remote process is too far above the newest session number that the
    /// rejecting side knows for it.
    FarSession: Final, "far_session", "this session is too far above the last that was seen";
    /// The remote process replaces a member that has not been removed from the group.
    PredecessorNotRemoved: Transient, "predecessor_not_removed",
        "the member that this one replaces has not been removed; remove it by `tenure member \
         remove`";
}

/// Effect that a rejection by a peer has on the rejected node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The rejected node is not evicted. Its next attempt may succeed.
    Transient,
    /// The rejecting peer belongs to another group. This node is evicted if at least half of the
    /// processes in its own group disagree with it: they reject this node, or this node rejects
    /// them, for a reason of this severity.
    NeedsMajority,
    /// This node is evicted, even if only one peer rejects it for this reason.
    Final,
}

impl RejectionReason {
    /// Returns the code of this reason on the wire and in metrics, from 1. Codes are never reused.
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the reason with this code. Returns `None` if this build does not know the code.
    pub(crate) fn from_code(code: u8) -> Option<RejectionReason> {
        RejectionReason::ALL.into_iter().find(|reason| reason.code() == code)
    }

    /// Returns a sentence that explains why this reason led to an eviction, with the probable
    /// cause. The sentence names no option, because programs name their options differently.
    pub const fn eviction_reason(self) -> &'static str {
        match self {
            RejectionReason::OldSession => {
                "a newer session of this process has been seen; its saved state was lost or is an \
                 old copy, or another node runs as this process"
            }
            RejectionReason::Twin => {
                "another node runs as this process, from a copy of its state, or the state of this \
                 node was lost; stop one of the two"
            }
            RejectionReason::FarSession => {
                "this session is too far above the last one that was seen; the saved state belongs \
                 to another process"
            }
            RejectionReason::WrongCluster => {
                "it belongs to another cluster, and the remaining peers are no majority"
            }
            RejectionReason::WrongGroupSize => {
                "its group has a different size, and the remaining peers are no majority"
            }
            other => other.message(),
        }
    }
}

/// Returns the advice that follows [`RejectionReason::eviction_reason`] for a node that a
/// configuration file describes.
pub(super) const fn node_remedy(reason: RejectionReason) -> &'static str {
    match reason {
        RejectionReason::WrongCluster => "; compare cluster.name",
        RejectionReason::WrongGroupSize => "; compare cluster.addresses",
        _ => "",
    }
}

impl fmt::Display for RejectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_consecutive_from_one() {
        for (place, reason) in RejectionReason::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(reason.code()), place + 1, "{reason:?}");
        }
    }
}
