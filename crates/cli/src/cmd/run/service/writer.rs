//! A client process that puts and reads small and large values. The process uses several threads.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use fastrand::Rng;
use tenure_trace::unix_time_nanos;

use super::clients::{CommonClientOptions, print_json_line};
use super::reader::read_value;
use super::value_record::{PutRecord, ResponseRecord, ValueDigest, ValueOperationRecord};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::service::BlockingClient;

/// Number of threads that put and read values. The first thread puts small values and some large
/// values. The other threads put only small values.
const THREADS: u32 = 8;

/// Maximum size of a small value, without the eight random bytes that [`random_value`] adds.
const SMALL_VALUE_BYTES: u32 = 1 << 10;

/// The first thread puts, on average, one large value per this number of values.
const LARGE_VALUE_PERIOD: u32 = 8;

/// Maximum pause of a thread after an operation, in milliseconds.
const MAX_PAUSE_MS: u64 = 30;

/// A client of `tenure run --service --values`
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonClientOptions,
    #[arg(long)]
    most_bytes: u32,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    options.common.end_with_parent()?;
    let until = options.common.deadline_from_now();
    let ended: Vec<Result<(), Failure>> = thread::scope(|scope| {
        let start = |thread| scope.spawn(move || write(options, thread, until));
        let threads: Vec<_> = (0..THREADS).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    ended.into_iter().collect::<Result<(), Failure>>().map(|()| Status::Success)
}

/// Puts and reads values at a key that only this thread uses, until the time `until`.
fn write(options: &Options, thread: u32, until: Instant) -> Result<(), Failure> {
    let CommonClientOptions { number, ref endpoints, seed, .. } = options.common;
    let key = format!("values/{number}/{thread}");
    let most = if thread == 0 { options.most_bytes } else { 0 };
    let mut rng = Rng::with_seed(seed ^ u64::from(number) << 40 ^ u64::from(thread) << 32);
    while Instant::now() < until {
        let member = rng.choice(endpoints).expect("a service has members");
        let message = match rng.u8(..4) {
            0 => {
                ignore_unreachable(read_value(member, &key, false))?.map(ValueOperationRecord::Read)
            }
            _ => Some(ValueOperationRecord::Put(put(member, &key, &random_value(&mut rng, most))?)),
        };
        message.map_or(Ok(()), |message| print_json_line(&message))?;
        thread::sleep(Duration::from_millis(rng.u64(..=MAX_PAUSE_MS)));
    }
    Ok(())
}

/// Returns random bytes as a value. On average, one in [`LARGE_VALUE_PERIOD`] values has a size
/// between half of `most` and `most` bytes. All other values have at most [`SMALL_VALUE_BYTES`]
/// bytes, and small sizes are more likely than large ones. Eight random bytes are added to every
/// value, so that two values are not equal by chance.
fn random_value(rng: &mut Rng, most: u32) -> Vec<u8> {
    let length = match rng.u32(..LARGE_VALUE_PERIOD) {
        0 => rng.u32(most / 2..=most),
        _ => f64::from(SMALL_VALUE_BYTES).powf(rng.f64()) as u32,
    };
    let mut bytes = vec![0; length as usize + size_of::<u64>()];
    rng.fill(&mut bytes);
    bytes
}

fn put(member: &str, key: &str, bytes: &[u8]) -> Result<PutRecord, Failure> {
    let value = ValueDigest::of(bytes);
    let service = BlockingClient::for_endpoint(member)?;
    let requested = unix_time_nanos();
    let response = ignore_unreachable(service.call(service.admin.put(key.into(), bytes.to_vec())))?;
    let response = response.map(|revision| ResponseRecord { at: unix_time_nanos(), revision });
    Ok(PutRecord { key: key.to_owned(), value, requested, response })
}

/// Returns the response. Returns `None` if the request failed because of the environment, for
/// example because a member did not respond in time. Returns any other failure as an error.
fn ignore_unreachable<T>(response: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match response {
        Ok(response) => Ok(Some(response)),
        Err(failure) if failure.status == Status::Environment => Ok(None),
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_unique_and_mostly_small() {
        let mut rng = Rng::with_seed(1);
        let mut random_value: Vec<Vec<u8>> =
            (0..200).map(|_| random_value(&mut rng, 1 << 20)).collect();
        let long = random_value.iter().filter(|it| it.len() > 1 << 19).count();
        let short =
            random_value.iter().filter(|it| it.len() <= SMALL_VALUE_BYTES as usize + 8).count();
        assert!((1..50).contains(&long) && short + long == 200, "{long} and {short}");
        assert!(random_value.iter().all(|it| it.len() <= (1 << 20) + 8));
        random_value.sort_unstable();
        random_value.dedup();
        assert_eq!(random_value.len(), 200);
    }
}
