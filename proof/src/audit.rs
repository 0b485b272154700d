//! Compares what a database says with the oracle.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use madang::{
    SessionId,
    ledger::{Effect, LedgerFilter, LedgerRow},
    store::{Store, StoreError},
    tool::ToolOutcome,
};
use madang_actors::ledger::{Transition, verify};
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    oracle::{Heard, Oracle, token_of},
    test_runtime::{Act, DATABASE, LETTERS, PARTS},
};

/// What is wrong, one sentence each, however often it was found. Empty is what is promised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Acknowledged, and not there.
    pub lost: BTreeSet<String>,
    /// There more than once.
    pub doubled: BTreeSet<String>,
    /// Destructive, and nobody said yes.
    pub unasked: BTreeSet<String>,
    /// The ledger, or what was heard, says otherwise than what is there.
    pub misreported: BTreeSet<String>,
    /// The database itself, or the chain of its ledger, is broken.
    pub damaged: BTreeSet<String>,
    /// A call or a turn that was left open although everybody went on.
    pub stuck: BTreeSet<String>,
}

/// A kind of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// [`Findings::lost`].
    Lost,
    /// [`Findings::doubled`].
    Doubled,
    /// [`Findings::unasked`].
    Unasked,
    /// [`Findings::misreported`].
    Misreported,
    /// [`Findings::damaged`].
    Damaged,
    /// [`Findings::stuck`].
    Stuck,
}

impl Counter {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Lost, Self::Doubled, Self::Unasked, Self::Misreported, Self::Damaged, Self::Stuck];

    /// Its name in `docs/proof.md` and in figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubled => "doubled",
            Self::Unasked => "unasked",
            Self::Misreported => "misreported",
            Self::Damaged => "damaged",
            Self::Stuck => "stuck",
        }
    }
}

impl Findings {
    /// Gives what was found of one kind.
    #[must_use]
    pub const fn of(&self, counter: Counter) -> &BTreeSet<String> {
        match counter {
            Counter::Lost => &self.lost,
            Counter::Doubled => &self.doubled,
            Counter::Unasked => &self.unasked,
            Counter::Misreported => &self.misreported,
            Counter::Damaged => &self.damaged,
            Counter::Stuck => &self.stuck,
        }
    }

    /// Gives the kinds of which something was found.
    #[must_use]
    pub fn raised(&self) -> BTreeSet<Counter> {
        Counter::ALL.into_iter().filter(|counter| !self.of(*counter).is_empty()).collect()
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: Self) {
        self.lost.extend(other.lost);
        self.doubled.extend(other.doubled);
        self.unasked.extend(other.unasked);
        self.misreported.extend(other.misreported);
        self.damaged.extend(other.damaged);
        self.stuck.extend(other.stuck);
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether calls and turns may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The process has just died.
    AfterDeath,
    /// Every session has been opened again and has come to rest.
    AtRest,
}

/// Why a database could not be read to its end.
#[derive(Debug, thiserror::Error)]
enum AuditError {
    #[error("the database does not open")]
    Open(#[from] madang::store::OpenError),
    #[error("a query failed")]
    Query(#[from] sqlx::Error),
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// Audits the test runtime in this folder. The database is opened to read, so that the next process finds it as it was left.
pub async fn audit(folder: &Path, oracle: &Oracle, moment: Moment) -> Findings {
    let mut findings = Findings::default();
    match Facts::read(folder, &mut findings).await {
        Ok(facts) => facts.compare(oracle, moment, &mut findings),
        Err(error) => {
            let cause = std::error::Error::source(&error);
            findings.damaged.insert(format!(
                "{error}: {}",
                cause.map_or_else(String::new, ToString::to_string)
            ));
        }
    }
    findings
}

/// What stands in the database, and in the letters beside it.
#[derive(Default)]
struct Facts {
    /// How often each part of an effect is there, by token.
    effects: BTreeMap<String, Vec<Row>>,
    letters: BTreeMap<String, usize>,
    calls: BTreeMap<String, LedgerRow>,
    /// The calls of a token.
    calls_of: BTreeMap<String, Vec<String>>,
    approved: BTreeSet<String>,
    turns: BTreeMap<String, Ended>,
}

struct Row {
    act: String,
    part: i64,
    call: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Yes,
    No,
}

impl Facts {
    async fn read(folder: &Path, findings: &mut Findings) -> Result<Self, AuditError> {
        let path = folder.join(DATABASE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let options = SqliteConnectOptions::new().filename(&path).read_only(true);
        let mut db = SqliteConnection::connect_with(&options).await?;
        for check in ["PRAGMA integrity_check", "PRAGMA foreign_key_check"] {
            let rows = sqlx::query(check).fetch_all(&mut db).await?;
            let says = |row: &sqlx::sqlite::SqliteRow| {
                sqlx::Row::try_get::<String, _>(row, 0).unwrap_or_else(|error| error.to_string())
            };
            let bad = rows.iter().map(says).filter(|text| text != "ok");
            findings.damaged.extend(bad.map(|text| format!("{check}: {text}")));
        }
        // The tables of tools are made last. Whoever dies before has made no promise yet, or the oracle knows of it.
        let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'proof_effects'";
        if sqlx::query_scalar::<_, i64>(tables).fetch_one(&mut db).await? == 0 {
            return Ok(Self::default());
        }
        let mut effects = BTreeMap::<String, Vec<Row>>::new();
        let rows: Vec<(String, String, i64, String)> =
            sqlx::query_as("SELECT token, act, part, call FROM proof_effects ORDER BY id")
                .fetch_all(&mut db)
                .await?;
        for (token, act, part, call) in rows {
            effects.entry(token).or_default().push(Row { act, part, call });
        }
        let turns: Vec<(String, bool)> =
            sqlx::query_as("SELECT turn, ended_at IS NOT NULL FROM madang_turns")
                .fetch_all(&mut db)
                .await?;
        let sessions: Vec<String> =
            sqlx::query_scalar("SELECT session FROM madang_sessions").fetch_all(&mut db).await?;
        db.close().await?;
        let mut facts = Self {
            effects,
            letters: letters(folder),
            calls: BTreeMap::new(),
            calls_of: BTreeMap::new(),
            approved: BTreeSet::new(),
            turns: turns
                .into_iter()
                .map(|(turn, has_ended)| (turn, if has_ended { Ended::Yes } else { Ended::No }))
                .collect(),
        };
        facts.read_ledger(&path, sessions, findings).await?;
        Ok(facts)
    }

    async fn read_ledger(
        &mut self,
        path: &Path,
        sessions: Vec<String>,
        findings: &mut Findings,
    ) -> Result<(), AuditError> {
        let store = madang::store::SqliteStore::open_read_only(path).await?;
        for row in store.calls(&LedgerFilter::default()).await? {
            let call = row.call.to_string();
            if let Some(token) = token_of(&row.arguments) {
                self.calls_of.entry(token).or_default().push(call.clone());
            }
            self.calls.insert(call, row);
        }
        for session in sessions {
            let Ok(session) = SessionId::new(session) else { continue };
            let (links, end) = store.links(&session).await?;
            if let Err(error) = verify(&session, &links, &end) {
                findings.damaged.insert(format!("{session}: {error}"));
            }
            for link in &links {
                if let Transition::Approved { digest, by, .. } = &link.transition {
                    let call = link.call.to_string();
                    let is_valid = self
                        .calls
                        .get(&call)
                        .is_some_and(|row| row.digest == Some(*digest) && row.user == *by);
                    if is_valid {
                        self.approved.insert(call);
                    }
                }
            }
        }
        store.close().await;
        Ok(())
    }

    fn compare(&self, oracle: &Oracle, moment: Moment, findings: &mut Findings) {
        for turn in &oracle.began {
            if !self.turns.contains_key(turn) {
                findings.lost.insert(format!("turn {turn} had begun"));
            }
        }
        for turn in &oracle.ended {
            if self.turns.get(turn) != Some(&Ended::Yes) {
                findings.lost.insert(format!("turn {turn} had ended"));
            }
        }
        oracle.heard.values().flatten().for_each(|heard| self.compare_heard(heard, findings));
        self.effects
            .iter()
            .for_each(|(token, rows)| self.compare_effect(token, rows, oracle, findings));
        self.calls.values().for_each(|row| self.compare_call(row, findings));
        for (token, count) in &self.letters {
            if *count > 1 {
                findings.doubled.insert(format!("{token}: {count} letters"));
            }
        }
        if moment == Moment::AtRest {
            let open = self.calls.values().filter(|row| row.ended_at.is_none());
            findings.stuck.extend(open.map(|row| format!("call {} is {:?}", row.call, row.state)));
            let open = self.turns.iter().filter(|(_, ended)| **ended == Ended::No);
            findings.stuck.extend(open.map(|(turn, _)| format!("turn {turn} is open")));
        }
    }

    /// What was heard of a call is what is there.
    fn compare_heard(&self, heard: &Heard, findings: &mut Findings) {
        let Heard { token, tool, outcome, effect } = heard;
        let Some(act) = Act::of_tool(tool) else { return };
        let is_there = match act {
            Act::Mail => self.letters.contains_key(token),
            Act::Save | Act::Erase | Act::Breach | Act::Panic | Act::Look => {
                self.effects.contains_key(token)
            }
        };
        let told = || format!("{tool} {token}: heard `{outcome}`, effect {effect:?}");
        match effect {
            Effect::Committed if act != Act::Look && !is_there => findings.lost.insert(told()),
            Effect::None if is_there => findings.misreported.insert(told()),
            Effect::Unknown if act.has_rows() => findings.misreported.insert(told()),
            Effect::Committed | Effect::None | Effect::Unknown => false,
        };
        let calls = self.calls_of.get(token).into_iter().flatten();
        let rows: Vec<_> = calls.filter_map(|call| self.calls.get(call)).collect();
        let says_so = |row: &&LedgerRow| match (row.effect, &row.outcome) {
            // The truth about a letter may have come later.
            (Some(_), Some(_)) if *effect == Effect::Unknown => true,
            (Some(found), Some(ended)) => {
                found == *effect && (outcome == "discarded" || *outcome == name(ended))
            }
            _ => false,
        };
        if rows.is_empty() {
            findings.lost.insert(format!("{}; not in the ledger", told()));
        } else if !rows.iter().any(says_so) {
            let says: Vec<_> = rows.iter().map(|row| (row.state, row.effect)).collect();
            findings.misreported.insert(format!("{}; the ledger says {says:?}", told()));
        }
    }

    /// An effect is there once and whole, belongs to a call that says so, and was allowed.
    fn compare_effect(&self, token: &str, rows: &[Row], oracle: &Oracle, findings: &mut Findings) {
        let act = &rows[0].act;
        let told = |what: &str| format!("{act} {token}: {what}");
        for part in 1..=PARTS {
            match rows.iter().filter(|row| row.part == part).count() {
                0 => findings.misreported.insert(told("a part is missing")),
                1 => false,
                count => {
                    findings.doubled.insert(told(&format!("part {part} is there {count} times")))
                }
            };
        }
        let call = &rows[0].call;
        let row = self.calls.get(call);
        let is_told = row.is_some_and(|row| {
            row.effect == Some(Effect::Committed)
                && row.outcome.as_ref().is_some_and(ToolOutcome::is_ok)
                && token_of(&row.arguments).as_deref() == Some(token)
                && *row.name == **act
        });
        if !is_told {
            let says = row.map(|row| (row.state, row.effect));
            findings.misreported.insert(told(&format!("the ledger says {says:?}")));
        }
        if act == Act::Erase.name() {
            if !oracle.approved.contains(token) {
                findings.unasked.insert(told("nobody said yes"));
            } else if !self.approved.contains(call) {
                findings.unasked.insert(told("the ledger has no approval"));
            }
        }
    }

    /// A call that says that it took effect, or did not, is right.
    fn compare_call(&self, row: &LedgerRow, findings: &mut Findings) {
        let (Some(act), Some(token)) = (Act::of_tool(&row.name), token_of(&row.arguments)) else {
            return;
        };
        let is_there = match act {
            Act::Mail => self.letters.contains_key(&token),
            Act::Save | Act::Erase | Act::Breach | Act::Panic | Act::Look => {
                self.effects.get(&token).is_some_and(|rows| rows[0].call == row.call.to_string())
            }
        };
        let is_right = match row.effect {
            Some(Effect::Committed) => is_there || act == Act::Look,
            Some(Effect::None) => !is_there,
            Some(Effect::Unknown) => act == Act::Mail,
            None => act == Act::Mail || !is_there,
        };
        if !is_right {
            findings.misreported.insert(format!(
                "call {} ({} {token}) is {:?} with effect {:?}, there: {is_there}",
                row.call, row.name, row.state, row.effect
            ));
        }
    }
}

/// The name of an outcome in the oracle.
fn name(outcome: &ToolOutcome) -> &str {
    if outcome.is_ok() { "ok" } else { outcome.code().unwrap_or("cancelled") }
}

/// How often each letter was sent.
fn letters(folder: &Path) -> BTreeMap<String, usize> {
    let text = fs::read_to_string(folder.join(LETTERS)).unwrap_or_default();
    let mut letters = BTreeMap::new();
    for token in text.lines() {
        *letters.entry(token.to_owned()).or_default() += 1;
    }
    letters
}
