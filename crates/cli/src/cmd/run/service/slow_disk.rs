//! The fault of a slow disk: `strace` delays each flush of a member.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Time limit for `strace` to report that it traces the process.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(5);

/// A running `strace` that delays each flush of a process. Dropping this value ends the delay.
#[derive(Debug)]
pub(super) struct SlowDisk(Child);

impl SlowDisk {
    /// Starts to delay each flush of all threads of `process` by `flush_delay`.
    ///
    /// # Errors
    ///
    /// Returns an error if `strace` cannot be started, or does not attach to the process within
    /// [`ATTACH_TIMEOUT`].
    pub(super) async fn attach(process: Pid, flush_delay: Duration) -> io::Result<SlowDisk> {
        let inject = format!("inject=fdatasync,fsync:delay_enter={}", flush_delay.as_micros());
        let mut tracer = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", &inject])
            .args(["-p", &process.as_raw_pid().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let stderr = tracer.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut stderr = BufReader::new(stderr).lines();
        let first = timeout(ATTACH_TIMEOUT, stderr.next_line()).await??.unwrap_or_default();
        if !first.contains(" attached") {
            return Err(io::Error::other(first));
        }
        // strace prints more when threads start, and blocks if its output is not read.
        tokio::spawn(async move { while let Ok(Some(_)) = stderr.next_line().await {} });
        Ok(SlowDisk(tracer))
    }

    /// Ends the delay of flushes.
    pub(super) async fn detach(mut self) {
        // If the traced process has ended, strace has ended already.
        let _ = self.0.kill().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reports_process_that_cannot_be_slowed() {
        let mut gone = Command::new("true").spawn().unwrap();
        let id = gone.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap())).unwrap();
        gone.wait().await.unwrap();
        assert!(SlowDisk::attach(id, Duration::from_millis(1)).await.is_err());
    }
}
