//! The flags of etcd that `tenure serve` accepts in addition to its own options, and the
//! environment variables for these flags.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::cmd::failure::Failure;

/// Effect of a flag of etcd on `tenure serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagEffect {
    /// `tenure serve` has an option with the name and the meaning of this flag.
    Same,
    /// The flag has no effect. The command prints a warning with this reason.
    Ignored(&'static str),
    /// The command rejects the flag for this reason. A member without the effect of the flag would
    /// be unsafe, or would lack a feature that the user expects.
    Rejected(&'static str),
    /// The flag concerns certificates for connections between members. The command ignores the flag
    /// with a warning if the cluster has a single member or the members use keys. Otherwise, the
    /// command rejects the flag.
    IgnoredWithPeerKeys,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EtcdFlag {
    /// Name of the flag, without dashes.
    pub(super) name: &'static str,
    pub(super) effect: FlagEffect,
    /// Values of the flag with which etcd behaves as `tenure serve` always does. A flag with one of
    /// these values is accepted without a warning.
    accepted: &'static [&'static str],
    /// True if the user may omit the value of the flag. The value is then `true`.
    is_switch: bool,
}

const fn same(name: &'static str) -> EtcdFlag {
    EtcdFlag { name, effect: FlagEffect::Same, accepted: &[], is_switch: false }
}

const fn of(name: &'static str, accepted: &'static [&'static str], effect: FlagEffect) -> EtcdFlag {
    EtcdFlag { name, effect, accepted, is_switch: false }
}

const fn switch(
    name: &'static str,
    accepted: &'static [&'static str],
    effect: FlagEffect,
) -> EtcdFlag {
    EtcdFlag { name, effect, accepted, is_switch: true }
}

use FlagEffect::{Ignored, IgnoredWithPeerKeys, Rejected};

const HISTORY: FlagEffect =
    Ignored("the history is always compacted automatically, to at most 100,000 changes and 64 MiB");
const NO_V2: FlagEffect = Ignored("the API v2 is not served");
const NO_BOLT: FlagEffect = Ignored("the store is in memory, and its files are not those of etcd");
const NO_PROXY: FlagEffect = Rejected("there is no proxy mode");
const NO_DISCOVERY: FlagEffect =
    Rejected("discovery is not supported: list all members in --initial-cluster");
const KEEPALIVE: FlagEffect = Ignored("a connection is probed after 20 s of silence");
const LOG: FlagEffect = Ignored("the log goes to standard error");
const TRACING: FlagEffect =
    Ignored("a build with the feature `otel` is configured by OTEL_… variables");
const CHECKSUMS: FlagEffect =
    Ignored("checksums of files and messages are always verified; compare Maintenance/Hash");
const ALWAYS: FlagEffect = Ignored("this is always enabled");
const REUSE: FlagEffect = Ignored("ports are not shared");

/// All flags of etcd 3.5, in the order of the help of etcd, and some flags of other releases.
pub(super) const FLAGS: &[EtcdFlag] = &[
    same("name"),
    same("data-dir"),
    of("wal-dir", &[], Ignored("the log is in --data-dir")),
    same("snapshot-count"),
    same("heartbeat-interval"),
    same("election-timeout"),
    switch("initial-election-tick-advance", &["true"], Ignored("elections need no ticks")),
    same("listen-peer-urls"),
    same("listen-client-urls"),
    of(
        "listen-client-http-urls",
        &[],
        Rejected("HTTP and gRPC share the ports of --listen-client-urls"),
    ),
    of("max-snapshots", &[], NO_BOLT),
    of("max-wals", &[], NO_BOLT),
    same("quota-backend-bytes"),
    of("backend-bbolt-freelist-type", &[], NO_BOLT),
    of("backend-batch-interval", &[], NO_BOLT),
    of("backend-batch-limit", &[], NO_BOLT),
    same("max-txn-ops"),
    same("max-request-bytes"),
    of("max-concurrent-streams", &[], Ignored("a connection has at most 20,000 concurrent calls")),
    of("grpc-keepalive-min-time", &[], KEEPALIVE),
    of("grpc-keepalive-interval", &[], KEEPALIVE),
    of("grpc-keepalive-timeout", &[], KEEPALIVE),
    switch("socket-reuse-port", &["false"], REUSE),
    switch("socket-reuse-address", &["false"], REUSE),
    same("initial-advertise-peer-urls"),
    same("initial-cluster"),
    same("initial-cluster-state"),
    same("initial-cluster-token"),
    same("advertise-client-urls"),
    of("discovery", &[""], NO_DISCOVERY),
    of("discovery-fallback", &["proxy", "exit"], NO_DISCOVERY),
    of("discovery-proxy", &[""], NO_DISCOVERY),
    of("discovery-srv", &[""], NO_DISCOVERY),
    of("discovery-srv-name", &[""], NO_DISCOVERY),
    switch("strict-reconfig-check", &["true"], ALWAYS),
    switch("pre-vote", &["true"], ALWAYS),
    of("auto-compaction-retention", &["0"], HISTORY),
    of("auto-compaction-mode", &["periodic"], HISTORY),
    switch("enable-v2", &["false"], NO_V2),
    of("v2-deprecation", &[], NO_V2),
    same("cert-file"),
    same("key-file"),
    same("client-cert-auth"),
    of(
        "client-crl-file",
        &[""],
        Rejected("revocation lists are not supported, and revoked certificates would be accepted"),
    ),
    of(
        "client-cert-allowed-hostname",
        &[""],
        Rejected(
            "host names of clients are not checked: all certificates signed by --trusted-ca-file \
             would be accepted",
        ),
    ),
    same("trusted-ca-file"),
    switch(
        "auto-tls",
        &["false"],
        Rejected("certificates are not generated: give --cert-file and --key-file"),
    ),
    of("peer-cert-file", &[""], IgnoredWithPeerKeys),
    of("peer-key-file", &[""], IgnoredWithPeerKeys),
    switch("peer-client-cert-auth", &["false"], IgnoredWithPeerKeys),
    of("peer-trusted-ca-file", &[""], IgnoredWithPeerKeys),
    of("peer-cert-allowed-cn", &[""], IgnoredWithPeerKeys),
    of("peer-cert-allowed-hostname", &[""], IgnoredWithPeerKeys),
    switch("peer-auto-tls", &["false"], IgnoredWithPeerKeys),
    of("self-signed-cert-validity", &[], Ignored("no certificates are generated")),
    of("peer-crl-file", &[""], IgnoredWithPeerKeys),
    of(
        "cipher-suites",
        &[""],
        Rejected(
            "cipher suites cannot be selected: TLS 1.3 and TLS 1.2 with ECDHE and AEAD are offered",
        ),
    ),
    of(
        "tls-min-version",
        &["", "TLS1.2"],
        Rejected("the TLS version cannot be selected: TLS 1.2 and 1.3 are offered"),
    ),
    of(
        "tls-max-version",
        &["", "TLS1.3"],
        Rejected("the TLS version cannot be selected: TLS 1.2 and 1.3 are offered"),
    ),
    same("cors"),
    of(
        "host-whitelist",
        &["*", ""],
        Rejected("host names are not checked, and requests for other hosts would be served"),
    ),
    of("auth-token", &["simple"], Rejected("only simple tokens are supported")),
    of("bcrypt-cost", &[], Ignored("passwords are hashed by Argon2id")),
    same("auth-token-ttl"),
    switch("enable-pprof", &["false"], Ignored("there is no profiler")),
    of("metrics", &["basic"], Ignored("all metrics are always served")),
    same("listen-metrics-urls"),
    of("logger", &["zap"], LOG),
    of("log-outputs", &["default", "stderr"], LOG),
    same("log-level"),
    same("log-format"),
    switch("enable-log-rotation", &["false"], LOG),
    of("log-rotation-config-json", &[], LOG),
    switch("experimental-enable-distributed-tracing", &["false"], TRACING),
    of("experimental-distributed-tracing-address", &[], TRACING),
    of("experimental-distributed-tracing-service-name", &[], TRACING),
    of("experimental-distributed-tracing-instance-id", &[], TRACING),
    of("experimental-distributed-tracing-sampling-rate", &[], TRACING),
    of("proxy", &["off"], NO_PROXY),
    of("proxy-failure-wait", &[], Ignored("there is no proxy mode")),
    of("proxy-refresh-interval", &[], Ignored("there is no proxy mode")),
    of("proxy-dial-timeout", &[], Ignored("there is no proxy mode")),
    of("proxy-write-timeout", &[], Ignored("there is no proxy mode")),
    of("proxy-read-timeout", &[], Ignored("there is no proxy mode")),
    switch("experimental-initial-corrupt-check", &["false"], CHECKSUMS),
    of("experimental-corrupt-check-time", &["0s", "0"], CHECKSUMS),
    switch("experimental-compact-hash-check-enabled", &["false"], CHECKSUMS),
    of("experimental-compact-hash-check-time", &[], CHECKSUMS),
    of("experimental-enable-v2v3", &[""], NO_V2),
    switch("experimental-enable-lease-checkpoint", &["true"], ALWAYS),
    switch("experimental-enable-lease-checkpoint-persist", &["true"], ALWAYS),
    of("experimental-compaction-batch-limit", &[], HISTORY),
    of("experimental-compaction-sleep-interval", &[], HISTORY),
    switch(
        "experimental-peer-skip-client-san-verification",
        &["false"],
        Ignored("members have keys"),
    ),
    same("experimental-watch-progress-notify-interval"),
    of("experimental-warning-apply-duration", &[], LOG),
    of("experimental-warning-unary-request-duration", &[], LOG),
    switch("experimental-txn-mode-write-with-shared-buffer", &["true"], NO_BOLT),
    of("experimental-bootstrap-defrag-threshold-megabytes", &[], NO_BOLT),
    switch("experimental-memory-mlock", &["false"], Ignored("memory is not locked")),
    of("experimental-max-learners", &[], Ignored("--initial-cluster limits the members")),
    of("experimental-wait-cluster-ready-timeout", &[], Ignored("clients are served at once")),
    of("experimental-downgrade-check-time", &[], Ignored("downgrades are not supported")),
    switch(
        "experimental-stop-grpc-service-on-defrag",
        &["false"],
        Ignored("defragmentation is a no-op"),
    ),
    same("experimental-snapshot-catchup-entries"),
    switch(
        "force-new-cluster",
        &["false"],
        Rejected(
            "not supported: create a new cluster from a backup with `tenure snapshot restore`",
        ),
    ),
    switch("unsafe-no-fsync", &["false"], Ignored("entries are always flushed to the disk")),
    of("config-file", &[], Rejected("YAML files are not supported: use --config with a TOML file")),
];

/// The given flags of etcd that are not options of `tenure serve`, with their values.
#[derive(Clone, Debug, Default)]
pub(super) struct GivenEtcdFlags(Vec<(EtcdFlag, String)>);

impl GivenEtcdFlags {
    /// Combines two sets of flags. If both sets contain a flag, the value in `self` takes
    /// precedence.
    pub(super) fn with_fallback(mut self, other: GivenEtcdFlags) -> Self {
        for (flag, value) in other.0 {
            if self.0.iter().all(|(given, _)| given.name != flag.name) {
                self.0.push((flag, value));
            }
        }
        self
    }

    /// Returns the name of each given flag that has no effect, with the reason.
    /// `can_ignore_peer_flags` is true if the members need no certificates for connections among
    /// each other: the cluster has one member, or the members use keys.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the given flags is rejected.
    pub(super) fn check_and_list_ignored(
        &self,
        can_ignore_peer_flags: bool,
    ) -> Result<Vec<(&'static str, &'static str)>, Failure> {
        let mut ignored = Vec::new();
        for (EtcdFlag { name, effect, accepted, .. }, value) in &self.0 {
            if accepted.contains(&value.as_str()) {
                continue;
            }
            let rejected = |reason| Err(Failure::usage(format!("--{name} {value}: {reason}")));
            match effect {
                FlagEffect::Same => {}
                FlagEffect::Ignored(reason) => ignored.push((*name, *reason)),
                FlagEffect::Rejected(reason) => return rejected(*reason),
                FlagEffect::IgnoredWithPeerKeys if can_ignore_peer_flags => {
                    ignored.push((*name, "members authenticate each other by keys"));
                }
                FlagEffect::IgnoredWithPeerKeys => {
                    return rejected(
                        "members authenticate each other by keys, not by certificates: give \
                         --peer-private-key and --peer-public-keys (tenure keys new)",
                    );
                }
            }
        }
        Ok(ignored)
    }
}

/// Parses the value of a switch in the forms that etcd accepts. Returns the text `true` or `false`.
fn switch_value(text: &str) -> Result<String, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok("true".into()),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok("false".into()),
        _ => Err("expected true or false".into()),
    }
}

/// Returns the flags that are not options of `tenure serve`.
fn other_flags() -> impl Iterator<Item = &'static EtcdFlag> {
    FLAGS.iter().filter(|flag| flag.effect != FlagEffect::Same)
}

impl clap::Args for GivenEtcdFlags {
    fn augment_args(command: Command) -> Command {
        other_flags().fold(command, |command, flag| {
            let arg = Arg::new(flag.name).long(flag.name).hide(true).action(ArgAction::Set);
            command.arg(match flag.is_switch {
                true => arg
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("true")
                    .value_parser(switch_value),
                false => arg.num_args(1).allow_hyphen_values(true),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for GivenEtcdFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |flag: &EtcdFlag| Some((*flag, matches.get_one::<String>(flag.name)?.clone()));
        Ok(GivenEtcdFlags(other_flags().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Environment variables of etcd, converted into arguments.
#[derive(Debug, Default)]
pub(super) struct EnvironmentArguments {
    /// Arguments of the form `--NAME=VALUE`, one for each element of `known`.
    pub(super) arguments: Vec<String>,
    /// Names of the variables from which `arguments` were made.
    pub(super) known: Vec<String>,
    /// Names of the variables that begin with `ETCD_` and match no flag.
    pub(super) unknown: Vec<String>,
}

/// Converts the variables whose names begin with `ETCD_` into arguments. Ignores a variable that
/// matches a flag but has an empty value.
pub(super) fn arguments_from_environment(
    variables: impl Iterator<Item = (String, String)>,
) -> EnvironmentArguments {
    let mut all = EnvironmentArguments::default();
    let mut variables: Vec<_> = variables.collect();
    variables.sort_unstable();
    for (variable, value) in variables {
        let Some(name) = variable.strip_prefix("ETCD_") else { continue };
        let name = name.to_ascii_lowercase().replace('_', "-");
        match FLAGS.iter().find(|flag| flag.name == name) {
            Some(_) if value.is_empty() => {}
            Some(flag) => {
                all.arguments.push(format!("--{}={value}", flag.name));
                all.known.push(variable);
            }
            None => all.unknown.push(variable),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn flags_are_unique_and_documented() {
        let names: BTreeSet<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        assert_eq!(names.len(), FLAGS.len());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/etcd-flags.md");
        let text = std::fs::read_to_string(path).expect("the table of flags");
        for flag in FLAGS {
            let word = match flag.effect {
                FlagEffect::Same => "same",
                FlagEffect::Ignored(_) => "no effect",
                FlagEffect::Rejected(_) => "rejected",
                FlagEffect::IgnoredWithPeerKeys => "peers",
            };
            let row = format!("| `--{}` | {word} |", flag.name);
            assert!(text.contains(&row), "docs/etcd-flags.md has no row that begins with {row}");
        }
    }

    /// The keys of a configuration file are the flags of etcd that have the same meaning here.
    #[test]
    fn configuration_file_accepts_flags_with_the_same_meaning() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.toml");
        let error_of = |flag: &EtcdFlag| {
            // No option has an array as its value, so each key is an error.
            std::fs::write(&file, format!("{} = [[]]", flag.name)).expect("room");
            tenure_server::Config::read(&file).expect_err("a wrong type").to_string()
        };
        for flag in FLAGS {
            let error = error_of(flag);
            let is_unknown = error.contains("unknown field");
            assert_eq!(is_unknown, flag.effect != FlagEffect::Same, "{}: {error}", flag.name);
        }
    }

    #[test]
    fn converts_environment_into_arguments() {
        let variables = [
            ("ETCD_NAME", "a"),
            ("ETCD_LISTEN_CLIENT_URLS", ""),
            ("ETCD_CLIENT_CERT_AUTH", "true"),
            ("ETCD_SERVICE_HOST", "10.0.0.1"),
            ("HOME", "/"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let read = arguments_from_environment(variables.into_iter());
        assert_eq!(read.arguments, ["--client-cert-auth=true", "--name=a"]);
        assert_eq!(read.known, ["ETCD_CLIENT_CERT_AUTH", "ETCD_NAME"]);
        assert_eq!(read.unknown, ["ETCD_SERVICE_HOST"]);
    }
}
