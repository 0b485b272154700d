//! The driver: starts a child, keeps the oracle of its lines, kills it, and audits the database.

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::Duration,
};

use madang::{
    ledger::LedgerFilter,
    store::{SqliteStore, Store as _},
};

use super::{KillFigures, Orders, child::sessions};
use crate::{
    audit::{Counter, DATABASE, Moment, audit_file},
    dice::Dice,
    mistakes::{Mistake, RemoteMistake},
    postgres::{Database, audit_database},
    process::{Lifespan, Process, Said},
    remote::{FarOrders, ServerMoment, ToolServer, compare},
    workload::{Point, SessionPlan},
};

/// A series of kills.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The program whose first argument may be `child`.
    pub program: PathBuf,
    /// The seed of everything.
    pub seed: u64,
    /// The number of kills.
    pub kills: u64,
    /// The kills on one file, before it comes to rest and the next begins.
    pub kills_a_file: u64,
    /// The chats at once in a child.
    pub chats: usize,
    /// The mistake that the children make.
    pub mistake: Option<Mistake>,
    /// The server of the tools, where they are remote.
    pub remote: Option<Remote>,
    /// The URL of the PostgreSQL server that has the databases, instead of files.
    pub postgres: Option<String>,
}

/// The options of remote tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct Remote {
    /// The mistake that the way to the server makes.
    pub mistake: Option<RemoteMistake>,
}

/// Longer than any child takes to come to rest.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time after which a child is killed that does not reach its point.
const MISSED: Duration = Duration::from_millis(400);
/// The same for a child with remote tools, once its runtime runs.
const MISSED_FAR: Duration = Duration::from_millis(700);
/// The turns of all chats: more than any child reaches.
const TURNS: u64 = 4_000;

/// The time of a child until its death, and the moment of the server at which it dies before.
type Death = (Lifespan, Option<(ServerMoment, u64)>);

fn death(dice: &mut Dice) -> Death {
    let lifespan = match dice.below(8) {
        0..4 => Lifespan::until(*dice.pick(&Point::ALL), 1 + dice.below(40), MISSED),
        4..7 => Lifespan { lines: 1 + dice.below(400), ..Lifespan::of(PATIENCE) },
        _ => Lifespan::of(Duration::from_millis(dice.below(150))),
    };
    (Lifespan { is_from_start: true, ..lifespan }, None)
}

/// Draws a death for a child with remote tools, which passes no points of tools.
fn far_death(dice: &mut Dice) -> Death {
    let missed = Lifespan::of(MISSED_FAR);
    match dice.below(8) {
        0..2 => {
            let point = Point::draw(dice, Point::is_of_tools);
            (Lifespan::until(point, 1 + dice.below(40), MISSED_FAR), None)
        }
        2..5 => (missed, Some((ServerMoment::Received, 1 + dice.below(16)))),
        5 => (missed, Some((ServerMoment::Answered, 1 + dice.below(16)))),
        _ => (Lifespan::of(Duration::from_millis(dice.below(400))), None),
    }
}

impl Campaign {
    /// Kills as often as ordered. After each kill, `progress` receives the figures so far.
    ///
    /// # Panics
    /// Where the machine has no room for files, processes or ports.
    pub async fn run(&self, mut progress: impl FnMut(&KillFigures)) -> KillFigures {
        let mut dice = Dice::new(self.seed);
        let mut figures = KillFigures::default();
        let draw = if self.remote.is_some() { far_death } else { death };
        while figures.kills < self.kills {
            let folder = tempfile::tempdir().expect("there is a place for temporary files");
            let mut server = None;
            if self.remote.is_some() {
                server = Some(ToolServer::start().await.expect("there is a free port"));
            }
            let sessions = sessions(self.seed, self.chats);
            let campaign = self;
            let folder = folder.path();
            let said = Said::default();
            let database = match &self.postgres {
                Some(server) => {
                    Some(Database::make(server).await.expect("the server makes databases"))
                }
                None => None,
            };
            let mut lives = Lives {
                campaign,
                folder,
                url: database.as_ref().map(Database::url),
                sessions,
                server,
                said,
                life: 0,
            };
            figures.files += 1;
            for _ in 0..self.kills_a_file.min(self.kills - figures.kills) {
                lives.live(Some(draw(&mut dice)), &mut figures).await;
                lives.compares(Moment::AfterDeath, &mut figures).await;
                progress(&figures);
            }
            // All people come back once more, and nothing stays open or unknown.
            lives.live(None, &mut figures).await;
            lives.compares(Moment::AtRest, &mut figures).await;
            figures.acknowledged += lives.said.oracle.acknowledged();
            if let Some(database) = database {
                database.remove().await.expect("the server drops a database");
            }
        }
        figures
    }
}

/// The successive processes on one file.
struct Lives<'a> {
    campaign: &'a Campaign,
    folder: &'a Path,
    url: Option<String>,
    sessions: Vec<SessionPlan>,
    server: Option<ToolServer>,
    said: Said,
    life: u64,
}

impl Lives<'_> {
    async fn compares(&self, moment: Moment, figures: &mut KillFigures) {
        let oracle = &self.said.oracle;
        if let Some(url) = &self.url {
            let found = audit_database(url, &self.sessions, oracle, moment).await;
            figures.findings.add(found);
            return;
        }
        figures.findings.add(audit_file(self.folder, &self.sessions, oracle, moment).await);
        let Some(server) = &self.server else { return };
        let compared = async {
            let path = self.folder.join(DATABASE);
            let rows = if path.exists() {
                let store = SqliteStore::open_read_only(path).await?;
                let rows = store.calls(&LedgerFilter::default()).await;
                store.close().await;
                rows?
            } else {
                Vec::new()
            };
            let book = server.received();
            compare(&rows, &book, oracle, moment, &mut figures.findings);
            if moment == Moment::AtRest {
                figures.received += book.len();
                figures.unknown += rows.iter().filter(|row| row.resolved_by.is_some()).count();
            }
            Ok::<_, Box<dyn Error>>(())
        };
        if let Err(error) = compared.await {
            figures.findings.find(Counter::Damaged, error.to_string());
        }
    }

    /// Starts the next process, and kills it. Without a death it ends by itself, once everything is
    /// at rest.
    async fn live(&mut self, death: Option<Death>, figures: &mut KillFigures) {
        self.life += 1;
        let is_killed = death.is_some();
        let (lifespan, deadly) = death.unwrap_or((Lifespan::of(PATIENCE), None));
        if let Some(server) = &self.server {
            server.begins(self.life, deadly, !is_killed);
        }
        let &Campaign { seed, chats, mistake, remote, .. } = self.campaign;
        let far = self.server.as_ref().zip(remote);
        let orders = Orders {
            folder: self.folder.to_owned(),
            url: self.url.clone(),
            life: self.life,
            seed,
            chats,
            turns: if is_killed { TURNS } else { 0 },
            dies_at: lifespan.dies_at,
            mistake,
            remote: far.map(|(server, Remote { mistake })| FarOrders {
                server: server.address(),
                mistake,
            }),
        };
        let mut process = Process::start(&self.campaign.program, "child", &orders);
        process.tell(&self.said.lines).await;
        let mut hear = |text: &str| self.said.hear(text);
        let mut is_in_call = false;
        let deadly_moment = async {
            match &self.server {
                Some(server) => server.deadly_moment().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = deadly_moment => is_in_call = true,
            () = process.lives(lifespan, PATIENCE, &mut hear) => {}
        }
        if is_killed {
            process.kill();
        }
        if let Err(how) = process.end(is_killed, PATIENCE, hear).await {
            let what = format!("life {} did not end as ordered, but {how}", self.life);
            figures.findings.find(Counter::Stuck, what);
        } else if is_killed {
            figures.kills += 1;
            figures.kills_at_points += u64::from(lifespan.dies_at.is_some());
            figures.kills_in_calls += u64::from(is_in_call);
        }
        if let Some(server) = &self.server
            && let Err(error) = server.comes_to_rest().await
        {
            figures.findings.find(Counter::Stuck, format!("the server is gone: {error}"));
        }
    }
}
