//! Tests of the scripts that make packages of a built program.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Writes two programs. The first one runs `tenure`, but lists only one subcommand, so that there
/// are few manual pages. The second one copies a program instead of stripping it. A shell writes
/// them: a program that is open for writing in this process cannot be started.
const WRITE_PROGRAMS: &str = r#"
cat >tenure <<END
#!/bin/sh
case "\$*" in
--help) printf 'Commands:\n  serve  Runs a member\n' ;;
*) exec "$1" "\$@" ;;
esac
END
cat >strip <<END
#!/bin/sh
cp "\$3" "\$2"
END
chmod +x tenure strip
"#;

struct Packager(TempDir);

impl Packager {
    fn new() -> Packager {
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = Command::new("sh");
        shell.args(["-c", WRITE_PROGRAMS, "sh", env!("CARGO_BIN_EXE_tenure")]);
        let written = shell.current_dir(folder.path()).status().expect("a shell");
        assert!(written.success(), "{written}");
        Packager(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a script of `packaging` as a user whose new files are private.
    fn run(&self, script: &str, arguments: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(script);
        let mut command = Command::new("sh");
        command.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(script).args(arguments);
        command.env("STRIP", self.path("strip")).current_dir(self.0.path());
        command.output().expect("a shell")
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("an existing path").permissions().mode() & 0o7777
}

#[test]
fn assembling_deletes_only_files_of_earlier_runs() {
    let packager = Packager::new();
    let (foreign, own) = (packager.path("foreign/bin/other"), packager.path("package/man/old"));
    fs::create_dir_all(packager.path("foreign/bin")).expect("a folder");
    fs::write(&foreign, "").expect("a file");
    let refused = packager.run("assemble", &["./tenure", "foreign"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not empty"), "{refused:?}");
    assert!(foreign.exists());
    for _ in 0..2 {
        let assembled = packager.run("assemble", &["./tenure", "package"]);
        assert!(assembled.status.success(), "{assembled:?}");
        assert!(packager.path("package/man/man1/tenure-serve.1.gz").exists());
        assert!(!own.exists());
        fs::write(&own, "").expect("a file");
    }
}

/// The archive is unpacked as root into folders such as `/usr/local`, which other programs use.
#[test]
fn tarball_keeps_modes_of_existing_folders() {
    let packager = Packager::new();
    let packed = packager.run("tarball", &["./tenure", "any", "dist"]);
    assert!(packed.status.success(), "{packed:?}");
    let archive = packager.path(String::from_utf8_lossy(&packed.stdout).trim());
    let tar = |arguments: &[&str]| {
        let mut command = Command::new("tar");
        let output = command.args(arguments).arg("-f").arg(&archive).output().expect("tar");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let listing = tar(&["--numeric-owner", "-tvz"]);
    let is_public = |line: &str| ["-rw-r--r-- 0/0", "-rwxr-xr-x 0/0"].contains(&&line[..14]);
    assert!(listing.lines().all(is_public), "{listing}");
    let (local, bin) = (packager.path("local"), packager.path("local/bin"));
    fs::create_dir_all(&bin).expect("a folder");
    for existing in [&local, &bin] {
        fs::set_permissions(existing, Permissions::from_mode(0o2751)).expect("a mode");
    }
    tar(&["-xpz", "--strip-components", "1", "-C", local.to_str().expect("a path of letters")]);
    assert_eq!((mode(&local), mode(&bin)), (0o2751, 0o2751));
    let started = Command::new(bin.join("tenure")).arg("--version").output();
    assert!(started.expect("the program").status.success());
    for file in [
        "lib/systemd/system/tenure@.service",
        "share/man/man1/tenure-serve.1.gz",
        "share/doc/tenure/LICENSE-MIT",
    ] {
        assert!(local.join(file).exists(), "{file}: {listing}");
    }
}
