//! The memory of this machine, and how much of it this process uses.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::capture::print_stderr_line;
use super::failure::{Failure, Status};
use super::{interrupt, program};

const MEMORY_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum number of measurements of the memory use after [`stop_at_memory_limit`] has interrupted
/// the command. If the process still runs after these measurements, the watching thread ends the
/// process.
const MAX_POLLS_AFTER_INTERRUPT: u32 = 20;

/// Returns the memory that this process may use, in bytes. It is the memory of the machine, unless
/// control groups or `ulimit -v` set a lower limit. Returns `None` if the system does not report
/// it.
pub(crate) fn memory_limit() -> Option<u64> {
    let all = kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let all = getrlimit(Resource::As).current.map_or(all, |limit| all.min(limit));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().flat_map(limits).filter_map(|file| {
        // If a control group has no limit, its file contains `max`, which does not parse as a
        // number.
        fs::read_to_string(file).ok()?.trim().parse().ok()
    });
    Some(limits.fold(all, u64::min))
}

pub(crate) fn terminal_columns(terminal: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Creates a tokio runtime that runs only on the calling thread. A program that starts child
/// processes needs such a runtime. On Linux, the kernel ends a node together with the thread that
/// started the node, if the node requests this.
pub(crate) fn current_thread_runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::cannot("start"))
}

/// Watches the memory use of this process in another thread. At half of the available memory, the
/// thread interrupts the command, so that the command can report a partial result. The thread ends
/// the process with [`Status::Incomplete`] in these cases:
///
/// - The memory use exceeds half of the available memory, and the address space is limited.
/// - The process still runs [`MAX_POLLS_AFTER_INTERRUPT`] measurements after the interrupt.
/// - The memory use exceeds three quarters of the available memory.
pub(crate) fn stop_at_memory_limit() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        if let Some(all) = memory_limit() {
            thread::spawn(move || poll_memory_use(all));
        }
    });
}

fn poll_memory_use(all: u64) {
    // If the address space is limited, measures reserved memory instead of used memory. A growing
    // list reserves twice its size, and a failed reservation aborts the program without a message.
    let is_tight = getrlimit(Resource::As).current.is_some_and(|limit| limit <= all);
    let counted = if is_tight { "VmSize:" } else { "VmRSS:" };
    let mut polls = 0;
    while let Some(used) = used_memory(counted) {
        polls += u32::from(polls > 0);
        if used > all / 2 && polls == 0 {
            polls = 1;
            print_stderr_line(&format!("{}: {}", program::name(), memory_message(all)));
            // Exits at once, because a reservation may fail before the next measurement.
            if is_tight {
                std::process::exit(Status::Incomplete as i32);
            }
            interrupt::flag().store(true, Ordering::Relaxed);
        }
        if polls > MAX_POLLS_AFTER_INTERRUPT || used > all / 4 * 3 {
            std::process::exit(Status::Incomplete as i32);
        }
        thread::sleep(MEMORY_POLL_INTERVAL);
    }
}

/// Returns the message for a process that uses more than half of `all`, the memory that it may use.
fn memory_message(all: u64) -> String {
    let limit = all as f64 / 2e9;
    format!(
        "stopped: memory use exceeds {limit:.1} GB, half of the memory that this process may use; \
         try a smaller group"
    )
}

/// Returns the growth of the resident memory of this process since the first call, in bytes.
/// Returns `None` if the system does not report the memory.
pub(crate) fn memory_growth() -> Option<u64> {
    static BEFORE: OnceLock<u64> = OnceLock::new();
    let now = used_memory("VmRSS:")?;
    Some(now.saturating_sub(*BEFORE.get_or_init(|| now)))
}

/// Reads a field of `/proc/self/status`, such as `VmRSS:`, and converts it to bytes.
fn used_memory(field: &str) -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, field)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1 << 10)
}

/// Returns the files with the memory limits of a control group and of all groups that contain it.
/// `group` is a line such as `0::/user`. The result is empty if the group controls other resources.
fn limits(group: &str) -> Vec<PathBuf> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (file, root) = match parts.next() {
        Some("") => ("memory.max", "/sys/fs/cgroup"),
        Some("memory") => ("memory.limit_in_bytes", "/sys/fs/cgroup/memory"),
        _ => return Vec::new(),
    };
    let path = Path::new(parts.next().unwrap_or_default());
    let relative = |path: &Path| path.strip_prefix("/").ok().map(Path::to_owned);
    let folders = path.ancestors().filter_map(relative);
    folders.map(|folder| Path::new(root).join(folder).join(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_include_ancestor_groups() {
        let files = ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max"];
        let outermost = "/sys/fs/cgroup/memory.max";
        assert_eq!(limits("0::/a/b"), [files[0], files[1], outermost].map(PathBuf::from));
        let old = ["a/memory.limit_in_bytes", "memory.limit_in_bytes"];
        let old = old.map(|file| Path::new("/sys/fs/cgroup/memory").join(file));
        assert_eq!(limits("4:memory:/a"), old);
        assert_eq!(limits("3:cpuset:/a"), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn reads_memory_in_kilobytes() {
        let read = |text| kilobytes(text, "MemTotal:");
        assert_eq!(read("MemTotal:       24684084 kB\nMemFree: 1 kB\n"), Some(24_684_084 << 10));
        assert_eq!(read("MemFree: 1 kB\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_reports_memory() {
        assert!(memory_limit().is_some_and(|bytes| bytes > 0));
        assert!(used_memory("VmRSS:").is_some_and(|bytes| bytes > 0));
        assert!(memory_growth().is_some_and(|bytes| bytes < 1 << 30));
    }
}
