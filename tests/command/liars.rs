//! A service that lies: a command that asks it neither obeys what it is told nor grows with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::shell::{said, tenure};

/// Where somebody listens who reads each request and answers with this, until nobody listens.
fn liar(answer: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut length = 0;
            let mut request = BufReader::new(stream.try_clone().expect("a socket"));
            for line in request.by_ref().lines().map_while(Result::ok) {
                if let Some(told) = line.strip_prefix("Content-Length: ") {
                    length = told.parse().expect("a length");
                }
                if line.is_empty() {
                    break;
                }
            }
            let _ = request.read_exact(&mut vec![0; length]);
            // Whoever has heard enough hangs up.
            let _ = answer(&mut stream);
        }
    });
    format!("http://{address}")
}

fn says(text: String) -> String {
    liar(move |stream| write!(stream, "HTTP/1.0 200 OK\r\n\r\n{text}"))
}

/// What a listing says of one key, given in base64.
fn key(key: &str) -> String {
    let numbers = "\"create_revision\":\"18446744073709551615\",\"lease\":\"1\"";
    format!("{{\"kvs\":[{{\"key\":\"{key}\",{numbers}}}],\"TTL\":\"9\",\"grantedTTL\":\"9\"}}\n")
}

#[test]
fn an_answer_without_end_ends_with_a_sentence() {
    let endless = |begin: &'static str, piece: String| {
        liar(move |stream| {
            stream.write_all(begin.as_bytes())?;
            loop {
                stream.write_all(piece.as_bytes())?;
            }
        })
    };
    let again = key("YS8x").replace("}]", "}],\"more\":true");
    for (address, told) in [
        (
            endless("HTTP/1.0 200 OK\r\n", "a: b\r\n".repeat(99)),
            "the head of its answer has no end",
        ),
        (endless("", "a".repeat(1 << 16)), "the head of its answer has no end"),
        (endless("HTTP/1.0 200 OK\r\n\r\n", "a".repeat(1 << 16)), "more than 128 MiB"),
        (says(again), "not in their order"),
        (says("{\"kvs\":".into()), "its answer is no JSON"),
        (liar(|_| Ok(())), "it hung up"),
    ] {
        said(&tenure(&format!("locks ls --endpoints {address}")), 4, told);
    }
}

#[test]
fn names_of_a_service_neither_paint_nor_break_a_table() {
    let hostile = says(key("G1sySuKAri8x"));
    let long = says(key(&("YWFh".repeat(30_000) + "LzE=")));
    let member = r#"{"members":[{"ID":"7","name":"\u001b[2J\u202e"}]}"#;
    let members = says(format!("{member}\n"));
    let refusal = liar(|stream| {
        write!(stream, "HTTP/1.0 400 No\r\n\r\n{{\"message\":\"\\u001b[2J\\u202e\"}}")
    });
    for (line, status, told) in [
        (format!("locks ls --endpoints {hostile}"), 0, "\\u{1b}[2J\\u{202e}"),
        (format!("locks ls --format json --endpoints {hostile}"), 0, "\\\\u{1b}[2J"),
        (format!("locks ls --endpoints {long}"), 0, "aaa"),
        (format!("member list --endpoints {members}"), 0, "\\u{1b}[2J\\u{202e}"),
        (format!("member remove x --endpoints {members}"), 2, "\\u{1b}[2J\\u{202e}"),
        (format!("locks ls --endpoints {refusal}"), 2, "\\u{1b}[2J\\u{202e}"),
    ] {
        let ended = tenure(&line);
        let both = [&ended.stdout[..], &ended.stderr].concat();
        let both = String::from_utf8(both).expect("text");
        let seen: String = both.chars().take(300).collect();
        assert_eq!(ended.status.code(), Some(status), "{line}: {seen}");
        let obeys = |letter: char| letter == '\u{202e}' || letter.is_control() && letter != '\n';
        assert!(both.contains(told) && !both.contains(obeys), "{line}: {seen}");
    }
}

#[test]
fn a_backup_without_end_ends_with_a_sentence_and_leaves_nothing() {
    let piece = format!("{{\"result\":{{\"blob\":\"{}\"}}}}\n", "AAAA".repeat(10_000));
    let endless = liar(move |stream| {
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n")?;
        loop {
            stream.write_all(piece.as_bytes())?;
        }
    });
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("backup").display().to_string();
    let ended = tenure(&format!("snapshot save --max-size 1M --endpoints {endless} {file}"));
    let error = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(4), "{error}");
    assert!(error.contains("longer than --max-size allows, 1048576 bytes"), "{error}");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}
