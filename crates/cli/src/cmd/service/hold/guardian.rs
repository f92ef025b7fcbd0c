//! `tenure guardian`, a hidden subcommand: the process between a command and its wrapper, which is
//! `tenure lock` or `tenure elect`.
//!
//! The guardian is the parent of the command, and adopts orphaned descendants of the command. It
//! kills the command and all descendants in two cases. In the first case, the wrapper ends. The
//! guardian notices this because the socket to the wrapper is closed. In the second case, the
//! deadline of the lock comes near without a renewal, for example because the wrapper is suspended.
//!
//! When the last process has ended, the guardian reports this to the wrapper. The module
//! `supervise` describes what the wrapper does if the guardian fails.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal, WaitStatus, kill_process, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::signal::unix::{self, SignalKind};

use super::boot_clock::{self, Timer};
use super::channel::{self, GuardianOrder, GuardianReport, receive_stdin_descriptor};
use super::process_tree::ForeignChildren;
use super::signals::Signals;
use super::{print_error, process_tree, this_program};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::machine;

/// Time in which killed processes usually end. If some processes still exist after this time, the
/// guardian reports them to the wrapper.
const USUAL_KILL_TIME: Duration = Duration::from_secs(1);

/// Time within which the descendants of the command usually end after the command has received a
/// signal. The terminal or the guardian sends the same signal to the descendants.
const SIGNALLED_EXIT_TIME: Duration = Duration::from_millis(100);

/// Signals that end a process by default and that a user or a service manager sends to end it.
const ENDING_SIGNALS: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// Upper bound on the number of orders that the guardian reads after SIGTERM or SIGKILL is due.
/// With this bound, a stream of orders delays the signal only a little.
const MAX_LATE_ORDERS: u32 = 64;

/// Run a command for a wrapper and end its process tree before the lock expires
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Time until which the lock is held, in nanoseconds since boot
    #[arg(long)]
    deadline: u64,
    /// Nanoseconds before the deadline at which the tree is killed
    #[arg(long)]
    margin: u64,
    /// Nanoseconds between TERM and KILL
    #[arg(long)]
    grace: u64,
    /// Process group that the command joins [default: one of its own]
    #[arg(long, value_name = "ID")]
    group: Option<i32>,
    /// The command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    become_guardian().map_err(Failure::environment)?;
    // Standard input is the socket to the wrapper.
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(Failure::environment)?;
    let socket = StdStream::from(socket);
    let input = receive_stdin_descriptor(&socket)
        .map_err(|error| Failure::environment(format!("the wrapper has ended: {error}")))?;
    let runtime = machine::current_thread_runtime()?;
    runtime.block_on(async {
        let started = Guardian::start(options, socket, input.into()).await;
        if let Some(mut guardian) = started.map_err(Failure::cannot("start a process"))? {
            guardian.run().await;
        }
        Ok(Status::Success)
    })
}

#[cfg(target_os = "linux")]
fn become_guardian() -> io::Result<()> {
    // Gives the guardian a different name. Otherwise, `killall tenure` would kill it, and the
    // command might outlive the lock.
    let _ = rustix::thread::set_name(c"tenure-guard");
    // If this process is stopped when the wrapper ends, the kernel continues it.
    rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
    process_tree::adopt_orphans()
}

#[cfg(not(target_os = "linux"))]
fn become_guardian() -> io::Result<()> {
    Ok(())
}

/// Stage in the life of the command and its descendants. `Guardian::stage_ends` is the time limit
/// of the present stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// The command has ended, but descendants remain. They have some time to end by themselves.
    Leaving,
    /// All remaining processes have received SIGTERM.
    Terminating,
}

struct Guardian {
    orders: Lines<BufReader<OwnedReadHalf>>,
    reports: OwnedWriteHalf,
    children: unix::Signal,
    signals: Signals,
    timer: Timer,
    command: Pid,
    is_apart: bool,
    /// Exit status of the command; `None` while it runs.
    status: Option<WaitStatus>,
    stage: Stage,
    /// Time limit of the present stage. The stage ends at this time even if the lease is renewed.
    /// `None` if the stage has no time limit of its own.
    stage_ends: Option<Duration>,
    deadline: Duration,
    margin: Duration,
    grace: Duration,
    /// True if the guardian ends the processes because the lock would expire soon or is lost.
    is_expired: bool,
    /// Time at which the command or its descendants last received one of [`ENDING_SIGNALS`]. `None`
    /// if they received none.
    interrupted: Option<Duration>,
    is_wrapper_gone: bool,
}

impl Guardian {
    /// Starts the command. If the lock is lost or would expire soon, reports this to the wrapper
    /// instead, and returns `None`.
    async fn start(
        options: &Options,
        socket: StdStream,
        input: Stdio,
    ) -> io::Result<Option<Guardian>> {
        socket.set_nonblocking(true)?;
        let (orders, mut reports) = UnixStream::from_std(socket)?.into_split();
        let mut orders = BufReader::new(orders).lines();
        // Catches signals. systemd and other programs send a signal to all processes of a service,
        // but the guardian must continue. The wrapper orders the guardian to pass the signal on to
        // the command.
        let signals = Signals::new_for_guardian()?;
        let children = unix::signal(SignalKind::child())?;
        // After the start of the command no step may fail.
        let timer = Timer::new()?;
        let Some(deadline) = deadline_at_start(&mut orders, options).await else {
            send(&mut reports, &GuardianReport::NotStarted).await;
            return Ok(None);
        };
        let mut starting = this_program()?;
        let child = starting
            .args(["exec-under", "--parent", &std::process::id().to_string(), "--"])
            .args(&options.command)
            .stdin(input)
            .process_group(options.group.unwrap_or(0))
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) => {
                send(&mut reports, &GuardianReport::CannotStart(error.to_string())).await;
                return Ok(None);
            }
        };
        Ok(Some(Guardian {
            orders,
            reports,
            children,
            signals,
            timer,
            command: Pid::from_child(&child),
            is_apart: options.group.is_none(),
            status: None,
            stage: Stage::Running,
            stage_ends: None,
            deadline,
            margin: Duration::from_nanos(options.margin),
            grace: Duration::from_nanos(options.grace),
            is_expired: false,
            interrupted: None,
            is_wrapper_gone: false,
        }))
    }

    /// Runs until the command and all its descendants have ended, and reports this to the wrapper.
    async fn run(&mut self) {
        let mut late_orders = 0;
        while !self.reap().await {
            let next = self.next();
            let can_read = !self.is_wrapper_gone && late_orders < MAX_LATE_ORDERS;
            let is_done = tokio::select! {
                biased;
                // Handles orders before the timer, because a renewal may have arrived while this
                // process was not scheduled.
                order = self.orders.next_line(), if can_read => {
                    late_orders = if boot_clock::now() < next { 0 } else { late_orders + 1 };
                    self.handle_order(order.ok().flatten())
                }
                // A stream of signals or of ended children must not delay the end of a stage.
                () = self.timer.sleep_until(next) => {
                    late_orders = 0;
                    self.advance().await
                }
                _ = self.children.recv() => false,
                () = tokio::time::sleep(process_tree::REAP_INTERVAL) => false,
                _ = self.signals.next() => false,
            };
            if is_done {
                self.kill().await;
                return;
            }
        }
    }

    /// Returns the time at which the present stage ends: `stage_ends`, or an earlier time if the
    /// deadline of the lock requires it.
    fn next(&self) -> Duration {
        let reserved = match self.stage {
            Stage::Running | Stage::Leaving => self.margin + self.grace,
            Stage::Terminating => self.margin,
        };
        let by_deadline = self.deadline.saturating_sub(reserved);
        self.stage_ends.map_or(by_deadline, |ends| ends.min(by_deadline))
    }

    /// Handles an order of the wrapper. `line` is `None` if the wrapper has ended. Returns true if
    /// all processes must be killed now.
    fn handle_order(&mut self, line: Option<String>) -> bool {
        let Some(line) = line else {
            self.is_wrapper_gone = true;
            return true;
        };
        match channel::decode_line(&line) {
            Some(GuardianOrder::Deadline(deadline)) => self.deadline = deadline,
            Some(GuardianOrder::Signal(number)) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    self.pass(signal);
                }
            }
            Some(GuardianOrder::Typed(number)) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    self.record_signal(signal);
                }
            }
            Some(GuardianOrder::Kill) => {
                self.is_expired = true;
                return true;
            }
            None => {}
        }
        false
    }

    fn pass(&mut self, signal: Signal) {
        // A stopped process handles a signal only when it is continued.
        let sent = [signal, Signal::CONT];
        let sent = if ENDING_SIGNALS.contains(&signal) { &sent[..] } else { &sent[..1] };
        if self.status.is_some() {
            process_tree::signal_all(sent, &process_tree::NO_FOREIGN_CHILDREN);
        } else {
            for signal in sent {
                // Ignores an error, because the command may have ended.
                let _ = self.signal_command(*signal);
            }
        }
        self.record_signal(signal);
    }

    /// Records `signal` as received by the command and its descendants, if it is one of
    /// [`ENDING_SIGNALS`]. If the command has ended, and the last such signal arrived at most
    /// `grace` ago, the descendants have at most [`Self::signalled_exit_time`] left to end by
    /// themselves.
    fn record_signal(&mut self, signal: Signal) {
        let now = boot_clock::now();
        if ENDING_SIGNALS.contains(&signal) {
            self.interrupted = Some(now);
        }
        if self.is_interrupted() && self.stage == Stage::Leaving {
            let ends = now + self.signalled_exit_time();
            self.stage_ends = Some(self.stage_ends.map_or(ends, |earlier| earlier.min(ends)));
        }
    }

    /// Returns the time that descendants have after a signal, before they are sent SIGTERM.
    fn signalled_exit_time(&self) -> Duration {
        self.grace.min(SIGNALLED_EXIT_TIME)
    }

    /// Returns true if the command has received a signal that ends a process by default, and the
    /// last such signal arrived at most `grace` ago.
    fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|at| boot_clock::now() <= at + self.grace)
    }

    fn signal_command(&self, signal: Signal) -> rustix::io::Result<()> {
        match self.is_apart {
            true => kill_process_group(self.command, signal),
            false => kill_process(self.command, signal),
        }
    }

    /// Collects the exit statuses of children that have ended. If no process is left, reports the
    /// end to the wrapper, which is the process that started the guardian, and returns true.
    async fn reap(&mut self) -> bool {
        let changes = process_tree::reap_children();
        for (id, status) in changes.changed {
            self.note(id, status);
        }
        if changes.is_alone {
            self.report_end().await;
        } else if self.status.is_some() && self.stage == Stage::Running {
            self.stage = Stage::Leaving;
            let wait = if self.is_interrupted() { self.signalled_exit_time() } else { self.grace };
            self.stage_ends = Some(boot_clock::now() + wait);
        }
        changes.is_alone
    }

    fn note(&mut self, id: Pid, status: WaitStatus) {
        if id == self.command && !status.stopped() {
            self.status = Some(status);
        }
    }

    /// Ends the present stage of the command and its descendants. If the processes have not
    /// received SIGTERM yet, sends SIGTERM to all of them and returns false. If they have received
    /// SIGTERM before, returns true. The caller must then kill them.
    async fn advance(&mut self) -> bool {
        let now = boot_clock::now();
        self.is_expired |= now + self.margin + self.grace >= self.deadline;
        if self.stage == Stage::Terminating {
            return true;
        }
        if !self.is_expired && self.status.is_some() {
            let left = process_tree::descendants();
            if !left.is_empty() {
                self.report(&GuardianReport::Survivors(process_tree::format_list(&left))).await;
            }
        }
        self.stage = Stage::Terminating;
        // The time of SIGKILL is fixed now. A later renewal does not postpone it.
        let killed = self.deadline.saturating_sub(self.margin);
        self.stage_ends = Some(killed.min(now + self.grace));
        // A stopped process receives TERM when it is continued.
        self.signal_all(&[Signal::TERM, Signal::CONT]);
        false
    }

    fn signal_all(&self, signals: &[Signal]) {
        process_tree::signal_all(signals, &process_tree::NO_FOREIGN_CHILDREN);
        if cfg!(not(target_os = "linux")) {
            for signal in signals {
                let _ = self.signal_command(*signal);
            }
        }
    }

    /// Kills the command and all its descendants. Repeats this until no process is left, and then
    /// reports the end to the wrapper.
    async fn kill(&mut self) {
        self.signal_all(&[Signal::KILL]);
        let (command, mut status, mut stuck) = (self.command, self.status, None);
        loop {
            let limit = stuck.is_none().then_some(USUAL_KILL_TIME);
            let note = |id, change: WaitStatus| {
                if id == command && !change.stopped() {
                    status = Some(change);
                }
            };
            let names =
                |left: &[process_tree::Descendant]| stuck = Some(process_tree::format_list(left));
            let foreign = &mut ForeignChildren::new();
            if process_tree::kill_all(foreign, USUAL_KILL_TIME, limit, note, names).await {
                break;
            }
            let names = stuck.clone().unwrap_or_default();
            if self.is_wrapper_gone {
                // Prints the line in another thread, because a terminal may block a background
                // process that writes. Prints nothing if the thread cannot be started.
                let line = format!("processes cannot be ended: {names}");
                let _ = std::thread::Builder::new().spawn(move || print_error(&line));
            }
            self.report(&GuardianReport::Stuck(names)).await;
        }
        self.status = status;
        self.report_end().await;
    }

    async fn report_end(&mut self) {
        let status = self.status.map_or(0, WaitStatus::as_raw);
        // This process may have been stopped, and the command may have run after the deadline.
        let is_expired = self.is_expired || boot_clock::now() >= self.deadline;
        self.report(&GuardianReport::Ended { status, is_expired }).await;
    }

    async fn report(&mut self, report: &GuardianReport) {
        send(&mut self.reports, report).await;
    }
}

async fn send(reports: &mut OwnedWriteHalf, report: &GuardianReport) {
    // Ignores an error, because a wrapper that has ended needs no report.
    let _ = reports.write_all(channel::encode_line(report).as_bytes()).await;
}

/// Waits for the first order of the wrapper, which is the present deadline of the lock: it may have
/// been renewed or lost since the wrapper started this process. Returns `None` if the lock is lost,
/// if too little time is left to run a command, or if the wrapper has ended.
async fn deadline_at_start(
    orders: &mut Lines<BufReader<OwnedReadHalf>>,
    options: &Options,
) -> Option<Duration> {
    let order = orders.next_line().await.ok().flatten()?;
    let deadline = match channel::decode_line(&order) {
        Some(GuardianOrder::Kill) => return None,
        Some(GuardianOrder::Deadline(present)) => present,
        _ => Duration::from_nanos(options.deadline),
    };
    let reserved = Duration::from_nanos(options.margin) + Duration::from_nanos(options.grace);
    (boot_clock::now() + reserved < deadline).then_some(deadline)
}
