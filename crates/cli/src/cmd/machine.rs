//! What this machine has for us.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::failure::{Failure, Status};
use super::{interrupt, program};

/// How often somebody looks how much memory is taken.
const OFTEN: Duration = Duration::from_millis(100);

/// How often whoever was interrupted is seen to go on before it is ended.
const PATIENCE: u32 = 20;

/// The machine's memory in bytes, or what control groups and `ulimit -v` leave of it; `None` where
/// nobody says.
pub(crate) fn memory() -> Option<u64> {
    let all = kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    let all = getrlimit(Resource::As).current.map_or(all, |limit| all.min(limit));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().flat_map(limits).filter_map(|file| {
        // A group without a limit says `max`.
        fs::read_to_string(file).ok()?.trim().parse().ok()
    });
    Some(limits.fold(all, u64::min))
}

/// Who carries out what waits, on the thread that asks: the system ties the life of what is started
/// to the thread that started it.
pub(crate) fn one_thread() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::environment(format!("cannot start: {error}")))
}

/// Interrupts this process when half of the machine's memory is taken, and ends it when that does
/// not help, before the machine stands still.
pub(crate) fn guard_memory() {
    static GUARDED: Once = Once::new();
    GUARDED.call_once(|| {
        if let Some(all) = memory() {
            thread::spawn(move || guard(all));
        }
    });
}

fn guard(all: u64) {
    // Where addresses are few, those that were asked for count, used or not: a list that grows asks
    // for twice of what it has, and what is not to be had ends the program without a word.
    let is_tight = getrlimit(Resource::As).current.is_some_and(|limit| limit <= all);
    let counted = if is_tight { "VmSize:" } else { "VmRSS:" };
    let mut told = 0;
    while let Some(taken) = taken(counted) {
        if told > PATIENCE || taken > all / 4 * 3 {
            std::process::exit(Status::Incomplete as i32);
        }
        told += u32::from(told > 0);
        if taken > all / 2 && told == 0 {
            told = 1;
            let gigabytes = all as f64 / 2e9;
            eprintln!(
                "{}: stopped: it takes more than {gigabytes:.1} GB, half of the memory here; \
                 a smaller group takes less",
                program::name()
            );
            // The next list that grows may be one too many, before anybody looks again.
            if is_tight {
                std::process::exit(Status::Incomplete as i32);
            }
            interrupt::flag().store(true, Ordering::Relaxed);
        }
        thread::sleep(OFTEN);
    }
}

/// The memory that this process has taken since this was called first, in bytes, as the system
/// counts it.
pub(crate) fn grown() -> Option<u64> {
    static BEFORE: OnceLock<u64> = OnceLock::new();
    let now = taken("VmRSS:")?;
    Some(now.saturating_sub(*BEFORE.get_or_init(|| now)))
}

/// How much memory this process has, by a line of what the system tells of it.
fn taken(line: &str) -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, line)
}

/// A line of the files in which the system tells of memory, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1 << 10)
}

/// The files with the limits of a group, such as `0::/user`, and of those around it.
fn limits(group: &str) -> Vec<PathBuf> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (file, root) = match parts.next() {
        Some("") => ("memory.max", "/sys/fs/cgroup"),
        Some("memory") => ("memory.limit_in_bytes", "/sys/fs/cgroup/memory"),
        _ => return Vec::new(),
    };
    let path = Path::new(parts.next().unwrap_or_default());
    let inside = |path: &Path| path.strip_prefix("/").ok().map(Path::to_owned);
    let folders = path.ancestors().filter_map(inside);
    folders.map(|folder| Path::new(root).join(folder).join(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_a_group_are_those_of_all_around_it() {
        let files = ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max"];
        let outermost = "/sys/fs/cgroup/memory.max";
        assert_eq!(limits("0::/a/b"), [files[0], files[1], outermost].map(PathBuf::from));
        let old = ["a/memory.limit_in_bytes", "memory.limit_in_bytes"];
        let old = old.map(|file| Path::new("/sys/fs/cgroup/memory").join(file));
        assert_eq!(limits("4:memory:/a"), old);
        assert_eq!(limits("3:cpuset:/a"), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn memory_is_told_in_kilobytes() {
        let told = |text| kilobytes(text, "MemTotal:");
        assert_eq!(told("MemTotal:       24684084 kB\nMemFree: 1 kB\n"), Some(24_684_084 << 10));
        assert_eq!(told("MemFree: 1 kB\n"), None);
        assert!(memory().is_none_or(|bytes| bytes > 0));
        assert!(taken("VmRSS:").is_none_or(|bytes| bytes > 0));
        assert!(grown().is_none_or(|bytes| bytes < 1 << 30));
    }
}
