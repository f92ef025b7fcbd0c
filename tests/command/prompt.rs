//! Tests of errors and help for mistyped command lines.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::shell::{tenure, text};

#[test]
fn invalid_utf8_is_rejected() {
    let simulate = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args([OsStr::new("simulate"), OsStr::from_bytes(b"\xff")])
        .output()
        .expect("the command runs");
    assert_eq!(simulate.status.code(), Some(2));
    let message = String::from_utf8_lossy(&simulate.stderr);
    assert!(message.starts_with("error: invalid UTF-8"), "{message}");
}

#[test]
fn names_ignore_case_and_underscores() {
    let plain = text("simulate ricart-agrawala -n 3", 0);
    assert_eq!(text("simulate Ricart_Agrawala -n 3", 0), plain);
    assert_eq!(text("scenario Two_Generals", 0), text("scenario two-generals", 0));
}

#[test]
fn number_of_processes_has_two_option_names() {
    assert_eq!(text("simulate central --nodes 3", 0), text("simulate central -n 3", 0));
    assert_eq!(tenure("run -n 0").stderr, tenure("run --nodes 0").stderr);
    assert!(text("choose --crashes no -n 2", 0).contains("addresses"));
}

#[test]
fn missing_subcommand_prints_help() {
    for (line, subcommands) in
        [("", &["run", "check"][..]), ("trace", &["verify", "diagram"]), ("keys", &["new"])]
    {
        let output = tenure(line);
        let help = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{line}");
        assert!(help.contains("\nUsage: tenure "), "{line}: {help}");
        for subcommand in subcommands {
            assert!(help.contains(&format!("\n  {subcommand} ")), "{line}: {help}");
        }
    }
}

#[test]
fn help_is_a_command_has_headings_and_ends_with_examples() {
    for command in ["simulate", "check", "run", "compare"] {
        let help = text(&format!("help {command}"), 0);
        assert_eq!(help, text(&format!("{command} --help"), 0));
        let (_, examples) = help.split_once("\nExamples:\n").expect("examples");
        assert!((3..=5).contains(&examples.trim_end().lines().count()), "{command}");
        assert!(help.contains("\nFaults:\n"), "{command}");
    }
    for (line, title) in [("man", "tenure"), ("man trace diagram", "tenure-trace-diagram")] {
        let page = text(line, 0);
        assert!(page.contains(&format!(".TH {title} 1")), "{line}: {page}");
    }
}

#[test]
fn shells_complete_names_of_algorithms_trees_scenarios_and_questions() {
    // Completions by clap for bash and fish cover the values of options only.
    let (values, positions) = (["coordinated:raft", "heap"], ["two-generals", "Q-19"]);
    for (shell, names) in [
        ("bash", values.to_vec()),
        ("zsh", [values, positions].concat()),
        ("fish", values.to_vec()),
    ] {
        let script = text(&format!("completions {shell}"), 0);
        for name in names {
            let is_known = [name.to_owned(), name.replace(':', "\\:")]
                .iter()
                .any(|name| script.contains(name.as_str()));
            assert!(is_known, "{shell}: {name}");
        }
    }
}
