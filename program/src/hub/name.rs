//! Parses a model's name on a hub: `OWNER/REPO[:QUANT][@COMMIT]`.

use std::{fmt, str::FromStr};

/// The longest name that the hub accepts.
const MAX_BYTES: usize = 96;

/// A repository, perhaps with a quantisation and a commit.
///
/// Invariant: owner and repository are letters, digits, `_`, and single `.` and `-` between them.
/// So no name leads out of its place in an address or a folder, and no two names share a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HubName {
    owner: Box<str>,
    repository: Box<str>,
    quant: Option<Box<str>>,
    commit: Option<Box<str>>,
}

/// The text is not the name of a model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "give OWNER/REPO or OWNER/REPO:QUANT as the hub writes them, for example ggml-org/gemma-3-1b-it-GGUF:Q4_K_M, and behind it perhaps @ and a commit of 40 letters"
)]
pub(crate) struct NotAName;

impl HubName {
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn repository(&self) -> &str {
        &self.repository
    }

    pub(super) fn quant(&self) -> Option<&str> {
        self.quant.as_deref()
    }

    /// Returns the wanted commit; without one the newest counts.
    pub(super) fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// Returns the same model at this commit.
    pub(super) fn at(&self, commit: &str) -> Self {
        Self { commit: Some(commit.into()), ..self.clone() }
    }
}

impl FromStr for HubName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let (text, commit) = match text.split_once('@') {
            Some((text, commit)) => (text, Some(commit)),
            None => (text, None),
        };
        let (path, quant) = match text.split_once(':') {
            Some((path, quant)) => (path, Some(quant)),
            None => (text, None),
        };
        let (owner, repository) = path.split_once('/').ok_or(NotAName)?;
        if !is_word(owner)
            || !is_word(repository)
            || !quant.is_none_or(is_quant)
            || !commit.is_none_or(is_commit)
        {
            return Err(NotAName);
        }
        let [quant, commit] = [quant, commit].map(|part| part.map(Box::from));
        Ok(Self { owner: owner.into(), repository: repository.into(), quant, commit })
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.repository)?;
        self.quant.iter().try_for_each(|quant| write!(f, ":{quant}"))?;
        self.commit.iter().try_for_each(|commit| write!(f, "@{commit}"))
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Accepts letters with single dots and hyphens between them.
fn is_word(text: &str) -> bool {
    text.len() <= MAX_BYTES
        && text.split(['.', '-']).all(|part| !part.is_empty() && part.chars().all(is_letter))
}

fn is_quant(text: &str) -> bool {
    let is_short = (1..=MAX_BYTES).contains(&text.len());
    is_short && text.chars().all(|c| is_letter(c) || c == '-')
}

/// Accepts a full commit as the hub writes it; a shorter one could name several.
fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_an_owner_a_repository_and_perhaps_a_quantisation() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let pinned = ["a/b", "a/b:Q8_0"].map(|name| format!("{name}@{commit}"));
        let [one, other] = [&*pinned[0], &pinned[1]];
        for text in
            ["ggml-org/gemma-3-1b-it-GGUF", "a/b", "a_b/c.d-e:Q4_K_M", "a/b:UD-Q4_K_XL", one, other]
        {
            assert_eq!(text.parse::<HubName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_could_leave_its_place_is_no_name() {
        let long = format!("a/{}", "b".repeat(MAX_BYTES + 1));
        for text in [
            "",
            "a",
            "/",
            "a/",
            "/b",
            "a/b/c",
            "../b",
            "a/..",
            "a/.b",
            "a/b.",
            "a/b..c",
            "a/b--c",
            "a/b:",
            "a/b:c:d",
            "a/b:../c",
            "a/b:c/d",
            "a/b@",
            "a/b@main",
            "a/b@0123456",
            "a/b@0123456789ABCDEF0123456789abcdef01234567",
            "a/b@../../../../../../../../../../../../..",
            "a b/c",
            "a/b?c",
            "a/b%2e",
            "a/모델",
            "https://hub.example/a/b",
            &long,
        ] {
            assert_eq!(text.parse::<HubName>(), Err(NotAName), "{text}");
        }
        assert!(NotAName.to_string().contains("for example"));
    }
}
