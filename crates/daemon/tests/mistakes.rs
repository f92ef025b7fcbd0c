//! Tests that a node refuses deliberate mistakes unless its configuration permits them.

use tenure_algorithms::catalogue;
use tenure_core::TICKS_PER_TIME_UNIT;
use tenure_daemon::{AlgorithmConfig, protocol_from_catalogue};

fn check(service: &AlgorithmConfig) -> bool {
    let parameters =
        service.algorithm_parameters(5, TICKS_PER_TIME_UNIT).expect("known quorums and tree");
    let protocol = protocol_from_catalogue(service, &parameters).expect("a declared variant");
    service.ensure_variants_allowed(&protocol.card(5)).is_ok()
}

#[test]
fn every_declared_mistake_needs_permission() {
    let mut mistakes = 0;
    for mutex in catalogue::names() {
        let election = mutex.strip_prefix("coordinated:").unwrap_or("bully");
        let plain = AlgorithmConfig {
            mutex: mutex.into(),
            election: election.into(),
            ..AlgorithmConfig::default()
        };
        let parameters =
            plain.algorithm_parameters(5, TICKS_PER_TIME_UNIT).expect("known quorums and tree");
        let Ok(protocol) = protocol_from_catalogue(&plain, &parameters) else { continue };
        for variant in protocol.card(5).variants {
            let changed = AlgorithmConfig { variants: vec![variant.name.into()], ..plain.clone() };
            assert_eq!(check(&changed), variant.sound, "{mutex}: {}", variant.name);
            assert!(check(&AlgorithmConfig { allow_mistakes: true, ..changed }));
            mistakes += u32::from(!variant.sound);
        }
    }
    assert!(mistakes > 20, "{mistakes}");
}
