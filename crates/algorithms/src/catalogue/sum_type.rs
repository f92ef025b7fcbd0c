//! Sum types: one type for many algorithms of the same service.
//!
//! Every lock can be combined with every election, and each of the two may run over a reliable
//! channel. An engine that is generic over protocols would be compiled once for each combination.
//! Therefore a combination uses two sum types: one type for all locks and one type for all
//! elections. The configuration of the combination selects the algorithms.

/// Defines a module whose types are the sums of the given protocols: each enum has one variant per
/// protocol. The configuration selects the protocol.
macro_rules! sum {
    ($module:ident, $service:ident: $($Member:ident),+) => {
        #[allow(unreachable_pub, reason = "services without `Member` have a sum as well")]
        pub(crate) mod $module {
            use core::fmt;

            use alloc::sync::Arc;

            use tenure_core::service::$service::{Command, Event};
            use tenure_core::theory::{Prediction, WorkloadKind};
            use tenure_core::{
                Algorithm, Card, Effects, DynEffects, Group, Labelled, MessageLabel, PeerVerdict,
                ProcessId, Protocol, Rank, TimerRole,
            };

            use super::{$($Member),+};

            /// State of one process of the selected protocol.
            #[derive(Clone, PartialEq, Eq, Hash)]
            #[allow(clippy::large_enum_variant, reason = "all of a group are of one kind")]
            pub enum Any {
                $($Member($Member)),+
            }

            /// Configuration of [`Any`], which selects one of the protocols in the list.
            #[derive(Clone, Debug)]
            pub enum Config {
                $($Member(<$Member as Protocol>::Config)),+
            }

            /// Messages of the protocols in the list.
            #[derive(Clone, PartialEq, Eq, Hash)]
            #[cfg_attr(feature = "serde", derive(serde::Deserialize))]
            pub enum Message {
                $($Member(<$Member as Protocol>::Message)),+
            }

            /// Timers of the protocols in the list.
            #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum Timer {
                $($Member(<$Member as Protocol>::Timer)),+
            }

            /// State of the selected protocol that survives a crash.
            #[derive(Clone, Debug, PartialEq, Eq, Hash)]
            #[allow(clippy::enum_variant_names, reason = "members have the names of papers")]
            #[allow(clippy::large_enum_variant, reason = "a process keeps one of it")]
            #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
            pub enum Stable {
                $($Member(<$Member as Protocol>::Stable)),+
            }

            /// Converts an event of a protocol in the list to an event of the service. Returns
            /// `None` for an event that the service does not have.
            fn event<P: Protocol<Event: TryInto<Event>>>(event: P::Event) -> Option<Event> {
                event.try_into().ok()
            }

            $crate::catalogue::sum_type::transparent_debug!(Any, Message, Timer: $($Member),+);

            /// Serializes a message. A human-readable format contains the plain message of the
            /// algorithm, which cannot be deserialized again. A binary format also identifies the
            /// algorithm.
            #[cfg(feature = "serde")]
            impl serde::Serialize for Message {
                fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    #[derive(serde::Serialize)]
                    #[serde(rename = "Message")]
                    enum Framed<'a> {
                        $($Member(&'a <$Member as Protocol>::Message)),+
                    }
                    match self {
                        $(Message::$Member(message) if to.is_human_readable() => {
                            message.serialize(to)
                        })+
                        $(Message::$Member(message) => Framed::$Member(message).serialize(to)),+
                    }
                }
            }

            impl Labelled for Message {
                fn label(&self) -> MessageLabel {
                    match self {
                        $(Message::$Member(message) => message.label()),+
                    }
                }
            }

            /// Handlers of the sum type. Each calls the handler of the selected algorithm. The
            /// effects are a `dyn` object, so each handler is compiled once for all types of
            /// effects.
            impl Any {
                fn boot_member(
                    group: Group,
                    config: &Config,
                    stable: Option<Stable>,
                    fx: &mut DynEffects<'_, Any>,
                ) -> Any {
                    match config {
                        $(Config::$Member(config) => {
                            let stable = stable.map(|stable| match stable {
                                Stable::$Member(stable) => stable,
                                _ => panic!("a process saved the state of another algorithm"),
                            });
                            let fx = &mut fx
                                .child_effects(Message::$Member, Timer::$Member, event::<$Member>);
                            Any::$Member(<$Member>::boot(group, config, stable, fx))
                        })+
                    }
                }

                fn command(&mut self, command: Command, fx: &mut DynEffects<'_, Any>) {
                    match self {
                        $(Any::$Member(inner) => {
                            let member_command: Option<<$Member as Protocol>::Command> =
                                command.try_into().ok();
                            let fx = &mut fx
                                .child_effects(Message::$Member, Timer::$Member, event::<$Member>);
                            if let Some(command) = member_command {
                                inner.on_command(command, fx);
                            }
                        })+
                    }
                }

                fn message(
                    &mut self,
                    from: ProcessId,
                    message: Message,
                    fx: &mut DynEffects<'_, Any>,
                ) {
                    match (self, message) {
                        $((Any::$Member(inner), Message::$Member(message)) => {
                            let fx = &mut fx
                                .child_effects(Message::$Member, Timer::$Member, event::<$Member>);
                            inner.on_message(from, message, fx);
                        })+
                        // The message is from a peer that was configured for another algorithm.
                        _ => {}
                    }
                }

                fn timer(&mut self, timer: Timer, fx: &mut DynEffects<'_, Any>) {
                    match (self, timer) {
                        $((Any::$Member(inner), Timer::$Member(timer)) => {
                            let fx = &mut fx
                                .child_effects(Message::$Member, Timer::$Member, event::<$Member>);
                            inner.on_timer(timer, fx);
                        })+
                        _ => unreachable!("a process arms its own timers and no others"),
                    }
                }

                fn suspicion(
                    &mut self,
                    peer: ProcessId,
                    verdict: PeerVerdict,
                    fx: &mut DynEffects<'_, Any>,
                ) {
                    match self {
                        $(Any::$Member(inner) => {
                            let fx = &mut fx
                                .child_effects(Message::$Member, Timer::$Member, event::<$Member>);
                            inner.on_suspicion(peer, verdict, fx);
                        })+
                    }
                }
            }

            impl Protocol for Any {
                type Config = Config;
                type Command = Command;
                type Event = Event;
                type Message = Message;
                type Timer = Timer;
                type Stable = Stable;

                fn boot(
                    group: Group,
                    config: &Config,
                    stable: Option<Stable>,
                    fx: &mut impl Effects<Self>,
                ) -> Self {
                    Any::boot_member(group, config, stable, &mut DynEffects::new(fx))
                }

                fn stable(&self) -> Stable {
                    match self {
                        $(Any::$Member(inner) => Stable::$Member(inner.stable())),+
                    }
                }

                fn unsaved_change(&self, saved: &Stable) -> Option<Stable> {
                    match (self, saved) {
                        $((Any::$Member(inner), Stable::$Member(saved)) => {
                            inner.unsaved_change(saved).map(Stable::$Member)
                        })+
                        _ => Some(self.stable()),
                    }
                }

                fn apply_change(saved: &mut Stable, change: Stable) {
                    match (saved, change) {
                        $((Stable::$Member(saved), Stable::$Member(change)) => {
                            $Member::apply_change(saved, change);
                        })+
                        (saved, change) => *saved = change,
                    }
                }

                fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
                    self.command(command, &mut DynEffects::new(fx));
                }

                fn on_message(
                    &mut self,
                    from: ProcessId,
                    message: Message,
                    fx: &mut impl Effects<Self>,
                ) {
                    self.message(from, message, &mut DynEffects::new(fx));
                }

                fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
                    self.timer(timer, &mut DynEffects::new(fx));
                }

                fn timer_role(timer: &Timer) -> TimerRole {
                    match timer {
                        $(Timer::$Member(timer) => $Member::timer_role(timer),)+
                    }
                }

                fn on_suspicion(
                    &mut self,
                    peer: ProcessId,
                    verdict: PeerVerdict,
                    fx: &mut impl Effects<Self>,
                ) {
                    self.suspicion(peer, verdict, &mut DynEffects::new(fx));
                }
            }

            impl Algorithm for Any {
                fn card(config: &Config, size: u32) -> Card {
                    match config {
                        $(Config::$Member(config) => <$Member>::card(config, size)),+
                    }
                }

                fn predicted_messages(
                    config: &Config,
                    size: u32,
                    workload: WorkloadKind,
                ) -> Option<Prediction> {
                    match config {
                        $(Config::$Member(config) => {
                            <$Member>::predicted_messages(config, size, workload)
                        })+
                    }
                }

                fn max_waiting_time(config: &Config, size: u32) -> Option<u64> {
                    match config {
                        $(Config::$Member(config) => <$Member>::max_waiting_time(config, size)),+
                    }
                }

                fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
                    match config {
                        $(Config::$Member(config) => {
                            Config::$Member(<$Member>::with_ranks(config, ranks))
                        })+
                    }
                }

                fn can_shift_timestamps(config: &Config) -> bool {
                    match config {
                        $(Config::$Member(config) => <$Member>::can_shift_timestamps(config)),+
                    }
                }

                fn forget_clock(&mut self) {
                    match self {
                        $(Any::$Member(inner) => inner.forget_clock()),+
                    }
                }

                fn smallest_timestamp(&self) -> Option<u64> {
                    match self {
                        $(Any::$Member(inner) => inner.smallest_timestamp()),+
                    }
                }

                fn lower_timestamps(&mut self, by: u64) {
                    match self {
                        $(Any::$Member(inner) => inner.lower_timestamps(by)),+
                    }
                }

                fn smallest_message_timestamp(config: &Config, message: &Message) -> Option<u64> {
                    match (config, message) {
                        $((Config::$Member(config), Message::$Member(message)) => {
                            <$Member>::smallest_message_timestamp(config, message)
                        })+
                        _ => None,
                    }
                }

                fn lower_message_timestamps(config: &Config, message: &mut Message, by: u64) {
                    match (config, message) {
                        $((Config::$Member(config), Message::$Member(message)) => {
                            <$Member>::lower_message_timestamps(config, message, by);
                        })+
                        _ => {}
                    }
                }

                fn smallest_saved_timestamp(config: &Config, stable: &Stable) -> Option<u64> {
                    match (config, stable) {
                        $((Config::$Member(config), Stable::$Member(stable)) => {
                            <$Member>::smallest_saved_timestamp(config, stable)
                        })+
                        _ => None,
                    }
                }

                fn lower_saved_timestamps(config: &Config, stable: &mut Stable, by: u64) {
                    match (config, stable) {
                        $((Config::$Member(config), Stable::$Member(stable)) => {
                            <$Member>::lower_saved_timestamps(config, stable, by);
                        })+
                        _ => {}
                    }
                }

                fn highest_term(&self) -> u64 {
                    match self {
                        $(Any::$Member(inner) => inner.highest_term()),+
                    }
                }
            }
        }
    };
}

/// Implements `Debug` for the given enums. The output is the `Debug` output of the value inside the
/// enum's variant.
macro_rules! transparent_debug {
    ($($Sum:ident),+: $($Member:ident),+) => {
        $crate::catalogue::sum_type::transparent_debug!(@ [$($Sum)+] [$($Member)+]);
    };
    (@ [$($Sum:ident)*] $members:tt) => {
        $($crate::catalogue::sum_type::transparent_debug!(@@ $Sum $members);)*
    };
    (@@ $Sum:ident [$($Member:ident)+]) => {
        impl fmt::Debug for $Sum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($Sum::$Member(inner) => inner.fmt(f)),+
                }
            }
        }
    };
}

pub(crate) use {sum, transparent_debug};
