//! A client: asks, and repeats what may be repeated.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::history::{End, Operation, Saw, What};
use super::machine::{Change, Tag};
use super::wire::{Answer, LONGEST, Part, Question};

/// How long clients wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For an answer, before another member is asked.
    pub answer: Duration,
    /// Before it is asked again when nobody leads, at most.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            connect: Duration::from_millis(200),
            answer: Duration::from_secs(1),
            pause: Duration::from_millis(20),
        }
    }
}

/// What clients have asked so far, and what came of it.
#[derive(Clone, Debug, Default)]
pub struct Course(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    operations: Vec<Operation>,
    answered: u64,
    refusals: u64,
    repeats: u64,
}

impl Course {
    /// Nothing that is written here can be left half written.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every operation, in the order in which they were asked first.
    pub fn operations(&self) -> Vec<Operation> {
        self.book().operations.clone()
    }

    /// How many were answered.
    pub fn answered(&self) -> u64 {
        self.book().answered
    }

    /// How often a member said that it does not do what it was asked for.
    pub fn refusals(&self) -> u64 {
        self.book().refusals
    }

    /// Writes down that an operation is asked for the first time.
    fn begins(&self, operation: Operation) -> usize {
        let mut book = self.book();
        book.operations.push(operation);
        book.operations.len() - 1
    }

    /// Writes down what has come of the operation at a place so far.
    fn comes_to(&self, place: usize, end: End) {
        let mut book = self.book();
        book.operations[place].end = end;
        book.answered += u64::from(matches!(end, End::Answered(..)));
    }

    /// How often something was asked again without knowing whether it had been done.
    pub fn repeats(&self) -> u64 {
        self.book().repeats
    }
}

/// A client of a group, one operation after the other.
///
/// What was refused is asked again, of whoever is said to lead. What got no answer is asked again
/// where that does no harm: a read has no effect, and an increment is known by its tag. A write
/// that got no answer is unknown for ever.
#[derive(Debug)]
pub struct Client {
    /// Its number, which no other client has.
    pub number: u32,
    /// Where the members are asked, the first process's first.
    pub members: Vec<SocketAddr>,
    /// Whether it only reads.
    pub reads: bool,
    /// How many operations it asks for, at most.
    pub most: Option<u64>,
    /// When it begins no further operation.
    pub until: Option<Instant>,
    /// The longest pause between operations; each is drawn.
    pub think: Duration,
    /// What it asks, and whom first, is drawn from this.
    pub seed: u64,
    /// How long it waits.
    pub patience: Patience,
}

/// What came of asking once.
enum Attempt {
    Answered(Answer),
    /// It was never asked.
    Unasked,
    /// It was asked, and there is no answer.
    Unanswered,
}

/// A client at work.
struct Working<'a> {
    client: &'a Client,
    rng: fastrand::Rng,
    /// Whom it asks, by place.
    member: usize,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    /// Asks one operation after the other, and writes them down with times since `begun`. What is
    /// under way when the future is dropped stays without an answer.
    pub fn work(self, begun: Instant, course: Course) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.ask_all(begun, course))
    }

    async fn ask_all(self, begun: Instant, course: Course) {
        let rng = fastrand::Rng::with_seed(self.seed ^ u64::from(self.number) << 32);
        let mut working = Working { client: &self, rng, member: 0, connection: None };
        working.member = working.rng.usize(..self.members.len());
        for number in 1..=self.most.unwrap_or(u64::MAX) {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
            let tag = Tag { client: self.number, number };
            let what = working.draw();
            let now = || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
            let operation = Operation { tag, what, asked: now(), end: End::Unknown };
            let place = course.begins(operation);
            let saw = working.operate(tag, what, place, &course).await;
            if let Some(saw) = saw {
                course.comes_to(place, End::Answered(now(), saw));
            }
            working.rest().await;
        }
    }
}

impl Working<'_> {
    /// What to ask next.
    fn draw(&mut self) -> What {
        let drawn = self.rng.u32(..4);
        match drawn {
            0 | 1 if self.client.reads => [What::GetCounter, What::GetRegister][drawn as usize],
            0 => What::Add,
            1 => What::Set,
            2 => What::GetCounter,
            _ => What::GetRegister,
        }
    }

    async fn rest(&mut self) {
        let most = u64::try_from(self.client.think.as_micros()).unwrap_or(u64::MAX);
        if most > 0 {
            sleep(Duration::from_micros(self.rng.u64(..=most))).await;
        }
    }

    /// Goes on until the operation is answered; nothing where that is never to be known.
    async fn operate(
        &mut self,
        tag: Tag,
        what: What,
        place: usize,
        course: &Course,
    ) -> Option<Saw> {
        let question = match what {
            What::Add => Question::Change(Change::Add(tag)),
            What::Set => Question::Change(Change::Set(tag)),
            What::GetCounter => Question::Get(Part::Counter),
            What::GetRegister => Question::Get(Part::Register),
        };
        let mut may_be_done = false;
        loop {
            let mut leader = None;
            match self.ask(question).await {
                Attempt::Answered(Answer::Counter(value)) => return Some(Saw::Counter(value)),
                Attempt::Answered(Answer::Register(tag)) => return Some(Saw::Register(tag)),
                Attempt::Answered(Answer::Written) => return Some(Saw::Written),
                Attempt::Answered(Answer::Refused { leader: known }) => {
                    course.book().refusals += 1;
                    leader = known;
                }
                Attempt::Answered(Answer::Unknown) | Attempt::Unanswered if what == What::Set => {
                    self.turn_to(None).await;
                    return None;
                }
                Attempt::Answered(Answer::Unknown) | Attempt::Unanswered => {
                    course.book().repeats += 1;
                    may_be_done = true;
                }
                Attempt::Unasked => {}
            }
            // Whoever looks while it is asked again must take it for unknown.
            course.comes_to(place, if may_be_done { End::Unknown } else { End::Refused });
            self.turn_to(leader).await;
            course.comes_to(place, End::Unknown);
        }
    }

    /// Asks whoever is said to lead from now on, or else the next, after a pause.
    async fn turn_to(&mut self, leader: Option<u32>) {
        let members = self.client.members.len();
        let named = leader.and_then(|it| usize::try_from(it).ok()?.checked_sub(1));
        if let Some(named) = named.filter(|place| *place < members) {
            if named != self.member {
                (self.member, self.connection) = (named, None);
            }
            return;
        }
        self.connection = None;
        self.member = (self.member + 1) % members;
        let most = u64::try_from(self.client.patience.pause.as_micros()).unwrap_or(u64::MAX);
        sleep(Duration::from_micros(self.rng.u64(..=most))).await;
    }

    /// Asks once.
    async fn ask(&mut self, question: Question) -> Attempt {
        let Patience { connect, answer, .. } = self.client.patience;
        if self.connection.is_none() {
            let address = self.client.members[self.member];
            let Ok(Ok(stream)) = timeout(connect, TcpStream::connect(address)).await else {
                return Attempt::Unasked;
            };
            if stream.set_nodelay(true).is_err() {
                return Attempt::Unasked;
            }
            self.connection = Some(BufReader::new(stream));
        }
        let Some(connection) = &mut self.connection else { return Attempt::Unasked };
        let asked = async {
            connection.write_all(format!("{question}\n").as_bytes()).await.ok()?;
            let mut line = String::new();
            connection.take(LONGEST as u64).read_line(&mut line).await.ok()?;
            line.strip_suffix('\n').and_then(Answer::read)
        };
        match timeout(answer, asked).await {
            Ok(Some(answer)) => Attempt::Answered(answer),
            Ok(None) | Err(_) => Attempt::Unanswered,
        }
    }
}
