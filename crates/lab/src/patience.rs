//! How long somebody waits for what is computed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether it is still worth computing: somebody waits, and it has not taken too long. Clones are
/// of the same somebody.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    gone: Arc<AtomicBool>,
    longest: Option<(Instant, Duration)>,
}

/// Takes the patience with it when it is dropped.
#[derive(Debug)]
pub(crate) struct Waiting(Patience);

impl Patience {
    /// That of somebody who waits for so long.
    pub fn of(longest: Duration) -> Self {
        Patience { longest: Some((Instant::now(), longest)), ..Patience::default() }
    }

    /// Somebody who may leave.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting(self.clone())
    }

    /// Whether so much time has passed that what there is by now is better than more of it later.
    pub fn is_over(&self) -> bool {
        self.longest.is_some_and(|(since, longest)| since.elapsed() >= longest)
    }

    /// Goes on, or does not.
    ///
    /// # Errors
    ///
    /// Why nobody wants it any more, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.gone.load(Ordering::Relaxed) {
            return Err("whoever asked has left".to_owned());
        }
        match self.longest {
            Some((_, longest)) if self.is_over() => {
                let seconds = longest.as_secs();
                Err(format!(
                    "this takes longer than {seconds} s; `tenure simulate` has no such limit"
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}
