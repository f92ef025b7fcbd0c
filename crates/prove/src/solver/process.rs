//! Solver process, driven by commands in SMT-LIB 2.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::logic::term::Term;
use crate::solver::{Solver, SolverKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Satisfiability {
    Satisfiable,
    Unsatisfiable,
    /// The solver could not decide the query, or exceeded the time limit.
    Unknown,
}

/// Result that a caller expects from the queries of a solver process. The solver is tuned for this
/// result, and still decides correctly if a query has another result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SolverGoal {
    /// A proof. The caller expects that the queries are unsatisfiable.
    Proof,
    /// Search for an example in a small group, such as a counterexample. The caller expects that
    /// the queries are satisfiable.
    Example,
}

/// Additional time for a response after the time limit of the query. If the solver does not respond
/// in this time either, all later queries are undecided.
const GRACE: Duration = Duration::from_secs(5);

/// A solver process. It is killed when the value is dropped.
pub(crate) struct SolverProcess {
    kind: SolverKind,
    child: Child,
    /// Commands, which a thread writes to the solver. A solver that no longer reads its input
    /// blocks only this thread.
    commands: Sender<String>,
    /// Lines that the solver prints.
    lines: Receiver<io::Result<String>>,
    /// Time to wait for a line: the time limit of a query at the start, and [`GRACE`].
    timeout: Duration,
    /// True after a failure of the solver, which is then killed. Every later query is undecided.
    is_dead: bool,
}

impl SolverProcess {
    /// Starts a solver process. `goal` is the expected result of its queries.
    pub(crate) fn start(solver: &Solver, goal: SolverGoal) -> io::Result<Self> {
        let mut command = Command::new(&solver.program);
        match solver.kind {
            SolverKind::Z3 => command.args(["-in", "-smt2"]),
            SolverKind::Cvc5 => command
                .args(["--lang=smt2", "--incremental", "--produce-models"])
                .arg(match goal {
                    SolverGoal::Proof => "--full-saturate-quant",
                    SolverGoal::Example => "--finite-model-find",
                })
                .arg(format!("--tlimit-per={}", solver.query_timeout.as_millis()))
                .arg("-"),
        };
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut input = child.stdin.take().expect("the input is a pipe");
        let output = BufReader::new(child.stdout.take().expect("the output is a pipe"));
        let (commands, queue) = channel::<String>();
        thread::spawn(move || {
            // The solver has ended if a command cannot be written.
            let _ = queue.iter().try_for_each(|command| input.write_all(command.as_bytes()));
        });
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let kind = solver.kind;
        let timeout = solver.query_timeout + GRACE;
        let mut process = SolverProcess { kind, child, commands, lines, timeout, is_dead: false };
        process.set_query_timeout(solver.query_timeout);
        process.send("(set-option :print-success false)");
        if solver.kind == SolverKind::Cvc5 {
            process.send("(set-logic ALL)");
        }
        Ok(process)
    }

    /// Sets the time limit of later queries. Has no effect on cvc5, whose limit is fixed at its
    /// start.
    pub(crate) fn set_query_timeout(&mut self, query_timeout: Duration) {
        if self.kind == SolverKind::Z3 {
            self.send(&format!("(set-option :timeout {})", query_timeout.as_millis()));
        }
    }

    /// Sends a command that has no response. Does nothing after a failure of the solver.
    pub(crate) fn send(&mut self, command: &str) {
        if !self.is_dead && self.commands.send(format!("{command}\n")).is_err() {
            self.give_up();
        }
    }

    /// Kills the solver after its failure.
    fn give_up(&mut self) {
        self.is_dead = true;
        // The solver may have ended already.
        let _ = self.child.kill();
    }

    /// Asserts a formula. All later queries assume this formula.
    pub(crate) fn assert(&mut self, formula: &Term) {
        self.send(&format!("(assert {formula})"));
    }

    /// Decides whether `formula` is satisfiable together with all asserted formulas.
    pub(crate) fn check_with(&mut self, formula: &Term) -> Satisfiability {
        self.send("(push 1)");
        self.assert(formula);
        let result = self.check();
        self.send("(pop 1)");
        result
    }

    /// Decides whether all asserted formulas are satisfiable together.
    pub(crate) fn check(&mut self) -> Satisfiability {
        self.send("(check-sat)");
        match self.line().as_deref() {
            Some("sat") => Satisfiability::Satisfiable,
            Some("unsat") => Satisfiability::Unsatisfiable,
            Some("unknown" | "timeout") | None => Satisfiability::Unknown,
            // After an unexpected line, a later query could read the result of this one.
            Some(_) => {
                self.give_up();
                Satisfiability::Unknown
            }
        }
    }

    /// Returns the model of the last satisfiable query, as the solver prints it. `None` if the
    /// solver has ended or exceeds its time.
    pub(crate) fn model_text(&mut self) -> Option<String> {
        self.send("(get-model)");
        let mut text = String::new();
        let mut depth = 0i64;
        loop {
            let line = self.line()?;
            let code = line.split(';').next().unwrap_or_default();
            depth += code.chars().map(|c| i64::from(c == '(') - i64::from(c == ')')).sum::<i64>();
            text.push_str(code);
            text.push('\n');
            if depth <= 0 {
                return Some(text);
            }
        }
    }

    /// Returns the next line that the solver prints. `None` if the solver has ended or exceeds its
    /// time.
    fn line(&mut self) -> Option<String> {
        if self.is_dead {
            return None;
        }
        match self.lines.recv_timeout(self.timeout) {
            Ok(Ok(line)) => Some(line.trim().to_owned()),
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.give_up();
                None
            }
        }
    }
}

impl Drop for SolverProcess {
    fn drop(&mut self) {
        // The solver may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;

    use super::*;

    /// A pipe holds less than this number of bytes.
    const PIPE_BYTES: usize = 1 << 20;

    #[test]
    fn hanging_solver_is_killed_and_blocks_no_command() {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hanging-solver");
        let (version, query_timeout) = (String::new(), Duration::from_millis(1));
        let solver = Solver { program, kind: SolverKind::Z3, version, query_timeout };
        let mut process = SolverProcess::start(&solver, SolverGoal::Proof).unwrap();
        process.timeout = Duration::from_millis(100);
        let long = format!("; {}", "x".repeat(PIPE_BYTES));
        process.send(&long);
        assert_eq!(process.check(), Satisfiability::Unknown);
        process.send(&long);
        assert_eq!(process.check(), Satisfiability::Unknown);
        assert_eq!(process.model_text(), None);
        let ended = process.child.wait().unwrap();
        assert_eq!(ended.signal(), Some(9), "{ended}");
    }
}
