//! What happens in every turn of a run: drawn from the seed before anything runs, and carried in the user's text, so that
//! a run of the same seed has the same faults in the same places.

use std::fmt;

use fastrand::Rng;

/// What a tool of a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Writes in the ledger's own transaction. Asks no one.
    Save,
    /// The same, but destructive: a person is asked.
    Erase,
    /// Sends a letter, which no transaction takes back.
    Mail,
    /// Does nothing.
    Look,
}

/// What goes wrong in a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It panics before it does anything.
    PanicsFirst,
    /// It panics when it has done everything.
    PanicsLast,
    /// It finds a rule broken when it has written.
    Breach,
    /// It fails.
    Fails,
    /// It takes a while.
    IsSlow,
    /// It takes longer than it may hold the transaction.
    IsTooSlow,
}

/// What the person does with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Says yes.
    Yes,
    /// Says no.
    No,
    /// Says yes and no at once: one of them counts.
    Both,
    /// Says yes, and once more when the turn is over: that counts for nothing.
    YesTwice,
    /// Leaves while it is open.
    Leaves,
}

/// A call that the model is to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallPlan {
    pub(crate) act: Act,
    pub(crate) fault: Option<Fault>,
    pub(crate) reply: Reply,
}

/// What goes wrong in the model when it is asked for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelFault {
    Fails,
    Panics,
}

impl ModelFault {
    const ALL: [Self; 2] = [Self::Fails, Self::Panics];
}

/// Stands where the model has no fault.
const ANSWERS: &str = "answers";

/// What happens around a turn, once so many of its events were heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// The person leaves.
    Leaves { after: u64 },
    /// The session's actor is killed.
    ActorDies { after: u64 },
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnPlan {
    /// The calls of each round.
    pub(crate) rounds: Vec<Vec<CallPlan>>,
    pub(crate) model: Option<ModelFault>,
    pub(crate) disturbance: Option<Disturbance>,
    /// It is submitted twice at once, under one key.
    pub(crate) is_doubled: bool,
}

/// How much goes wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Odds {
    /// Calls in a turn.
    pub(crate) tools: usize,
    /// Of a hundred.
    pub(crate) chaos: u8,
    /// Of a hundred.
    pub(crate) dismiss: u8,
}

/// Rounds with calls: the answer is one more, and four are allowed.
pub(crate) const ROUNDS: usize = 3;

/// Events of a turn among which it is disturbed: some turns are over before.
const EVENTS: u64 = 6;

/// One fault of so many is a handler that keeps the transaction: it holds up all others for as long as it may.
const TOO_SLOW: u8 = 32;

impl TurnPlan {
    /// The plan of this turn of this session.
    pub(crate) fn draw(seed: u64, session: usize, turn: usize, odds: Odds) -> Self {
        let mut rng = Rng::with_seed(seed);
        for number in [session, turn] {
            rng = Rng::with_seed(rng.u64(..) ^ number as u64);
        }
        let mut goes_wrong = {
            let mut rng = rng.fork();
            move |percent: u8| rng.u8(..100) < percent
        };
        let calls: Vec<CallPlan> = (0..odds.tools)
            .map(|_| CallPlan {
                act: *pick(&mut rng, &[Act::Save, Act::Save, Act::Erase, Act::Mail, Act::Look]),
                fault: goes_wrong(odds.chaos).then(|| draw_fault(&mut rng)),
                reply: if goes_wrong(odds.dismiss) {
                    Reply::Leaves
                } else if goes_wrong(odds.chaos) {
                    *pick(&mut rng, &[Reply::Both, Reply::YesTwice])
                } else {
                    *pick(&mut rng, &[Reply::Yes, Reply::Yes, Reply::Yes, Reply::No])
                },
            })
            .collect();
        let in_a_round = odds.tools.div_ceil(ROUNDS).max(1);
        Self {
            rounds: calls.chunks(in_a_round).map(<[CallPlan]>::to_vec).collect(),
            model: goes_wrong(odds.chaos).then(|| *pick(&mut rng, &ModelFault::ALL)),
            disturbance: if goes_wrong(odds.dismiss) {
                Some(Disturbance::Leaves { after: rng.u64(..EVENTS) })
            } else {
                goes_wrong(odds.chaos).then(|| Disturbance::ActorDies { after: rng.u64(..EVENTS) })
            },
            is_doubled: goes_wrong(odds.chaos),
        }
    }

    /// The calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &CallPlan> {
        self.rounds.iter().flatten()
    }

    /// Nothing goes wrong in it: whatever happens elsewhere, it ends as planned. A second submit changes nothing.
    pub(crate) fn is_clean(&self) -> bool {
        let is_clean = |call: &CallPlan| {
            matches!(call.fault, None | Some(Fault::IsSlow))
                && (call.act != Act::Erase || !matches!(call.reply, Reply::Both | Reply::Leaves))
        };
        self.model.is_none() && self.disturbance.is_none() && self.calls().all(is_clean)
    }

    /// What the model asks for when so many calls of the turn have come back: the rest of a round, or nothing.
    pub(crate) fn after(&self, ended: usize) -> &[CallPlan] {
        let mut before = 0;
        for round in &self.rounds {
            if ended < before + round.len() {
                return &round[ended - before..];
            }
            before += round.len();
        }
        &[]
    }

    /// Reads what the model must know from the user's text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (model, rounds) = text.split_once('\n').unwrap_or((text, ""));
        let model = match model {
            ANSWERS => None,
            word => Some(*ModelFault::ALL.iter().find(|fault| name_of(*fault) == word)?),
        };
        let round = |line: &str| line.split(' ').map(CallPlan::read).collect();
        let rounds = rounds.lines().map(round).collect::<Option<_>>()?;
        Some(Self { rounds, model, disturbance: None, is_doubled: false })
    }
}

/// The model's fault, then a line for each round with a word for each call.
impl fmt::Display for TurnPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.model.as_ref().map_or_else(|| ANSWERS.to_owned(), name_of))?;
        let line = |round: &Vec<CallPlan>| {
            round.iter().map(CallPlan::to_string).collect::<Vec<_>>().join(" ")
        };
        f.write_str(&self.rounds.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

impl Act {
    pub(crate) const ALL: [Self; 4] = [Self::Save, Self::Erase, Self::Mail, Self::Look];

    /// Its tool's name.
    pub(crate) fn name(self) -> String {
        name_of(&self)
    }
}

impl Fault {
    const ALL: [Self; 6] = [
        Self::PanicsFirst,
        Self::PanicsLast,
        Self::Breach,
        Self::Fails,
        Self::IsSlow,
        Self::IsTooSlow,
    ];

    /// The fault of this name.
    pub(crate) fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| name_of(fault) == word)
    }

    pub(crate) fn name(self) -> String {
        name_of(&self)
    }
}

impl CallPlan {
    /// The reply is not the model's business.
    fn read(word: &str) -> Option<Self> {
        let (act, fault) = word.split_once(':')?;
        Some(Self {
            act: Act::ALL.into_iter().find(|known| known.name() == act)?,
            fault: if fault.is_empty() { None } else { Some(Fault::read(fault)?) },
            reply: Reply::Yes,
        })
    }
}

impl fmt::Display for CallPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.act.name(), self.fault.map_or_else(String::new, Fault::name))
    }
}

fn draw_fault(rng: &mut Rng) -> Fault {
    if rng.u8(..TOO_SLOW) == 0 {
        return Fault::IsTooSlow;
    }
    *pick(rng, &[Fault::PanicsFirst, Fault::PanicsLast, Fault::Breach, Fault::Fails, Fault::IsSlow])
}

fn pick<'a, T>(rng: &mut Rng, items: &'a [T]) -> &'a T {
    &items[rng.usize(..items.len())]
}

/// `PanicsFirst` becomes `panics_first`: tools may be called so.
fn name_of(variant: &impl fmt::Debug) -> String {
    let mut name = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODDS: Odds = Odds { tools: 7, chaos: 50, dismiss: 20 };

    #[test]
    fn a_seed_has_its_faults_in_the_same_places_and_another_seed_has_others() {
        let all = |seed| -> Vec<_> {
            (0..50).map(|number| TurnPlan::draw(seed, number, number % 3, ODDS)).collect()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        let first = TurnPlan::draw(1, 0, 1, ODDS);
        assert_ne!(first, TurnPlan::draw(1, 1, 0, ODDS), "a session's turns are not another's");
    }

    #[test]
    fn the_model_reads_from_the_text_what_it_is_to_do() {
        for number in 0..200 {
            let plan = TurnPlan::draw(7, number, 0, ODDS);
            let read = TurnPlan::read(&plan.to_string()).unwrap();
            let for_model = |plan: &TurnPlan| {
                let calls: Vec<_> = plan.calls().map(|call| (call.act, call.fault)).collect();
                (calls, plan.rounds.iter().map(Vec::len).collect::<Vec<_>>(), plan.model)
            };
            assert_eq!(for_model(&read), for_model(&plan));
        }
        assert_eq!(TurnPlan::read("hello"), None);
    }

    #[test]
    fn without_odds_nothing_goes_wrong_and_with_them_everything_does_somewhere() {
        let calm = Odds { tools: 2, chaos: 0, dismiss: 0 };
        assert!((0..100).all(|number| {
            let plan = TurnPlan::draw(3, number, 0, calm);
            plan.is_clean() && !plan.is_doubled
        }));
        let plans: Vec<_> = (0..2_000).map(|number| TurnPlan::draw(3, number, 0, ODDS)).collect();
        for fault in Fault::ALL {
            assert!(plans.iter().flat_map(TurnPlan::calls).any(|call| call.fault == Some(fault)));
        }
        let is_left =
            |plan: &&TurnPlan| matches!(plan.disturbance, Some(Disturbance::Leaves { .. }));
        let left = plans.iter().filter(is_left).count();
        assert!((300..500).contains(&left), "20 % of 2,000 are dismissed: {left}");
    }

    #[test]
    fn rounds_are_no_more_than_a_turn_may_have_and_come_one_after_the_other() {
        for tools in 0..=24 {
            let plan = TurnPlan::draw(1, 0, 0, Odds { tools, ..ODDS });
            assert!(plan.rounds.len() <= ROUNDS);
            let mut ended = 0;
            while !plan.after(ended).is_empty() {
                ended += plan.after(ended).len();
            }
            assert_eq!(ended, tools);
        }
    }
}
