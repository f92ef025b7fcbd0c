//! Messages between a wrapper and its guardian process. The wrapper is `tenure lock` or `tenure
//! elect`. Each message is a line of JSON, and is sent over a pair of sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GuardianOrder {
    /// A renewal has succeeded. The new deadline of the lock is this time since boot.
    Deadline(Duration),
    /// Send the signal with this number to the command.
    Signal(i32),
    /// The terminal has sent the signal with this number to the command. Do not send it again.
    Typed(i32),
    /// The lock is lost. Kill the command and its descendants.
    Kill,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GuardianReport {
    /// The command has ended, but the processes in this list have not. The guardian ends these
    /// processes now.
    #[serde(rename = "Left")]
    Survivors(String),
    /// The guardian cannot kill these processes, and keeps trying.
    Stuck(String),
    /// The guardian did not start the command, because the lock is lost or would expire soon.
    NotStarted,
    /// The guardian could not start the command. The text is the error of the operating system.
    CannotStart(String),
    Ended {
        /// Exit status of the command, as `wait` returns it.
        status: i32,
        /// True if the guardian ended the command, because the lock would have expired soon or was
        /// lost. Also true if the lock had expired when the guardian noticed the end.
        is_expired: bool,
    },
}

pub(super) fn encode_line(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("a message is text and numbers") + "\n"
}

/// Parses a line of JSON as an order or a report. Returns `None` if the line is neither.
pub(super) fn decode_line<T: DeserializeOwned>(line: &str) -> Option<T> {
    serde_json::from_str(line).ok()
}

/// Sends the guardian the file descriptor that becomes the standard input of the command.
///
/// Safe code can pass a socket to a new process only as one of its standard streams. The socket to
/// the wrapper is therefore the guardian's own standard input, and this descriptor is sent over it.
pub(super) fn send_stdin_descriptor(socket: &UnixStream, input: impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [input.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives the file descriptor for the command's standard input. Fails if the wrapper has ended.
pub(super) fn receive_stdin_descriptor(socket: &UnixStream) -> io::Result<OwnedFd> {
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

    use rustix::process::Signal;

    use super::*;

    #[test]
    fn orders_and_reports_are_read_as_written() {
        for order in [
            GuardianOrder::Deadline(Duration::new(7, 5)),
            GuardianOrder::Signal(Signal::USR1.as_raw()),
            GuardianOrder::Signal(Signal::WINCH.as_raw()),
            GuardianOrder::Typed(Signal::INT.as_raw()),
            GuardianOrder::Kill,
        ] {
            assert_eq!(decode_line::<GuardianOrder>(encode_line(&order).trim_end()), Some(order));
        }
        for report in [
            GuardianReport::Survivors("a b (process 3)".to_owned()),
            GuardianReport::Stuck("x\ny".to_owned()),
            GuardianReport::NotStarted,
            GuardianReport::CannotStart("no process".to_owned()),
            GuardianReport::Ended { status: 256, is_expired: false },
            GuardianReport::Ended { status: 9, is_expired: true },
        ] {
            assert_eq!(
                decode_line::<GuardianReport>(encode_line(&report).trim_end()),
                Some(report)
            );
        }
        for line in ["", "deadline", "\"Deadline\"", "{\"Signal\":\"x\"}", "\"Kill\" x", "ended x"]
        {
            assert_eq!(
                (decode_line::<GuardianOrder>(line), decode_line::<GuardianReport>(line)),
                (None, None),
                "{line}"
            );
        }
    }

    #[test]
    fn descriptor_arrives_at_the_other_end() {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let (mut reader, writer) = io::pipe().expect("a pipe");
        send_stdin_descriptor(&ours, &writer).expect("it is sent");
        drop(writer);
        let mut received = File::from(receive_stdin_descriptor(&theirs).expect("it arrives"));
        received.write_all(b"through").expect("it is open");
        drop(received);
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        assert_eq!(text, "through");
        drop(ours);
        assert!(receive_stdin_descriptor(&theirs).is_err(), "the wrapper has ended");
    }
}
