//! The server: one task for each connection, one counter for all.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_trace::{
    Access, CreateError, Kind, Operation, Record, Segments, Who, WriteError, Writer, now,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use super::counter::{Counter, Tally};
use super::wire::{Answer, QUESTION_BYTES, Question};

/// How long to wait when the system has no resources for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// A counter on loopback, which writes down every access. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    desk: Arc<Desk>,
    accepting: AbortHandle,
}

/// A process that is inside and waits for the answer to its read of the counter, until this is
/// dropped. Whatever is done to the process meanwhile is done to it inside.
#[derive(Debug)]
pub struct Holder {
    /// The process.
    pub process: ProcessId,
    _released: oneshot::Sender<()>,
}

/// What all connections share.
#[derive(Debug)]
struct Desk {
    /// How many processes there are.
    size: u32,
    book: Mutex<Book>,
    /// Told when the trace could not be written.
    failing: Notify,
    /// Where to send the next process that reads the counter.
    catching: Mutex<Option<oneshot::Sender<Holder>>>,
}

/// The counter and the record of its accesses, which must have the same order.
#[derive(Debug)]
struct Book {
    counter: Counter,
    trace: Option<Writer>,
    /// Where the trace goes on when a file is long enough.
    segments: Option<Segments>,
    failure: Option<WriteError>,
}

impl Book {
    fn write(&mut self, access: Access) -> Result<(), WriteError> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        trace.write(Record::new(now(), Who::Resource, Kind::Access(access)))?;
        let turned = self.segments.as_mut().map_or(Ok(()), |segments| segments.turn(trace));
        turned.map_err(|CreateError { error, .. }| WriteError(error))
    }
}

impl Server {
    /// Listens on a port that the system chooses, for a group of `size` processes. Every access
    /// goes to `trace`, if there is one.
    ///
    /// # Errors
    ///
    /// When the system refuses to listen; nothing was started.
    pub async fn start(size: u32, trace: Option<Writer>) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let book = Book { counter: Counter::default(), trace, segments: None, failure: None };
        let book = Mutex::new(book);
        let desk =
            Arc::new(Desk { size, book, failing: Notify::new(), catching: Mutex::default() });
        Ok(Server::on(listener, address, desk))
    }

    fn on(listener: TcpListener, address: SocketAddr, desk: Arc<Desk>) -> Server {
        let accepting = tokio::spawn(accept(listener, desk.clone())).abort_handle();
        Server { address, desk, accepting }
    }

    /// Lets the trace go on in another file whenever one is long enough.
    pub fn write_in(&self, segments: Segments) {
        self.desk.book().segments = Some(segments);
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often it was accessed so far.
    pub fn tally(&self) -> Tally {
        self.desk.book().counter.tally()
    }

    /// Catches the next process that has entered: the answer to its read of the counter waits until
    /// the [`Holder`] is dropped. A later call takes the place of one that caught nobody yet.
    pub fn catch_holder(&self) -> oneshot::Receiver<Holder> {
        let (caught, holder) = oneshot::channel();
        *self.desk.catching() = Some(caught);
        holder
    }

    /// Returns when an access could not be written down, which ends the service: whatever is
    /// not in the trace must not happen.
    pub async fn failed(&self) -> WriteError {
        loop {
            let failing = self.desk.failing.notified();
            if let Some(failure) = self.desk.book().failure.take() {
                return failure;
            }
            failing.await;
        }
    }

    /// Ends the service and writes what is left of the trace.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; the trace lacks its last accesses then.
    pub fn stop(self) -> Result<Tally, WriteError> {
        self.accepting.abort();
        let mut book = self.desk.book();
        if let Some(mut trace) = book.trace.take() {
            trace.flush()?;
        }
        match book.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(book.counter.tally()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Desk {
    /// A panic while it was held would have been one of ours; the counter is whole anyway.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn catching(&self) -> MutexGuard<'_, Option<oneshot::Sender<Holder>>> {
        self.catching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the process that reads may be answered: at once, unless a holder was wanted.
    async fn hold(&self, process: ProcessId) {
        let Some(caught) = self.catching().take() else { return };
        let (released, release) = oneshot::channel();
        if caught.send(Holder { process, _released: released }).is_ok() {
            // It is dropped and never sends.
            let _ = release.await;
        }
    }

    /// Answers a question and writes the access down; nothing when that failed.
    fn answer(&self, question: Question) -> Option<Answer> {
        let Question { by, operation, fence, value } = question;
        let mut book = self.book();
        let book = &mut *book;
        if book.failure.is_some() {
            return None;
        }
        let access = book.counter.access(by, operation, fence, value);
        if let Err(failure) = book.write(access) {
            book.failure = Some(failure);
            self.failing.notify_one();
            return None;
        }
        let highest = access.highest.unwrap_or_default();
        Some(Answer { accepted: access.accepted, value: access.value, highest })
    }
}

/// Accepts until the task is aborted, and every connection with it.
async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                connections.spawn(serve(stream, address, desk.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "the resource cannot accept a connection");
                sleep(EXHAUSTED).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Answers one connection until it ends.
async fn serve(mut stream: TcpStream, address: SocketAddr, desk: Arc<Desk>) {
    let served = async {
        stream.set_nodelay(true)?;
        let mut frame = [0; QUESTION_BYTES];
        loop {
            stream.read_exact(&mut frame).await?;
            let question = Question::decode(&frame).filter(|question| question.by.0 < desk.size);
            let Some(question) = question else {
                tracing::warn!(%address, "no question for the resource; connection closed");
                return Ok(());
            };
            let (by, reads) = (question.by, question.operation == Operation::Get);
            let Some(answer) = desk.answer(question) else { return io::Result::Ok(()) };
            if reads && answer.accepted {
                desk.hold(by).await;
            }
            stream.write_all(&answer.encode()).await?;
        }
    };
    // A node that ends, or is killed, ends its connection: nothing to say about it.
    let _ = served.await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Client;
    use tenure_core::Fence;
    use tenure_trace::{ClockUnit, Header, Reader, Service, Source};
    use tokio::sync::Barrier;

    #[tokio::test]
    async fn processes_that_read_before_any_writes_lose_updates() {
        let server = Server::start(3, None).await.unwrap();
        let meeting = Arc::new(Barrier::new(3));
        let mut tasks = JoinSet::new();
        for process in 0..3 {
            let (address, meeting) = (server.address(), meeting.clone());
            tasks.spawn(async move {
                let mut client = Client::connect(address, ProcessId(process)).await.unwrap();
                let value = client.get(None).await.unwrap().unwrap();
                meeting.wait().await;
                client.put(None, value + 1).await.unwrap().unwrap();
            });
        }
        tasks.join_all().await;
        assert_eq!(server.stop().unwrap(), Tally { value: 1, puts: 3, refused: 0 });
    }

    #[tokio::test]
    async fn every_access_is_written_down_in_its_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("resource.ndjson");
        let clock = ClockUnit::Nanosecond;
        let header = Header::new("central", Service::Office, 2, Source::Resource);
        let trace = Writer::create(&path, &Header { clock, ..header }).unwrap();
        let server = Server::start(2, Some(trace)).await.unwrap();
        let mut first = Client::connect(server.address(), ProcessId(0)).await.unwrap();
        let mut second = Client::connect(server.address(), ProcessId(1)).await.unwrap();
        assert_eq!(first.get(Some(Fence(1, 1))).await.unwrap(), Ok(0));
        assert_eq!(second.put(Some(Fence(1, 2)), 4).await.unwrap(), Ok(()));
        let highest = Fence(1, 2);
        let refused = first.put(Some(Fence(1, 1)), 1).await.unwrap();
        assert_eq!(refused.unwrap_err().highest, highest);
        assert_eq!(server.stop().unwrap(), Tally { value: 4, puts: 1, refused: 1 });

        let records: Vec<_> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
        let accesses = records.iter().map(|record| match record.kind {
            Kind::Access(access) => (access.by.number(), access.value, access.accepted),
            _ => panic!("{record:?} is no access"),
        });
        assert!(accesses.eq([(1, 0, true), (2, 4, true), (1, 1, false)]));
    }

    #[tokio::test]
    async fn a_caught_holder_waits_inside_until_it_is_released() {
        let server = Server::start(2, None).await.unwrap();
        let caught = server.catch_holder();
        let mut client = Client::connect(server.address(), ProcessId(1)).await.unwrap();
        let reads = tokio::spawn(async move { client.get(None).await });
        let holder = caught.await.unwrap();
        assert_eq!(holder.process, ProcessId(1));
        let mut other = Client::connect(server.address(), ProcessId(0)).await.unwrap();
        assert_eq!(other.get(None).await.unwrap(), Ok(0), "others are answered meanwhile");
        assert!(!reads.is_finished());
        drop(holder);
        assert_eq!(reads.await.unwrap().unwrap(), Ok(0));
    }

    #[tokio::test]
    async fn strangers_are_turned_away_and_disturb_nobody() {
        let server = Server::start(2, None).await.unwrap();
        let mut stranger = Client::connect(server.address(), ProcessId(2)).await.unwrap();
        let mut member = Client::connect(server.address(), ProcessId(1)).await.unwrap();
        assert!(stranger.get(None).await.is_err());
        assert_eq!(member.get(None).await.unwrap(), Ok(0));
        let mut noise = TcpStream::connect(server.address()).await.unwrap();
        noise.write_all(&[0xFF; 100]).await.unwrap();
        assert_eq!(member.put(None, 1).await.unwrap(), Ok(()));
        assert_eq!(server.tally().value, 1);
    }
}
