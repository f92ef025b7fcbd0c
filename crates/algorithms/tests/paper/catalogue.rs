//! Tests of the catalogue: the names of algorithms, the protocols that combine a lock with an
//! election, and the variants.

use std::collections::BTreeSet;

use tenure_algorithms::catalogue::{
    CatalogueError, ELECTIONS, MUTEXES, Parameters, card, composition_names,
    mutex_and_election_card, names, parse_quorum_kind, parse_tree_shape,
};
use tenure_core::quorum::QuorumKind;
use tenure_core::{Timing, Topology};

#[test]
fn every_name_has_a_card_with_and_without_fifo() {
    let parameters = Parameters::with_defaults(5);
    for name in names() {
        assert_eq!(card(name, &parameters).unwrap().name, name);
        let over = format!("fifo:{name}");
        assert_eq!(card(&over, &parameters).unwrap().name, over);
    }
    assert_eq!(card("coordinated(bully)", &parameters).unwrap().name, "coordinated:bully");
    for name in ["coordinated(bully", "coordinated:bu)lly", "coordinated(bully))"] {
        assert!(card(name, &parameters).is_err(), "{name}");
    }
    for name in ["coordinated:bully", "mutex-from-election:bully", "election-from-mutex:lamport"] {
        assert!(composition_names().any(|composition| composition == name), "{name}");
    }
}

#[test]
fn compositions_combine_locks_and_elections() {
    let parameters = Parameters::with_defaults(5);
    let card_name = |mutex: &str, election: &str| {
        mutex_and_election_card(mutex, election, &parameters).map(|card| card.name)
    };
    let in_rounds = |name: &str| card(name, &parameters).unwrap().timing == Timing::Rounds;
    let asynchronous = || ELECTIONS.iter().copied().filter(|name| !in_rounds(name));
    for mutex in MUTEXES {
        for election in asynchronous() {
            let beside = format!("{mutex} beside {election}");
            assert_eq!(card_name(mutex, election).unwrap(), beside);
        }
    }
    // The invitation algorithm may elect several leaders, one for each group. So no lock can be
    // combined with it.
    for election in asynchronous().filter(|name| *name != "invitation") {
        let coordinated = format!("coordinated:{election}");
        assert_eq!(card_name(&coordinated, election).unwrap(), coordinated);
    }
    for (mutex, election) in [
        ("bully", "bully"),
        ("zookeeper", "bully"),
        ("paxos", "bully"),
        ("central", "central"),
        ("coordinated:bully", "chang-roberts"),
        ("coordinated:central", "central"),
        ("central", "time-slice"),
        ("coordinated:variable-speeds", "variable-speeds"),
        ("coordinated:invitation", "invitation"),
    ] {
        assert!(card_name(mutex, election).is_err(), "{mutex} {election}");
    }
}

#[test]
fn rejects_unknown_names() {
    let mut parameters = Parameters::with_defaults(5);
    for name in [
        "zookeeper",
        "",
        "coordinated:paxos",
        "fifo:",
        "fifo:fifo:bully",
        "coordinated:central",
        "bully:",
        "election-from-mutex:bully",
        "coordinated:time-slice",
        "coordinated:invitation",
    ] {
        assert!(card(name, &parameters).is_err(), "{name}");
    }
    parameters.quorum_kind = Some(QuorumKind::Plane);
    assert!(card("maekawa", &parameters).is_err());
    assert!(parse_quorum_kind("round").unwrap_err().to_string().ends_with("grid, majority, tree"));
    assert!(
        parse_tree_shape("round").unwrap_err().to_string().ends_with("expected star, path, heap")
    );
    parameters.variants.push("unstamped-reply".into());
    assert!(card("ricart-agrawala", &parameters).is_ok());
    assert!(card("bully", &parameters).is_err());
}

#[test]
fn rejects_variants_without_effect() {
    let result = |name: &str, variants: &[&str]| {
        let variants = variants.iter().map(|name| String::from(*name)).collect();
        card(name, &Parameters { variants, ..Parameters::with_defaults(5) }).map(|card| card.name)
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
fn names_accept_exactly_the_variants_of_their_cards() {
    let plain = Parameters::with_defaults(5);
    let all: Vec<String> = names()
        .chain(composition_names())
        .flat_map(|name| [String::from(name), format!("fifo:{name}")])
        .collect();
    let declared = |name: &str| {
        let variants = card(name, &plain).unwrap().variants.into_iter();
        // The variant `fault-tolerant` selects another algorithm. The card of that algorithm does
        // not declare the variant.
        let variants = variants.filter(|variant| variant.name != "fault-tolerant");
        variants.map(|variant| variant.name).collect::<BTreeSet<_>>()
    };
    let every: BTreeSet<&str> = all.iter().flat_map(|name| declared(name)).collect();
    for name in &all {
        let accepts = |variant: &&&str| {
            let variants = vec![String::from(**variant)];
            card(name, &Parameters { variants, ..plain.clone() }).is_ok()
        };
        let accepted: BTreeSet<&str> = every.iter().filter(accepts).copied().collect();
        assert_eq!(accepted, declared(name), "{name}");
    }
}

/// A composition sends messages between all pairs of processes, even if its election follows the
/// edges of a graph. Therefore its card has no graph.
#[test]
fn only_cards_with_graph_topology_have_a_graph() {
    let plain = Parameters::with_defaults(5);
    for name in names() {
        let card = card(name, &plain).unwrap();
        assert_eq!(card.graph.is_some(), card.topology == Topology::Graph, "{name}");
    }
    assert!(card("echo-election", &plain).unwrap().graph.is_some());
}

#[test]
fn mutex_and_election_reject_variants_without_effect() {
    let card = |election: &str| {
        let variants = vec!["holder-stays".to_string()];
        let parameters = Parameters { variants, ..Parameters::with_defaults(5) };
        mutex_and_election_card(&format!("coordinated:{election}"), election, &parameters)
    };
    assert!(card("raft").is_ok());
    assert!(matches!(card("bully"), Err(CatalogueError::Variant(_))));
}
