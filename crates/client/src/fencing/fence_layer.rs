//! Layer for HTTP servers that compares the fencing tokens of requests.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use tower_layer::Layer;
use tower_service::Service;

use crate::fencing::fence_error::FenceError;
use crate::fencing::fence_registry::{FenceRegistry, MAX_RESOURCE_NAME_BYTES};

/// Header with the fencing token of a request, as a decimal number.
pub const FENCE_HEADER: HeaderName = HeaderName::from_static("tenure-fence");

/// Layer of an HTTP server that rejects requests with a stale fencing token.
///
/// A request has its token in the header `Tenure-Fence`. The layer compares this token with the
/// highest token that it has seen for the same resource. Requests with a token for one resource are
/// served one after another. The next of them begins when the head of the response to the previous
/// one is ready. An earlier holder therefore cannot write after a later holder, even if a handler
/// is slow.
///
/// | request | response |
/// |---|---|
/// | its token is lower than the highest one | 412, with the highest token in `Tenure-Fence` |
/// | it has no token, and its method may change the resource | 428 |
/// | its token is not a number, or it has several tokens | 400 |
/// | the name of its resource has more than 120 bytes | 414 |
/// | the fence file cannot be used | 500 |
/// | any other request | the response of the inner service |
///
/// GET, HEAD, OPTIONS and TRACE need no token. A holder should also send its token with its reads.
/// An earlier holder then cannot write between a read and the next write of this holder.
///
/// The resource of a request is the path of its URI, or the result of [`FenceLayer::resource`]. The
/// layer trusts the tokens that clients send, and a very high token blocks a resource for all other
/// clients. Requests should therefore first pass through a layer that authenticates clients. A
/// handler must not send a request for the resource that it serves. The layer does not protect work
/// that a handler leaves in the background.
#[derive(Clone)]
pub struct FenceLayer {
    registry: Arc<FenceRegistry>,
    resource: Arc<dyn Fn(&Uri) -> String + Send + Sync>,
}

impl FenceLayer {
    /// Creates a layer that keeps the highest tokens in a directory, with two small files for each
    /// resource. Servers on one machine may share the directory. The tokens survive a restart of
    /// the server.
    ///
    /// The directory must exist. Each token that is higher than all earlier tokens is flushed to
    /// disk.
    pub fn in_directory(directory: impl Into<PathBuf>) -> FenceLayer {
        FenceLayer::new(Some(directory.into()))
    }

    /// Creates a layer that keeps the highest tokens in memory: one entry for each resource that
    /// received a token. After a restart of the server a stale token is accepted until the current
    /// holder sends a request.
    pub fn in_memory() -> FenceLayer {
        FenceLayer::new(None)
    }

    fn new(directory: Option<PathBuf>) -> FenceLayer {
        let resource = Arc::new(|uri: &Uri| uri.path().to_owned());
        FenceLayer { registry: Arc::new(FenceRegistry::new(directory)), resource }
    }

    /// Sets the function that maps a request to the name of its resource. If one lock protects
    /// several paths, the function must return the same name for these paths.
    #[must_use]
    pub fn resource(self, name: impl Fn(&Uri) -> String + Send + Sync + 'static) -> FenceLayer {
        FenceLayer { resource: Arc::new(name), ..self }
    }
}

impl fmt::Debug for FenceLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FenceLayer").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = FenceService<S>;

    fn layer(&self, inner: S) -> FenceService<S> {
        FenceService { inner, layer: self.clone() }
    }
}

/// Service that compares fencing tokens before it calls the inner service. [`FenceLayer`] creates
/// it.
#[derive(Clone, Debug)]
pub struct FenceService<S> {
    inner: S,
    layer: FenceLayer,
}

impl<S, B, R> Service<Request<B>> for FenceService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
    R: From<String> + Send,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Only this instance of the inner service is ready; its clone may not be.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        Box::pin(async move {
            let fence = match fence_of(request.headers()) {
                Ok(Some(fence)) => fence,
                Ok(None) if request.method().is_safe() => return inner.call(request).await,
                Ok(None) => {
                    let message = format!("the request needs the header {FENCE_HEADER}");
                    return Ok(response(StatusCode::PRECONDITION_REQUIRED, message));
                }
                Err(message) => return Ok(response(StatusCode::BAD_REQUEST, message)),
            };
            let name = (layer.resource)(request.uri());
            if name.len() > MAX_RESOURCE_NAME_BYTES {
                let message = format!(
                    "the name of the resource has more than {MAX_RESOURCE_NAME_BYTES} bytes"
                );
                return Ok(response(StatusCode::URI_TOO_LONG, message));
            }
            let result = match layer.registry.admit(&name, fence).await {
                Ok(access) => {
                    let result = inner.call(request).await;
                    drop(access);
                    result
                }
                Err(error) => Ok(rejection(&error)),
            };
            layer.registry.evict_idle_gates();
            result
        })
    }
}

/// Returns the token of a request, or a message if the header is invalid.
fn fence_of(headers: &HeaderMap) -> Result<Option<u64>, String> {
    let mut values = headers.get_all(FENCE_HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str().ok().and_then(|text| text.parse().ok()) {
            Some(fence) => Ok(Some(fence)),
            None => Err(format!("invalid header {FENCE_HEADER}: expected a decimal number")),
        },
        (Some(_), Some(_)) => Err(format!("the request has several headers {FENCE_HEADER}")),
    }
}

fn rejection<R: From<String>>(error: &FenceError) -> Response<R> {
    match error {
        FenceError::Stale { highest, .. } => {
            let mut stale = response(StatusCode::PRECONDITION_FAILED, error.to_string());
            stale.headers_mut().insert(FENCE_HEADER, HeaderValue::from(*highest));
            stale
        }
        // Clients must not see the path of the file.
        FenceError::File { .. } | FenceError::Damaged { .. } => {
            let message = "the server cannot compare fencing tokens".to_owned();
            response(StatusCode::INTERNAL_SERVER_ERROR, message)
        }
    }
}

fn response<R: From<String>>(status: StatusCode, message: String) -> Response<R> {
    let mut response = Response::new(R::from(message + "\n"));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
