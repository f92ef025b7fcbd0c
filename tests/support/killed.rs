//! A process that ends when its owner drops it.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead, BufReader, Read};
use std::ops::{Deref, DerefMut};
use std::process::{Child, Output};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of each wait for a process. It is long, because the machine may be busy.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// A process that is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Killed(pub(crate) Child);

impl Killed {
    /// Returns the first line that the process prints. Then closes its standard output, which must
    /// be a pipe.
    ///
    /// # Panics
    ///
    /// If the process ends before it prints a line, or prints no line within the time limit.
    #[track_caller]
    pub(crate) fn first_line(&mut self) -> String {
        let output = self.stdout.take().expect("its output");
        let line = in_background(move || BufReader::new(output).lines().next());
        line.recv_timeout(TIME_LIMIT).expect("a line in time").expect("a line").expect("text")
    }

    /// Waits until the process has ended. Returns its status, and the rest of its output.
    ///
    /// # Panics
    ///
    /// If the process does not end within the time limit.
    #[track_caller]
    pub(crate) fn wait_with_output(mut self) -> Output {
        drop(self.stdin.take());
        let (stdout, stderr) = (read(self.stdout.take()), read(self.stderr.take()));
        let started = Instant::now();
        let status = loop {
            match self.try_wait().expect("a child") {
                Some(status) => break status,
                None => thread::sleep(Duration::from_millis(5)),
            }
            assert!(started.elapsed() < TIME_LIMIT, "process {} does not end", self.id());
        };
        let all = |pipe: Receiver<Vec<u8>>| pipe.recv_timeout(TIME_LIMIT).expect("a closed pipe");
        Output { status, stdout: all(stdout), stderr: all(stderr) }
    }
}

/// Reads a pipe to its end.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    in_background(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes)).transpose().expect("a pipe");
        bytes
    })
}

/// Calls a function that may block in a thread of its own, and sends its result.
fn in_background<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, result) = channel();
    thread::spawn(move || sender.send(call()));
    result
}

impl From<Child> for Killed {
    fn from(child: Child) -> Killed {
        Killed(child)
    }
}

impl Deref for Killed {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Killed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
