//! Limits that an operator sets: for the store, for requests, and for watch streams.

use std::time::Duration;

use crate::config::{Config, ConfigError};

/// Default quota of the store, as for etcd: 2 GiB.
const DEFAULT_QUOTA: u64 = 2 << 30;

/// Largest value of `--max-request-bytes`, in bytes. A message between members has room for an
/// entry of this size.
const MAX_REQUEST_BYTES: u64 = 10 << 20;

/// Largest value of `--max-txn-ops`. Each member executes a transaction while it holds the lock of
/// its state.
const MAX_TXN_OPS: usize = 16_384;

/// Upper bound on the operations of a transaction in the replicated store. It is the same on all
/// members, because each member must execute the transactions of the clients of all members. The
/// option `--max-txn-ops` of a member may be lower.
pub(crate) const MAX_STORE_TXN_OPS: usize = MAX_TXN_OPS;

/// Longest token of a cluster, in bytes.
const MAX_CLUSTER_TOKEN_BYTES: usize = 111;

/// Bytes of a gRPC message of a client that are allowed in addition to
/// [`ConfiguredLimits::max_request_bytes`].
const MESSAGE_OVERHEAD_BYTES: usize = 512 << 10;

/// Limits that an operator sets for one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfiguredLimits {
    /// Size of the store in bytes at which this member raises the alarm NOSPACE. `None`: no quota.
    pub quota: Option<u64>,
    /// Largest command of a client, in bytes.
    pub max_request_bytes: usize,
    /// Upper bound on the operations of a transaction.
    pub max_txn_ops: usize,
    /// Interval at which each watch stream sends progress notifications to the watchers that have
    /// requested them.
    pub progress_interval: Duration,
}

impl ConfiguredLimits {
    /// Returns the length of the longest message that a client may send, in bytes.
    pub(crate) fn max_message_bytes(&self) -> usize {
        self.max_request_bytes + MESSAGE_OVERHEAD_BYTES
    }
}

impl Config {
    /// Checks the length of the token, because members reject a cluster with a longer name. The
    /// name consists of the token, a space, and 16 digits.
    pub(super) fn check_cluster_token(&self) -> Result<(), ConfigError> {
        let token = &self.initial_cluster_token;
        match token.len() <= MAX_CLUSTER_TOKEN_BYTES {
            true => Ok(()),
            false => Err(ConfigError::Invalid {
                option: "--initial-cluster-token",
                value: token.clone(),
                expected: "at most 111 bytes",
            }),
        }
    }

    pub(crate) fn limits(&self) -> Result<ConfiguredLimits, ConfigError> {
        let invalid =
            |option, value: String, expected| Err(ConfigError::Invalid { option, value, expected });
        let request_bytes = self.max_request_bytes;
        if request_bytes == 0 || request_bytes > MAX_REQUEST_BYTES {
            let expected = "1 to 10485760 bytes";
            return invalid("--max-request-bytes", request_bytes.to_string(), expected);
        }
        if self.max_txn_ops == 0 || self.max_txn_ops > MAX_TXN_OPS {
            let expected = "1 to 16384 operations";
            return invalid("--max-txn-ops", self.max_txn_ops.to_string(), expected);
        }
        let interval = &self.watch_progress_notify_interval;
        let progress_interval = go_duration(interval).filter(|it| !it.is_zero());
        let Some(progress_interval) = progress_interval else {
            let expected = "a duration such as 5s or 10m";
            let option = "--experimental-watch-progress-notify-interval";
            return invalid(option, interval.clone(), expected);
        };
        let quota = match self.quota_backend_bytes {
            0 => Some(DEFAULT_QUOTA),
            quota => u64::try_from(quota).ok(),
        };
        let request_bytes = usize::try_from(request_bytes).unwrap_or(usize::MAX);
        Ok(ConfiguredLimits {
            quota,
            max_request_bytes: request_bytes,
            max_txn_ops: self.max_txn_ops,
            progress_interval,
        })
    }
}

/// Parses a duration in the format of Go: `10m`, `1h30m`, `500ms`, `1.5s`. Returns `None` if the
/// text has another form or is negative.
fn go_duration(text: &str) -> Option<Duration> {
    let mut left = text.trim();
    let mut total = Duration::ZERO;
    while !left.is_empty() {
        let digits = left.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let number: f64 = left[..digits].parse().ok()?;
        left = &left[digits..];
        let unit = left.find(|it: char| it.is_ascii_digit()).unwrap_or(left.len());
        let seconds = match &left[..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        left = &left[unit..];
    }
    (!text.trim().is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use tenure_runtime::transport::MAX_CLUSTER_NAME_BYTES;

    use super::*;
    use crate::member::state_owner;

    fn limits(change: impl FnOnce(&mut Config)) -> Result<ConfiguredLimits, String> {
        let mut config = Config::default();
        change(&mut config);
        config.limits().map_err(|error| error.to_string())
    }

    #[test]
    fn quota_is_the_default_or_none_as_for_etcd() {
        let quota = |bytes| limits(|it| it.quota_backend_bytes = bytes).expect("limits").quota;
        assert_eq!([quota(0), quota(-1), quota(5)], [Some(2 << 30), None, Some(5)]);
    }

    #[test]
    fn longest_token_makes_the_longest_name_of_a_cluster() {
        let with_token = |bytes| {
            let initial_cluster_token = "x".repeat(bytes);
            Config { initial_cluster_token, ..Config::default() }
        };
        let longest = with_token(MAX_CLUSTER_TOKEN_BYTES);
        let validated = longest.validate().expect("a valid configuration");
        assert_eq!(state_owner(&longest, &validated).cluster.len(), MAX_CLUSTER_NAME_BYTES);
        let error = with_token(MAX_CLUSTER_TOKEN_BYTES + 1).validate().expect_err("a long token");
        let expected = "' for --initial-cluster-token: expected at most 111 bytes";
        assert!(error.to_string().ends_with(expected), "{error}");
    }

    #[test]
    fn parses_go_durations() {
        for (text, milliseconds) in [("5s", 5000), ("1h30m", 5_400_000), ("1.5s", 1500), ("7ms", 7)]
        {
            assert_eq!(go_duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        let too_long = "5000000000000000h5000000000000000h";
        for wrong in [too_long, "", "5", "s", "5 s", "-5s", "1x", "5s3"] {
            assert_eq!(go_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn rejected_value_is_reported_with_the_allowed_range() {
        let error = limits(|it| it.max_request_bytes = 11 << 20).unwrap_err();
        let expected = "invalid value '11534336' for --max-request-bytes: expected 1 to 10485760 \
                        bytes";
        assert_eq!(error, expected);
        assert!(limits(|it| it.max_txn_ops = 0).is_err());
        assert!(limits(|it| it.watch_progress_notify_interval = "0s".into()).is_err());
    }
}
