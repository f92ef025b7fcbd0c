//! Tests of the systemd unit for a service with one active copy and standbys.

use std::process::Command;

use crate::holder::Tree;
use crate::service::{Service, example, has_programs, until};

/// Returns the text of the unit, which runs the program `tenure` of this build.
fn unit() -> String {
    let unit = example("recipes/active-standby@.service");
    let text = std::fs::read_to_string(unit).expect("a unit");
    text.replace("/usr/local/bin/tenure", env!("CARGO_BIN_EXE_tenure"))
}

#[test]
fn unit_is_valid_for_systemd() {
    if !has_programs(&["systemd-analyze"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text, is_valid) in [
        ("good@.service", unit(), true),
        ("bad@.service", unit().replace("Restart=always", "Restart=forever"), false),
    ] {
        let path = folder.path().join(file);
        std::fs::write(&path, text).expect("written");
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(folder.path().join(file.replace('@', "@shop")))
            .output()
            .expect("the command starts");
        let report = String::from_utf8_lossy(&output.stderr);
        // Warnings about other units of the machine are not findings.
        assert_eq!(!report.contains(file.split('@').next().expect("a name")), is_valid, "{report}");
    }
}

/// Starts the command of the unit, as systemd would on a machine with the name `host`.
fn start(service: &Service, host: &str) -> Tree {
    let unit = unit();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let line = line
        .replace("/usr/local/bin/%i", "./%i")
        .replace("%i", "shop")
        .replace("%H", host)
        .replace("${TENURE_ENDPOINTS}", &service.url())
        .replace("${TENURE_TTL}", "600s");
    assert!(!line.contains(['%', '$']), "{line}");
    let mut words = line.split_whitespace();
    let mut command = service.command(words.next().expect("a program"));
    Tree::start(command.args(words).env("HOST", host))
}

#[test]
fn standby_becomes_active_after_the_active_machine() {
    let service = Service::start();
    let shop = service.path("shop");
    std::fs::write(&shop, "#!/bin/sh\necho $HOST $TENURE_FENCE >>active\nexec sleep 600\n")
        .expect("written");
    std::fs::set_permissions(&shop, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("permission");
    let active = || -> Vec<String> { service.text("active").lines().map(str::to_owned).collect() };
    let first = start(&service, "host-1");
    until("a machine is active", || active().len() == 1);
    let leases = service.leases();
    let mut second = start(&service, "host-2");
    until("the standby has a lease", || service.leases().len() == 2);
    drop(first); // KILL to all of its processes
    service.expire(&leases);
    until("the standby is active", || active().len() == 2);
    assert!(second.is_running());
    let fences = ["host-1 ", "host-2 "].iter().zip(active()).map(|(host, line)| {
        let fence = line.strip_prefix(host).and_then(|fence| fence.parse::<u64>().ok());
        fence.unwrap_or_else(|| panic!("{line}: expected {host}and a token"))
    });
    assert!(fences.is_sorted_by(|earlier, later| earlier < later));
}
