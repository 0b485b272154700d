//! The driver: starts a server, lets clients talk to it, kills it, starts it again, and audits the
//! database.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use madang::UserId;
use madang_server::{TokenFile, TokenHolder, TokenScopes};
use tokio::{task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    ServeFigures, ServerOrders,
    child::{TOKENS, sessions},
    client::Client,
    site::Site,
};
use crate::{
    audit::{Counter, Moment, audit_file},
    dice::Dice,
    mistakes::{ProxyMistake, proxy},
    oracle::Witness,
    process::{Lifespan, Process},
    workload::{Point, SessionPlan},
};

/// A series of kills.
#[derive(Debug, Clone)]
pub struct ServeCampaign {
    /// The program whose first argument may be `server`.
    pub program: PathBuf,
    /// The seed of everything.
    pub seed: u64,
    /// The number of kills at the least.
    pub kills: u64,
    /// The kills on one file, before its clients come to rest and the next begins.
    pub kills_a_file: u64,
    /// The keys under which turns began at the least.
    pub keys: u64,
    /// The clients at once.
    pub clients: usize,
    /// The mistake between the clients and the server.
    pub mistake: Option<ProxyMistake>,
    /// Longer than any turn takes, its deaths included.
    pub patience: Duration,
}

/// The time after which a server is killed that does not reach its point, or does not report
/// enough, once its runtime runs.
const MISSED: Duration = Duration::from_millis(700);

/// The ports of servers: below those from which systems take a port for a connection. A client that
/// tries to connect while no server listens would else meet itself at last.
const PORTS: (u16, u32) = (20_000, 10_000);

/// Draws the time of a server, and whether it ends in order then: its clients are told, and come
/// back to the next.
fn end(dice: &mut Dice, clients: usize) -> (Lifespan, bool) {
    let many = 4 * clients as u64;
    let soon = |dice: &mut Dice| Lifespan::of(Duration::from_millis(dice.below(400)));
    match dice.below(8) {
        0..3 => {
            // The people are in the driver.
            let point = Point::draw(dice, Point::is_of_people);
            (Lifespan::until(point, 1 + dice.below(2 * many), MISSED), false)
        }
        3..6 => (Lifespan { lines: 1 + dice.below(many), ..Lifespan::of(MISSED) }, false),
        // Perhaps before it listens.
        6 => (Lifespan { is_from_start: true, ..soon(dice) }, false),
        _ => (soon(dice), true),
    }
}

impl ServeCampaign {
    /// Kills as often as ordered. After each kill, `progress` receives the figures so far.
    ///
    /// # Panics
    /// Where the machine has no room for files, processes or ports.
    pub async fn run(&self, mut progress: impl FnMut(&ServeFigures)) -> ServeFigures {
        let mut dice = Dice::new(self.seed);
        let figures = Arc::new(Mutex::new(ServeFigures::default()));
        let so_far = || figures.lock().expect("no code under this lock panics").clone();
        while so_far().kills < self.kills || so_far().keys < self.keys {
            let folder = tempfile::tempdir().expect("there is a place for temporary files");
            let number = so_far().files;
            let port = free_port();
            let witness = Witness::default();
            let mut way = None;
            let mut address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let sessions = sessions_with_tokens(folder.path(), self.clients);
            if let Some(mistake) = self.mistake {
                let owners =
                    sessions.iter().map(|(plan, secret)| (plan.name.clone(), secret.clone()));
                let started = proxy(mistake, address, owners.collect()).await;
                let started = started.expect("there is a free port");
                address = started.address;
                way = Some(started);
            }
            let host = format!("127.0.0.1:{port}");
            let patience = self.patience;
            let figures = figures.clone();
            let site = Site { address, host, sessions, witness, patience, figures };
            let lives = Lives { campaign: self, folder: folder.path(), site: site.into(), port };
            // More of them where there are too few keys yet.
            let kills = match self.kills.saturating_sub(so_far().kills) {
                0 => self.kills_a_file,
                left => left.min(self.kills_a_file),
            };
            let tell = || progress(&so_far());
            lives.all(kills, number, &mut dice, tell).await;
            drop(way);
        }
        so_far()
    }
}

/// The successive servers on one file, and the clients that outlive them.
struct Lives<'a> {
    campaign: &'a ServeCampaign,
    folder: &'a Path,
    site: Arc<Site>,
    port: u16,
}

impl Lives<'_> {
    async fn all(&self, kills: u64, file: u64, dice: &mut Dice, mut progress: impl FnMut()) {
        self.site.figures().files += 1;
        let stop = CancellationToken::new();
        let mut clients = JoinSet::new();
        for number in 0..self.campaign.clients {
            let client = Client::new(self.site.clone(), number, self.campaign.seed ^ (file << 20));
            clients.spawn(Arc::new(client).live(stop.clone()));
        }
        for life in 1..=kills {
            let (lifespan, in_order) = end(dice, self.campaign.clients);
            self.lives(life, lifespan, in_order).await;
            self.audit(Moment::AfterDeath).await;
            progress();
        }
        // All clients end their turns and hear the rest.
        let mut last = self.start(kills + 1, None);
        stop.cancel();
        let resting = async { while clients.join_next().await.is_some() {} };
        let resting = timeout(4 * self.campaign.patience, resting);
        tokio::pin!(resting);
        let is_at_rest = loop {
            tokio::select! {
                rested = &mut resting => break rested.is_ok(),
                report = last.hear() => match report {
                    Some(report) => self.site.hear(&report),
                    None => break false,
                },
            }
        };
        if !is_at_rest {
            self.site.finds(Counter::Stuck, "not every client comes to rest".to_owned());
        }
        last.tell(&[]).await;
        self.ends(last, false).await;
        self.audit(Moment::AtRest).await;
        let acknowledged = self.site.witness.oracle().acknowledged();
        self.site.figures().acknowledged += acknowledged;
        progress();
    }

    /// Compares a copy of the oracle, to which clients go on to add, with the database that no
    /// process has open.
    async fn audit(&self, moment: Moment) {
        let oracle = self.site.witness.oracle().clone();
        let sessions: Vec<_> = self.site.sessions.iter().map(|(plan, _)| plan.clone()).collect();
        let found = audit_file(self.folder, &sessions, &oracle, moment).await;
        self.site.figures().findings.add(found);
    }

    /// Starts a server, and kills or ends it in its time.
    async fn lives(&self, life: u64, lifespan: Lifespan, in_order: bool) {
        let mut process = self.start(life, lifespan.dies_at);
        let hear = |report: &str| self.site.hear(report);
        process.lives(lifespan, self.campaign.patience, hear).await;
        if in_order {
            process.tell(&[]).await;
            if self.ends(process, false).await {
                self.site.figures().ends_in_order += 1;
            }
            return;
        }
        process.kill();
        if self.ends(process, true).await {
            let mut figures = self.site.figures();
            figures.kills += 1;
            figures.kills_at_points += u64::from(lifespan.dies_at.is_some());
        }
    }

    fn start(&self, life: u64, dies_at: Option<(Point, u64)>) -> Process {
        let orders = ServerOrders {
            folder: self.folder.to_owned(),
            life,
            seed: self.campaign.seed,
            clients: self.campaign.clients,
            port: self.port,
            dies_at,
        };
        Process::start(&self.campaign.program, "server", &orders)
    }

    /// Hears the rest of a server's reports, and tells whether it ended as ordered.
    async fn ends(&self, process: Process, was_killed: bool) -> bool {
        let hear = |report: &str| self.site.hear(report);
        let end = process.end(was_killed, self.campaign.patience, hear).await;
        if let Err(how) = &end {
            let what = format!("a server did not end as ordered, but {how}");
            self.site.finds(Counter::Stuck, what);
        }
        end.is_ok()
    }
}

/// Makes a token for the user of each session.
fn sessions_with_tokens(folder: &Path, clients: usize) -> Vec<(SessionPlan, String)> {
    let file = TokenFile::new(folder.join(TOKENS));
    let with_token = |plan: SessionPlan| {
        let user = UserId::new(plan.user.as_str()).expect("it is short");
        let holder = TokenHolder::User(user);
        let scopes = TokenScopes::OF_PERSON;
        let secret = file.add(&plan.user, holder, scopes, None);
        let secret = secret.expect("a new folder can be written to");
        (plan, secret.reveal().to_owned())
    };
    sessions(clients).into_iter().map(with_token).collect()
}

/// Finds a port that no process has. Campaigns of one process take one port after the other, and
/// those of other processes begin elsewhere. A port is bound a moment after it was found, and again
/// after each death.
fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let (from, count) = PORTS;
    loop {
        let number = std::process::id().wrapping_mul(61).wrapping_add(TAKEN.fetch_add(1, Relaxed));
        let port = from + u16::try_from(number % count).expect("it is below all ports");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
