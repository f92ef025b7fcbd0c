//! Server of the counter. Each connection has its own task. All tasks use the same counter.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_trace::{
    CreateError, Record, RecordKind, RecordSubject, ResourceAccessRecord, ResourceOperation,
    TraceSegments, WriteError, Writer, unix_time_nanos,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use super::counter::{Counter, CounterStats};
use super::wire::{CounterRequest, CounterResponse, REQUEST_BYTES};

/// Pause after the server failed to accept a connection.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Server of a counter. The server listens on loopback, can trace every access, and stops when it
/// is dropped.
#[derive(Debug)]
pub struct CounterServer {
    address: SocketAddr,
    state: Arc<ServerState>,
    accepting: AbortHandle,
}

/// Read of the counter by a process inside the critical section, whose response is delayed. The
/// server sends the response when this [`DelayedRead`] is dropped. Meanwhile the caller can inject
/// a fault into the process.
#[derive(Debug)]
pub struct DelayedRead {
    /// Process that holds the lock.
    pub process: ProcessId,
    _released: oneshot::Sender<()>,
}

#[derive(Debug)]
struct ServerState {
    /// Number of processes in the group. A request of another process closes the connection.
    size: u32,
    traced: Mutex<TracedCounter>,
    /// Notified when an access could not be written to the trace.
    trace_failed: Notify,
    /// Sender of the [`DelayedRead`] for the next process that reads the counter. `None`: no caller
    /// waits for a read.
    holder_request: Mutex<Option<oneshot::Sender<DelayedRead>>>,
}

/// Counter, and the trace of its accesses. One lock protects both, so that the trace contains the
/// accesses in the order in which the counter executed them.
#[derive(Debug)]
struct TracedCounter {
    counter: Counter,
    trace: Option<Writer>,
    /// Creates another file for the trace when the current file is full. `None`: the trace has one
    /// file.
    segments: Option<TraceSegments>,
    /// First error of the trace, until [`CounterServer::stop`] takes it. After an error, no access
    /// is executed, because the trace would lack it.
    failure: Option<WriteError>,
    /// True after the end of the service. No access is executed then.
    has_stopped: bool,
}

impl TracedCounter {
    fn write(&mut self, access: ResourceAccessRecord) -> Result<(), WriteError> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        trace.write(Record::new(
            unix_time_nanos(),
            RecordSubject::Resource,
            RecordKind::Access(access),
        ))?;
        let continued =
            self.segments.as_mut().map_or(Ok(()), |segments| segments.rotate_if_full(trace));
        continued.map_err(|CreateError { error, .. }| WriteError(error))
    }
}

impl CounterServer {
    /// Starts a server on a free port of loopback, for a group of `size` processes. Writes every
    /// access to `trace`, if there is one.
    ///
    /// # Errors
    ///
    /// The error of the operating system. Nothing was started.
    pub async fn start(size: u32, trace: Option<Writer>) -> io::Result<CounterServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let counter = Counter::default();
        let (segments, failure, has_stopped) = (None, None, false);
        let traced = TracedCounter { counter, trace, segments, failure, has_stopped };
        let traced = Mutex::new(traced);
        let state = Arc::new(ServerState {
            size,
            traced,
            trace_failed: Notify::new(),
            holder_request: Mutex::default(),
        });
        Ok(CounterServer::with_listener(listener, address, state))
    }

    fn with_listener(
        listener: TcpListener,
        address: SocketAddr,
        state: Arc<ServerState>,
    ) -> CounterServer {
        let accepting = tokio::spawn(accept(listener, state.clone())).abort_handle();
        CounterServer { address, state, accepting }
    }

    /// Makes the trace continue in another file whenever a file is full. Has no effect without a
    /// trace.
    pub fn set_trace_segments(&self, segments: TraceSegments) {
        self.state.traced().segments = Some(segments);
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the counter's statistics so far.
    pub fn stats(&self) -> CounterStats {
        self.state.traced().counter.stats()
    }

    /// Delays the response to the next accepted read of the counter. The returned receiver yields a
    /// [`DelayedRead`]. The server sends the response when the caller drops the [`DelayedRead`]. If
    /// the method is called again before the read, only the last receiver yields a [`DelayedRead`].
    pub fn delay_next_read(&self) -> oneshot::Receiver<DelayedRead> {
        let (request, holder) = oneshot::channel();
        *self.state.holder_request() = Some(request);
        holder
    }

    /// Resolves when an access could not be written to the trace. The access was executed but
    /// received no response. The server executes no further access, and [`CounterServer::stop`]
    /// returns an error, too.
    pub async fn wait_for_trace_failure(&self) -> WriteError {
        loop {
            let trace_failed = self.state.trace_failed.notified();
            if let Some(WriteError(failure)) = &self.state.traced().failure {
                // Another caller may wait for the same failure.
                self.state.trace_failed.notify_one();
                return WriteError(io::Error::new(failure.kind(), failure.to_string()));
            }
            trace_failed.await;
        }
    }

    /// Stops the service, flushes the trace, and returns the statistics of the counter.
    ///
    /// # Errors
    ///
    /// [`WriteError`]. The trace then lacks its last accesses.
    pub fn stop(self) -> Result<CounterStats, WriteError> {
        self.accepting.abort();
        let mut traced = self.state.traced();
        // A connection may handle another request before it is aborted.
        traced.has_stopped = true;
        if let Some(mut trace) = traced.trace.take() {
            trace.flush()?;
        }
        match traced.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(traced.counter.stats()),
        }
    }
}

impl Drop for CounterServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ServerState {
    /// Locks the counter. Ignores poison, because the counter is consistent even after a panic.
    fn traced(&self) -> MutexGuard<'_, TracedCounter> {
        self.traced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holder_request(&self) -> MutexGuard<'_, Option<oneshot::Sender<DelayedRead>>> {
        self.holder_request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delays the response to an accepted read by `process` if a caller of
    /// [`CounterServer::delay_next_read`] waits for a reader. Sends a [`DelayedRead`] to this
    /// caller. Then waits until the caller drops the [`DelayedRead`].
    async fn hold(&self, process: ProcessId) {
        let Some(request) = self.holder_request().take() else { return };
        let (released, release) = oneshot::channel();
        if request.send(DelayedRead { process, _released: released }).is_ok() {
            // Resolves when the caller drops the `DelayedRead`, which contains the sender.
            let _ = release.await;
        }
    }

    /// Executes a request and writes the access to the trace. Returns `None` if this access or an
    /// earlier one could not be written, or if the server has stopped.
    fn execute(&self, request: CounterRequest) -> Option<CounterResponse> {
        let CounterRequest { by, operation, fence, value } = request;
        let mut traced = self.traced();
        let traced = &mut *traced;
        if traced.has_stopped || traced.failure.is_some() {
            return None;
        }
        let access = traced.counter.access(by, operation, fence, value);
        if let Err(failure) = traced.write(access) {
            traced.failure = Some(failure);
            self.trace_failed.notify_one();
            return None;
        }
        let highest = access.highest.unwrap_or_default();
        Some(CounterResponse { accepted: access.accepted, value: access.value, highest })
    }
}

/// Accepts connections until the task is aborted. The abort closes all connections.
async fn accept(listener: TcpListener, state: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                connections.spawn(serve(stream, address, state.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, address: SocketAddr, state: Arc<ServerState>) {
    let served = async {
        stream.set_nodelay(true)?;
        let mut frame = [0; REQUEST_BYTES];
        loop {
            stream.read_exact(&mut frame).await?;
            let request =
                CounterRequest::decode(&frame).filter(|request| request.by.0 < state.size);
            let Some(request) = request else {
                tracing::warn!(%address, "no request for the resource; connection closed");
                return Ok(());
            };
            let (by, reads) = (request.by, request.operation == ResourceOperation::Get);
            let Some(response) = state.execute(request) else { return io::Result::Ok(()) };
            if reads && response.accepted {
                state.hold(by).await;
            }
            stream.write_all(&response.encode()).await?;
        }
    };
    // A node closes its connection when it stops or is killed, which is not an error.
    let _ = served.await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::CounterClient;
    use tenure_core::Fence;
    use tenure_trace::{ClockUnit, Header, Reader, Service, TraceProducer};
    use tokio::sync::Barrier;

    #[tokio::test]
    async fn concurrent_read_and_write_loses_updates() {
        let server = CounterServer::start(3, None).await.unwrap();
        let barrier = Arc::new(Barrier::new(3));
        let mut tasks = JoinSet::new();
        for process in 0..3 {
            let (address, barrier) = (server.address(), barrier.clone());
            tasks.spawn(async move {
                let mut client = CounterClient::connect(address, ProcessId(process)).await.unwrap();
                let value = client.get(None).await.unwrap().unwrap();
                barrier.wait().await;
                client.put(None, value + 1).await.unwrap().unwrap();
            });
        }
        tasks.join_all().await;
        assert_eq!(server.stop().unwrap(), CounterStats { value: 1, puts: 3, rejected: 0 });
    }

    fn header() -> Header {
        let header = Header::new("central", Service::MutexAndElection, 2, TraceProducer::Resource);
        Header { clock: ClockUnit::Nanosecond, ..header }
    }

    #[tokio::test]
    async fn no_access_is_executed_after_failure_of_trace() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("resource.ndjson");
        let trace = Writer::create(&path, &header()).unwrap();
        let server = CounterServer::start(2, Some(trace)).await.unwrap();
        server.set_trace_segments(TraceSegments::new(&path, header(), 1).unwrap());
        // A directory has the name of the next file of the trace.
        let obstacle = directory.path().join("resource-2.ndjson");
        std::fs::create_dir(&obstacle).unwrap();
        let mut client = CounterClient::connect(server.address(), ProcessId(0)).await.unwrap();
        assert!(client.put(None, 1).await.is_err());
        let failure = server.wait_for_trace_failure().await.to_string();
        // From now on, the trace could be written again.
        std::fs::remove_dir(obstacle).unwrap();
        let mut other = CounterClient::connect(server.address(), ProcessId(1)).await.unwrap();
        assert!(other.put(None, 2).await.is_err());
        assert_eq!(server.stats(), CounterStats { value: 1, puts: 1, rejected: 0 });
        assert_eq!(server.wait_for_trace_failure().await.to_string(), failure);
        assert_eq!(server.stop().unwrap_err().to_string(), failure);
    }

    #[tokio::test]
    async fn no_access_is_executed_after_stop() {
        let directory = tempfile::tempdir().unwrap();
        let trace = Writer::create(directory.path().join("resource.ndjson"), &header()).unwrap();
        let server = CounterServer::start(2, Some(trace)).await.unwrap();
        let state = server.state.clone();
        server.stop().unwrap();
        let (by, operation) = (ProcessId(0), ResourceOperation::Put);
        let late = state.execute(CounterRequest { by, operation, fence: None, value: 1 });
        assert_eq!((late, state.traced().counter.stats().value), (None, 0));
    }

    #[tokio::test]
    async fn trace_contains_accesses_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("resource.ndjson");
        let trace = Writer::create(&path, &header()).unwrap();
        let server = CounterServer::start(2, Some(trace)).await.unwrap();
        let mut first = CounterClient::connect(server.address(), ProcessId(0)).await.unwrap();
        let mut second = CounterClient::connect(server.address(), ProcessId(1)).await.unwrap();
        assert_eq!(first.get(Some(Fence(1, 1))).await.unwrap(), Ok(0));
        assert_eq!(second.put(Some(Fence(1, 2)), 4).await.unwrap(), Ok(()));
        let highest = Fence(1, 2);
        let rejected = first.put(Some(Fence(1, 1)), 1).await.unwrap();
        assert_eq!(rejected.unwrap_err().highest, highest);
        assert_eq!(server.stop().unwrap(), CounterStats { value: 4, puts: 1, rejected: 1 });

        let records: Vec<_> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
        let accesses = records.iter().map(|record| match record.kind {
            RecordKind::Access(access) => {
                (access.by.display_number(), access.value, access.accepted)
            }
            _ => panic!("{record:?} is no access"),
        });
        assert!(accesses.eq([(1, 0, true), (2, 4, true), (1, 1, false)]));
    }

    #[tokio::test]
    async fn caught_holder_stays_in_the_critical_section() {
        let server = CounterServer::start(2, None).await.unwrap();
        let caught = server.delay_next_read();
        let mut client = CounterClient::connect(server.address(), ProcessId(1)).await.unwrap();
        let reads = tokio::spawn(async move { client.get(None).await });
        let holder = caught.await.unwrap();
        assert_eq!(holder.process, ProcessId(1));
        let mut other = CounterClient::connect(server.address(), ProcessId(0)).await.unwrap();
        assert_eq!(other.get(None).await.unwrap(), Ok(0), "others are answered meanwhile");
        assert!(!reads.is_finished());
        drop(holder);
        assert_eq!(reads.await.unwrap().unwrap(), Ok(0));
    }

    #[tokio::test]
    async fn invalid_requests_close_only_their_connection() {
        let server = CounterServer::start(2, None).await.unwrap();
        let mut invalid = CounterClient::connect(server.address(), ProcessId(2)).await.unwrap();
        let mut member = CounterClient::connect(server.address(), ProcessId(1)).await.unwrap();
        assert!(invalid.get(None).await.is_err());
        assert_eq!(member.get(None).await.unwrap(), Ok(0));
        let mut noise = TcpStream::connect(server.address()).await.unwrap();
        noise.write_all(&[0xFF; 100]).await.unwrap();
        assert_eq!(member.put(None, 1).await.unwrap(), Ok(()));
        assert_eq!(server.stats().value, 1);
    }
}
