//! What is answered to whom.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

use crate::act::Act;
use crate::engine::{Apparatus, Then, Workshop};
use crate::page;
use crate::sitting::{MOST_STEPS, Sitting};
use crate::words;

/// How many sittings are kept; the oldest makes room.
const MOST_SITTINGS: usize = 32;

/// What a page with scripts of its own may do: run them, and nothing with this server.
const ALONE: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                     img-src data:; sandbox allow-scripts allow-downloads";

/// All sittings, and who makes new ones.
pub struct Lab {
    workshop: Box<dyn Workshop>,
    sittings: Mutex<Sittings>,
}

#[derive(Default)]
struct Sittings {
    last: u64,
    all: BTreeMap<u64, Arc<Mutex<Sitting>>>,
}

type Shared = State<Arc<Lab>>;

impl Lab {
    /// A lab without a sitting.
    pub fn new(workshop: impl Workshop) -> Self {
        Lab { workshop: Box::new(workshop), sittings: Mutex::default() }
    }

    /// Sits down at a run, and says under which number.
    ///
    /// # Errors
    ///
    /// Why the lab cannot show it, in a sentence.
    pub fn open(&self, apparatus: Apparatus) -> Result<u64, String> {
        let sitting = Sitting::new(apparatus)?;
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
            .route("/api/sessions", post(create))
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

/// Does work that takes a while beside the server.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Refusal::bad("this broke the lab itself; please report it")))
}

/// Works at a sitting, and answers with what there is to see then.
async fn at(
    lab: Arc<Lab>,
    id: String,
    work: impl FnOnce(&mut Sitting) -> Result<(), Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    beside(move || {
        let (number, sitting) = lab.sitting(&id)?;
        let mut sitting = locked(&sitting);
        work(&mut sitting)?;
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
    let number = beside(move || {
        let apparatus = match (asked.words, asked.trace) {
            (Some(words), None) => {
                words::split(&words).and_then(|words| opened.workshop.of_words(&words))
            }
            (None, Some(text)) => read(&text).and_then(|trace| opened.workshop.of_trace(&trace)),
            _ => Err("say `words` or `trace`, one of the two".to_owned()),
        };
        apparatus.and_then(|apparatus| opened.open(apparatus)).map_err(Refusal::bad)
    })
    .await?;
    at(lab, number.to_string(), |_| Ok(())).await
}

fn read(text: &str) -> Result<Trace, String> {
    let reader = Reader::new(text.as_bytes(), "the trace").map_err(|error| error.to_string())?;
    let header = reader.header().clone();
    let records = reader.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Trace { header, records, torn: None })
}

async fn present(State(lab): Shared, Path(id): Path<String>) -> Result<Response, Refusal> {
    at(lab, id, |_| Ok(())).await
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
    at(lab, id, move |sitting| sitting.step(&then).map_err(Refusal::bad)).await
}

async fn act(
    State(lab): Shared,
    Path(id): Path<String>,
    body: String,
) -> Result<Response, Refusal> {
    let act: Act = said(&body)?;
    at(lab, id, move |sitting| sitting.act(&act).map_err(Refusal::bad)).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Go {
    moment: usize,
}

async fn go(State(lab): Shared, Path(id): Path<String>, body: String) -> Result<Response, Refusal> {
    let Go { moment } = said(&body)?;
    let missing = move || Refusal::missing(format!("there is no moment {moment}"));
    at(lab, id, move |sitting| {
        let is_there = sitting.go(moment).map_err(Refusal::bad)?;
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
    beside(move || {
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
