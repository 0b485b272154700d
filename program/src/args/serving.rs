//! Options of the commands that serve chats over HTTP: serve and token.

use std::{path::PathBuf, time::Duration};

use clap::{ArgGroup, Args as Options, Subcommand, ValueEnum};
use madang::UserId;
use madang_server::{
    JwtIssuer, ListenAddress, OnDisconnect, ServicePrefix, Tls, TlsError, TokenScope, UserHeader,
    WebOrigin,
};

use super::shared::{Database, FallBacks, McpChoice, ModelChoice, ToolOptions, user};
use crate::language::UiLanguage;

#[derive(Debug, Options)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) which: ModelChoice,
    #[command(flatten)]
    pub(crate) fall_backs: FallBacks,
    #[command(flatten)]
    pub(crate) tools: ToolOptions,
    #[command(flatten)]
    pub(crate) mcp: McpChoice,
    /// The address to listen on: ADDRESS:PORT, unix:PATH, or fd:N for an inherited socket. Can be
    /// given several times.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8137")]
    pub(crate) listen: Vec<ListenAddress>,
    /// The address at which browsers reach the server, such as that of a proxy with TLS.
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<WebOrigin>,
    /// The file of tokens, which `madang token` changes. Without it, the database's path with
    /// `.tokens` appended, and one more token for the user, created at the first start.
    #[arg(long, value_name = "FILE", conflicts_with = "is_open")]
    pub(crate) tokens: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jwt: JwtOptions,
    #[command(flatten)]
    pub(crate) tls: TlsOptions,
    /// Ask for no token. Only on loopback addresses and Unix sockets.
    #[arg(long = "open")]
    pub(crate) is_open: bool,
    /// What requests without a token may do, separated by commas: chat, decide, tools, admin.
    /// Without it, all but admin.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = scope, requires = "is_open")]
    pub(crate) open_scope: Vec<TokenScope>,
    /// A site whose pages may use this server with a token. Can be given several times.
    #[arg(long, value_name = "URL")]
    pub(crate) allow_origin: Vec<WebOrigin>,
    /// What a lost connection does to the turn that it reads: the turn continues or is dismissed.
    #[arg(long, value_name = "POLICY", default_value = "continue")]
    on_disconnect: LeftTurn,
    /// How many seconds an approval request stays open. After that its call expires, and nothing
    /// runs.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = some_seconds)]
    pub(crate) decision_timeout: Duration,
    /// Collect metrics and serve them under /metrics. At this address they need no token; at the
    /// other addresses they need one with the scope admin. Can be given several times.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Vec<ListenAddress>,
    /// Serve no page for browsers.
    #[arg(long = "no-page")]
    pub(crate) has_no_page: bool,
    /// Serve the page from this folder, for development.
    #[arg(long, value_name = "FOLDER", conflicts_with = "has_no_page")]
    pub(crate) assets: Option<PathBuf>,
    /// Wait up to this many seconds for the end of another process that holds the database or the
    /// address.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub(crate) wait_for_lock: Duration,
    /// The language of the server's messages. Without it, that of the environment.
    #[arg(long, value_enum, default_value_t, hide_default_value = true)]
    pub(crate) locale: UiLanguage,
}

#[derive(Debug, Options)]
pub(crate) struct JwtOptions {
    /// The public keys of an issuer whose users may log in by JWTs: a JWK set, or one key as PEM.
    /// The file is read again when it changes.
    #[arg(long, value_name = "FILE", requires_all = ["jwt_issuer", "jwt_audience"], conflicts_with = "is_open")]
    jwt: Option<PathBuf>,
    /// The issuer, as its JWTs name it.
    #[arg(long, value_name = "URL", requires = "jwt")]
    jwt_issuer: Option<String>,
    /// The audience that a JWT for this server names.
    #[arg(long, value_name = "NAME", requires = "jwt")]
    jwt_audience: Option<String>,
    /// The prefix below which the issuer's users are named: PREFIX/user.
    #[arg(long, value_name = "PREFIX", default_value = "jwt", value_parser = prefix, requires = "jwt")]
    jwt_prefix: ServicePrefix,
}

impl JwtOptions {
    pub(crate) fn issuer(&self) -> Option<JwtIssuer> {
        let Self { jwt, jwt_issuer, jwt_audience, jwt_prefix } = self;
        let issuer = jwt_issuer.as_deref()?;
        let audience = jwt_audience.as_deref()?;
        Some(JwtIssuer::new(jwt.as_ref()?, issuer, audience, jwt_prefix.clone()))
    }
}

#[derive(Debug, Options)]
pub(crate) struct TlsOptions {
    /// The certificate, followed by those that lead to its root, as PEM: use TLS at each address,
    /// without a proxy.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl TlsOptions {
    /// Reads the certificate and its key, if they are given.
    pub(crate) fn open(&self) -> Result<Option<Tls>, TlsError> {
        let (Some(certificates), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        Tls::open(certificates, key).map(Some)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LeftTurn {
    Continue,
    Dismiss,
}

impl Serve {
    /// Returns why these options would open the server to other machines in an unsafe way. An
    /// inherited socket is checked when it is taken over.
    pub(crate) fn refusal(&self) -> Option<String> {
        let is_open_to_others = |address: &&ListenAddress| match address {
            ListenAddress::Tcp(address) => !address.ip().to_canonical().is_loopback(),
            #[cfg(unix)]
            ListenAddress::Unix(_) | ListenAddress::Fd(_) => false,
        };
        let address = self.listen.iter().find(is_open_to_others)?;
        let is_https = self.public_url.as_ref().is_some_and(WebOrigin::is_https);
        let what = if self.is_open {
            "without a token the server would be open to them; listen on 127.0.0.1, or leave out --open"
        } else if self.tokens.is_none() && self.jwt.jwt.is_none() {
            "name a file of tokens with --tokens FILE; `madang token add USER --tokens FILE` makes one"
        } else if !is_https && self.tls.tls_cert.is_some() {
            "name the address under which they reach it with --public-url https://HOST"
        } else if !is_https {
            "tokens would go there in clear text; give a certificate with --tls-cert, or put a proxy with TLS before it, and name the address with --public-url https://HOST"
        } else {
            return None;
        };
        Some(format!("other machines reach {address}: {what}"))
    }

    pub(crate) const fn on_disconnect(&self) -> OnDisconnect {
        match self.on_disconnect {
            LeftTurn::Continue => OnDisconnect::Continue,
            LeftTurn::Dismiss => OnDisconnect::Dismiss,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenOrder {
    /// Create a token and print it. The file keeps only its hash, so it is printed only once.
    Add(TokenAdd),
    /// List the tokens, without their secrets.
    List(TokenLocation),
    /// Remove a token. Within a second it is refused, and its streams end.
    Remove {
        /// The name of the token.
        name: String,
        #[command(flatten)]
        location: TokenLocation,
    },
}

#[derive(Debug, Options)]
pub(crate) struct TokenLocation {
    /// The file of tokens. Without it, the database's path with `.tokens` appended.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: Database,
}

#[derive(Debug, Options)]
#[group(skip)]
#[command(group = ArgGroup::new("holder").required(true).args(["user", "service"]))]
pub(crate) struct TokenAdd {
    /// The user of the token.
    #[arg(value_name = "USER", value_parser = user)]
    pub(crate) user: Option<UserId>,
    /// A service that acts for many users, each below this prefix: PREFIX/user.
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    pub(crate) service: Option<ServicePrefix>,
    /// The header in which the service names its user, Madang-User or X-OpenWebUI-User-Id. A
    /// request with the other one is refused.
    #[arg(long, value_name = "HEADER", value_parser = user_header, default_value = "Madang-User", conflicts_with = "user")]
    pub(crate) user_header: UserHeader,
    /// The name of the token, under which it is listed and removed. Without it, that of the user or
    /// service.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What the token may do, separated by commas: chat, decide, tools, admin. Without it, chat and
    /// decide for a user, and only chat for a service.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = scope)]
    pub(crate) scope: Vec<TokenScope>,
    #[command(flatten)]
    pub(crate) location: TokenLocation,
}

fn scope(text: &str) -> Result<TokenScope, String> {
    let found = TokenScope::ALL.into_iter().find(|scope| scope.name() == text);
    found.ok_or_else(|| "give chat, decide, tools or admin".to_owned())
}

fn user_header(text: &str) -> Result<UserHeader, String> {
    let found = UserHeader::ALL.into_iter().find(|header| header.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| "give Madang-User or X-OpenWebUI-User-Id".to_owned())
}

fn prefix(text: &str) -> Result<ServicePrefix, String> {
    ServicePrefix::new(text).map_err(|error| error.to_string())
}

/// Reads seconds: a day at most, and one second at least, because a person needs time to read.
fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text) {
        Ok(Duration::ZERO) | Err(_) => Err("give a number of seconds from 1 to 86400".to_owned()),
        Ok(seconds) => Ok(seconds),
    }
}

/// Reads seconds: a day at most, so that no sum of times overflows.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds @ 0..=86_400) => Ok(Duration::from_secs(seconds)),
        Ok(_) | Err(_) => Err("give a number of seconds from 0 to 86400".to_owned()),
    }
}
