//! Tests of the catalogue: names, offices and variants.

use tenure_core::quorum::Kind;

use super::*;

#[test]
fn every_name_has_a_card_with_and_without_fifo() {
    let parameters = Parameters::plain(5);
    for name in names() {
        assert_eq!(card(name, &parameters).unwrap().name, name);
        let over = alloc::format!("fifo:{name}");
        assert_eq!(card(&over, &parameters).unwrap().name, over);
    }
    assert_eq!(card("coordinated(bully)", &parameters).unwrap().name, "coordinated:bully");
    for name in ["coordinated:bully", "mutex-from-election:bully", "election-from-mutex:lamport"] {
        assert!(compositions().any(|composition| composition == name), "{name}");
    }
}

#[test]
fn offices_combine_locks_and_elections() {
    let parameters = Parameters::plain(5);
    let office = |mutex: &str, election: &str| {
        office_card(mutex, election, &parameters).map(|card| card.name)
    };
    for mutex in MUTEXES {
        for election in ELECTIONS {
            let beside = alloc::format!("{mutex} beside {election}");
            assert_eq!(office(mutex, election).unwrap(), beside);
        }
    }
    for election in ELECTIONS {
        let coordinated = alloc::format!("coordinated:{election}");
        assert_eq!(office(&coordinated, election).unwrap(), coordinated);
    }
    for (mutex, election) in [
        ("bully", "bully"),
        ("zookeeper", "bully"),
        ("paxos", "bully"),
        ("central", "central"),
        ("coordinated:bully", "chang-roberts"),
        ("coordinated:central", "central"),
    ] {
        assert!(office(mutex, election).is_err(), "{mutex} {election}");
    }
}

#[test]
fn rejects_unknown_names() {
    let mut parameters = Parameters::plain(5);
    for name in [
        "zookeeper",
        "",
        "coordinated:paxos",
        "fifo:",
        "fifo:fifo:bully",
        "coordinated:central",
        "bully:",
        "election-from-mutex:bully",
    ] {
        assert!(card(name, &parameters).is_err(), "{name}");
    }
    parameters.quorums = Kind::Plane;
    assert!(card("maekawa", &parameters).is_err());
    assert!(quorums("round").unwrap_err().to_string().ends_with("grid, majority, tree"));
    assert!(tree("round").unwrap_err().to_string().ends_with("expected star, path, heap"));
    parameters.variants.push("unstamped-reply".into());
    assert!(card("ricart-agrawala", &parameters).is_ok());
    assert!(card("bully", &parameters).is_err());
}

#[test]
fn rejects_variants_without_effect() {
    let result = |name: &str, variants: &[&str]| {
        let variants = variants.iter().map(|name| String::from(*name)).collect();
        card(name, &Parameters { variants, ..Parameters::plain(5) }).map(|card| card.name)
    };
    for (name, variants) in [
        ("repaired-ring", &["backwards"][..]),
        ("fifo:repaired-ring", &["keeps-token"]),
        ("token-ring", &["fault-tolerant", "keeps-token"]),
        ("coordinated:bully", &["given-at-once"]),
        ("coordinated:chang-roberts", &["holder-stays"]),
        ("coordinated:raft", &["holder-stays", "backwards"]),
    ] {
        let unknown = *variants.last().unwrap();
        match result(name, variants) {
            Err(CatalogueError::Variant(error)) => assert_eq!(error.name, unknown, "{name}"),
            other => panic!("{name} {variants:?}: {other:?}"),
        }
    }
    for (name, variants) in [
        ("token-ring", "backwards"),
        ("token-ring", "fault-tolerant"),
        ("repaired-ring", "fault-tolerant"),
        ("coordinated:raft", "given-at-once"),
        ("coordinated:raft", "holder-stays"),
    ] {
        assert!(result(name, &[variants]).is_ok(), "{name} {variants}");
    }
}

#[test]
fn offices_reject_variants_without_effect() {
    let office = |election: &str| {
        let variants = alloc::vec!["holder-stays".to_string()];
        let parameters = Parameters { variants, ..Parameters::plain(5) };
        office_card(&alloc::format!("coordinated:{election}"), election, &parameters)
    };
    assert!(office("raft").is_ok());
    assert!(matches!(office("bully"), Err(CatalogueError::Variant(_))));
}
