//! Configuration of a member's log.

use std::num::NonZeroU64;

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::raft_log::{self, VariantId};
use tenure_algorithms::agreement::relayed_log;
use tenure_core::service::log::Members;
use tenure_core::{Delay, ProcessId};

use crate::config::Config;
use crate::log::proposal::MAX_PENDING_PER_MEMBER;

/// Upper bound on the log entries in one message between members.
pub(crate) const MAX_BATCH_ENTRIES: u64 = 32;

pub(super) fn log_config(
    config: &Config,
    me: ProcessId,
    group_size: u32,
    members: Members,
) -> relayed_log::Config {
    let Config { heartbeat_interval, election_timeout, snapshot_count, .. } = *config;
    // A single member elects itself after 1 to 2 ms.
    let election = match group_size {
        1 => Delay::between_time_units(1, 2),
        // The election timeouts can lie in a narrow range, because one of two concurrent candidates
        // has priority.
        _ => Delay::between_time_units(election_timeout, election_timeout * 3 / 2),
    };
    relayed_log::Config::with_log_config(raft_log::Config {
        election_timeout: election,
        heartbeat_interval: Delay::time_units(heartbeat_interval),
        // The leader accepts the commands that all members have admitted.
        max_uncommitted: MAX_PENDING_PER_MEMBER * group_size as usize,
        max_batch_entries: MAX_BATCH_ENTRIES,
        snapshot_interval: NonZeroU64::new(snapshot_count),
        trailing_entries: config.snapshot_catchup_entries,
        // Members make snapshots at different indices, so that a majority is not busy with
        // snapshots at the same time.
        snapshot_offset: snapshot_count / u64::from(group_size) * u64::from(me.0),
        initial_members: Some(members),
        variants: Variants::none()
            .with(VariantId::Announcing)
            .with(VariantId::Ahead)
            .with(VariantId::Noticing)
            .with(VariantId::Together)
            .with(VariantId::Heartbeats),
        ..raft_log::Config::with_defaults(group_size, 1)
    })
}

#[cfg(test)]
mod tests {
    use tenure_algorithms::VariantId as _;
    use tenure_core::ProcessSet;
    use toml::Value;

    use super::*;

    /// Returns the default configuration, and configurations in which one field has a test value.
    /// There are three test values for an integer field, and one for every other field. Omits test
    /// values that the field does not accept.
    fn configurations() -> Vec<Config> {
        let default = toml::Table::try_from(Config::default()).expect("a configuration has a text");
        let mut all = vec![Config::default()];
        for (field, value) in &default {
            let others = match value {
                Value::Integer(_) => [1, 7, 1_000_000].map(Value::Integer).to_vec(),
                Value::Boolean(value) => vec![Value::Boolean(!value)],
                _ => vec![Value::String("forgotten-vote".into())],
            };
            all.extend(others.into_iter().filter_map(|other| {
                let mut changed = default.clone();
                changed.insert(field.clone(), other);
                changed.try_into::<Config>().ok()
            }));
        }
        all
    }

    #[test]
    fn no_configuration_enables_a_mistake() {
        let configurations = configurations();
        assert!(configurations.len() > 20, "{}", configurations.len());
        for config in &configurations {
            for size in 1..=5 {
                let members =
                    Members::from_voters((0..size).map(ProcessId).collect::<ProcessSet>());
                let relayed = log_config(config, ProcessId(0), size, members);
                assert_eq!(relayed.variants, Variants::none(), "all of them are mistakes");
                let enabled = VariantId::ALL.iter().filter(|it| relayed.log.variants.has(**it));
                for variant in enabled.map(|it| it.declaration()) {
                    assert!(variant.sound, "{} by {config:?}", variant.name);
                }
            }
        }
    }
}
