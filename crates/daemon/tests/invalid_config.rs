//! Tests that a node rejects an invalid configuration. A program can change every field of a valid
//! configuration.

use std::path::Path;

use tenure_daemon::{
    Config, ConfigError, Node, NodeError, NodeEventOptions, protocol_from_catalogue, run_node,
};
use tenure_runtime::ports::reserve_address;

/// Returns configurations that were changed after their validation. Each has a part of the error.
fn invalid_configs(directory: &Path) -> Vec<(Config, &'static str)> {
    let address = reserve_address().to_string();
    let builder = Config::builder("test").cluster_addresses(1, [address]).directory(directory);
    let valid = builder.build().expect("a valid configuration");
    let changes: [(fn(&mut Config), _); 4] = [
        (|it| it.cluster.me = 0, "invalid value 0 for cluster.me"),
        (|it| it.cluster.addresses.clear(), "missing cluster.addresses"),
        (|it| it.detector.message_ms = u64::MAX, "detector.message_ms"),
        (|it| it.channel.lose = 2.0, "channel.lose"),
    ];
    let changed = changes.into_iter().map(|(change, expected)| {
        let mut config = valid.clone();
        change(&mut config);
        (config, expected)
    });
    changed.collect()
}

#[tokio::test]
async fn invalid_configuration_starts_no_node() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let directory = folder.path().join("state");
    for (config, expected) in invalid_configs(&directory) {
        let (options, never) = (NodeEventOptions::default(), std::future::pending());
        let started = Node::start(&config).map(drop);
        let run = run_node(config, protocol_from_catalogue, options, never, |_| {}).await;
        for result in [started, run] {
            let Err(error @ NodeError::Config(ConfigError::InvalidValue { .. })) = result else {
                panic!("{expected}: {result:?}")
            };
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.is_misconfiguration());
        }
    }
    assert!(!directory.exists(), "nothing was started");
}
