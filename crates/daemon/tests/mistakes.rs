//! Tests that a node refuses deliberate mistakes unless its configuration permits them.

use tenure_algorithms::catalogue;
use tenure_core::TICKS_PER_UNIT;
use tenure_daemon::{Service, from_catalogue};

fn check(service: &Service) -> bool {
    let parameters = service.parameters(5, TICKS_PER_UNIT).expect("known quorums and tree");
    let protocol = from_catalogue(service, &parameters).expect("a declared variant");
    service.check_mistakes(&protocol.card(5)).is_ok()
}

#[test]
fn every_declared_mistake_needs_permission() {
    let mut mistakes = 0;
    for mutex in catalogue::names() {
        let election = mutex.strip_prefix("coordinated:").unwrap_or("bully");
        let plain =
            Service { mutex: mutex.into(), election: election.into(), ..Service::default() };
        let parameters = plain.parameters(5, TICKS_PER_UNIT).expect("known quorums and tree");
        let Ok(protocol) = from_catalogue(&plain, &parameters) else { continue };
        for variant in protocol.card(5).variants {
            let changed = Service { variants: vec![variant.name.into()], ..plain.clone() };
            assert_eq!(check(&changed), variant.sound, "{mutex}: {}", variant.name);
            assert!(check(&Service { allow_mistakes: true, ..changed }));
            mistakes += u32::from(!variant.sound);
        }
    }
    assert!(mistakes > 20, "{mistakes}");
}
