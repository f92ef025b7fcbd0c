//! One client that puts values, as a process: small and large ones, over those that it put before,
//! by many hands.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use fastrand::Rng;

use super::claim::now;
use super::clients::Charge;
use super::reader::read;
use super::value::{Put, Told, Value, Word};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::service::Service;

/// How many ask at the same time: beside a large value there are many small ones.
const HANDS: u32 = 8;

/// How many bytes most values have at most.
const FEW: u32 = 1 << 10;

/// Of how many values of a hand that has large ones one is large.
const SELDOM: u32 = 8;

/// The longest pause between two things that a hand does, in milliseconds.
const PAUSE: u64 = 30;

/// A client of `tenure run --service --values`
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    charge: Charge,
    #[arg(long)]
    most_bytes: u32,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let until = options.charge.begin()?;
    let ended: Vec<Result<(), Failure>> = thread::scope(|scope| {
        let start = |hand| scope.spawn(move || write(options, hand, until));
        let hands: Vec<_> = (0..HANDS).map(start).collect();
        hands.into_iter().map(|hand| hand.join().expect("no hand panics")).collect()
    });
    ended.into_iter().collect::<Result<(), Failure>>().map(|()| Status::Held)
}

/// Puts values at a key of its own, and reads them; the first hand has large ones.
fn write(options: &Options, hand: u32, until: Instant) -> Result<(), Failure> {
    let Charge { number, ref endpoints, seed, .. } = options.charge;
    let key = format!("values/{number}/{hand}");
    let most = if hand == 0 { options.most_bytes } else { 0 };
    let mut draws = Rng::with_seed(seed ^ u64::from(number) << 40 ^ u64::from(hand) << 32);
    while Instant::now() < until {
        let member = draws.choice(endpoints).expect("a service has members");
        let word = match draws.u8(..4) {
            0 => unless_away(read(member, &key, false))?.map(Word::Seen),
            _ => Some(Word::Put(put(member, &key, &drawn(&mut draws, most))?)),
        };
        word.map_or(Ok(()), |word| say(&word))?;
        thread::sleep(Duration::from_millis(draws.u64(..=PAUSE)));
    }
    Ok(())
}

/// Bytes of which there are no equal ones. Most are few, so that all that is kept is hardly longer
/// than one of those that are many.
fn drawn(draws: &mut Rng, most: u32) -> Vec<u8> {
    let length = match draws.u32(..SELDOM) {
        0 => draws.u32(most / 2..=most),
        _ => f64::from(FEW).powf(draws.f64()) as u32,
    };
    let mut bytes = vec![0; length as usize + size_of::<u64>()];
    draws.fill(&mut bytes);
    bytes
}

fn put(member: &str, key: &str, bytes: &[u8]) -> Result<Put, Failure> {
    let value = Value::of(bytes);
    let service = Service::of(member)?;
    let asked = now();
    let answer = unless_away(service.call(service.admin.put(key.into(), bytes.to_vec())))?;
    let told = answer.map(|revision| Told { at: now(), revision });
    Ok(Put { key: key.to_owned(), value, asked, told })
}

/// Nothing where a member does not answer, or not in time.
fn unless_away<T>(answer: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(failure) if failure.status == Status::Environment => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn say(word: &Word) -> Result<(), Failure> {
    let line = serde_json::to_string(word).map_err(Failure::environment)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Failure::environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_values_are_short_and_some_long_and_none_is_drawn_twice() {
        let mut draws = Rng::with_seed(1);
        let mut drawn: Vec<Vec<u8>> = (0..200).map(|_| drawn(&mut draws, 1 << 20)).collect();
        let long = drawn.iter().filter(|it| it.len() > 1 << 19).count();
        let short = drawn.iter().filter(|it| it.len() <= FEW as usize + 8).count();
        assert!((1..50).contains(&long) && short + long == 200, "{long} and {short}");
        assert!(drawn.iter().all(|it| it.len() <= (1 << 20) + 8));
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 200);
    }
}
