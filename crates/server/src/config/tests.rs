//! Configurations that result from options, and options that are rejected.

use super::*;
use crate::member::ServeError;

#[test]
fn defaults_are_a_single_local_member() {
    let validated = Config::default().validate().expect("a valid configuration");
    assert_eq!(validated.members.len(), 1);
    let address = "127.0.0.1:2379".parse().unwrap();
    assert_eq!(validated.client_listeners, [ListenAddress { address, is_tls: false }]);
    assert_eq!(validated.directory, PathBuf::from("default.tenure"));
    assert_eq!(validated.client_urls, ["http://127.0.0.1:2379"]);
    let nameless = Config { name: String::new(), ..Config::default() };
    assert!(matches!(nameless.validate(), Err(ConfigError::OptionProblem(_))));
    let timeless = Config { auth_token_ttl: 0, ..Config::default() };
    assert!(matches!(timeless.validate(), Err(ConfigError::OptionProblem(_))));
}

#[test]
fn all_members_compute_the_same_members_and_cluster() {
    let cluster = "b=http://127.0.0.1:2,a=http://127.0.0.1:1,c=http://127.0.0.1:3";
    let validate = |name: &str| {
        let initial_cluster = Some(cluster.into());
        Config { name: name.into(), initial_cluster, ..Config::default() }.validate()
    };
    let (a, c) = (
        validate("a").expect("a valid configuration"),
        validate("c").expect("a valid configuration"),
    );
    assert_eq!((a.me, c.me, &a.members, a.cluster_id), (0, 2, &c.members, c.cluster_id));
    assert_eq!(a.peer_address, "127.0.0.1:1".parse().unwrap());
    assert!(matches!(validate("d"), Err(ConfigError::UnknownMember { .. })));
}

#[test]
fn members_have_different_peer_urls() {
    let cluster = |urls: [&str; 2]| {
        let initial_cluster = Some(format!("a={},b={}", urls[0], urls[1]));
        Config { name: "a".into(), initial_cluster, insecure: true, ..Config::default() }
            .validate()
            .map(drop)
    };
    let (one, other) = ("http://127.0.0.1:1", "http://127.0.0.1:2");
    assert!(cluster([one, other]).is_ok());
    for urls in [[one, one], ["http://127.0.0.1:1/", one]] {
        let error = cluster(urls).expect_err("the same URL").to_string();
        assert!(error.contains("two members at '127.0.0.1:1'"), "{error}");
    }
}

#[test]
fn single_member_may_have_any_name() {
    for name in ["a,b", "a=b", " a"] {
        let alone = Config { name: name.into(), ..Config::default() };
        let validated = alone.validate().expect("a valid configuration");
        assert_eq!(validated.members[0].name, name);
    }
}

#[test]
fn dial_addresses_do_not_change_the_cluster() {
    let initial_cluster = Some("a=http://127.0.0.1:1,b=http://127.0.0.1:2".into());
    let plain = Config { name: "a".into(), initial_cluster, ..Config::default() };
    let validated = plain.validate().expect("a valid configuration");
    let dial_peers = Some("b=127.0.0.1:9".into());
    let wired = Config { dial_peers, ..plain.clone() }.validate().expect("a valid configuration");
    assert_eq!(
        (wired.cluster_id, wired.peer_address),
        (validated.cluster_id, validated.peer_address)
    );
    let addresses: Vec<&str> = wired.members.iter().map(|it| it.dial_address.as_str()).collect();
    assert_eq!(addresses, ["127.0.0.1:1", "127.0.0.1:9"]);
    assert_eq!(wired.members[1].peer_url, validated.members[1].peer_url);
    let dial_peers = Some("127.0.0.1:9".into());
    let wrong = Config { dial_peers, ..plain }.validate();
    assert!(matches!(wrong, Err(ConfigError::OptionProblem(_))));
}

#[test]
fn rejects_remote_listener_without_authentication() {
    let listen_client_urls = "http://0.0.0.0:2379".to_owned();
    let open = Config { listen_client_urls, ..Config::default() };
    assert!(matches!(open.validate(), Err(ConfigError::Exposed { .. })));
    assert!(Config { insecure: true, ..open.clone() }.validate().is_ok());
    let listen_client_urls = "https://0.0.0.0:2379".to_owned();
    let with_tls = Config { listen_client_urls, ..open };
    assert!(matches!(with_tls.validate(), Err(ConfigError::OptionProblem(_))));
    let (cert_file, key_file) = (Some("a".into()), Some("b".into()));
    assert!(Config { cert_file, key_file, ..with_tls }.validate().is_ok());
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
    let validate = |name: &str, data_dir: Option<PathBuf>| {
        Config { name: name.into(), data_dir, ..Config::default() }.validate()
    };
    for name in ["a/b", "/a", "a/", "..", "../a", "a\0b"] {
        assert!(matches!(validate(name, None), Err(ConfigError::UnusableName(_))), "{name}");
        assert!(validate(name, Some("here".into())).is_ok(), "{name}");
    }
    assert!(validate("a b.c", None).is_ok());
}

#[test]
fn single_member_lists_only_its_given_peer_url() {
    let validated = Config::default().validate().expect("a valid configuration");
    assert_eq!(validated.members[0].peer_url, "");
    let initial_advertise_peer_urls = Some("https://10.0.0.1:2380".into());
    let plan_with_url = Config { initial_advertise_peer_urls, ..Config::default() }
        .validate()
        .expect("a valid configuration");
    assert_eq!(plan_with_url.members[0].peer_url, "https://10.0.0.1:2380");
    // Adding a peer URL changes no ID, so the data directory stays valid.
    assert_eq!(
        (plan_with_url.cluster_id, plan_with_url.members[0].id),
        (validated.cluster_id, validated.members[0].id)
    );
}

#[test]
fn advertised_peer_url_must_be_in_the_cluster() {
    let initial_cluster = Some("a=http://127.0.0.1:1,b=http://127.0.0.1:2".into());
    let validate = |url: &str| {
        let initial_advertise_peer_urls = Some(url.into());
        let initial_cluster = initial_cluster.clone();
        let config = Config { initial_cluster, initial_advertise_peer_urls, ..Config::default() };
        Config { name: "a".into(), ..config }.validate()
    };
    assert!(validate("http://127.0.0.1:1").is_ok());
    assert!(matches!(validate("http://127.0.0.1:2"), Err(ConfigError::Invalid { .. })));
}

#[test]
fn https_without_certificate_names_its_option() {
    let error = |clients: &str, metrics: &str| {
        let (listen_client_urls, listen_metrics_urls) = (clients.into(), Some(metrics.into()));
        let config = Config { listen_client_urls, listen_metrics_urls, ..Config::default() };
        config.validate().map(drop).expect_err("no certificate").to_string()
    };
    let (http, https) = ("http://127.0.0.1:1", "https://127.0.0.1:2");
    for (clients, metrics, option) in
        [(https, http, "--listen-client-urls"), (http, https, "--listen-metrics-urls")]
    {
        let expected = format!("{option} with https requires --cert-file and --key-file");
        assert_eq!(error(clients, metrics), expected);
    }
}

#[test]
fn https_between_members_requires_keys() {
    let name = || "a".to_owned();
    let initial_cluster = Some("a=https://127.0.0.1:1,b=https://127.0.0.1:2".into());
    let several = Config { name: name(), initial_cluster, ..Config::default() };
    let error = several.validate().expect_err("no keys").to_string();
    assert!(error.contains("--peer-private-key"), "{error}");
    let keys = Some(PathBuf::from("keys"));
    let peer_public_keys = keys.clone();
    assert!(Config { peer_private_key: keys, peer_public_keys, ..several }.validate().is_ok());
    let initial_cluster = Some("a=https://127.0.0.1:1".into());
    assert!(Config { name: name(), initial_cluster, ..Config::default() }.validate().is_ok());
}

/// A name server may not respond yet when a machine boots, so a supervisor should try again.
#[test]
fn unresolved_name_is_no_misconfiguration() {
    let failure = |why| ServeError::Config(ConfigError::Url { option: "--listen-peer-urls", why });
    let unresolved = UrlError::Unresolved { url: "http://a:1".into(), reason: "try again".into() };
    assert!(!failure(unresolved).is_misconfiguration());
    assert!(failure(UrlError::Missing).is_misconfiguration());
}
