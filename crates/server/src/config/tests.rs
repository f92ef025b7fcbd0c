//! Plans that result from options, and options that are rejected.

use super::*;

#[test]
fn defaults_are_a_single_local_member() {
    let plan = Config::default().plan().expect("a plan");
    assert_eq!(plan.members.len(), 1);
    let address = "127.0.0.1:2379".parse().unwrap();
    assert_eq!(plan.client_listeners, [ListenAddress { address, is_tls: false }]);
    assert_eq!(plan.directory, PathBuf::from("default.tenure"));
    assert_eq!(plan.client_urls, ["http://127.0.0.1:2379"]);
    let nameless = Config { name: String::new(), ..Config::default() };
    assert!(matches!(nameless.plan(), Err(ConfigError::Incomplete(_))));
    let timeless = Config { auth_token_ttl: 0, ..Config::default() };
    assert!(matches!(timeless.plan(), Err(ConfigError::Incomplete(_))));
}

#[test]
fn all_members_compute_the_same_plan() {
    let cluster = "b=http://127.0.0.1:2,a=http://127.0.0.1:1,c=http://127.0.0.1:3";
    let plan = |name: &str| {
        let initial_cluster = Some(cluster.into());
        Config { name: name.into(), initial_cluster, ..Config::default() }.plan()
    };
    let (a, c) = (plan("a").expect("a plan"), plan("c").expect("a plan"));
    assert_eq!((a.me, c.me, &a.members, a.cluster_id), (0, 2, &c.members, c.cluster_id));
    assert_eq!(a.peer_address, "127.0.0.1:1".parse().unwrap());
    assert!(matches!(plan("d"), Err(ConfigError::UnknownMember { .. })));
}

#[test]
fn dial_addresses_do_not_change_the_cluster() {
    let initial_cluster = Some("a=http://127.0.0.1:1,b=http://127.0.0.1:2".into());
    let plain = Config { name: "a".into(), initial_cluster, ..Config::default() };
    let plan = plain.plan().expect("a plan");
    let dial_peers = Some("b=127.0.0.1:9".into());
    let wired = Config { dial_peers, ..plain.clone() }.plan().expect("a plan");
    assert_eq!((wired.cluster_id, wired.peer_address), (plan.cluster_id, plan.peer_address));
    let addresses: Vec<&str> = wired.members.iter().map(|it| it.address.as_str()).collect();
    assert_eq!(addresses, ["127.0.0.1:1", "127.0.0.1:9"]);
    assert_eq!(wired.members[1].peer_url, plan.members[1].peer_url);
    let dial_peers = Some("127.0.0.1:9".into());
    let wrong = Config { dial_peers, ..plain }.plan();
    assert!(matches!(wrong, Err(ConfigError::Incomplete(_))));
}

#[test]
fn rejects_remote_listener_without_authentication() {
    let listen_client_urls = "http://0.0.0.0:2379".to_owned();
    let open = Config { listen_client_urls, ..Config::default() };
    assert!(matches!(open.plan(), Err(ConfigError::Exposed { .. })));
    assert!(Config { insecure: true, ..open.clone() }.plan().is_ok());
    let listen_client_urls = "https://0.0.0.0:2379".to_owned();
    let with_tls = Config { listen_client_urls, ..open };
    assert!(matches!(with_tls.plan(), Err(ConfigError::Incomplete(_))));
    let (cert_file, key_file) = (Some("a".into()), Some("b".into()));
    assert!(Config { cert_file, key_file, ..with_tls }.plan().is_ok());
}

#[test]
fn file_keys_are_option_names() {
    let config: Config =
        toml::from_str("name = \"a\"\nelection-timeout = 900\ninsecure = true").expect("TOML");
    assert_eq!((config.name.as_str(), config.election_timeout), ("a", 900));
    assert!(toml::from_str::<Config>("names = \"a\"").is_err());
}

#[test]
fn files_have_no_hidden_options() {
    let unknown = toml::from_str::<Config>("names = \"a\"").unwrap_err().to_string();
    assert!(unknown.contains("`data-dir`") && !unknown.contains("dial"), "{unknown}");
    for hidden in ["dial-peers = \"b=127.0.0.1:9\"", "variants = [\"forgotten-vote\"]"] {
        assert!(toml::from_str::<Config>(hidden).is_err(), "{hidden}");
    }
}

#[test]
fn unusable_directory_name_requires_data_dir() {
    let plan = |name: &str, data_dir: Option<PathBuf>| {
        Config { name: name.into(), data_dir, ..Config::default() }.plan()
    };
    for name in ["a/b", "/a", "a/", "..", "../a", "a\0b"] {
        assert!(matches!(plan(name, None), Err(ConfigError::UnusableName(_))), "{name}");
        assert!(plan(name, Some("here".into())).is_ok(), "{name}");
    }
    assert!(plan("a b.c", None).is_ok());
}

#[test]
fn single_member_lists_only_its_given_peer_url() {
    let plan = Config::default().plan().expect("a plan");
    assert_eq!(plan.members[0].peer_url, "");
    let initial_advertise_peer_urls = Some("https://10.0.0.1:2380".into());
    let plan_with_url =
        Config { initial_advertise_peer_urls, ..Config::default() }.plan().expect("a plan");
    assert_eq!(plan_with_url.members[0].peer_url, "https://10.0.0.1:2380");
    // The data directory stays valid.
    assert_eq!(
        (plan_with_url.cluster_id, plan_with_url.members[0].id),
        (plan.cluster_id, plan.members[0].id)
    );
}

#[test]
fn advertised_peer_url_must_be_in_the_cluster() {
    let initial_cluster = Some("a=http://127.0.0.1:1,b=http://127.0.0.1:2".into());
    let plan = |url: &str| {
        let initial_advertise_peer_urls = Some(url.into());
        let initial_cluster = initial_cluster.clone();
        let config = Config { initial_cluster, initial_advertise_peer_urls, ..Config::default() };
        Config { name: "a".into(), ..config }.plan()
    };
    assert!(plan("http://127.0.0.1:1").is_ok());
    assert!(matches!(plan("http://127.0.0.1:2"), Err(ConfigError::Invalid { .. })));
}

#[test]
fn https_between_members_requires_keys() {
    let name = || "a".to_owned();
    let initial_cluster = Some("a=https://127.0.0.1:1,b=https://127.0.0.1:2".into());
    let several = Config { name: name(), initial_cluster, ..Config::default() };
    let error = several.plan().expect_err("no keys").to_string();
    assert!(error.contains("--peer-private-key"), "{error}");
    let keys = Some(PathBuf::from("keys"));
    let peer_public_keys = keys.clone();
    assert!(Config { peer_private_key: keys, peer_public_keys, ..several }.plan().is_ok());
    let initial_cluster = Some("a=https://127.0.0.1:1".into());
    assert!(Config { name: name(), initial_cluster, ..Config::default() }.plan().is_ok());
}
