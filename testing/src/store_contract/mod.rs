//! The promises of every store. Each is a function that runs on an empty store.
//!
//! [`store_contract!`](macro@crate::store_contract) makes a test of each promise, with its name. A
//! failing test thus states the broken promise.
//!
//! ```
//! # use std::sync::Arc;
//! use madang_testing::MemoryStore;
//!
//! madang_testing::store_contract!(async || Arc::new(MemoryStore::new()));
//! ```
//!
//! Invariants:
//! - A promise is only about the port [`Store`], so each store can be tested against it.
//! - Each test opens an empty store of its own, so no promise depends on what another has written.
//! - The macro tests each promise of this folder. A new one needs a line in its list.

mod approvals;
mod chain;
mod delete;
mod facts;
mod forget;
mod ledger;
mod ledger_pages;
mod parts;
mod resolving;
mod room;
mod savepoints;
mod search;
mod session_list;
mod temporary;
mod transcript;
mod turns;

use madang_actors::port::Store;

pub use approvals::*;
pub use chain::*;
pub use delete::*;
pub use forget::*;
pub use ledger::*;
pub use ledger_pages::*;
pub use parts::*;
pub use resolving::*;
pub use room::*;
pub use savepoints::*;
pub use search::*;
pub use session_list::*;
pub use temporary::*;
pub use transcript::*;
pub use turns::*;

/// Checks one promise on an empty store, and closes the store.
pub async fn keeps(store: &dyn Store, promise: impl AsyncFnOnce(&dyn Store)) {
    promise(store).await;
    store.close().await;
}

/// Makes a `#[tokio::test]` of each promise. Takes an async closure that returns an empty store in
/// an `Arc`. A store that needs what not every machine has says behind `if` whether it is here;
/// otherwise the tests do nothing.
#[macro_export]
macro_rules! store_contract {
    ($open:expr) => {
        $crate::store_contract! { $open, if true }
    };
    ($open:expr, if $is_here:expr) => {
        $crate::store_contract! { @promises $open, $is_here;
            a_session_is_opened_once_and_belongs_to_one_user,
            an_unknown_session_is_none,
            nothing_is_written_for_a_session_that_was_never_opened,
            messages_come_back_as_they_were_written_and_in_order,
            a_number_in_the_transcript_is_taken_once,
            a_message_needs_a_turn_that_has_begun,
            a_turn_begins_once_and_ends_once,
            the_open_turn_is_the_one_that_has_not_ended,
            a_session_is_in_one_turn_at_a_time,
            an_open_turn_says_how_far_it_came,
            a_step_of_a_turn_that_is_not_open_is_refused,
            a_turn_is_found_by_its_key_and_a_key_is_used_once,
            a_turn_is_found_by_its_id_with_its_first_entry_and_its_end,
            interrupted_sessions_are_those_with_an_open_turn_in_the_order_of_their_beginning,
            every_step_of_a_call_is_projected,
            an_illegal_step_is_refused_and_changes_nothing,
            the_same_step_again_changes_nothing,
            a_step_that_could_not_be_read_again_is_refused,
            the_same_state_with_other_content_is_refused,
            a_call_runs_only_what_was_approved_by_its_user,
            an_approval_comes_before_its_question_expires,
            an_approval_is_used_before_it_expires,
            an_approval_is_used_once,
            one_answer_to_a_question_is_recorded,
            only_approved_arguments_run,
            an_edit_is_approved_under_its_own_digest_and_both_are_kept,
            a_standing_approval_covers_later_calls_of_its_tool,
            a_standing_approval_covers_nothing_else,
            a_revoked_approval_covers_nothing_more,
            a_use_and_a_revocation_come_one_after_the_other,
            an_ended_call_is_an_entry_of_the_transcript,
            a_call_that_never_ran_keeps_its_validated_arguments,
            a_discarded_result_stays_in_the_ledger_only,
            an_unknown_effect_is_resolved_once,
            only_an_unknown_effect_is_resolved_and_by_the_calls_user,
            a_call_that_never_ran_has_no_effect,
            a_call_belongs_to_one_session,
            facts_of_one_transaction_build_on_each_other,
            the_first_refusal_is_reported,
            calls_are_filtered_and_come_in_the_order_of_their_proposals,
            pages_of_the_ledger_of_any_size_give_each_call_once,
            a_page_of_the_ledger_is_bounded_in_bytes,
            a_page_of_the_ledger_begins_behind_the_position_of_a_call,
            behind_a_call_that_is_not_there_nothing_is_read,
            the_chain_verifies_and_ends_where_the_session_says,
            an_undone_step_leaves_no_gap_in_the_chain,
            chains_of_two_sessions_do_not_mix,
            every_number_survives_in_the_chain,
            a_kept_part_stays_after_the_commit,
            an_undone_part_never_was,
            savepoints_nest,
            ending_a_savepoint_that_is_not_there_fails,
            a_transaction_dropped_without_commit_never_was,
            a_refused_write_leaves_the_transaction_usable,
            a_refused_part_is_undone_alone,
            naming_a_call_ahead_changes_nothing,
            readers_see_only_what_is_committed,
            transactions_come_one_after_the_other,
            a_session_of_a_thousand_messages_is_read_whole,
            a_transcript_is_read_in_parts_with_the_ends_of_turns_at_their_positions,
            a_part_of_a_transcript_is_bounded_in_bytes,
            a_users_chats_are_listed_newest_first_in_pages_of_any_size,
            a_session_is_listed_from_the_first_message_of_its_user_on,
            a_chat_moves_to_the_front_by_user_messages_and_ends_of_turns_and_never_back,
            a_chat_is_titled_by_the_first_text_since_its_last_clearing,
            a_chat_has_the_title_that_its_user_gave_it,
            a_chats_cursor_stands_behind_its_last_event,
            a_users_texts_are_found_newest_chat_first_in_pages_of_any_size,
            a_search_reads_no_more_than_its_bounds_and_goes_on,
            a_search_finds_what_the_chats_show,
            a_chat_waits_while_a_call_of_its_open_turn_is_asked_about,
            a_turn_begins_where_no_more_is_stored_of_its_user_than_it_says,
            the_instructions_of_a_turn_are_counted,
            undone_facts_take_no_room,
            a_forgotten_user_has_room_again,
            the_texts_of_a_temporary_chat_are_erased_and_its_ledger_stays,
            a_temporary_chat_is_listed_while_it_has_a_text,
            temporary_chats_are_listed_in_parts,
            the_title_of_a_temporary_chat_is_erased,
            only_a_temporary_chat_is_erased,
            erased_texts_are_not_counted,
            a_deleted_session_leaves_hashes_only,
            a_deletion_leaves_all_other_sessions_as_they_were,
            a_session_is_deleted_by_its_user_after_all_of_it_has_ended,
            a_deletion_is_a_fact_like_any_other_of_its_transaction,
            a_forgotten_user_leaves_hashes_only,
            other_users_keep_everything,
            no_user_is_forgotten_while_a_runtime_has_the_store,
        }
    };
    (@promises $open:expr, $is_here:expr; $($promise:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                if !$is_here {
                    return;
                }
                let open = $open;
                let store = open().await;
                $crate::store_contract::keeps(&*store, $crate::store_contract::$promise).await;
            }
        )*
    };
}
