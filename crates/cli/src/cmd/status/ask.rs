//! Asking a page how its node is.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use tenure_daemon::status::NodeStatus;

use super::{Answer, Target};

/// How long a page may take to be reached, and to say anything.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest answer of a node, in bytes.
const LONGEST: u64 = 16 << 20;

/// Asks all of them at once.
pub(super) fn all(targets: &[Target]) -> Vec<Answer> {
    thread::scope(|scope| {
        let asked: Vec<_> = targets.iter().map(|target| scope.spawn(|| answer(target))).collect();
        let joined = asked.into_iter().map(|asked| asked.join());
        joined.map(|answer| answer.expect("who asks does not panic")).collect()
    })
}

fn answer(target: &Target) -> Answer {
    let told = match &target.page {
        Some(page) => ask(page, &target.query),
        None => Err("nobody says where its page is; name all as page.addresses".into()),
    };
    let (status, error) =
        told.map_or_else(|says| (None, Some(says)), |status| (Some(status), None));
    let node = status.as_ref().map(|status| status.process).or(target.node);
    Answer { node, page: target.page.clone(), status, error }
}

/// HTTP 1.0 wants no answer in pieces, and ends with it.
fn ask(page: &str, query: &str) -> Result<NodeStatus, String> {
    let told = exchange(page, query).map_err(|error| unanswered(&error))?;
    let (head, body) = told.split_once("\r\n\r\n").ok_or("what answered speaks no HTTP")?;
    match head.split(' ').nth(1) {
        Some("200") => serde_json::from_str(body)
            .map_err(|_| "what answered is no node of this release".to_owned()),
        Some("401") => Err("its page wants the token of the address that the node reported".into()),
        Some("503") => Err("it does not run yet, or has ended".into()),
        Some(code) => Err(format!("what answered is no page of a node (HTTP {code})")),
        None => Err("what answered speaks no HTTP".into()),
    }
}

/// Why nobody answered. What the system says of one that is silent is no word for people.
fn unanswered(error: &Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("no answer within {} s", PATIENCE.as_secs())
        }
        _ => format!("no answer: {error}"),
    }
}

fn exchange(page: &str, query: &str) -> std::io::Result<String> {
    let nowhere = || std::io::Error::other("the name has no address");
    let to = page.to_socket_addrs()?.next().ok_or_else(nowhere)?;
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /status{query} HTTP/1.0\r\nHost: {to}\r\n\r\n")?;
    let mut told = String::new();
    stream.take(LONGEST).read_to_string(&mut told)?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn of_one_that_says_nothing_it_is_told_for_how_long() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let page = silent.local_addr().unwrap().to_string();
        assert_eq!(ask(&page, "").unwrap_err(), "no answer within 2 s");
        drop(silent);
        let gone = ask(&page, "").unwrap_err();
        assert!(gone.starts_with("no answer: "), "{gone}");
    }
}
