//! Tests that the guardian of `tenure lock` ends the command in time, however many signals it must
//! pass on, and that it starts no command after the deadline.

use std::fs::File;
use std::io::{BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

use crate::hold::LONG;

/// Sends the file descriptor of `input` over the socket to the guardian, as the wrapper does. The
/// guardian passes this file to the command as its standard input.
fn send_input(socket: &UnixStream, input: &File) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [input.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let data = [IoSlice::new(b"\n")];
    sendmsg(socket, &data, &mut control, SendFlags::empty()).expect("it is sent");
}

/// Starts a guardian of the command `touch FILE`. The guardian has this deadline, and receives one
/// order. Returns its first report.
fn first_report(deadline: Duration, order: &str, file: &Path) -> String {
    let reserved = Duration::from_millis(200).as_nanos().to_string();
    let (mut socket, theirs) = UnixStream::pair().expect("sockets");
    let mut guardian = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["guardian", "--deadline", &deadline.as_nanos().to_string()])
        .args(["--margin", &reserved, "--grace", &reserved, "--", "touch"])
        .arg(file)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("the command starts");
    send_input(&socket, &File::open("/dev/null").expect("a file"));
    writeln!(socket, "{order}").expect("it is sent");
    socket.set_read_timeout(Some(LONG)).expect("a socket");
    let mut report = String::new();
    BufReader::new(&socket).read_line(&mut report).expect("a report");
    assert!(guardian.wait().expect("an end").success());
    report
}

#[test]
fn command_is_not_started_after_the_deadline() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("started");
    let now = Duration::try_from(clock_gettime(ClockId::Boottime)).expect("a time");
    let later = now + LONG;
    let renewal =
        |until: Duration| format!("{{\"Deadline\":{{\"secs\":{},\"nanos\":0}}}}", until.as_secs());
    for (deadline, order) in
        [(now, renewal(now)), (later, renewal(now)), (later, "\"Kill\"".to_owned())]
    {
        assert_eq!(first_report(deadline, &order, &file), "\"NotStarted\"\n", "{order}");
        assert!(!file.exists(), "{order}");
    }
    // The control: the lease was renewed before the command was started.
    let report = first_report(now, &renewal(later), &file);
    assert!(report.contains("\"status\":0") && file.exists(), "{report}");
}

#[test]
fn stream_of_signals_does_not_delay_the_deadline() {
    let now = Duration::try_from(clock_gettime(ClockId::Boottime)).expect("a time");
    let deadline = now + Duration::from_secs(2);
    let nanoseconds = |time: Duration| time.as_nanos().to_string();
    let reserved = nanoseconds(Duration::from_millis(200));
    let (socket, theirs) = UnixStream::pair().expect("sockets");
    let mut guardian = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(["guardian", "--deadline", &nanoseconds(deadline)])
        .args(["--margin", &reserved, "--grace", &reserved, "--", "sleep", "600"])
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("the command starts");
    send_input(&socket, &File::open("/dev/null").expect("a file"));
    // The stream of orders has no end. A guardian that reads all orders before it handles its timer
    // would read for ever.
    let mut orders = socket.try_clone().expect("a socket");
    let stream = format!("{{\"Signal\":{}}}\n", Signal::WINCH.as_raw()).repeat(100);
    let sender = std::thread::spawn(move || while orders.write_all(stream.as_bytes()).is_ok() {});
    socket.set_read_timeout(Some(LONG)).expect("a socket");
    let mut report = String::new();
    let read = BufReader::new(&socket).read_line(&mut report);
    // The guardian kills the command when the wrapper is gone, so nothing outlives a failed test.
    let _ = socket.shutdown(std::net::Shutdown::Both);
    sender.join().expect("no panic");
    let status = guardian.wait().expect("an end");
    assert!(read.is_ok() && report.contains("\"is_expired\":true"), "{read:?} {report:?}");
    assert!(status.success(), "{status}");
}
