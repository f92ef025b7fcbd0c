//! Asking a member of a lock service, or of an etcd: JSON over HTTP, which both serve.

use std::cell::{Cell, OnceCell, RefCell};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use serde_json::{Value, json};
use tenure_client::{BlockingWire, Certificates};

use super::certificates::Files;
use super::user::{self, User};
use crate::cmd::failure::Failure;

/// The port of a member where none is named.
const PORT: u16 = 2379;

/// How long a member may take to be reached.
const REACHED: Duration = Duration::from_secs(2);

/// How long it may say nothing: longer than it waits for a leader.
const SILENCE: Duration = Duration::from_secs(15);

/// How long the head of an answer may be, or one that has a token, in bytes.
const LONGEST_HEAD: u64 = 64 << 10;

/// How long an answer may be, or one of many: no member of Tenure makes one as long.
const LONGEST_ANSWER: u64 = 128 << 20;

/// Whom a command asks.
#[derive(Debug, Default, Args)]
pub(crate) struct Endpoints {
    /// Members of the service, of Tenure or etcd; the first one that answers is asked
    #[arg(long, alias = "endpoint", value_name = "URL,…", value_delimiter = ',')]
    #[arg(default_value = "http://127.0.0.1:2379")]
    endpoints: Vec<String>,
    /// Who asks, where members want to know: NAME:PASSWORD [default: TENURE_USER]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = user::parse)]
    user: Option<User>,
    #[command(flatten)]
    files: Files,
    /// What is in them, if somebody has looked.
    #[arg(skip)]
    certificates: OnceCell<Option<Certificates>>,
    /// The place of the one that answered last: it is asked first.
    #[arg(skip)]
    last: Cell<usize>,
    /// What it gave for the password: hashing that takes it a while, by intention.
    #[arg(skip)]
    token: RefCell<Option<String>>,
}

/// Why a member gave no answer.
enum Silent {
    /// Another one may.
    Away(String),
    /// Any other would say the same.
    Refused(String),
}

impl From<io::Error> for Silent {
    fn from(error: io::Error) -> Self {
        Silent::Away(silence(&error))
    }
}

impl Endpoints {
    /// One member, which speaks no TLS and asks nobody who they are.
    pub(crate) fn of(endpoint: &str) -> Endpoints {
        Endpoints { endpoints: vec![endpoint.to_owned()], ..Endpoints::default() }
    }

    /// The answer to a request.
    pub(crate) fn ask(&self, path: &str, asked: &Value) -> Result<Value, Failure> {
        let mut answer = Value::Null;
        self.ask_for_lines(path, asked, |line| {
            answer = line;
            Ok(())
        })?;
        Ok(answer)
    }

    /// A request with many answers, each of which is handed on as it comes.
    pub(crate) fn ask_for_lines(
        &self,
        path: &str,
        asked: &Value,
        mut told: impl FnMut(Value) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.certificates.get().is_none() {
            let _ = self.certificates.set(self.files.read()?);
        }
        let user = user::or_of_environment(self.user.as_ref())?;
        let mut away = Vec::new();
        let first = self.last.get();
        for turn in 0..self.endpoints.len() {
            let place = (first + turn) % self.endpoints.len();
            let endpoint = &self.endpoints[place];
            match self.call_as(user.as_ref(), endpoint, path, asked, turn == 0) {
                Ok(answer) => {
                    self.last.set(place);
                    return lines(answer, endpoint, &mut told);
                }
                Err(Silent::Away(why)) => away.push(format!("{endpoint}: {why}")),
                Err(Silent::Refused(why)) => return Err(Failure::usage(user::advised(why))),
            }
        }
        Err(Failure::environment(away.join("; ")))
    }

    /// As a user, with the token that this member gave before, if it did and still takes it.
    fn call_as(
        &self,
        user: Option<&User>,
        endpoint: &str,
        path: &str,
        asked: &Value,
        answered_last: bool,
    ) -> Result<Answer, Silent> {
        let Some(user) = user else {
            return self.call(endpoint, path, asked, None);
        };
        if let Some(token) = self.token.take().filter(|_| answered_last) {
            match self.call(endpoint, path, asked, Some(&token)) {
                Err(Silent::Refused(why)) if why.contains("invalid auth token") => {}
                answer => {
                    self.token.replace(Some(token));
                    return answer;
                }
            }
        }
        let token = self.authenticate(endpoint, user)?;
        let answer = self.call(endpoint, path, asked, token.as_deref());
        self.token.replace(token);
        answer
    }

    /// The token of a user; none, where nobody has to say who they are.
    fn authenticate(&self, endpoint: &str, user: &User) -> Result<Option<String>, Silent> {
        let asked = json!({ "name": user.name, "password": user.password });
        match self.call(endpoint, "/v3/auth/authenticate", &asked, None) {
            Ok(answer) => {
                let told: Value = serde_json::from_reader(answer.take(LONGEST_HEAD))
                    .map_err(|_| Silent::Away("its answer is no JSON".into()))?;
                Ok(told["token"].as_str().map(str::to_owned))
            }
            Err(Silent::Refused(why)) if why.contains("authentication is not enabled") => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// HTTP 1.0 wants no answer in pieces, and ends with it.
    fn call(
        &self,
        endpoint: &str,
        path: &str,
        asked: &Value,
        token: Option<&str>,
    ) -> Result<Answer, Silent> {
        let mut answer = send(self.wire(endpoint)?, &address_of(endpoint), path, asked, token)?;
        let head = head(&mut answer).map_err(Silent::Away)?;
        match head.lines().next().and_then(|first| first.split(' ').nth(1)) {
            Some("200") => Ok(answer),
            Some(status) => {
                let why = reason(&mut answer).unwrap_or_else(|| format!("HTTP {status}"));
                // 5xx but for "not served": another member may be better off.
                match status.starts_with('5') && status != "501" {
                    true => Err(Silent::Away(why)),
                    false => Err(Silent::Refused(format!("{endpoint}: {why}"))),
                }
            }
            None => Err(Silent::Away("what answered speaks no HTTP".into())),
        }
    }

    /// The bytes to a member and back, sealed where it speaks TLS.
    fn wire(&self, endpoint: &str) -> Result<BlockingWire, Silent> {
        let address = &*address_of(endpoint);
        if address.starts_with(':') {
            return Err(is_no_endpoint(endpoint));
        }
        let reached = |address| {
            reached(address).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidInput => is_no_endpoint(endpoint),
                _ => error.into(),
            })
        };
        let scheme = endpoint.split_once("://").map_or("http", |(scheme, _)| scheme);
        match (scheme, self.certificates.get().and_then(Option::as_ref)) {
            ("http", _) => Ok(Box::new(reached(address)?)),
            ("https", Some(certificates)) => {
                let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
                Ok(certificates.over(host, reached(address)?)?)
            }
            ("https", None) => {
                let says = format!("`{endpoint}` speaks TLS: --cacert says who vouches for it");
                Err(Silent::Refused(says))
            }
            _ => {
                let says = format!("`{endpoint}` is not served; say http://ADDRESS:PORT");
                Err(Silent::Refused(says))
            }
        }
    }
}

/// What comes behind the head of an answer.
type Answer = BufReader<BlockingWire>;

/// What an answer begins with, up to the first empty line.
fn head(answer: &mut Answer) -> Result<String, String> {
    let mut head = String::new();
    let mut answer = answer.take(LONGEST_HEAD);
    loop {
        match answer.read_line(&mut head) {
            Ok(0) if answer.limit() == 0 => return Err("the head of its answer has no end".into()),
            Ok(0) => return Err("it hung up".into()),
            Ok(read) if head[head.len() - read..].trim_end().is_empty() => return Ok(head),
            Ok(_) => {}
            Err(error) => return Err(silence(&error)),
        }
    }
}

/// Why nothing more came. What the system says of one that is silent is no word for people.
fn silence(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock => format!("no answer within {} s", SILENCE.as_secs()),
        io::ErrorKind::TimedOut => format!("not reached within {} s", REACHED.as_secs()),
        _ => error.to_string(),
    }
}

/// What `scheme://address/` names, at the port of etcd where it names none.
fn address_of(endpoint: &str) -> String {
    let behind = endpoint.split_once("://").map_or(endpoint, |(_, behind)| behind);
    let address = behind.trim_end_matches('/');
    match address.rsplit_once(':') {
        // Of `[::1]`, what stands behind the last colon is no port.
        Some((_, port)) if !port.ends_with(']') => address.to_owned(),
        _ => format!("{address}:{PORT}"),
    }
}

fn is_no_endpoint(endpoint: &str) -> Silent {
    Silent::Refused(format!("`{endpoint}` is no endpoint such as http://127.0.0.1:{PORT}"))
}

fn reached(address: &str) -> io::Result<TcpStream> {
    let nowhere = || io::Error::other("the name has no address");
    let to = address.to_socket_addrs()?.next().ok_or_else(nowhere)?;
    let stream = TcpStream::connect_timeout(&to, REACHED)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    Ok(stream)
}

fn send(
    mut wire: BlockingWire,
    address: &str,
    path: &str,
    asked: &Value,
    token: Option<&str>,
) -> io::Result<Answer> {
    let body = asked.to_string();
    let length = body.len();
    write!(wire, "POST {path} HTTP/1.0\r\nHost: {address}\r\n")?;
    if let Some(token) = token {
        write!(wire, "Authorization: {token}\r\n")?;
    }
    write!(wire, "Content-Length: {length}\r\n\r\n{body}")?;
    wire.flush()?;
    Ok(BufReader::new(wire))
}

/// What an answer says that is none.
fn reason(answer: &mut Answer) -> Option<String> {
    let mut text = String::new();
    answer.take(64 << 10).read_to_string(&mut text).ok()?;
    let told: Value = serde_json::from_str(&text).ok()?;
    told["error"].as_str().or(told["message"].as_str()).map(str::to_owned)
}

fn lines(
    mut answer: Answer,
    endpoint: &str,
    told: &mut impl FnMut(Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let broken = |why: &str| Failure::environment(format!("{endpoint}: {why}"));
    loop {
        let mut line = String::new();
        match answer.by_ref().take(LONGEST_ANSWER).read_line(&mut line) {
            Ok(0) => return Ok(()),
            Ok(read) if read as u64 == LONGEST_ANSWER => {
                return Err(broken("an answer of more than 128 MiB is not read"));
            }
            Ok(_) => {}
            Err(error) => return Err(broken(&silence(&error))),
        }
        let value: Value =
            serde_json::from_str(&line).map_err(|_| broken("its answer is no JSON"))?;
        if let Some(error) = value.get("error") {
            let says = error["message"].as_str().or(error.as_str());
            return Err(broken(says.unwrap_or("it broke off")));
        }
        told(match value {
            Value::Object(mut fields) if fields.contains_key("result") => {
                fields.remove("result").unwrap_or(Value::Null)
            }
            value => value,
        })?;
    }
}

/// Bytes as JSON has them.
pub(crate) fn base64(bytes: &[u8]) -> Value {
    json!(BASE64_STANDARD.encode(bytes))
}

/// Bytes that came as JSON; what is left out is empty.
pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    let decoded = value.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
    decoded.unwrap_or_default()
}

/// A number that came as JSON, which has long ones as text; what is left out is 0.
pub(crate) fn number(value: &Value) -> i64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or(value.as_i64()).unwrap_or(0)
}

/// A number without a sign.
pub(crate) fn unsigned(value: &Value) -> u64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or(value.as_u64()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_at_that_of_etcd() {
        for (endpoint, address) in [
            ("http://127.0.0.1:1/", "127.0.0.1:1"),
            ("https://locks", "locks:2379"),
            ("locks", "locks:2379"),
            ("http://[::1]", "[::1]:2379"),
            ("http://[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(address_of(endpoint), address);
        }
    }
}
