//! The mistakes that the proof must find: made by stores, tools, models, clocks and people around the runtime's ports.
//!
//! None of them stands in the runtime itself. Each has a name, under which `docs/proof.md` says which drivers find it.

mod clock;
mod model;
mod store;
mod tool;

pub(crate) use clock::MistakenClock;
pub(crate) use model::MistakenModel;
pub(crate) use store::MistakenSteps;
pub(crate) use tool::tools;

macro_rules! mistakes {
    ($($mistake:ident $name:literal $what:literal;)*) => {
        /// A mistake outside of the runtime.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Mistake {
            $(#[doc = $what] $mistake,)*
        }

        impl Mistake {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$mistake,)*];

            /// Its name on command lines and in `docs/proof.md`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$mistake => $name,)* }
            }

            /// What goes wrong, in a sentence.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$mistake => $what,)* }
            }
        }
    };
}

mistakes! {
    StoreLosesCommits "store-loses-commits" "The store drops a commit and acknowledges it.";
    StoreCommitsLate "store-commits-late" "The store acknowledges a commit before it happens.";
    StoreAppliesTwice "store-applies-twice" "The store applies what tools wrote twice.";
    StoreKeepsUndone "store-keeps-undone" "The store keeps a part that was undone.";
    StoreUndoesKept "store-undoes-kept" "The store undoes a part that was kept.";
    StoreHidesRefusals "store-hides-refusals" "The store acknowledges a write that it refused.";
    StoreForgetsApprovals "store-forgets-approvals" "The store does not write that a call was approved.";
    StoreForgetsDenials "store-forgets-denials" "The store writes a denial as an expiry.";
    StoreForgetsRevocations "store-forgets-revocations" "The store does not write that a standing approval ended.";
    StoreForgetsTurnEnds "store-forgets-turn-ends" "The store does not write that a turn ended.";
    StoreForgetsCallEnds "store-forgets-call-ends" "The store does not write that a call ended.";
    StoreForgetsAnswers "store-forgets-answers" "The store does not write what the model answered.";
    StoreForgetsKeys "store-forgets-keys" "The store forgets under which key a turn was submitted.";
    StoreForgetsOpenTurns "store-forgets-open-turns" "The store does not tell that a turn is open.";
    StoreForgetsOpenCalls "store-forgets-open-calls" "The store does not tell which calls are open.";
    StoreTurnsEffectsRound "store-turns-effects-round" "The store writes that a call took no effect where it did.";
    StoreCallsUnknownNone "store-calls-unknown-none" "The store writes that a call took no effect where that is unknown.";
    StoreChangesOutcomes "store-changes-outcomes" "The store writes an error where a call succeeded.";
    StoreChangesTexts "store-changes-texts" "The store changes what the user typed.";
    StoreSwapsOwners "store-swaps-owners" "The store tells that a session belongs to another user.";
    StoreReadsOldTranscripts "store-reads-old-transcripts" "The store gives a transcript without its last entries.";
    StoreBreaksOrder "store-breaks-order" "The store gives the entries of a transcript in another order.";
    StoreSkipsEntries "store-skips-entries" "The store leaves entries out of a transcript.";
    StoreRepeatsEntries "store-repeats-entries" "The store gives entries of a transcript twice.";
    ToolActsTwice "tool-acts-twice" "A tool carries its effect out twice.";
    ToolDoesNothing "tool-does-nothing" "A tool says that it succeeded and does nothing.";
    ToolActsAfterItsEnd "tool-acts-after-its-end" "A tool says that it failed and acts later.";
    ToolSwapsArguments "tool-swaps-arguments" "A tool acts on other arguments than those that were approved.";
    ToolHidesFailures "tool-hides-failures" "A tool says that it succeeded where it failed.";
    ToolNeverAsks "tool-never-asks" "A destructive tool says that it need not ask.";
    ToolCallsItselfHarmless "tool-calls-itself-harmless" "A destructive tool is described as one that only writes.";
    ToolWritesAsReader "tool-writes-as-reader" "A tool that only reads sends a letter.";
    ToolSignsForAnother "tool-signs-for-another" "A tool leaves the id of another call with its effect.";
    ModelRepeatsCalls "model-repeats-calls" "The model asks for each call twice.";
    ClockRunsAhead "clock-runs-ahead" "The clock is an hour ahead.";
    ClockStands "clock-stands" "The clock stands.";
    FrontEndSaysYes "front-end-says-yes" "The front end approves whatever the person decided.";
    FrontEndSubmitsTwice "front-end-submits-twice" "The front end submits a text twice without a key.";
    FrontEndMissesEvents "front-end-misses-events" "The front end goes on behind events that nobody has read.";
}
