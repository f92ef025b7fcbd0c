//! A job that runs at one host at a time, without an asynchronous runtime.
//!
//! The job has ten steps. Before each step, the job compares the clock with the deadline of its
//! lock. The job therefore stops in time even if the service cannot be reached. A real job passes
//! its fencing token to the resource with every write. The resource rejects a token that is lower
//! than the largest token that it has seen.
//!
//! ```sh
//! tenure serve --data-dir /tmp/tenure &
//! cargo run -p tenure-client --example blocking -- http://127.0.0.1:2379 &
//! cargo run -p tenure-client --example blocking -- http://127.0.0.1:2379
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_client::ClientError;
use tenure_client::blocking::{Client, Guard};

/// Maximum time to wait for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum time that one step takes.
const STEP_TIMEOUT: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let endpoint = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:2379".to_owned());
    match run(&endpoint) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(endpoint: &str) -> Result<ExitCode, ClientError> {
    let client = Client::connect([endpoint])?;
    let session = client.session(Duration::from_secs(10))?;
    println!("waiting for the lock");
    let Some(guard) = session.lock_within("nightly", LOCK_TIMEOUT)? else {
        println!("another host runs the job");
        return Ok(ExitCode::FAILURE);
    };
    let code = match work(&guard) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    };
    guard.release()?;
    session.close()?;
    Ok(code)
}

/// Performs the steps of the job. Returns false if the lock was lost before the last step.
fn work(guard: &Guard) -> bool {
    for step in 1..=10 {
        // The step must end before another host can hold the lock.
        let is_safe = guard.deadline().is_some_and(|end| Instant::now() + STEP_TIMEOUT < end);
        if !is_safe {
            println!("the lock may be lost: stopped before step {step}");
            return false;
        }
        println!("step {step} of 10 with fencing token {}", guard.fence());
        sleep(STEP_TIMEOUT / 5);
    }
    true
}
