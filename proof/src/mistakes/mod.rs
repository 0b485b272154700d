//! The mistakes that the proof must find: in stores, tools, models, clocks and people around the
//! runtime's ports.
//!
//! Each mistake has a name, a sentence and the counters that it must raise. `store`, `tool` and
//! `clock` wrap a part of the workload and make the mistake. `away` makes that of a start, and the
//! simulation itself that of a `late` look. The workload's model and people make those of the model
//! and of the front end. Those of a server are made by a `proxy` before it, and those of a way to
//! `remote` tools by what is around the tools. `docs/proof.md` lists which drivers find each, and a
//! test compares that table with these lists.
//!
//! Invariant: neither the runtime nor the server contains a mistake. Two mistakes of the power cut
//! change options of SQLite's writing connection, by a hidden function of the library. The others
//! need no hook in it.

#[cfg(feature = "sqlite")]
mod away;
mod clock;
#[cfg(feature = "sqlite")]
mod proxy;
#[cfg(feature = "sqlite")]
mod remote;
mod store;
mod tool;

#[cfg(feature = "sqlite")]
pub(crate) use away::gives_up;
pub(crate) use clock::MistakenClock;
#[cfg(feature = "sqlite")]
pub(crate) use proxy::proxy;
#[cfg(feature = "sqlite")]
pub(crate) use remote::remote_tools;
pub(crate) use store::MistakenSteps;
pub(crate) use tool::tools;

use serde::{Deserialize, Serialize};

use crate::{audit::Counter, named::named};

macro_rules! mistakes {
    ($(#[$doc:meta])* $kind:ident: $($mistake:ident $name:literal [$($counter:ident),+] $what:literal;)*) => {
        named! {
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
            pub enum $kind {
                $(#[doc = $what] $mistake = $name,)*
            }
        }

        impl $kind {
            /// Describes the mistake in a sentence.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$mistake => $what,)* }
            }

            /// Returns the counters that it must raise.
            #[must_use]
            pub const fn raises(self) -> &'static [Counter] {
                match self { $(Self::$mistake => &[$(Counter::$counter),+],)* }
            }
        }
    };
}

mistakes! {
    /// A mistake outside of the runtime.
    Mistake:
    StoreLosesCommits "store-loses-commits" [Lost] "The store drops a commit and acknowledges it.";
    StoreCommitsLate "store-commits-late" [Lost] "The store acknowledges a commit before it happens.";
    StoreAppliesTwice "store-applies-twice" [Doubled] "The store applies what tools wrote twice.";
    StoreKeepsUndone "store-keeps-undone" [Misreported] "The store keeps a part that was undone.";
    StoreUndoesKept "store-undoes-kept" [Lost] "The store undoes a part that was kept.";
    StoreHidesRefusals "store-hides-refusals" [Misreported] "The store acknowledges a write that it refused.";
    StoreForgetsApprovals "store-forgets-approvals" [Lost, Unasked] "The store does not write that a call was approved.";
    StoreForgetsDenials "store-forgets-denials" [Lost, Misreported] "The store writes a denial as an expiry.";
    StoreForgetsRevocations "store-forgets-revocations" [Unasked] "The store does not write that a standing approval ended.";
    StoreForgetsTurnEnds "store-forgets-turn-ends" [Lost] "The store does not write that a turn ended.";
    StoreForgetsCallEnds "store-forgets-call-ends" [Lost, Stuck] "The store does not write that a call ended.";
    StoreForgetsAnswers "store-forgets-answers" [Lost] "The store does not write what the model answered.";
    StoreForgetsKeys "store-forgets-keys" [Doubled] "The store forgets under which key a turn was submitted.";
    StoreForgetsOpenTurns "store-forgets-open-turns" [Stuck] "The store does not tell that a turn is open.";
    StoreForgetsOpenCalls "store-forgets-open-calls" [Stuck] "The store does not tell which calls are open.";
    StoreTurnsEffectsRound "store-turns-effects-round" [Misreported] "The store writes that a call took no effect where it did.";
    StoreCallsUnknownNone "store-calls-unknown-none" [Misreported] "The store writes that a call took no effect where that is unknown.";
    StoreTurnsResolutionsRound "store-turns-resolutions-round" [Lost, Misreported] "The store writes the contrary of what a person found out.";
    StoreChangesOutcomes "store-changes-outcomes" [Misreported] "The store writes an error where a call succeeded.";
    StoreChangesTexts "store-changes-texts" [Lost, Misreported] "The store changes what the user typed.";
    StoreSwapsOwners "store-swaps-owners" [Lost] "The store tells that a session belongs to another user.";
    StoreReadsOldTranscripts "store-reads-old-transcripts" [Misreported] "The store gives a transcript without its last entries.";
    StoreBreaksOrder "store-breaks-order" [Misreported] "The store gives the entries of a transcript in another order.";
    StoreSkipsEntries "store-skips-entries" [Lost] "The store leaves entries out of a transcript.";
    StoreRepeatsEntries "store-repeats-entries" [Doubled] "The store gives entries of a transcript twice.";
    ToolActsTwice "tool-acts-twice" [Doubled] "A tool carries its effect out twice.";
    ToolDoesNothing "tool-does-nothing" [Lost] "A tool says that it succeeded and does nothing.";
    ToolActsAfterItsEnd "tool-acts-after-its-end" [Misreported] "A tool says that it failed and acts later.";
    ToolSwapsArguments "tool-swaps-arguments" [Unasked] "A tool acts on other arguments than those that were approved.";
    ToolHidesFailures "tool-hides-failures" [Misreported] "A tool says that it succeeded where it failed.";
    ToolNeverAsks "tool-never-asks" [Unasked] "A destructive tool says that it need not ask.";
    ToolCallsItselfHarmless "tool-calls-itself-harmless" [Unasked] "A destructive tool is described as one that only writes.";
    ToolWritesAsReader "tool-writes-as-reader" [Misreported] "A tool that only reads sends a letter.";
    ToolSignsForAnother "tool-signs-for-another" [Lost, Unasked] "A tool leaves the id of another call with its effect.";
    ToolWritesElsewhere "tool-writes-elsewhere" [Misreported] "A tool writes beside the transaction of its record.";
    ModelRepeatsCalls "model-repeats-calls" [Doubled] "The model asks for each call twice.";
    ModelHidesCuts "model-hides-cuts" [Unasked] "The model tells a call that it did not finish as a whole one.";
    ClockRunsAhead "clock-runs-ahead" [Misreported] "The clock is an hour ahead.";
    ClockStands "clock-stands" [Misreported] "The clock stands.";
    FrontEndSaysYes "front-end-says-yes" [Unasked] "The front end approves whatever the person decided.";
    FrontEndSubmitsTwice "front-end-submits-twice" [Doubled] "The front end submits a text twice without a key.";
    FrontEndLeavesOthers "front-end-leaves-others" [Disturbed] "Leaving a chat dismisses the turn of another.";
    FrontEndMissesEvents "front-end-misses-events" [Lost] "The front end skips events that were never read.";
}

mistakes! {
    /// A mistake between a server and its clients.
    ProxyMistake:
    DropsKeys "server-ignores-keys" [Doubled] "The server does not look at the key of a request.";
    ChangesMessageIds "server-ignores-message-ids" [Doubled] "The server does not look at the ids of messages of AG-UI and the AI SDK.";
    CountsEachDecision "server-counts-each-decision" [Doubled] "The server answers each device as if it had decided first.";
    TurnsCursorsBack "server-turns-cursors-back" [Doubled] "The server goes on one event before the cursor of a reader.";
    PushesCursorsOn "server-pushes-cursors-on" [Lost] "The server goes on one event behind the cursor of a reader.";
    ForgetsEpochs "server-ignores-epochs" [Doubled] "The server does not look at the feed in the cursor of a reader.";
    EndsInOrder "server-ends-in-order" [Misreported] "A stream ends in mid-turn as if it were whole.";
    OpensToOthers "server-opens-a-route" [Exposed] "One route gives each user what belongs to another.";
}

mistakes! {
    /// A mistake of a start, while people are away.
    AwayMistake:
    GivesUp "start-gives-questions-up" [Disturbed] "A start gives up a turn that has waited for a person over three deaths.";
}

mistakes! {
    /// A mistake of a store that is looked at late.
    LateMistake:
    ShowsNoTurn "store-shows-no-turn" [Disturbed] "A store that is looked at late shows no open turn.";
}

mistakes! {
    /// A mistake on the way to a server of tools.
    RemoteMistake:
    SendsAgain "client-sends-again" [Doubled] "A new process sends a call again that a dead one had sent.";
    CallsLostNone "client-calls-lost-none" [Misreported] "A call whose answer was lost is told as one that did nothing.";
}
