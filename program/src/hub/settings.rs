//! Reads the environment's settings of the hub, by the variables of the hub's own tools.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use url::{Host, Url};

use super::{cache, client::Token, error::HubError};

/// The default hub, unless `HF_ENDPOINT` names another.
const ENDPOINT: &str = "https://huggingface.co";

/// The settings of the environment.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) cache: PathBuf,
    pub(super) endpoint: Url,
    pub(super) token: Option<Token>,
    pub(super) is_offline: bool,
}

impl Settings {
    /// Reads the variables, and the file of the token.
    pub(super) fn of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, HubError> {
        let text = |name: &str| {
            let text = variable(name)?.into_string().ok()?.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let cache = cache::folder(|name| variable(name).map(PathBuf::from)).ok_or_else(|| {
            HubError::new(
                "neither HF_HOME, XDG_CACHE_HOME nor HOME names a folder for models: set HF_HOME",
            )
        })?;
        let token = text("HF_TOKEN").or_else(|| {
            let path = token_file(|name| text(name).map(PathBuf::from))?;
            Some(fs::read_to_string(path).ok()?.trim().to_owned()).filter(|token| !token.is_empty())
        });
        Ok(Self {
            cache,
            endpoint: endpoint(text("HF_ENDPOINT").as_deref().unwrap_or(ENDPOINT))?,
            token: token.map(|token| Token::new(&token)).transpose()?,
            is_offline: text("HF_HUB_OFFLINE").is_some_and(|text| is_yes(&text)),
        })
    }
}

/// Returns the path at which `hf auth login` stores the token.
fn token_file(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let home = || {
        let in_cache = |cache: PathBuf| cache.join("huggingface");
        let usual = || variable("HOME").map(|home| in_cache(home.join(".cache")));
        variable("HF_HOME").or_else(|| variable("XDG_CACHE_HOME").map(in_cache)).or_else(usual)
    };
    variable("HF_TOKEN_PATH").or_else(|| Some(home()?.join(Path::new("token"))))
}

fn endpoint(text: &str) -> Result<Url, HubError> {
    let wrong = || {
        HubError::new(
            "HF_ENDPOINT is not an address of a hub: give one like https://huggingface.co, or unset it",
        )
    };
    let url = Url::parse(text).map_err(|cause| wrong().because(cause))?;
    let is_web = matches!(url.scheme(), "http" | "https");
    if is_web { Ok(url) } else { Err(wrong()) }
}

/// Tells whether requests to this address cannot be read on the way.
pub(super) fn is_private(endpoint: &Url) -> bool {
    endpoint.scheme() == "https"
        || match endpoint.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        }
}

fn is_yes(text: &str) -> bool {
    ["1", "on", "yes", "true"].iter().any(|yes| text.eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Result<Settings, HubError> {
        Settings::of(|name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_hub_is_the_usual_one_unless_the_environment_names_another() {
        let home = ("HOME", "/home/kim");
        assert_eq!(of(&[home]).unwrap().endpoint.as_str(), "https://huggingface.co/");
        let mirror = of(&[home, ("HF_ENDPOINT", "http://mirror.example:8080/hf")]).unwrap();
        assert_eq!(mirror.endpoint.as_str(), "http://mirror.example:8080/hf");
        for wrong in ["huggingface.co", "file:///etc", "http://", "mailto:a@b"] {
            let found = of(&[home, ("HF_ENDPOINT", wrong)]).unwrap_err().to_string();
            assert!(found.starts_with("HF_ENDPOINT is not an address"), "{wrong}: {found}");
        }
        assert!(of(&[]).unwrap_err().to_string().ends_with("set HF_HOME"));
    }

    #[test]
    fn only_a_safe_connection_or_this_machine_is_private() {
        for (endpoint, expected) in [
            ("https://hub.example", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]/hf", true),
            ("http://localhost:80", true),
            ("http://hub.example", false),
            ("http://192.168.0.7:8080", false),
            ("http://localhost.example", false),
            ("http://127.0.0.1.example", false),
        ] {
            assert_eq!(is_private(&Url::parse(endpoint).unwrap()), expected, "{endpoint}");
        }
    }

    #[test]
    fn offline_is_what_the_hubs_tools_call_so() {
        for (text, is_offline) in
            [("1", true), ("True", true), ("YES", true), ("0", false), ("", false)]
        {
            let settings = of(&[("HOME", "/h"), ("HF_HUB_OFFLINE", text)]).unwrap();
            assert_eq!(settings.is_offline, is_offline, "{text:?}");
        }
    }

    #[test]
    fn a_token_is_found_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let home = ("HF_HOME", folder.path().to_str().unwrap());
        assert!(of(&[home]).unwrap().token.is_none());
        fs::write(folder.path().join("token"), "hf_secret\n").unwrap();
        for set in [&[home][..], &[home, ("HF_TOKEN", " hf_secret ")]] {
            let settings = of(set).unwrap();
            assert!(settings.token.is_some());
            assert!(!format!("{settings:?}").contains("secret"));
        }
        let spoiled = of(&[home, ("HF_TOKEN", "hf_a\r\nX-Evil: b")]);
        let spoiled = spoiled.unwrap_err();
        assert!(spoiled.to_string().ends_with("set HF_TOKEN anew"), "{spoiled}");
        assert!(!format!("{spoiled:?}").contains("Evil"));
    }
}
