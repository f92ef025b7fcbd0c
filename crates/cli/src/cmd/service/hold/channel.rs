//! Messages between the wrapper, which is `tenure lock` or `tenure elect`, and its guardian. They
//! are lines of text over a pair of sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::Signal;

/// An order of the wrapper to the guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A renewal has succeeded, and the lock has this new deadline, as time since boot.
    Deadline(Duration),
    /// Send this signal to the command.
    Signal(Signal),
    /// The lock is lost. Kill the command and its descendants.
    Kill,
}

impl Order {
    pub(super) fn line(self) -> String {
        match self {
            Order::Deadline(at) => format!("deadline {}\n", at.as_nanos()),
            Order::Signal(signal) => format!("signal {}\n", signal.as_raw()),
            Order::Kill => "kill\n".to_owned(),
        }
    }

    /// Parses a line; `None` if it is not an order.
    pub(super) fn read(line: &str) -> Option<Order> {
        match line.split_once(' ') {
            Some(("deadline", at)) => Some(Order::Deadline(Duration::from_nanos(at.parse().ok()?))),
            Some(("signal", number)) => {
                Signal::from_named_raw(number.parse().ok()?).map(Order::Signal)
            }
            None if line == "kill" => Some(Order::Kill),
            _ => None,
        }
    }
}

/// A report of the guardian to the wrapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The command has ended and left these processes behind. The guardian ends them now.
    Left(String),
    /// These processes cannot be killed. The guardian keeps trying.
    Stuck(String),
    /// The command and all its descendants have ended.
    Ended {
        /// Status of the command, as `wait` returns it.
        status: i32,
        /// True if the guardian ended the command, because the deadline of the lock came near.
        is_expired: bool,
    },
}

impl Report {
    pub(super) fn line(&self) -> String {
        let one_line = |text: &str| text.replace('\n', " ");
        match self {
            Report::Left(names) => format!("left {}\n", one_line(names)),
            Report::Stuck(names) => format!("stuck {}\n", one_line(names)),
            Report::Ended { status, is_expired } => {
                format!("{} {status}\n", if *is_expired { "expired" } else { "ended" })
            }
        }
    }

    /// Parses a line; `None` if it is not a report.
    pub(super) fn read(line: &str) -> Option<Report> {
        let (word, rest) = line.split_once(' ')?;
        let ended = |is_expired| Some(Report::Ended { status: rest.parse().ok()?, is_expired });
        match word {
            "left" => Some(Report::Left(rest.to_owned())),
            "stuck" => Some(Report::Stuck(rest.to_owned())),
            "ended" => ended(false),
            "expired" => ended(true),
            _ => None,
        }
    }
}

/// Sends the file descriptor that becomes the standard input of the command. The guardian's own
/// standard input is the socket: no other number can be given to a new process without unsafe code.
pub(super) fn send_input(socket: &UnixStream, input: impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [input.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives the file descriptor for the command's standard input. Fails if the wrapper has ended.
pub(super) fn receive_input(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut into = [IoSliceMut::new(&mut byte)];
    // Without this flag the command inherits the descriptor twice.
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    recvmsg(socket, &mut into, &mut control, flags)?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn orders_and_reports_are_read_as_written() {
        for order in [
            Order::Deadline(Duration::new(7, 5)),
            Order::Signal(Signal::USR1),
            Order::Signal(Signal::WINCH),
            Order::Kill,
        ] {
            assert_eq!(Order::read(order.line().trim_end()), Some(order));
        }
        for report in [
            Report::Left("a b (process 3)".to_owned()),
            Report::Stuck("x".to_owned()),
            Report::Ended { status: 256, is_expired: false },
            Report::Ended { status: 9, is_expired: true },
        ] {
            assert_eq!(Report::read(report.line().trim_end()), Some(report));
        }
        for line in ["", "deadline", "deadline x", "signal 0", "kill x", "ended x"] {
            assert_eq!((Order::read(line), Report::read(line)), (None, None), "{line}");
        }
    }

    #[test]
    fn descriptor_arrives_at_the_other_end() {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let (mut reader, writer) = io::pipe().expect("a pipe");
        send_input(&ours, &writer).expect("it is sent");
        drop(writer);
        let mut received = File::from(receive_input(&theirs).expect("it arrives"));
        received.write_all(b"through").expect("it is open");
        drop(received);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        assert_eq!(text, "through");
        drop(ours);
        assert!(receive_input(&theirs).is_err(), "the wrapper has ended");
    }
}
