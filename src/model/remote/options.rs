//! The options of a remote model: provider, model, address, key and bounds.

use std::{fmt, time::Duration};

use reqwest::Url;

use super::provider::Provider;

/// The variable of the environment that has the key for another address than a provider's own.
const ELSEWHERE_KEY: &str = "MADANG_REMOTE_KEY";

/// Options of a [`RemoteModel`](super::RemoteModel).
#[derive(Clone)]
pub struct RemoteOptions {
    pub(super) provider: Provider,
    pub(super) model: String,
    pub(super) url: String,
    pub(super) key: Option<String>,
    pub(super) thinking_tokens: Option<u32>,
    pub(super) context_tokens: u32,
    pub(super) max_concurrent: usize,
    pub(super) silence: Duration,
}

impl RemoteOptions {
    /// Makes options for this model of this provider, at its usual address and without a key.
    #[must_use]
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            url: provider.url().to_owned(),
            key: None,
            thinking_tokens: None,
            context_tokens: 16_384,
            max_concurrent: 32,
            silence: Duration::from_secs(60),
        }
    }

    /// Reads the key from the environment. The address decides which variable is read:
    /// `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `GEMINI_API_KEY` for the provider's own server, and
    /// `MADANG_REMOTE_KEY` for any other.
    #[must_use]
    pub fn key_from_env(mut self) -> Self {
        let variable = self.key_variable();
        let read = |name| std::env::var(name).ok().filter(|key| !key.trim().is_empty());
        self.key = variable.and_then(read);
        self
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the address of another server that speaks the same format. Paths are added to it:
    /// `http://127.0.0.1:8080/v1`.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        let url: String = url.into();
        self.url = url.trim_end_matches('/').to_owned();
        self
    }

    /// Lets the model think first, in at most this many tokens. Anthropic and Gemini count them.
    /// Ollama only turns thinking on or off. Other servers decide themselves.
    #[must_use]
    pub fn thinking_tokens(mut self, tokens: impl Into<Option<u32>>) -> Self {
        self.thinking_tokens = tokens.into();
        self
    }

    /// Sets the size of Ollama's context, in tokens of prompt and answer, 16,384 by default. Ollama
    /// truncates longer prompts.
    #[must_use]
    pub fn context_tokens(mut self, tokens: u32) -> Self {
        self.context_tokens = tokens;
        self
    }

    /// Sets how many completions run at once, 32 by default. The rest wait in a fair queue.
    #[must_use]
    pub fn max_concurrent(mut self, count: usize) -> Self {
        self.max_concurrent = count;
        self
    }

    /// Sets how long the provider may be silent, 60 seconds by default.
    #[must_use]
    pub fn silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// Names the model, for people: `PROVIDER:MODEL`.
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.provider.name(), self.model)
    }

    /// Returns the name of the variable with the key for this address, or `None` if it usually
    /// needs no key.
    fn key_variable(&self) -> Option<&'static str> {
        let origin = |url| Url::parse(url).ok().map(|url| url.origin());
        let here = origin(&self.url);
        let host = Provider::ALL.into_iter().find(|host| origin(host.url()) == here);
        host.map_or(Some(ELSEWHERE_KEY), Provider::key_variable)
    }

    /// Checks what can be known without asking.
    pub(super) fn check(&self) -> Result<(), RemoteError> {
        let url = Url::parse(&self.url).ok().filter(|url| url.has_host());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| RemoteError::Url(self.url.clone()))?;
        // A part of an address, for Gemini.
        let has_wrong = self.model.contains(|c: char| !c.is_ascii_graphic() || "?#%".contains(c));
        if self.model.is_empty() || has_wrong || self.model.contains("..") {
            return Err(RemoteError::Model(self.model.clone()));
        }
        let wanted = self.key_variable().filter(|variable| *variable != ELSEWHERE_KEY);
        match (&self.key, wanted) {
            (Some(key), _) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(RemoteError::Key)
            }
            (Some(_), _) if url.scheme() == "http" && !is_this_machine(&url) => {
                Err(RemoteError::ClearText(self.url.clone()))
            }
            (None, Some(variable)) => Err(RemoteError::NoKey { variable }),
            _ => Ok(()),
        }
    }
}

/// Returns whether requests to an address never leave this machine.
fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    ip.map_or(host == "localhost", |ip| ip.is_loopback())
}

/// The key is left out.
impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteOptions")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("url", &self.url)
            .field("has_key", &self.key.is_some())
            .finish_non_exhaustive()
    }
}

/// A reason why a remote model cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The provider wants a key.
    #[error("this provider wants a key: set {variable}")]
    NoKey {
        /// The variable of the environment that usually has it.
        variable: &'static str,
    },
    /// The key cannot be sent in a header.
    #[error("the key has characters that no key has")]
    Key,
    /// The address is invalid.
    #[error("{0:?} is not an address: give one such as http://127.0.0.1:8080/v1")]
    Url(String),
    /// The name of the model is empty, or has characters that no such name has.
    #[error("{0:?} is not the name of a model")]
    Model(String),
    /// The key would be sent without encryption.
    #[error("a key is not sent in clear text, and {0} has no TLS: use https")]
    ClearText(String),
    /// The client of this machine could not be made.
    #[error("failed to prepare the connections")]
    Client(#[source] reqwest::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_decides_which_key_it_is_sent() {
        for (url, variable) in [
            ("https://api.openai.com/v1", Some("OPENAI_API_KEY")),
            ("https://API.openai.com:443/", Some("OPENAI_API_KEY")),
            ("https://api.anthropic.com", Some("ANTHROPIC_API_KEY")),
            ("https://generativelanguage.googleapis.com/v1beta/openai", Some("GEMINI_API_KEY")),
            ("http://127.0.0.1:11434/v1", None),
            ("http://127.0.0.1:8080/v1", Some(ELSEWHERE_KEY)),
            ("https://api.openai.com.example/v1", Some(ELSEWHERE_KEY)),
            ("https://api.openai.com@models.example", Some(ELSEWHERE_KEY)),
            ("nonsense", Some(ELSEWHERE_KEY)),
        ] {
            for provider in Provider::ALL {
                let options = RemoteOptions::new(provider, "m").url(url);
                assert_eq!(options.key_variable(), variable, "{provider:?} at {url}");
            }
        }
    }
}
