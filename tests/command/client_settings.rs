//! Tests of the options, the environment variables and the file that set the endpoints and the user
//! of client commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::hold::Service;
use crate::shell::assert_fails_with;

/// URL of an endpoint at which no member listens.
const NOWHERE: &str = "http://127.0.0.1:1";

/// A home directory with a file `.config/tenure/client.toml`.
struct Home(TempDir);

impl Home {
    fn new(text: &str, mode: u32) -> Home {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join(".config/tenure/client.toml"), text, mode);
        Home(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        for name in ["XDG_CONFIG_HOME", "TENURE_CONFIG", "TENURE_ENDPOINTS", "TENURE_USER"] {
            command.env_remove(name);
        }
        command.env("HOME", self.path()).envs(variables.iter().copied());
        command.args(line.split_whitespace()).output().expect("the command starts")
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("room");
    fs::write(path, text).expect("room");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the owner");
}

fn endpoints(address: &str) -> String {
    format!("endpoints = [\"{address}\"]\n")
}

#[test]
fn option_precedes_environment_and_file() {
    let service = Service::start();
    let there = format!("http://{}", service.member.address);
    let with_file = Home::new(&endpoints(&there), 0o644);
    let wrong = Home::new(&endpoints(NOWHERE), 0o644);
    let nowhere = [("TENURE_ENDPOINTS", NOWHERE)];
    let here = [("TENURE_ENDPOINTS", &there[..])];
    let by_option = format!("locks ls --endpoints {there}");
    for (home, line, variables, status) in [
        (&with_file, "locks ls", &[][..], 0),
        (&wrong, "locks ls", &[][..], 4),
        (&wrong, "locks ls", &here[..], 0),
        (&with_file, "locks ls", &nowhere[..], 4),
        (&wrong, &by_option[..], &nowhere[..], 0),
        (&with_file, "locks ls --endpoints http://127.0.0.1:1", &here[..], 4),
        (&with_file, "locks ls", &[("TENURE_ENDPOINTS", "")][..], 0),
        (&with_file, "lock a -- true", &[][..], 0),
        (&wrong, "lock a -- true", &here[..], 0),
        (&with_file, "lock --timeout 9s a -- true", &nowhere[..], 120),
        (&with_file, "member list", &[][..], 0),
        // `/dev/null` as the home directory cannot contain the file.
        (&with_file, &by_option[..], &[("HOME", "/dev/null")][..], 0),
    ] {
        let output = home.run(line, variables);
        assert_eq!(output.status.code(), Some(status), "{line} {variables:?}: {output:?}");
    }
}

#[test]
fn file_is_found_by_variable_or_configuration_folder() {
    let service = Service::start();
    let here = endpoints(&format!("http://{}", service.member.address));
    let wrong = Home::new(&endpoints(NOWHERE), 0o644);
    let other = tempfile::tempdir().expect("a folder");
    write(&other.path().join("tenure/client.toml"), &here, 0o644);
    let folder = other.path().display().to_string();
    let file = format!("{folder}/tenure/client.toml");
    for (variables, status) in [
        (&[("XDG_CONFIG_HOME", &folder[..])][..], 0),
        (&[("TENURE_CONFIG", &file[..])][..], 0),
        (&[("TENURE_CONFIG", "/dev/null")][..], 4),
        (&[("XDG_CONFIG_HOME", "relative")][..], 4),
        (&[("TENURE_CONFIG", ""), ("XDG_CONFIG_HOME", &folder[..])][..], 0),
    ] {
        let output = wrong.run("locks ls", variables);
        // Without the file, the command uses the default endpoint. It succeeds if a member runs
        // there.
        let is_default = variables.contains(&("TENURE_CONFIG", "/dev/null"));
        let code = output.status.code();
        let is_expected = code == Some(status) || is_default && code == Some(0);
        assert!(is_expected, "{variables:?}: {output:?}");
    }
    let missing = wrong.run("locks ls", &[("TENURE_CONFIG", "/no/such/file")]);
    assert_fails_with(&missing, 2, "cannot use /no/such/file: ");
}

#[test]
fn invalid_file_is_rejected_by_all_client_commands() {
    for (text, mode, message) in [
        ("endpoint = [\"http://127.0.0.1:1\"]", 0o644, "unknown field `endpoint`"),
        ("endpoints = 5", 0o644, "line 1: invalid type"),
        ("user = \"bob\"", 0o600, "invalid user: expected NAME:PASSWORD"),
        ("user = \"bob:one\"", 0o644, "every user can read it"),
    ] {
        let home = Home::new(text, mode);
        for line in ["locks ls", "member list", "lock a -- true", "elect --observe a"] {
            assert_fails_with(&home.run(line, &[]), 2, message);
        }
    }
}

#[test]
fn user_in_the_file_is_used_unless_another_is_given() {
    let service = Service::start();
    for (path, body) in [
        ("user/add", r#"{"name":"root","password":"secret"}"#),
        ("user/grant", r#"{"user":"root","role":"root"}"#),
        ("enable", "{}"),
    ] {
        let report = service.post(&format!("/v3/auth/{path}"), body);
        assert!(report.contains(" 200 "), "{path}: {report}");
    }
    let there = endpoints(&format!("http://{}", service.member.address));
    let home = Home::new(&format!("{there}user = \"root:secret\"\n"), 0o600);
    let anonymous = Home::new(&there, 0o600);
    let (right, wrong) = (("TENURE_USER", "root:secret"), ("TENURE_USER", "root:wrong"));
    for (home, line, variables, is_accepted) in [
        (&home, "locks ls", &[][..], true),
        (&anonymous, "locks ls", &[][..], false),
        (&anonymous, "locks ls", &[right][..], true),
        (&home, "locks ls", &[wrong][..], false),
        (&home, "locks ls --user root:secret", &[wrong][..], true),
        (&home, "lock a -- true", &[][..], true),
        (&home, "lock a -- true", &[wrong][..], false),
    ] {
        let output = home.run(line, variables);
        assert_eq!(output.status.success(), is_accepted, "{line} {variables:?}: {output:?}");
    }
}
