//! The driver: has the server, starts a child, kills it, and compares the ledger with the server's book.

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::Duration,
};

use madang::{
    ledger::LedgerFilter,
    store::{SqliteStore, Store as _},
};
use tokio::time::{Instant, sleep_until};

use super::{
    RemoteFigures, RemoteOrders,
    child::sessions,
    compare::compare,
    server::{ServerMoment, ToolServer},
};
use crate::{
    audit::{Counter, DATABASE, Moment, audit_file},
    dice::Dice,
    mistakes::{Mistake, RemoteMistake},
    process::{Process, Said},
    workload::{Point, SessionPlan},
};

/// A series of kills.
#[derive(Debug, Clone)]
pub struct RemoteCampaign {
    /// The program whose first argument may be `remote-child`.
    pub program: PathBuf,
    /// The seed of everything.
    pub seed: u64,
    /// The number of kills.
    pub kills: u64,
    /// The kills on one file, before it comes to rest and the next begins.
    pub kills_a_file: u64,
    /// The chats at once in a child.
    pub chats: usize,
    /// The mistake that a tool or the store makes.
    pub mistake: Option<Mistake>,
    /// The mistake that the way to the server makes.
    pub remote_mistake: Option<RemoteMistake>,
}

/// Longer than any child takes to come to rest.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time after which a child is killed that does not reach its moment, once its runtime runs.
const MISSED: Duration = Duration::from_millis(700);

/// The turns of all chats: more than any child reaches.
const TURNS: u64 = 4_000;

/// The points at which a child may die: all but those of tools in its own process.
const POINTS: [Point; 14] = [
    Point::StoreBegin,
    Point::StoreSavepoint,
    Point::StoreWrite,
    Point::StoreWritten,
    Point::StoreKeep,
    Point::StoreUndo,
    Point::StoreCommit,
    Point::StoreCommitted,
    Point::ModelAsked,
    Point::ModelAnswers,
    Point::QuestionSeen,
    Point::QuestionAnswered,
    Point::TurnBegan,
    Point::OutcomeHeard,
];

/// The moment of a child's death.
#[derive(Debug, Clone, Copy)]
enum RemoteDeath {
    /// At the N-th pass of a point of its own, or somewhat later if it is not reached.
    AtPoint(Point, u64),
    /// At a moment of the server, or somewhat later if it is not reached.
    AtServer(ServerMoment, u64),
    /// This long after its runtime runs.
    After(Duration),
    /// Never.
    Never,
}

impl RemoteDeath {
    fn draw(dice: &mut Dice) -> Self {
        match dice.below(8) {
            0..2 => Self::AtPoint(*dice.pick(&POINTS), 1 + dice.below(40)),
            2..5 => Self::AtServer(ServerMoment::Received, 1 + dice.below(16)),
            5 => Self::AtServer(ServerMoment::Answered, 1 + dice.below(16)),
            _ => Self::After(Duration::from_millis(dice.below(400))),
        }
    }
}

impl RemoteCampaign {
    /// Kills as often as ordered. After each kill, `progress` receives the figures so far.
    ///
    /// # Panics
    /// Where the machine has no room for files, processes or ports.
    pub async fn run(&self, mut progress: impl FnMut(&RemoteFigures)) -> RemoteFigures {
        let mut dice = Dice::new(self.seed);
        let mut figures = RemoteFigures::default();
        while figures.kills < self.kills {
            let folder = tempfile::tempdir().expect("there is a place for temporary files");
            let server = ToolServer::start().await.expect("there is a free port");
            let sessions = sessions(self.seed, self.chats);
            let (campaign, folder, said) = (self, folder.path(), Said::default());
            let mut lives = RemoteLives { campaign, folder, sessions, server, said, life: 0 };
            figures.files += 1;
            for _ in 0..self.kills_a_file.min(self.kills - figures.kills) {
                lives.live(RemoteDeath::draw(&mut dice), &mut figures).await;
                lives.compares(Moment::AfterDeath, &mut figures).await;
                progress(&figures);
            }
            // All people come back once more, and nothing stays open or unknown.
            lives.server.calm(true);
            lives.live(RemoteDeath::Never, &mut figures).await;
            lives.compares(Moment::AtRest, &mut figures).await;
            figures.received += lives.server.received().len();
            figures.acknowledged += lives.said.oracle.acknowledged();
        }
        figures
    }
}

/// The successive processes on one file.
struct RemoteLives<'a> {
    campaign: &'a RemoteCampaign,
    folder: &'a Path,
    sessions: Vec<SessionPlan>,
    server: ToolServer,
    said: Said,
    life: u64,
}

impl RemoteLives<'_> {
    async fn compares(&self, moment: Moment, figures: &mut RemoteFigures) {
        let oracle = &self.said.oracle;
        figures.findings.add(audit_file(self.folder, &self.sessions, oracle, moment).await);
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
            let book = self.server.received();
            compare(&rows, &book, oracle, moment, &mut figures.findings);
            if moment == Moment::AtRest {
                figures.unknown += rows.iter().filter(|row| row.resolved_by.is_some()).count();
            }
            Ok::<_, Box<dyn Error>>(())
        };
        if let Err(error) = compared.await {
            figures.findings.find(Counter::Damaged, error.to_string());
        }
    }

    async fn live(&mut self, death: RemoteDeath, figures: &mut RemoteFigures) {
        self.life += 1;
        let (mut dies_at, mut deadly) = (None, None);
        let (wait, is_killed) = match death {
            RemoteDeath::AtPoint(point, pass) => {
                dies_at = Some((point, pass));
                (MISSED, true)
            }
            RemoteDeath::AtServer(moment, number) => {
                deadly = Some((moment, number));
                (MISSED, true)
            }
            RemoteDeath::After(wait) => (wait, true),
            RemoteDeath::Never => (PATIENCE, false),
        };
        self.server.begins(self.life, deadly);
        let RemoteCampaign { seed, chats, mistake, remote_mistake, .. } = *self.campaign;
        let orders = RemoteOrders {
            folder: self.folder.to_owned(),
            life: self.life,
            seed,
            chats,
            server: self.server.address(),
            turns: if is_killed { TURNS } else { 0 },
            dies_at,
            mistake,
            remote_mistake,
        };
        let mut process = Process::start(&self.campaign.program, "remote-child", &orders);
        process.tell(&self.said.lines).await;
        let mut hear = |text: &str| self.said.hear(text);
        // Its runtime runs, however long that took on a busy machine.
        process.hear_until(Instant::now() + PATIENCE, 1, &mut hear).await;
        let (deadline, mut is_in_call) = (Instant::now() + wait, false);
        loop {
            tokio::select! {
                biased;
                () = self.server.deadly_moment() => {
                    is_in_call = true;
                    break;
                }
                line = process.hear() => match line {
                    Some(text) => hear(&text),
                    None => break,
                },
                () = sleep_until(deadline) => break,
            }
        }
        if is_killed {
            process.kill();
        }
        if let Err(how) = process.end(is_killed, PATIENCE, hear).await {
            let what = format!("life {} did not end as ordered, but {how}", self.life);
            figures.findings.find(Counter::Stuck, what);
        } else if is_killed {
            figures.kills += 1;
            figures.kills_in_calls += u64::from(is_in_call);
        }
        if let Err(error) = self.server.settles().await {
            figures.findings.find(Counter::Stuck, format!("the server is gone: {error}"));
        }
    }
}
