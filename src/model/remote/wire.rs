//! One completion over HTTP: sends the request, reads the stream, and tries again if nothing was
//! said yet.

use std::{sync::Arc, time::Duration};

use madang_actors::{
    port::ModelError,
    protocol::{Completion, CompletionRequest, PromptMessage},
};
use reqwest::{
    Client, Response,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::{
    RemoteModel, Style,
    answer::Answer,
    broken::Broken,
    options::RemoteOptions,
    provider::Provider,
    quirks::Quirk,
    refusal::{Meaning, ModelRefusal},
    stream::Stream,
};

/// How often a request is sent again if the provider was too busy or failed.
const RETRIES: u32 = 2;
/// The longest pause that is waited for. If a provider wants a longer one, the person reads how
/// long it is.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The pause before the first retry, if the provider names none. It doubles each time.
const PAUSE: Duration = Duration::from_millis(500);
/// How often the oldest half of a prompt is left out if it is too long.
const HALVINGS: u32 = 3;
/// To find and greet a host.
const CONNECT: Duration = Duration::from_secs(10);
/// The most bytes of a refusal that are read, which is more than any has.
const MAX_REFUSAL: usize = 64 * 1024;

/// Makes the client of a model. TLS is rustls with ring and Mozilla's roots, because nothing else
/// here needs another.
pub(super) fn client() -> reqwest::Result<Client> {
    let roots = rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows the versions that rustls has by default")
        .with_root_certificates(roots)
        .with_no_client_auth();
    // No redirect is followed: it could take the key along.
    Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .connect_timeout(CONNECT)
        .user_agent(concat!("madang/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Why a try brought no answer.
#[derive(Debug)]
enum Failure {
    Refused(Box<ModelRefusal>),
    /// The connection was lost or never there, or the stream ended before the answer did.
    Lost(ModelError),
    Final(ModelError),
}

/// Completes a chat. What the model has said is in `answer`, even if this is dropped.
pub(super) async fn complete(
    model: &RemoteModel,
    request: &CompletionRequest,
    answer: &mut Answer,
) -> Result<Completion, ModelError> {
    let mut style = Style::default();
    let mut retries = 0;
    let mut halvings = 0;
    style.quirks = model.quirks.get();
    let key = model.options.key.as_deref();
    loop {
        let failure = match one_try(model, request, style, answer).await {
            Ok(()) => {
                let learned = answer.has_unopened_thought.then_some(Quirk::OpenedThoughts);
                model.quirks.add(style.quirks.and(learned.into_iter().collect()));
                return answer.finish(&model.options.name(), style.left_out);
            }
            Err(failure) => failure,
        };
        if answer.has_begun {
            return Err(failure.behind_words(key));
        }
        answer.forget();
        let usual = PAUSE * 2_u32.pow(retries);
        let pause = match &failure {
            Failure::Refused(refusal) => match &refusal.meaning {
                Meaning::Wants(quirks) if !quirks.is_within(style.quirks) => {
                    style.quirks = style.quirks.and(*quirks);
                    continue;
                }
                Meaning::BadSignature if !style.is_stripped => {
                    let stripped = Style { is_stripped: true, ..style };
                    if model.body(request, stripped) == model.body(request, style) {
                        return Err(failure.into_error(key));
                    }
                    style = stripped;
                    continue;
                }
                Meaning::TooLong if halvings < HALVINGS => {
                    let Some(left_out) = half(&request.messages, style.left_out) else {
                        return Err(failure.into_error(key));
                    };
                    (style.left_out, halvings) = (left_out, halvings + 1);
                    continue;
                }
                Meaning::Overloaded { retry_after } => retry_after.unwrap_or(usual),
                Meaning::Failed => usual,
                Meaning::Wants(_) | Meaning::BadSignature | Meaning::TooLong | Meaning::Final => {
                    return Err(failure.into_error(key));
                }
            },
            Failure::Lost(_) => usual,
            Failure::Final(_) => return Err(failure.into_error(key)),
        };
        if retries == RETRIES || pause > MAX_PAUSE {
            return Err(failure.into_error(key));
        }
        retries += 1;
        debug!(retries, ?pause, "a remote model is asked again");
        sleep(pause + spread(request)).await;
    }
}

/// Chats that failed together do not retry together.
fn spread(request: &CompletionRequest) -> Duration {
    let byte = request.id.to_string().bytes().fold(0_u8, |sum, byte| sum.wrapping_mul(31) ^ byte);
    Duration::from_millis(u64::from(byte))
}

/// Finds where the later half of a prompt begins: at a message of the user, so that no result is
/// without its call.
fn half(messages: &[PromptMessage], left_out: usize) -> Option<usize> {
    let middle = left_out + (messages.len() - left_out).div_ceil(2);
    let is_users = |index: &usize| matches!(messages[*index], PromptMessage::User { .. });
    let mut later = middle..messages.len();
    later.find(is_users).or_else(|| (left_out + 1..middle).rev().find(is_users))
}

async fn one_try(
    model: &RemoteModel,
    request: &CompletionRequest,
    style: Style,
    answer: &mut Answer,
) -> Result<(), Failure> {
    let options = &model.options;
    let body = serde_json::to_vec(&model.body(request, style)).expect("JSON can be written");
    let sent = model.client.post(address(options)).headers(headers(options)).body(body).send();
    let response = within(options, sent).await?;
    let status = response.status();
    if !status.is_success() {
        return Err(refused(options, response).await);
    }
    let mut stream = Stream::new(options.provider, style.quirks);
    let mut response = response;
    while !stream.is_over()
        && let Some(bytes) = within(options, response.chunk()).await?
    {
        stream.push(&bytes, answer).map_err(|cause| broken(options, cause))?;
    }
    stream.end(answer).map_err(|cause| broken(options, cause))
}

fn broken(options: &RemoteOptions, broken: Broken) -> Failure {
    match broken {
        Broken::Failed(refusal) => Failure::Refused(refusal),
        Broken::Unended => Failure::Lost(ModelError::failed(ModelError::CONNECTION_LOST)),
        Broken::BadOutput(_) | Broken::NoAnswer(_) | Broken::Refused(_) => {
            Failure::Final(broken.into_error(options.key.as_deref()))
        }
    }
}

async fn within<T>(
    options: &RemoteOptions,
    work: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, Failure> {
    let lost = |cause: reqwest::Error| {
        Failure::Lost(ModelError::failed_by(ModelError::CONNECTION_LOST, cause.without_url()))
    };
    match timeout(options.silence, work).await {
        Ok(done) => done.map_err(lost),
        Err(_) => Err(Failure::Final(ModelError::failed(ModelError::TIMEOUT))),
    }
}

async fn refused(options: &RemoteOptions, mut response: Response) -> Failure {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let mut body = Vec::new();
    while body.len() < MAX_REFUSAL
        && let Ok(Some(bytes)) = within(options, response.chunk()).await
    {
        body.extend_from_slice(&bytes[..bytes.len().min(MAX_REFUSAL - body.len())]);
    }
    let refusal = ModelRefusal::of(status, retry_after, &body);
    // What the provider wrote stays out of the log: it may repeat the prompt, or the key.
    let meaning = &refusal.meaning;
    warn!(provider = options.provider.name(), status, ?meaning, "a remote model refused");
    Failure::Refused(Box::new(refusal))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let of = |name: &HeaderName| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let in_millis = of(&HeaderName::from_static("retry-after-ms")).map(|millis| millis / 1e3);
    let seconds = in_millis.or_else(|| of(&RETRY_AFTER))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn address(options: &RemoteOptions) -> String {
    let RemoteOptions { provider, url, model, .. } = options;
    match provider {
        Provider::OpenAi => format!("{url}/chat/completions"),
        Provider::Anthropic => format!("{url}/v1/messages"),
        Provider::Gemini => format!("{url}/models/{model}:streamGenerateContent?alt=sse"),
        Provider::Ollama => format!("{url}/api/chat"),
    }
}

fn headers(options: &RemoteOptions) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if options.provider == Provider::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(secret) = &options.key {
        let (name, prefix) = match options.provider {
            Provider::OpenAi | Provider::Ollama => ("authorization", "Bearer "),
            Provider::Anthropic => ("x-api-key", ""),
            Provider::Gemini => ("x-goog-api-key", ""),
        };
        let value = HeaderValue::try_from([prefix, secret].concat());
        let mut value = value.expect("the options refuse keys with other characters");
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}

impl Failure {
    /// Returns the error if the model had said nothing.
    fn into_error(self, key: Option<&str>) -> ModelError {
        match self {
            Self::Lost(error) | Self::Final(error) => error,
            Self::Refused(refusal) => refusal.into_error(key),
        }
    }

    /// Returns the error if the model had begun to speak.
    fn behind_words(self, key: Option<&str>) -> ModelError {
        match self {
            Self::Refused(refusal) => refusal.behind_words(key),
            Self::Lost(_) | Self::Final(_) => self.into_error(key),
        }
    }
}
