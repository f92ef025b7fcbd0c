//! Algorithms that a program registers, as the algorithms of a node.

use tenure_algorithms::catalogue::Parameters;
use tenure_algorithms::channel::FifoChannel;
use tenure_algorithms::election::Bully;
use tenure_algorithms::mutex::Central;
use tenure_core::Property;
use tenure_daemon::AlgorithmConfig;
use tenure_instances::{catalogue, service_protocol};

/// Returns the properties that the protocol of a node promises, or the error that it has no
/// protocol.
fn promises(mutex: &str, named: bool) -> Result<Vec<Property>, String> {
    let config = AlgorithmConfig {
        mutex: mutex.to_owned(),
        election: "fifo:bully".to_owned(),
        named,
        ..AlgorithmConfig::default()
    };
    let protocol = service_protocol(&config, &Parameters::with_defaults(3));
    let card = protocol.map_err(|error| error.to_string())?.card(3);
    Ok(card.promises.into_iter().chain(card.timed_promises).collect())
}

#[test]
fn leader_of_a_registered_election_grants_one_lock_or_many() {
    catalogue![FifoChannel<Bully>, FifoChannel<Central>].install();
    let single = promises("coordinated:fifo:bully", false).expect("a protocol");
    assert!(single.contains(&Property::MutualExclusion), "{single:?}");
    // No monitor checks named locks, so their card has only the properties of the election.
    let named = promises("coordinated:fifo:bully", true).expect("a protocol");
    assert!(!named.contains(&Property::MutualExclusion), "{named:?}");
    assert!(!named.is_empty());
    for not_an_election in ["coordinated:fifo:central", "fifo:central", "coordinated:fifo:buly"] {
        let error = promises(not_an_election, true).expect_err(not_an_election);
        assert!(error.contains("unknown algorithm"), "{error}");
    }
}
