//! Splits an expression into tokens.

use winnow::combinator::alt;
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Stream};
use winnow::token::{any, one_of, take_while};

use super::error::ExpressionError;
use super::syntax::{Operator, TextSpan};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Number(i128),
    /// A process, numbered from 1.
    Process(u32),
    Operator(Operator),
    Not,
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Comma,
    Colon,
    Dot,
}

type Input<'t> = LocatingSlice<&'t str>;

/// Splits a text into tokens, each with its position in the text.
pub(super) fn tokenize(text: &str) -> Result<Vec<(Token, TextSpan)>, ExpressionError> {
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::new();
    loop {
        let _: Result<&str, winnow::error::EmptyError> =
            take_while(0.., char::is_whitespace).parse_next(&mut input);
        let start = text.len() - input.eof_offset();
        if start == text.len() {
            return Ok(tokens);
        }
        match token.with_span().parse_next(&mut input) {
            Ok((Some(token), span)) => tokens.push((token, span)),
            Ok((None, span)) => {
                let problem = format!("number out of range: {}", &text[span.clone()]);
                return Err(ExpressionError::new(text, span, problem, "expected at most 2^64 - 1"));
            }
            Err(_) => {
                let letter = text[start..].chars().next().unwrap_or_default();
                let problem = format!("unexpected character '{letter}'");
                let span = start..start + letter.len_utf8();
                return Err(ExpressionError::new(text, span, problem, OPERATORS_HELP));
            }
        }
    }
}

pub(super) const OPERATORS_HELP: &str = "operators: & | ! => = != < <= > >= in + - ~>";

/// Parses one token. Returns `Ok(None)` for a number that is too large.
fn token(input: &mut Input<'_>) -> winnow::Result<Option<Token>> {
    alt((number, symbol.map(Some), word.map(Some))).parse_next(input)
}

fn number(input: &mut Input<'_>) -> winnow::Result<Option<Token>> {
    take_while(1.., '0'..='9')
        .map(|digits: &str| digits.parse::<u64>().ok().map(|it| Token::Number(it.into())))
        .parse_next(input)
}

fn symbol(input: &mut Input<'_>) -> winnow::Result<Token> {
    let long = alt((
        "~>".value(Operator::LeadsTo),
        "=>".value(Operator::Implies),
        "->".value(Operator::Implies),
        "<=".value(Operator::AtMost),
        ">=".value(Operator::AtLeast),
        "!=".value(Operator::NotEqual),
        "==".value(Operator::Equal),
        "&&".value(Operator::And),
        "||".value(Operator::Or),
    ));
    let short = alt((
        "=".value(Operator::Equal),
        "<".value(Operator::Less),
        ">".value(Operator::Greater),
        "&".value(Operator::And),
        "|".value(Operator::Or),
        "+".value(Operator::Plus),
        "-".value(Operator::Minus),
    ));
    let punctuation = alt((
        "!".value(Token::Not),
        "(".value(Token::Open),
        ")".value(Token::Close),
        "[".value(Token::OpenIndex),
        "]".value(Token::CloseIndex),
        ",".value(Token::Comma),
        ":".value(Token::Colon),
        ".".value(Token::Dot),
    ));
    alt((alt((long, short)).map(Token::Operator), punctuation)).parse_next(input)
}

/// Parses a word. A hyphen between two letters belongs to the word, as in `request-vote`.
fn word(input: &mut Input<'_>) -> winnow::Result<Token> {
    let first = one_of(|letter: char| letter.is_alphabetic() || letter == '_').parse_next(input)?;
    let mut word = String::from(first);
    loop {
        let mut ahead = input.as_ref().chars();
        let (next, after) = (ahead.next(), ahead.next());
        let continues = match next {
            Some('-') => after.is_some_and(char::is_alphabetic),
            Some(letter) => letter.is_alphanumeric() || letter == '_',
            None => false,
        };
        if !continues {
            break;
        }
        word.push(any.parse_next(input)?);
    }
    if word == "in" {
        return Ok(Token::Operator(Operator::In));
    }
    let number =
        word.strip_prefix('P').filter(|digits| digits.bytes().all(|it| it.is_ascii_digit()));
    Ok(match number.and_then(|digits| digits.parse().ok()) {
        Some(number) => Token::Process(number),
        None => Token::Word(word),
    })
}
