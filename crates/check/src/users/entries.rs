//! Number of requests of users.

/// Number of times that the user of a process may use the service. For a lock, this is the number
/// of requests to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestLimit {
    /// The user issues at most this many requests.
    AtMost(u32),
    /// The number of requests has no bound.
    Unbounded,
}

impl RequestLimit {
    /// Returns true if the user may issue another request.
    pub fn has_next(self) -> bool {
        self != RequestLimit::AtMost(0)
    }

    /// Uses up one request, and returns the number of requests that remain after it.
    ///
    /// # Panics
    ///
    /// Panics if no request is left.
    #[must_use]
    pub fn after_request(self) -> Self {
        match self {
            RequestLimit::AtMost(left) => {
                RequestLimit::AtMost(left.checked_sub(1).expect("a user stays within its requests"))
            }
            RequestLimit::Unbounded => RequestLimit::Unbounded,
        }
    }
}

impl From<u32> for RequestLimit {
    fn from(times: u32) -> Self {
        RequestLimit::AtMost(times)
    }
}

/// Number of requests by the user of each process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestLimits {
    /// The same number for every process.
    Same(RequestLimit),
    /// One number per process.
    PerProcess(Vec<RequestLimit>),
}

impl<E: Into<RequestLimit>> From<E> for RequestLimits {
    fn from(each: E) -> Self {
        RequestLimits::Same(each.into())
    }
}

impl<const N: usize> From<[u32; N]> for RequestLimits {
    fn from(times: [u32; N]) -> Self {
        RequestLimits::PerProcess(times.map(RequestLimit::AtMost).to_vec())
    }
}

impl From<&[u32]> for RequestLimits {
    fn from(times: &[u32]) -> Self {
        RequestLimits::PerProcess(times.iter().copied().map(RequestLimit::AtMost).collect())
    }
}

impl From<Vec<RequestLimit>> for RequestLimits {
    fn from(times: Vec<RequestLimit>) -> Self {
        RequestLimits::PerProcess(times)
    }
}
