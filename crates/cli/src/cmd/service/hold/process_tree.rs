//! The descendants of this process: finds them, sends signals to them, and reaps orphans.
//!
//! This process must be a child subreaper ([`adopt_orphans`]). If a descendant ends, its children
//! become children of this process. Therefore, no descendant can leave the tree, for example by
//! `setsid` or by a double fork. Once this process has no child, it has no descendant.
//!
//! A shell may start processes and then become this process by `exec`. These processes are children
//! of this process and do not belong to the command, so this module leaves them alone
//! ([`ForeignChildren`]).

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

/// Pause after the first attempt to kill a process tree. Later pauses grow up to [`LAST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(200);

/// Interval at which ended children are reaped even without SIGCHLD. A parent process may have
/// blocked this signal for this process.
pub(super) const REAP_INTERVAL: Duration = Duration::from_secs(1);

/// Lower bound on the attempts to kill a process tree. This process may be suspended between two
/// attempts for longer than the time limit.
const MIN_KILL_ATTEMPTS: u32 = 20;

/// Children of this process that do not belong to the command: the ID of each, and the time of its
/// start in clock ticks since boot. Their descendants do not belong to the command either.
pub(super) type ForeignChildren = BTreeSet<(i32, u64)>;

/// The foreign children of a process that was started by `fork`, and not by `exec` of a shell.
pub(super) static NO_FOREIGN_CHILDREN: ForeignChildren = BTreeSet::new();

/// A descendant of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descendant {
    pub(super) id: i32,
    pub(super) name: String,
    /// Error that `kill` returned, for example because the process belongs to another user. `None`
    /// if `kill` succeeded.
    pub(super) error: Option<Errno>,
}

impl std::fmt::Display for Descendant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (process {}", self.name, self.id)?;
        match self.error {
            Some(error) => write!(f, ": {})", io::Error::from(error)),
            None => f.write_str(")"),
        }
    }
}

pub(super) fn format_list(processes: &[Descendant]) -> String {
    const SHOWN: usize = 5;
    if processes.is_empty() {
        return "processes that /proc does not show".to_owned();
    }
    let mut names: Vec<_> = processes.iter().take(SHOWN).map(ToString::to_string).collect();
    if processes.len() > SHOWN {
        names.push(format!("{} more", processes.len() - SHOWN));
    }
    names.join(", ")
}

/// Makes this process the parent of all descendants that become orphans.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Does nothing: only Linux has a suitable system call.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

#[derive(Debug, Default)]
pub(super) struct ChildChanges {
    pub(super) changed: Vec<(Pid, WaitStatus)>,
    /// True if this process has no child, and so no descendant.
    pub(super) is_alone: bool,
}

/// Reaps the children that have ended. Returns the statuses of the children that have ended or were
/// suspended since the last call.
pub(super) fn reap_children() -> ChildChanges {
    let mut changes = ChildChanges::default();
    loop {
        match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some(change)) => changes.changed.push(change),
            Ok(None) => return changes,
            Err(Errno::INTR) => {}
            Err(error) => {
                changes.is_alone = error == Errno::CHILD;
                return changes;
            }
        }
    }
}

/// Kills and reaps all descendants, except for the processes in `foreign` and their descendants.
/// Repeats this until none of them is left, or until `limit` has passed. Returns false if some of
/// them still exist after `limit`. Adds new descendants of processes in `foreign` to `foreign`.
///
/// Calls `on_change` with the status of each child that ended or was suspended. If descendants
/// still exist after `report_once_after`, calls `report` once with them.
pub(super) async fn kill_all(
    foreign: &mut ForeignChildren,
    report_once_after: Duration,
    limit: Option<Duration>,
    mut on_change: impl FnMut(Pid, WaitStatus),
    mut report: impl FnMut(&[Descendant]),
) -> bool {
    let start = super::boot_clock::now();
    let mut pause = FIRST_PAUSE;
    let (mut reported, mut attempts) = (false, 0);
    loop {
        attempts += 1;
        record_foreign_descendants(foreign);
        let survivors = signal_all(&[Signal::KILL], foreign);
        let changes = reap_children();
        for (id, status) in changes.changed {
            on_change(id, status);
        }
        // While foreign children exist, the kernel does not report the end of the other children.
        let has_only_foreign = !foreign.is_empty() && !has_children_except(foreign);
        if changes.is_alone || has_only_foreign {
            return true;
        }
        let taken = super::boot_clock::now().saturating_sub(start);
        if taken >= report_once_after && !reported {
            reported = true;
            report(&survivors);
        }
        if attempts >= MIN_KILL_ATTEMPTS && limit.is_some_and(|limit| taken >= limit) {
            return false;
        }
        tokio::time::sleep(pause).await;
        // The first pauses are short, because processes may fork faster than this loop finds them.
        pause = (pause.mul_f64(1.2)).min(LAST_PAUSE);
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::{
    descendants, has_children_except, record_foreign_children, record_foreign_descendants,
    signal_all,
};

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::{
    descendants, has_children_except, record_foreign_children, record_foreign_descendants,
    signal_all,
};

/// These functions for systems without `/proc`. On these systems, a process cannot find its
/// descendants and knows only the process group of the command. The guardian itself sends signals
/// to this group.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use rustix::process::Pid;

    use super::{Descendant, ForeignChildren, Signal};

    pub(in super::super) fn record_foreign_children(_: &mut ForeignChildren, _: Option<Pid>) {}

    pub(in super::super) fn record_foreign_descendants(_: &mut ForeignChildren) {}

    pub(in super::super) fn has_children_except(_: &ForeignChildren) -> bool {
        true
    }

    pub(in super::super) fn descendants() -> Vec<Descendant> {
        Vec::new()
    }

    pub(in super::super) fn signal_all(_: &[Signal], _: &ForeignChildren) -> Vec<Descendant> {
        Vec::new()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use rustix::process::{
        Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
    };

    use super::{Descendant, Errno, ForeignChildren, NO_FOREIGN_CHILDREN};

    /// Flag of a thread that is ending (`PF_EXITING` in `include/linux/sched.h`).
    const EXITING: u32 = 0x4;

    #[derive(Clone, Debug)]
    struct Process {
        id: i32,
        parent: i32,
        /// Time of the start of the process, in clock ticks since boot. Together with the ID it
        /// identifies the process.
        started: u64,
        name: String,
        /// True if the first thread is ending or has ended. From then on it may have lost its
        /// children to another process.
        is_main_thread_exiting: bool,
        /// True if all threads have ended.
        is_zombie: bool,
    }

    /// Adds the present children of this process to `foreign`. Call this before the start of the
    /// guardian without a guardian, and later with the guardian, which is not added.
    ///
    /// If a foreign child ends, its children become children of this process. The descendants of
    /// the guardian become children of this process only after its main thread has begun to end. At
    /// that time the guardian need not be a zombie yet. From then on, this function adds nothing.
    pub(in super::super) fn record_foreign_children(
        foreign: &mut ForeignChildren,
        guardian: Option<Pid>,
    ) {
        let guardian = guardian.map(Pid::as_raw_pid);
        let (mut found, _) = children_except(foreign);
        // Must be read after the children.
        let has_guardian = guardian
            .is_none_or(|id| process(id).is_some_and(|guardian| !guardian.is_main_thread_exiting));
        if has_guardian {
            found.retain(|it| Some(it.id) != guardian);
            foreign.extend(found.into_iter().map(|it| (it.id, it.started)));
        }
    }

    /// Adds the descendants of the processes in `foreign` to `foreign`. If a foreign child ends,
    /// its children become children of this process, and are then known to be foreign.
    pub(in super::super) fn record_foreign_descendants(foreign: &mut ForeignChildren) {
        for (id, started) in foreign.clone() {
            if process(id).is_some_and(|it| it.started == started && !it.is_zombie) {
                let below = tree(id, Some(started), foreign);
                foreign.extend(below.into_iter().map(|it| (it.id, it.started)));
            }
        }
    }

    /// Returns true if this process has a child that is not in `foreign`, or if its children cannot
    /// be read. If this is false, then no descendant is left except for the processes in `foreign`
    /// and their descendants.
    ///
    /// Counts children that have ended and were not reaped, since their own children may have
    /// become children of this process after the list was read. The caller must not reap children
    /// meanwhile.
    pub(in super::super) fn has_children_except(foreign: &ForeignChildren) -> bool {
        let (found, is_complete) = children_except(foreign);
        !is_complete || !found.is_empty()
    }

    /// Returns the children of this process that are not in `foreign`, with those that have ended.
    /// The second value is false if some children could not be read.
    fn children_except(foreign: &ForeignChildren) -> (Vec<Process>, bool) {
        let this = getpid().as_raw_pid();
        let (mut found, is_complete) = if lists_children(this) {
            let (ids, has_all_ids) = children(this);
            let found: Vec<Process> = ids.iter().filter_map(|id| process(*id)).collect();
            let is_complete = has_all_ids && found.len() == ids.len();
            (found, is_complete)
        } else {
            (all_processes(), true)
        };
        found.retain(|it| it.parent == this && !foreign.contains(&(it.id, it.started)));
        (found, is_complete)
    }

    /// Sends signals to each descendant, parents before their children, but not to the processes in
    /// `foreign` and their descendants. Returns the descendants, each with the error if it could
    /// not receive a signal.
    pub(in super::super) fn signal_all(
        signals: &[Signal],
        foreign: &ForeignChildren,
    ) -> Vec<Descendant> {
        let signalled = |process: Process| {
            let error = signals.iter().find_map(|signal| send(&process, *signal).err());
            Descendant { id: process.id, name: process.name, error }
        };
        own_tree(foreign).into_iter().map(signalled).collect()
    }

    pub(in super::super) fn descendants() -> Vec<Descendant> {
        let running = own_tree(&NO_FOREIGN_CHILDREN).into_iter();
        running.map(|it| Descendant { id: it.id, name: it.name, error: None }).collect()
    }

    fn own_tree(foreign: &ForeignChildren) -> Vec<Process> {
        tree(getpid().as_raw_pid(), None, foreign)
    }

    /// Returns the descendants of `root`, except for the processes in `foreign` and their
    /// descendants. If `started` is given and the process with this ID started at another time,
    /// returns nothing.
    fn tree(root: i32, started: Option<u64>, foreign: &ForeignChildren) -> Vec<Process> {
        match lists_children(getpid().as_raw_pid()) {
            true => walk(root, started, foreign),
            false => scan(root, foreign),
        }
    }

    /// Returns true if the kernel has lists of children.
    fn lists_children(this: i32) -> bool {
        fs::exists(format!("/proc/{this}/task/{this}/children")).unwrap_or(false)
    }

    /// Finds the descendants of `root` by the kernel's lists of children, with one read per
    /// descendant. Omits the processes in `foreign` and their descendants.
    fn walk(root: i32, started: Option<u64>, foreign: &ForeignChildren) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        let mut parents = vec![(root, started)];
        while let Some((parent, started)) = parents.pop() {
            let (ids, _) = children(parent);
            // The parent may have ended, and its ID may belong to another process by now.
            if started.is_some() && process(parent).map(|it| it.started) != started {
                continue;
            }
            for id in ids {
                // If the process has a new parent by now, it is found among the children of that
                // parent, or in the next pass.
                let child = process(id).filter(|child| child.parent == parent);
                if let Some(child) = child
                    && !foreign.contains(&(id, child.started))
                    && !found.iter().any(|it| it.id == id)
                {
                    parents.push((id, Some(child.started)));
                    found.push(child);
                }
            }
        }
        found.retain(|it| !it.is_zombie);
        found
    }

    /// Returns the IDs of the children of all threads of a process. The second value is false if
    /// the list of a thread could not be read, for example because the thread has ended meanwhile.
    fn children(parent: i32) -> (Vec<i32>, bool) {
        let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
            return (Vec::new(), false);
        };
        let (mut ids, mut is_complete) = (Vec::new(), true);
        for thread in threads {
            match thread.and_then(|it| fs::read_to_string(it.path().join("children"))) {
                Ok(list) => {
                    ids.extend(list.split_whitespace().filter_map(|id| id.parse::<i32>().ok()))
                }
                Err(_) => is_complete = false,
            }
        }
        (ids, is_complete)
    }

    /// Finds the descendants of `root` by reading all processes of the machine, for kernels without
    /// lists of children. Omits the processes in `foreign` and their descendants.
    fn scan(root: i32, foreign: &ForeignChildren) -> Vec<Process> {
        let mut others = all_processes();
        others.retain(|it| !foreign.contains(&(it.id, it.started)));
        let mut found: Vec<Process> = Vec::new();
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for child in others.extract_if(.., |it| it.parent == parent && it.id != root) {
                parents.push(child.id);
                found.push(child);
            }
        }
        found.retain(|it| !it.is_zombie);
        found
    }

    fn all_processes() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = entries.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
        ids.filter_map(process).collect()
    }

    fn process(id: i32) -> Option<Process> {
        // The name is in parentheses and may contain anything.
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let (head, rest) = stat.rsplit_once(") ")?;
        let name = head.split_once(" (")?.1.to_owned();
        let fields: Vec<&str> = rest.split(' ').collect();
        let parent = fields.get(1)?.parse().ok()?;
        let started = fields.get(19)?.parse().ok()?;
        // A process whose first thread has ended has the state `Z`, even if other threads still
        // run.
        let threads: u32 = fields.get(17)?.parse().ok()?;
        let has_main_thread_ended = matches!(*fields.first()?, "Z" | "X");
        let flags: u32 = fields.get(6)?.parse().ok()?;
        let is_main_thread_exiting = has_main_thread_ended || flags & EXITING != 0;
        let is_zombie = has_main_thread_ended && threads <= 1;
        Some(Process { id, parent, started, name, is_main_thread_exiting, is_zombie })
    }

    /// Sends a signal to the process `target`, and never to a later process with the same ID. If
    /// `target` has ended, returns no error.
    fn send(target: &Process, signal: Signal) -> Result<(), Errno> {
        let Some(id) = Pid::from_raw(target.id) else { return Ok(()) };
        let sent = match pidfd_open(id, PidfdFlags::empty()) {
            Ok(handle) => {
                let is_same = process(target.id).is_some_and(|it| it.started == target.started);
                if is_same { pidfd_send_signal(handle, signal) } else { Ok(()) }
            }
            Err(Errno::NOSYS | Errno::MFILE | Errno::NFILE | Errno::PERM) => {
                kill_process(id, signal)
            }
            Err(error) => Err(error),
        };
        match sent {
            Err(Errno::SRCH) => Ok(()),
            sent => sent,
        }
    }

    #[cfg(test)]
    mod tests {
        use std::process::{Command, Stdio};

        use super::*;

        fn ids(processes: &[Process]) -> Vec<i32> {
            let mut ids: Vec<_> = processes.iter().map(|it| it.id).collect();
            ids.sort_unstable();
            ids
        }

        fn all(root: i32) -> Vec<Process> {
            walk(root, None, &NO_FOREIGN_CHILDREN)
        }

        #[test]
        fn both_ways_find_the_same_descendants() {
            let mut shell = Command::new("sh")
                .args(["-c", "sleep 60 & sleep 60 & wait"])
                .stdout(Stdio::null())
                .spawn()
                .expect("a shell");
            let root = i32::try_from(shell.id()).expect("an ID");
            // Compares only the descendants of this shell, because other tests run concurrently.
            let are_sleeping = |found: &[Process]| found.iter().all(|it| it.name == "sleep");
            while all(root).len() < 2 || !are_sleeping(&all(root)) {
                std::thread::yield_now();
            }
            let walked = all(root);
            assert_eq!(ids(&walked), ids(&scan(root, &NO_FOREIGN_CHILDREN)));
            let of_this = scan(getpid().as_raw_pid(), &NO_FOREIGN_CHILDREN);
            assert!(walked.iter().all(|it| of_this.iter().any(|other| other.id == it.id)));
            let foreign = ForeignChildren::from([(walked[0].id, walked[0].started)]);
            assert_eq!(ids(&walk(root, None, &foreign)), [walked[1].id]);
            assert_eq!(ids(&walk(root, Some(0), &foreign)), [0; 0], "another process");
            assert_eq!(ids(&scan(root, &foreign)), [walked[1].id]);
            for process in &walked {
                assert_eq!(process.name, "sleep");
                let later = Process { started: process.started + 1, ..process.clone() };
                assert_eq!(send(&later, Signal::KILL), Ok(()));
            }
            assert_eq!(all(root).len(), 2, "a later process with the same ID is left alone");
            for process in &walked {
                assert_eq!(send(process, Signal::KILL), Ok(()));
            }
            shell.wait().expect("an end");
            assert_eq!(send(&walked[0], Signal::KILL), Ok(()), "it has ended");
            assert!(ids(&scan(root, &NO_FOREIGN_CHILDREN)).is_empty());
        }

        #[test]
        fn name_with_parentheses_is_read() {
            let this = process(getpid().as_raw_pid()).expect("this process");
            assert!(!this.is_zombie && this.started > 0 && this.parent > 0);
            assert!(process(i32::MAX).is_none());
        }
    }
}
