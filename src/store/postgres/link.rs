//! Repeats in columns what the rules of the tables ask about a step of a call.

use madang_actors::{
    ledger::{Ended, Salt, Transition},
    port::StoreError,
    protocol::{Approval, Digest, ResolvedBy, UserId},
};

use super::changes::{Changes, integer};
use crate::store::rows::{step::Step, value::json};

/// The columns of a step, but for those of every step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) effect: Option<&'static str>,
    pub(super) result: Option<&'static str>,
    pub(super) by_user: Option<String>,
    pub(super) digest: Option<Vec<u8>>,
    pub(super) schema: Option<Vec<u8>>,
    pub(super) expires_at: Option<i64>,
    pub(super) approval: Option<&'static str>,
    pub(super) rests_on: Option<uuid::Uuid>,
    pub(super) use_number: Option<i64>,
    pub(super) until: Option<i64>,
    pub(super) uses: Option<i64>,
    pub(super) resource: Option<Vec<u8>>,
    pub(super) has_arguments: bool,
}

impl Columns {
    pub(super) fn of(transition: &Transition) -> Self {
        let user = |user: &UserId| Some(user.as_str().to_owned());
        match transition {
            Transition::Proposed(proposal) => {
                Self { by_user: user(&proposal.user), ..Self::default() }
            }
            Transition::Awaiting { schema, digest, expires_at, .. } => Self {
                digest: Some(bytes(digest)),
                schema: Some(bytes(schema)),
                expires_at: Some(expires_at.millis()),
                has_arguments: true,
                ..Self::default()
            },
            Transition::Approved { digest, by, approval, arguments, expires_at, .. } => Self {
                by_user: user(by),
                digest: Some(bytes(digest)),
                expires_at: Some(expires_at.millis()),
                has_arguments: arguments.is_some(),
                ..Self::of_approval(approval)
            },
            Transition::Running { digest, .. } => {
                Self { digest: Some(bytes(digest)), has_arguments: true, ..Self::default() }
            }
            Transition::Ended(Ended { arguments, effect, result, decided_by, .. }) => Self {
                effect: Some(effect.into()),
                result: Some(result.into()),
                by_user: decided_by.as_ref().and_then(user),
                has_arguments: arguments.is_some(),
                ..Self::default()
            },
            Transition::Resolved { resolution, by } => Self {
                effect: Some(resolution.effect().into()),
                by_user: match by {
                    ResolvedBy::Person { user: by } => user(by),
                    _ => None,
                },
                ..Self::default()
            },
            Transition::Revoked { by } => Self { by_user: user(by), ..Self::default() },
        }
    }

    fn of_approval(approval: &Approval) -> Self {
        let resource_of = |resource: &Option<Digest>| resource.as_ref().map(bytes);
        match approval {
            Approval::Once => Self { approval: Some("once"), ..Self::default() },
            Approval::Edited => Self { approval: Some("edited"), ..Self::default() },
            Approval::Always { schema, until, uses, resource } => Self {
                approval: Some("always"),
                schema: Some(bytes(schema)),
                until: Some(until.millis()),
                uses: Some((*uses).into()),
                resource: resource_of(resource),
                ..Self::default()
            },
            Approval::Standing { by_call, schema, resource, number } => Self {
                approval: Some("standing"),
                schema: Some(bytes(schema)),
                rests_on: Some(by_call.uuid()),
                use_number: Some((*number).into()),
                resource: resource_of(resource),
                ..Self::default()
            },
        }
    }
}

fn bytes(digest: &Digest) -> Vec<u8> {
    digest.bytes().to_vec()
}

/// Adds a link to the changes, and returns the bytes of its text.
pub(super) fn add(
    changes: &mut Changes,
    step: &Step<'_>,
    salt: &Salt,
    position: u64,
    hash: &Digest,
) -> Result<usize, StoreError> {
    let text = json(step.transition);
    let length = text.len();
    let columns = Columns::of(step.transition);
    let links = &mut changes.links;
    links.session.push(step.session.as_str().to_owned());
    links.position.push(integer(position)?);
    links.call.push(step.call.uuid());
    links.at.push(step.at.millis());
    links.step.push(<&str>::from(step.transition).to_owned());
    links.transition.push(text);
    links.salt.push(salt.bytes().to_vec());
    links.hash.push(bytes(hash));
    links.effect.push(columns.effect.map(str::to_owned));
    links.result.push(columns.result.map(str::to_owned));
    links.by_user.push(columns.by_user);
    links.digest.push(columns.digest);
    links.schema.push(columns.schema);
    links.expires_at.push(columns.expires_at);
    links.approval.push(columns.approval.map(str::to_owned));
    links.rests_on.push(columns.rests_on);
    links.use_number.push(columns.use_number);
    links.until.push(columns.until);
    links.uses.push(columns.uses);
    links.resource.push(columns.resource);
    links.has_arguments.push(columns.has_arguments);
    Ok(length)
}
