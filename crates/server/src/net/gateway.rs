//! JSON over HTTP: converts each request to gRPC, and the response to JSON.

use std::sync::Arc;

use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame};
use prost::Message;
use prost::bytes::{Buf, BytesMut};
use prost_reflect::{
    DeserializeOptions, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions,
};
use tokio::time::timeout;
use tonic::body::Body;
use tonic::{Code, Status};

use crate::blocking::run_blocking;
use crate::member::Member;
use crate::net::incomplete_message_budget::RequestBody;
use crate::net::json_enums;
use crate::net::json_stream::JsonValueReader;
use crate::net::listener::{KEEPALIVE_TIMEOUT, json_response};
use crate::net::response_budget::{self, CommittedWrite, ResponseBudgetShare};
use crate::rpc::descriptors::DESCRIPTOR_POOL;
use crate::rpc::error::RpcError;
use crate::rpc::{ResponseSender, router, spawn_response_stream};

/// HTTP paths, each with the gRPC service and method that serve it.
const PATHS: &[(&str, &str, &str)] = &[
    ("/v3/kv/range", "etcdserverpb.KV", "Range"),
    ("/v3/kv/put", "etcdserverpb.KV", "Put"),
    ("/v3/kv/deleterange", "etcdserverpb.KV", "DeleteRange"),
    ("/v3/kv/txn", "etcdserverpb.KV", "Txn"),
    ("/v3/kv/compaction", "etcdserverpb.KV", "Compact"),
    ("/v3/watch", "etcdserverpb.Watch", "Watch"),
    ("/v3/lease/grant", "etcdserverpb.Lease", "LeaseGrant"),
    ("/v3/lease/revoke", "etcdserverpb.Lease", "LeaseRevoke"),
    ("/v3/kv/lease/revoke", "etcdserverpb.Lease", "LeaseRevoke"),
    ("/v3/lease/keepalive", "etcdserverpb.Lease", "LeaseKeepAlive"),
    ("/v3/lease/timetolive", "etcdserverpb.Lease", "LeaseTimeToLive"),
    ("/v3/kv/lease/timetolive", "etcdserverpb.Lease", "LeaseTimeToLive"),
    ("/v3/lease/leases", "etcdserverpb.Lease", "LeaseLeases"),
    ("/v3/kv/lease/leases", "etcdserverpb.Lease", "LeaseLeases"),
    ("/v3/cluster/member/list", "etcdserverpb.Cluster", "MemberList"),
    ("/v3/cluster/member/add", "etcdserverpb.Cluster", "MemberAdd"),
    ("/v3/cluster/member/remove", "etcdserverpb.Cluster", "MemberRemove"),
    ("/v3/cluster/member/promote", "etcdserverpb.Cluster", "MemberPromote"),
    ("/v3/maintenance/alarm", "etcdserverpb.Maintenance", "Alarm"),
    ("/v3/maintenance/status", "etcdserverpb.Maintenance", "Status"),
    ("/v3/maintenance/defragment", "etcdserverpb.Maintenance", "Defragment"),
    ("/v3/maintenance/hash", "etcdserverpb.Maintenance", "Hash"),
    ("/v3/maintenance/hashkv", "etcdserverpb.Maintenance", "HashKV"),
    ("/v3/maintenance/snapshot", "etcdserverpb.Maintenance", "Snapshot"),
    ("/v3/maintenance/transfer-leadership", "etcdserverpb.Maintenance", "MoveLeader"),
    ("/v3/auth/enable", "etcdserverpb.Auth", "AuthEnable"),
    ("/v3/auth/disable", "etcdserverpb.Auth", "AuthDisable"),
    ("/v3/auth/user/add", "etcdserverpb.Auth", "UserAdd"),
    ("/v3/auth/user/get", "etcdserverpb.Auth", "UserGet"),
    ("/v3/auth/user/list", "etcdserverpb.Auth", "UserList"),
    ("/v3/auth/user/delete", "etcdserverpb.Auth", "UserDelete"),
    ("/v3/auth/user/changepw", "etcdserverpb.Auth", "UserChangePassword"),
    ("/v3/auth/user/grant", "etcdserverpb.Auth", "UserGrantRole"),
    ("/v3/auth/user/revoke", "etcdserverpb.Auth", "UserRevokeRole"),
    ("/v3/auth/role/add", "etcdserverpb.Auth", "RoleAdd"),
    ("/v3/auth/role/get", "etcdserverpb.Auth", "RoleGet"),
    ("/v3/auth/role/list", "etcdserverpb.Auth", "RoleList"),
    ("/v3/auth/role/delete", "etcdserverpb.Auth", "RoleDelete"),
    ("/v3/auth/role/grant", "etcdserverpb.Auth", "RoleGrantPermission"),
    ("/v3/auth/role/revoke", "etcdserverpb.Auth", "RoleRevokePermission"),
    ("/v3/auth/status", "etcdserverpb.Auth", "AuthStatus"),
    ("/v3/auth/authenticate", "etcdserverpb.Auth", "Authenticate"),
    ("/v3/lock/lock", "v3lockpb.Lock", "Lock"),
    ("/v3/lock/unlock", "v3lockpb.Lock", "Unlock"),
    ("/v3/election/campaign", "v3electionpb.Election", "Campaign"),
    ("/v3/election/proclaim", "v3electionpb.Election", "Proclaim"),
    ("/v3/election/leader", "v3electionpb.Election", "Leader"),
    ("/v3/election/observe", "v3electionpb.Election", "Observe"),
    ("/v3/election/resign", "v3electionpb.Election", "Resign"),
];

/// Returns the gRPC method for the path of an HTTP request. Also accepts the path prefix `/v3beta`
/// of etcd 3.3. Returns `None` if the path is unknown.
pub(crate) fn find_method(path: &str) -> Option<MethodDescriptor> {
    let of = |path| str::strip_prefix(path, "/v3");
    let path = path.strip_prefix("/v3beta").or_else(|| of(path))?;
    let (_, service, method) = PATHS.iter().find(|(known, ..)| of(known) == Some(path))?;
    let service = DESCRIPTOR_POOL.get_service_by_name(service)?;
    service.methods().find(|it| it.name() == *method)
}

pub(crate) async fn respond(
    member: Arc<Member>,
    request: Request<impl RequestBody>,
) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let Some(method) = find_method(&path) else {
        return error_response(&Status::new(Code::NotFound, "Not Found"));
    };
    // The JSON text is longer than the message, because it contains bytes as base64.
    let max_bytes = 2 * member.config.limits.max_message_bytes();
    let (head, body) = request.into_parts();
    let frames = match method.is_client_streaming() {
        true => {
            frame_stream(
                member.incomplete_message_budget.meter_json_messages(body),
                method.input(),
                max_bytes,
            )
            .await
        }
        false => {
            single_frame(
                member.incomplete_message_budget.meter_single_message(body),
                method.input(),
                max_bytes,
            )
            .await
        }
    };
    // The router counts only errors of calls that it has received.
    let rejected = |status: &Status| {
        member.rejections.increment(status.code());
        error_response(status)
    };
    let call = frames.and_then(|frames| call(&method, frames, &head.headers));
    let mut call = match call {
        Ok(call) => call,
        Err(status) => return rejected(&status),
    };
    if let Some(peer) = head.extensions.get::<std::net::SocketAddr>() {
        call.extensions_mut().insert(*peer);
    }
    let response = router::serve_grpc_call(member.clone(), call).await;
    if let Some(status) = failed_status(response.headers()) {
        return match method.is_server_streaming() {
            true => failed_stream(&status),
            false => error_response(&status),
        };
    }
    if method.is_server_streaming() {
        return stream_lines(response.into_body(), method.output()).await;
    }
    let body = json_body(&member, response, method.output()).await;
    body.unwrap_or_else(|status| rejected(&status))
}

async fn single_frame(
    body: Body,
    kind: MessageDescriptor,
    max_bytes: usize,
) -> Result<Body, Status> {
    let body = timeout(KEEPALIVE_TIMEOUT, Limited::new(body, max_bytes).collect()).await;
    let body = body.map_err(|_| Status::deadline_exceeded("the request is incomplete"))?;
    let text = body.map_err(body_error)?.to_bytes();
    Ok(Body::new(Full::from(encode_frame(&text, kind)?)))
}

/// Reads a body of JSON messages, and returns a stream of gRPC frames. If the first message is
/// invalid, the request fails. If a later message is invalid, the stream ends. etcd does the same.
async fn frame_stream(
    body: Body,
    kind: MessageDescriptor,
    max_bytes: usize,
) -> Result<Body, Status> {
    let mut values = JsonValueReader::new(body, max_bytes);
    let first = timeout(KEEPALIVE_TIMEOUT, values.next()).await;
    let first = first.map_err(|_| Status::deadline_exceeded("the request has no message"))??;
    let first = first.map(|text| encode_frame(&text, kind.clone())).transpose()?;
    let is_over = first.is_none();
    let rest = futures_util::stream::unfold((values, is_over), move |(mut values, is_over)| {
        let kind = kind.clone();
        async move {
            let text = if is_over { None } else { values.next().await.ok()? };
            Some((encode_frame(&text?, kind).ok()?, (values, false)))
        }
    });
    let frames = futures_util::stream::iter(first).chain(rest);
    Ok(Body::new(StreamBody::new(frames.map(|frame| Ok::<_, Status>(Frame::data(frame))))))
}

fn encode_frame(text: &[u8], kind: MessageDescriptor) -> Result<Bytes, Status> {
    let message = parse_message(text, kind).map_err(Status::invalid_argument)?.encode_to_vec();
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
    Ok([&[0], &length[..], &message].concat().into())
}

/// Returns the metadata of a call from the HTTP headers, as the gateway of etcd does.
///
/// The header `Grpc-Metadata-NAME` becomes the metadata NAME. `Authorization` and `Grpc-Timeout`
/// are copied. Names that gRPC reserves are dropped. Fails if `Grpc-Timeout` is malformed.
fn metadata(headers: &HeaderMap) -> Result<HeaderMap, Status> {
    let mut metadata = HeaderMap::new();
    for name in ["authorization", "grpc-timeout"] {
        metadata
            .extend(headers.get(name).map(|value| (HeaderName::from_static(name), value.clone())));
    }
    if let Some(time) = metadata.get("grpc-timeout")
        && router::parse_timeout(time.to_str().unwrap_or_default()).is_none()
    {
        let time = String::from_utf8_lossy(time.as_bytes());
        return Err(Status::invalid_argument(format!("invalid grpc-timeout: {time}")));
    }
    for (name, value) in headers {
        let name = name.as_str().strip_prefix("grpc-metadata-");
        let name =
            name.filter(|name| !name.starts_with("grpc-") && !RESERVED_METADATA.contains(name));
        if let Some(name) = name.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok()) {
            metadata.append(name, value.clone());
        }
    }
    Ok(metadata)
}

const RESERVED_METADATA: &[&str] = &[
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "user-agent",
];

fn body_error(error: Box<dyn std::error::Error + Send + Sync>) -> Status {
    let too_large = |_| Box::new(Status::resource_exhausted("the request is too large"));
    *error.downcast().unwrap_or_else(too_large)
}

/// Converts the response of a unary call to JSON. A large response is converted in a blocking
/// thread. Its share of the response budget is held until the JSON text is sent.
async fn json_body(
    member: &Member,
    mut response: Response<Body>,
    kind: MessageDescriptor,
) -> Result<Response<Body>, Status> {
    let share = response.extensions_mut().remove::<ResponseBudgetShare>();
    let is_committed = response.extensions().get::<CommittedWrite>().is_some();
    let _permit = match share {
        Some(_) => {
            let permit = member.response_budget.json_conversion_limit.acquire().await;
            Some(permit.map_err(|error| if is_committed { RpcError::TIMED_OUT } else { error })?)
        }
        None => None,
    };
    let collected = response.into_body().collect().await;
    let collected = collected.map_err(|_| Status::unknown("the response is incomplete"))?;
    if let Some(status) = collected.trailers().and_then(failed_status) {
        return Err(status);
    }
    let text = move || {
        let text =
            take_message(&mut BytesMut::from(collected.to_bytes())).map(|it| to_json(it, kind));
        let text = text.and_then(Result::ok);
        text.ok_or_else(|| Status::unknown("the response cannot be written as JSON"))
    };
    let Some(share) = share else { return Ok(json_response(StatusCode::OK, text()?)) };
    let text = run_blocking(text).await??;
    let length = HeaderValue::from(text.len());
    let mut response = json_response(StatusCode::OK, text);
    response.headers_mut().insert(header::CONTENT_LENGTH, length);
    response.extensions_mut().insert(share);
    Ok(response_budget::move_share_to_body(response))
}

/// Parses a JSON message. As for etcd, unknown fields are ignored, unknown names of enum values are
/// rejected, and an empty body is an empty message.
fn parse_message(body: &[u8], kind: MessageDescriptor) -> Result<DynamicMessage, String> {
    let text = if body.iter().all(u8::is_ascii_whitespace) { &b"{}"[..] } else { body };
    // The lenient parser would read an unknown name as the default value.
    json_enums::check_enum_names(text, kind.clone()).map_err(|error| error.to_string())?;
    let mut from = serde_json::Deserializer::from_slice(text);
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let message = DynamicMessage::deserialize_with_options(kind, &mut from, &options);
    let message = message.map_err(|error| error.to_string())?;
    from.end().map_err(|error| error.to_string())?;
    Ok(message)
}

/// Converts a message to JSON. Fields have the names of the proto files. Fields with default values
/// are omitted. 64-bit numbers become strings, and bytes become base64.
fn to_json(message: impl Buf, kind: MessageDescriptor) -> Result<String, String> {
    let message = DynamicMessage::decode(kind, message).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    let mut to = serde_json::Serializer::new(&mut text);
    let options = SerializeOptions::new().use_proto_field_name(true);
    message.serialize_with_options(&mut to, &options).map_err(|error| error.to_string())?;
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// Parses `text` as a JSON request of one of the gateway's paths, encodes the request in protobuf,
/// and converts this encoding back to JSON. `path_index` selects the path. Only the fuzz tests use
/// this function.
#[cfg(feature = "fuzzing")]
pub(crate) fn reencode_json(path_index: u8, text: &[u8]) -> Option<Result<String, String>> {
    let (path, ..) = PATHS[usize::from(path_index) % PATHS.len()];
    let kind = find_method(path)?.input();
    Some(
        parse_message(text, kind.clone())
            .and_then(|message| to_json(&message.encode_to_vec()[..], kind)),
    )
}

fn call(
    method: &MethodDescriptor,
    frames: Body,
    headers: &HeaderMap,
) -> Result<Request<Body>, Status> {
    let mut request = Request::new(frames);
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = path.parse().expect("service and method form a path");
    *request.headers_mut() = metadata(headers)?;
    let kind = HeaderValue::from_static("application/grpc");
    request.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(request)
}

/// Returns the error status in the headers or trailers of a gRPC response; `None` after success.
fn failed_status(headers: &HeaderMap) -> Option<Status> {
    Status::from_header_map(headers).filter(|status| status.code() != Code::Ok)
}

/// Removes the next complete gRPC message from the received bytes, and returns it. Returns `None`
/// if the message is incomplete.
fn take_message(bytes: &mut BytesMut) -> Option<Bytes> {
    let length = u32::from_be_bytes(bytes.get(1..5)?.try_into().ok()?) as usize;
    if bytes.len() < 5 + length {
        return None;
    }
    bytes.advance(5);
    Some(bytes.split_to(length).freeze())
}

/// Converts a stream of gRPC messages to lines of JSON.
///
/// The function returns the response when the first message has arrived. If the call fails earlier,
/// the error determines the HTTP status. etcd does the same.
async fn stream_lines(mut body: Body, kind: MessageDescriptor) -> Response<Body> {
    let mut bytes = BytesMut::new();
    let first = loop {
        let frame = match body.frame().await {
            None => break String::new(),
            Some(Err(status)) => return failed_stream(&status),
            Some(Ok(frame)) => frame,
        };
        match completed_lines(frame, &kind, &mut bytes) {
            Err(status) => return failed_stream(&status),
            Ok(lines) if lines.is_empty() => {}
            Ok(lines) => break lines,
        }
    };
    let lines = spawn_response_stream(|lines| forward_lines(body, kind, bytes, first, lines));
    let mut response = Response::new(Body::new(StreamBody::new(lines)));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn forward_lines(
    mut body: Body,
    kind: MessageDescriptor,
    mut bytes: BytesMut,
    first: String,
    sender: ResponseSender<Frame<Bytes>>,
) {
    let mut lines = first;
    loop {
        if !lines.is_empty() && sender.send(Ok(Frame::data(Bytes::from(lines)))).await.is_err() {
            return;
        }
        lines = match body.frame().await {
            None => return,
            Some(Err(status)) => failed_line(&status),
            Some(Ok(frame)) => completed_lines(frame, &kind, &mut bytes)
                .unwrap_or_else(|status| failed_line(&status)),
        };
    }
}

/// Adds the data of a frame to `bytes`. Removes the complete messages from `bytes` and returns each
/// of them as a line of JSON. If the frame contains the error status of a failed call, returns this
/// error.
fn completed_lines(
    frame: Frame<Bytes>,
    kind: &MessageDescriptor,
    bytes: &mut BytesMut,
) -> Result<String, Status> {
    match frame.into_data() {
        Ok(data) => {
            bytes.extend_from_slice(&data);
            let messages = std::iter::from_fn(|| take_message(bytes));
            let texts = messages.filter_map(|message| to_json(message, kind.clone()).ok());
            Ok(texts.map(|text| format!("{{\"result\":{text}}}\n")).collect())
        }
        Err(frame) => match frame.trailers_ref().and_then(failed_status) {
            Some(status) => Err(status),
            None => Ok(String::new()),
        },
    }
}

fn failed_stream(status: &Status) -> Response<Body> {
    json_response(http_code(status.code()), failed_line(status))
}

/// Returns the line of JSON that ends a failed stream. The line has all fields that etcd writes
/// when a stream fails, and all fields that etcd writes when a unary call fails.
fn failed_line(status: &Status) -> String {
    let http = http_code(status.code());
    let (grpc_code, message) = (i32::from(status.code()), status.message());
    let error = serde_json::json!({
        "grpc_code": grpc_code,
        "http_code": http.as_u16(),
        "message": message,
        "http_status": http.canonical_reason().unwrap_or_default(),
        "error": message,
        "code": grpc_code,
    });
    format!("{{\"error\":{error}}}\n")
}

fn error_response(status: &Status) -> Response<Body> {
    // The fields have the order of etcd.
    let (message, code) = (serde_json::Value::from(status.message()), i32::from(status.code()));
    let body = format!(r#"{{"error":{message},"code":{code},"message":{message}}}"#);
    json_response(http_code(status.code()), body)
}

fn http_code(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_member::TestMember;

    #[test]
    fn every_path_has_a_method() {
        for (path, ..) in PATHS {
            assert!(find_method(path).is_some(), "{path}");
        }
        assert_eq!(find_method("/v3beta/kv/range"), find_method("/v3/kv/range"));
        for unknown in ["/v3/kv/other", "/v3alpha/kv/range", "/kv/range", "/v3"] {
            assert!(find_method(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn json_and_protobuf_round_trip() {
        let kind = DESCRIPTOR_POOL.get_message_by_name("mvccpb.KeyValue").expect("a message");
        let text = r#"{"key":"Zm9v","create_revision":"2","mod_revision":"3"}"#;
        let message = parse_message(text.as_bytes(), kind.clone()).expect("JSON");
        assert_eq!(to_json(&message.encode_to_vec()[..], kind.clone()), Ok(text.to_owned()));
        let other =
            parse_message(br#"{"key":"Zm9v","createRevision":2,"modRevision":"3"}"#, kind.clone());
        assert_eq!(other.as_ref(), Ok(&message));
        assert!(parse_message(br#"{"other":1}"#, kind.clone()).is_ok());
        for wrong in [r#"{"key":1}"#, "{", "[]", "{} {}"] {
            assert!(parse_message(wrong.as_bytes(), kind.clone()).is_err(), "{wrong}");
        }
        assert!(parse_message(b" ", kind).is_ok());
    }

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let all = all.iter().map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            (name, HeaderValue::from_str(value).expect("a value"))
        });
        all.collect()
    }

    #[test]
    fn http_headers_become_grpc_metadata() {
        let metadata = |all: &[(&str, &str)]| metadata(&headers(all)).expect("metadata");
        let found = metadata(&[
            ("Grpc-Metadata-Token", "a.1"),
            ("Grpc-Metadata-hasleader", "true"),
            ("Grpc-Metadata-client-api-version", "3.5"),
            ("Grpc-Timeout", "100m"),
            ("User-Agent", "curl"),
            ("Grpc-Metadata-Content-Type", "text/plain"),
            ("Grpc-Metadata-grpc-timeout", "1n"),
        ]);
        let expected = headers(&[
            ("token", "a.1"),
            ("hasleader", "true"),
            ("client-api-version", "3.5"),
            ("grpc-timeout", "100m"),
        ]);
        assert_eq!(found, expected);
        for name in ["Authorization", "Grpc-Metadata-Authorization"] {
            assert_eq!(metadata(&[(name, "a.1")]), headers(&[("authorization", "a.1")]));
        }
        // The HTTP header takes precedence.
        let both = [("Grpc-Metadata-Authorization", "b.1"), ("Authorization", "a.1")];
        assert_eq!(metadata(&both)["authorization"], "a.1");
    }

    #[test]
    fn rejects_invalid_timeout() {
        let rejected = metadata(&headers(&[("Grpc-Timeout", "5x")])).expect_err("an error");
        assert_eq!(rejected.message(), "invalid grpc-timeout: 5x");
    }

    #[test]
    fn rejects_unknown_names_of_enum_values() {
        let txn = |target: &str| {
            let kind =
                DESCRIPTOR_POOL.get_message_by_name("etcdserverpb.TxnRequest").expect("a message");
            parse_message(
                format!(r#"{{"compare":[{{"key":"YQ==","target":{target}}}]}}"#).as_bytes(),
                kind,
            )
        };
        assert_eq!(txn(r#""MOD""#), txn("2"));
        for right in ["null", "77", r#"2,"other":{"target":"MODREV"}"#] {
            assert!(txn(right).is_ok(), "{right}");
        }
        for wrong in [r#""MODREV""#, r#""mod""#, r#""2""#, r#""""#, "true", "{}", "[2]"] {
            assert!(txn(wrong).is_err(), "{wrong}");
        }
        let watch =
            DESCRIPTOR_POOL.get_message_by_name("etcdserverpb.WatchRequest").expect("a message");
        let filters = |name| format!(r#"{{"createRequest":{{"filters":["NOPUT","{name}"]}}}}"#);
        assert!(parse_message(filters("NODELETE").as_bytes(), watch.clone()).is_ok());
        assert!(parse_message(filters("NODELETES").as_bytes(), watch).is_err());
    }

    #[tokio::test]
    async fn rejected_json_requests_are_counted_once() {
        let member = TestMember::start();
        let large = " ".repeat(2 * member.member.config.limits.max_message_bytes() + 1);
        // The router rejects the last request, and the gateway rejects all others.
        for (path, timeout, body, expected) in [
            ("/v3/kv/range", "60S", "x", vec![(3, 1)]),
            ("/v3/lease/keepalive", "60S", "x", vec![(3, 2)]),
            ("/v3/kv/range", "60S", r#"{"key":1}"#, vec![(3, 3)]),
            ("/v3/kv/range", "5x", r#"{"key":"YQ=="}"#, vec![(3, 4)]),
            ("/v3/kv/put", "60S", &large, vec![(3, 4), (8, 1)]),
            ("/v3/kv/range", "60S", "{}", vec![(3, 5), (8, 1)]),
        ] {
            let body = Body::new(Full::from(body.to_owned()));
            let request = Request::post(path).header("grpc-timeout", timeout).body(body);
            respond(member.member.clone(), request.expect("a request")).await;
            let counts: Vec<_> = member.member.rejections.counts_by_code().collect();
            assert_eq!(counts, expected, "{path}");
        }
    }
}
