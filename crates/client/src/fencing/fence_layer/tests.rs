//! Tests of the layer: stale tokens, slow handlers, and tokens in a directory.

use std::convert::Infallible;
use std::sync::Mutex;

use http::Method;
use tokio::sync::Semaphore;

use super::*;

/// Inner service that records the token of each request when it responds. A request with token 5
/// first waits for a permit from the test. So the test controls the duration of the request.
#[derive(Clone)]
struct Recorder {
    served: Arc<Mutex<Vec<Option<u64>>>>,
    permits: Arc<Semaphore>,
}

impl Recorder {
    fn new(permits: usize) -> Recorder {
        Recorder { served: Arc::default(), permits: Arc::new(Semaphore::new(permits)) }
    }

    fn served(&self) -> Vec<Option<u64>> {
        self.served.lock().expect("no panic").clone()
    }
}

impl Service<Request<()>> for Recorder {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<String>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let recorder = self.clone();
        Box::pin(async move {
            // The first token is slow: it needs a permit.
            let fence = fence_of(request.headers()).expect("a valid header");
            if fence == Some(5) {
                recorder.permits.acquire().await.expect("open").forget();
            }
            recorder.served.lock().expect("no panic").push(fence);
            Ok(Response::new("served".to_owned()))
        })
    }
}

fn request(method: Method, path: &str, fences: &[&str]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(path);
    for fence in fences {
        request = request.header(FENCE_HEADER, *fence);
    }
    request.body(()).expect("a request")
}

async fn status<S>(service: &S, request: Request<()>) -> u16
where
    S: Service<Request<()>, Response = Response<String>, Error = Infallible> + Clone,
{
    service.clone().call(request).await.expect("a response").status().as_u16()
}

#[tokio::test]
async fn rejects_stale_tokens_of_each_resource() {
    let service = FenceLayer::in_memory().layer(Recorder::new(9));
    for (path, fence, expected) in
        [("/a", "5", 200), ("/a", "6", 200), ("/a", "5", 412), ("/b", "5", 200), ("/a", "6", 200)]
    {
        let found = status(&service, request(Method::PUT, path, &[fence])).await;
        assert_eq!(found, expected, "{path} {fence}");
    }
    let stale = service.clone().call(request(Method::PUT, "/a", &["4"])).await.expect("a response");
    assert_eq!(stale.headers()[FENCE_HEADER], "6");
    assert!(stale.body().contains("token 4 is stale: the resource has seen 6"), "{}", stale.body());
}

#[tokio::test]
async fn accepts_stale_write_without_the_layer() {
    let service = Recorder::new(9);
    for fence in ["6", "5"] {
        assert_eq!(status(&service, request(Method::PUT, "/a", &[fence])).await, 200);
    }
    assert_eq!(service.served(), [Some(6), Some(5)]);
}

#[tokio::test]
async fn requires_one_valid_token_for_writes() {
    let service = FenceLayer::in_memory().layer(Recorder::new(9));
    let long = format!("/{}", "a".repeat(MAX_RESOURCE_NAME_BYTES));
    let cases: [(Method, &str, &[&str], u16); 7] = [
        (Method::PUT, "/a", &[], 428),
        (Method::DELETE, "/a", &[], 428),
        (Method::GET, "/a", &[], 200),
        (Method::PUT, "/a", &["five"], 400),
        (Method::PUT, "/a", &["-5"], 400),
        (Method::PUT, "/a", &["5", "6"], 400),
        (Method::PUT, &long, &["5"], 414),
    ];
    for (method, path, fences, expected) in cases {
        let found = status(&service, request(method.clone(), path, fences)).await;
        assert_eq!(found, expected, "{method} {fences:?}");
    }
    assert_eq!(service.inner.served(), [None], "only the read without a token was served");
}

#[tokio::test]
async fn token_of_a_read_rejects_earlier_writers() {
    let service = FenceLayer::in_memory().layer(Recorder::new(9));
    assert_eq!(status(&service, request(Method::GET, "/a", &["6"])).await, 200);
    assert_eq!(status(&service, request(Method::PUT, "/a", &["5"])).await, 412);
}

/// Sends a slow request with token 5 and then a request with token 6. Returns the tokens in the
/// order in which the requests complete.
async fn completed<S>(service: S, recorder: &Recorder) -> Vec<Option<u64>>
where
    S: Service<Request<()>, Response = Response<String>, Error = Infallible> + Clone,
{
    let slow = status(&service, request(Method::PUT, "/a", &["5"]));
    let later = status(&service, request(Method::PUT, "/a", &["6"]));
    let permit = async {
        // Lets the other two futures run until both wait.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        recorder.permits.add_permits(1);
    };
    let (slow, later, ()) = tokio::join!(slow, later, permit);
    assert_eq!((slow, later), (200, 200));
    recorder.served()
}

#[tokio::test]
async fn slow_handler_of_an_earlier_holder_finishes_first() {
    let recorder = Recorder::new(0);
    let service = FenceLayer::in_memory().layer(recorder.clone());
    assert_eq!(completed(service, &recorder).await, [Some(5), Some(6)]);
    let recorder = Recorder::new(0);
    assert_eq!(completed(recorder.clone(), &recorder).await, [Some(6), Some(5)]);
}

#[tokio::test]
async fn directory_keeps_tokens_over_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let in_directory = || FenceLayer::in_directory(folder.path());
    let starts: [(&dyn Fn() -> FenceLayer, u16); 2] =
        [(&in_directory, 412), (&FenceLayer::in_memory, 200)];
    for (start, expected) in starts {
        let service = start().layer(Recorder::new(9));
        assert_eq!(status(&service, request(Method::PUT, "/a", &["6"])).await, 200);
        let restarted = start().layer(Recorder::new(9));
        assert_eq!(status(&restarted, request(Method::PUT, "/a", &["5"])).await, expected);
    }
}

#[tokio::test]
async fn unusable_directory_is_an_error_of_the_server() {
    let service = FenceLayer::in_directory("/nonexistent").layer(Recorder::new(9));
    assert_eq!(status(&service, request(Method::PUT, "/a", &["6"])).await, 500);
    assert_eq!(service.inner.served(), []);
}

#[tokio::test]
async fn paths_with_one_name_share_their_token() {
    let layer = FenceLayer::in_memory().resource(|uri| uri.host().unwrap_or("all").to_owned());
    let service = layer.layer(Recorder::new(9));
    assert_eq!(status(&service, request(Method::PUT, "/a", &["6"])).await, 200);
    assert_eq!(status(&service, request(Method::PUT, "/b", &["5"])).await, 412);
}
