//! What is answered to whom.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_trace::{Reader, Trace};
use tenure_web::axum::Router;
use tenure_web::axum::extract::{Path, State};
use tenure_web::axum::http::HeaderName;
use tenure_web::axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use tenure_web::axum::response::{IntoResponse, Response};
use tenure_web::axum::routing::{get, post};
use tenure_web::{Refusal, Server};
use tokio::sync::Semaphore;

use crate::act::Act;
use crate::engine::{Apparatus, Then, Workshop};
use crate::page;
use crate::patience::Patience;
use crate::sitting::{MOST_STEPS, Sitting};
use crate::words;

/// How many sittings are kept; the oldest makes room.
const MOST_SITTINGS: usize = 32;

/// How many requests are computed for at a time; others wait for their turn.
const MOST_AT_WORK: usize = 2;

/// How long one request is computed for. What was reached by then is shown.
const LONGEST: Duration = Duration::from_secs(10);

/// What a page with scripts of its own may do: run them, and nothing with this server.
const ALONE: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                     img-src data:; sandbox allow-scripts allow-downloads";

/// All sittings, and who makes new ones.
pub struct Lab {
    workshop: Box<dyn Workshop>,
    sittings: Mutex<Sittings>,
    places: Arc<Semaphore>,
}

#[derive(Default)]
struct Sittings {
    last: u64,
    /// The one that was there before anybody came.
    first: Option<u64>,
    all: BTreeMap<u64, Arc<Mutex<Sitting>>>,
}

type Shared = State<Arc<Lab>>;

impl Lab {
    /// A lab without a sitting.
    pub fn new(workshop: impl Workshop) -> Self {
        let places = Arc::new(Semaphore::new(MOST_AT_WORK));
        Lab { workshop: Box::new(workshop), sittings: Mutex::default(), places }
    }

    /// Sits down at a run, and says under which number. Whoever comes and names no number sees the
    /// first of them.
    ///
    /// # Errors
    ///
    /// Why the lab cannot show it, in a sentence.
    pub fn open(&self, apparatus: Apparatus, patience: &Patience) -> Result<u64, String> {
        let number = self.sit_down(apparatus, patience)?;
        locked(&self.sittings).first.get_or_insert(number);
        Ok(number)
    }

    fn sit_down(&self, apparatus: Apparatus, patience: &Patience) -> Result<u64, String> {
        let sitting = Sitting::new(apparatus, patience)?;
        let mut sittings = locked(&self.sittings);
        sittings.last += 1;
        let number = sittings.last;
        sittings.all.insert(number, Arc::new(Mutex::new(sitting)));
        if sittings.all.len() > MOST_SITTINGS {
            sittings.all.pop_first();
        }
        Ok(number)
    }

    /// Serves the page and its data until `stop` is done.
    pub async fn serve(self, server: Server, stop: impl Future<Output = ()>) {
        let routes = Router::new()
            .route("/api/algorithms", get(algorithms))
            .route("/api/sessions", get(first).post(create))
            .route("/api/sessions/{id}", get(present))
            .route("/api/sessions/{id}/step", post(step))
            .route("/api/sessions/{id}/act", post(act))
            .route("/api/sessions/{id}/go", post(go))
            .route("/api/sessions/{id}/trace.ndjson", get(trace))
            .route("/api/sessions/{id}/page.html", get(whole_page))
            .route("/api/sessions/{id}/diagram.svg", get(diagram))
            .with_state(Arc::new(self));
        server.serve(&page::assets(), routes, stop).await;
    }

    fn sitting(&self, id: &str) -> Result<(u64, Arc<Mutex<Sitting>>), Refusal> {
        let number = id.parse::<u64>().ok();
        let sittings = locked(&self.sittings);
        let found = number.and_then(|number| Some((number, sittings.all.get(&number)?.clone())));
        found.ok_or_else(|| Refusal::missing(format!("there is no session {id} any more")))
    }
}

/// Nothing that is kept behind a lock is ever half changed: a panic leaves what was before.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does work that takes a while beside the server. It ends with its turn, and when whoever asked
/// leaves: this is dropped then.
async fn beside<T: Send + 'static>(
    lab: &Lab,
    work: impl FnOnce(&Patience) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    // Nobody closes the places; if they were, nobody would have to wait.
    let place = lab.places.clone().acquire_owned().await;
    let patience = Patience::of(LONGEST);
    let _waiting = patience.waiting();
    let done = tokio::task::spawn_blocking(move || {
        let _place = place;
        work(&patience)
    });
    let done = done.await;
    done.unwrap_or_else(|_| Err(Refusal::bad("this broke the lab itself; please report it")))
}

/// Works at a sitting, and answers with what there is to see then.
async fn at(
    lab: Arc<Lab>,
    id: String,
    work: impl FnOnce(&mut Sitting, &Patience) -> Result<(), Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    beside(&lab.clone(), move |patience| {
        let (number, sitting) = lab.sitting(&id)?;
        let mut sitting = locked(&sitting);
        work(&mut sitting, patience)?;
        Ok(json(&sitting.view(number)))
    })
    .await
}

fn json(value: &Value) -> Response {
    typed("application/json", value.to_string())
}

fn typed(content_type: &'static str, body: impl IntoResponse) -> Response {
    ([(CONTENT_TYPE, content_type)], body).into_response()
}

fn said<T: DeserializeOwned>(body: &str) -> Result<T, Refusal> {
    serde_json::from_str(body).map_err(|error| Refusal::bad(format!("not understood: {error}")))
}

async fn algorithms(State(lab): Shared) -> Response {
    json(&lab.workshop.algorithms())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    words: Option<String>,
    trace: Option<String>,
}

async fn create(State(lab): Shared, body: String) -> Result<Response, Refusal> {
    let asked: Create = said(&body)?;
    let opened = lab.clone();
    let number = beside(&lab, move |patience| {
        let apparatus = match (asked.words, asked.trace) {
            (Some(words), None) => {
                words::split(&words).and_then(|words| opened.workshop.of_words(&words))
            }
            (None, Some(text)) => read(&text).and_then(|trace| opened.workshop.of_trace(&trace)),
            _ => Err("say `words` or `trace`, one of the two".to_owned()),
        };
        apparatus.and_then(|apparatus| opened.sit_down(apparatus, patience)).map_err(Refusal::bad)
    })
    .await?;
    at(lab, number.to_string(), |_, _| Ok(())).await
}

fn read(text: &str) -> Result<Trace, String> {
    let reader = Reader::new(text.as_bytes(), "the trace").map_err(|error| error.to_string())?;
    let header = reader.header().clone();
    let records = reader.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Trace { header, records, torn: None })
}

async fn first(State(lab): Shared) -> Response {
    let sittings = locked(&lab.sittings);
    let first = sittings.first.filter(|number| sittings.all.contains_key(number));
    json(&serde_json::json!({ "first": first.map(|number| number.to_string()) }))
}

async fn present(State(lab): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    at(lab, id, |_, _| Ok(())).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    steps: Option<u64>,
    until: Option<Until>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Until {
    Event,
    End,
}

async fn step(
    State(lab): Shared,
    Path(id): Path<String>,
    body: String,
) -> Result<Response, Refusal> {
    let then = match said(&body)? {
        Steps { steps: Some(steps), until: None } if (1..=MOST_STEPS).contains(&steps) => {
            Then::Steps(steps)
        }
        Steps { steps: None, until: Some(Until::Event) } => Then::UntilTold(MOST_STEPS),
        Steps { steps: None, until: Some(Until::End) } => Then::Steps(MOST_STEPS),
        _ => {
            let says = format!("say `steps`, 1 to {MOST_STEPS}, or `until`, event or end");
            return Err(Refusal::bad(says));
        }
    };
    at(lab, id, move |sitting, patience| sitting.step(&then, patience).map_err(Refusal::bad)).await
}

async fn act(
    State(lab): Shared,
    Path(id): Path<String>,
    body: String,
) -> Result<Response, Refusal> {
    let act: Act = said(&body)?;
    at(lab, id, move |sitting, patience| sitting.act(&act, patience).map_err(Refusal::bad)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Go {
    moment: usize,
}

async fn go(State(lab): Shared, Path(id): Path<String>, body: String) -> Result<Response, Refusal> {
    let Go { moment } = said(&body)?;
    let missing = move || Refusal::missing(format!("there is no moment {moment}"));
    at(lab, id, move |sitting, patience| {
        let is_there = sitting.go(moment, patience).map_err(Refusal::bad)?;
        if is_there { Ok(()) } else { Err(missing()) }
    })
    .await
}

/// Makes a file of a sitting.
async fn file(
    lab: Arc<Lab>,
    id: String,
    content_type: &'static str,
    make: impl FnOnce(&Sitting) -> Result<Vec<u8>, String> + Send + 'static,
) -> Result<Response, Refusal> {
    beside(&lab.clone(), move |_| {
        let (_, sitting) = lab.sitting(&id)?;
        let made = make(&locked(&sitting)).map_err(Refusal::bad)?;
        Ok(typed(content_type, made))
    })
    .await
}

async fn trace(State(lab): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    file(lab, id, "application/x-ndjson", Sitting::trace).await
}

async fn diagram(State(lab): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    file(lab, id, "image/svg+xml", |sitting| Ok(sitting.svg(None).into_bytes())).await
}

async fn whole_page(State(lab): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    let mut page = file(lab, id, "text/html; charset=utf-8", Sitting::page).await?;
    let alone: (HeaderName, _) = (CONTENT_SECURITY_POLICY, ALONE.parse());
    if let (name, Ok(policy)) = alone {
        page.headers_mut().insert(name, policy);
    }
    Ok(page)
}
