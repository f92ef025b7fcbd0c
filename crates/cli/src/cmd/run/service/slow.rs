//! A disk that is slow: each flush of a member takes longer, which `strace` sees to.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long it may take until a member is slowed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The disk of a process, which is slow for as long as this lives.
#[derive(Debug)]
pub(super) struct Slow(Child);

impl Slow {
    /// From now on each flush takes so much longer, of all threads.
    pub(super) async fn begin(id: Pid, flush: Duration) -> io::Result<Slow> {
        let inject = format!("inject=fdatasync,fsync:delay_enter={}", flush.as_micros());
        let mut tracer = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", &inject])
            .args(["-p", &id.as_raw_pid().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let says = tracer.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut says = BufReader::new(says).lines();
        let first = timeout(PATIENCE, says.next_line()).await??.unwrap_or_default();
        if !first.contains(" attached") {
            return Err(io::Error::other(first));
        }
        // It says more as threads come, and would wait for whoever reads that.
        tokio::spawn(async move { while let Ok(Some(_)) = says.next_line().await {} });
        Ok(Slow(tracer))
    }

    /// Has its flushes take no longer than they do.
    pub(super) async fn end(mut self) {
        // Whoever has ended with the process is gone already.
        let _ = self.0.kill().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_cannot_be_slowed_is_said_not_to_be() {
        let mut gone = Command::new("true").spawn().unwrap();
        let id = gone.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap())).unwrap();
        gone.wait().await.unwrap();
        assert!(Slow::begin(id, Duration::from_millis(1)).await.is_err());
    }
}
