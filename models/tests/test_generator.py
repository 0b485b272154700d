"""What the generated conversations and their tokens keep to. `make test` runs it; it needs no model."""

from __future__ import annotations

import json
import random
import unittest
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch

from madang_seed import answers, chat, envelopes, grammar, model, restore, rules, vocabulary
from madang_seed.dialogue import LIFE, NOTES, Call, Dialogue, Message
from madang_seed.mixture import LONG, Mixture, dialogue
from madang_seed.placeholders import PLACEHOLDERS, RESULT

BUNDLED = Path(__file__).parents[2] / "toolkits/src/demonstration/madang-seed.gguf"
MIXTURES = (Mixture(short=1.0), Mixture(short=0.0, more_turns=0.3), Mixture(short=0.0, long=1.0))


def conversations(number: int, mixture: Mixture, seed: int = 5) -> list[list[Message]]:
    """Conversations of a mixture, the same each time."""
    rng = random.Random(seed)
    return [dialogue(rng, mixture) for _ in range(number)]


class Conversations(unittest.TestCase):
    """What is said, called and answered."""

    def test_every_conversation_keeps_to_the_rules(self) -> None:
        for mixture, number in zip(MIXTURES, (300, 150, 30), strict=True):
            for messages in conversations(number, mixture):
                self.assertEqual(rules.broken(messages), [])

    def test_every_way_of_asking_can_be_read(self) -> None:
        """One of thousands that cannot would end a training after minutes or hours."""
        for phrases in (LIFE, NOTES):
            for language, module in phrases.items():
                lists = (value for name, value in vars(module).items() if name.isupper() and isinstance(value, list))
                for template in (one for each in lists for one in each if isinstance(one, str)):
                    with self.subTest(template):
                        grammar.read(Dialogue(random.Random(0), language, language, 0.0).own([template])[0])

    def test_a_text_of_its_own_after_a_result_breaks_the_rules(self) -> None:
        with patch.object(Dialogue, "result", lambda d: d.say("Done.")):
            broken = [said for messages in conversations(60, MIXTURES[1]) for said in rules.broken(messages)]
        self.assertIn("after a result it says 'Done.'", broken)

    def test_a_sentence_that_nobody_knows_breaks_the_rules(self) -> None:
        messages = [Message("user", "Hello"), Message("assistant", "You have 3 habits.")]
        self.assertEqual(rules.broken(messages), ["it makes up 'You have 3 habits.'"])

    def test_a_placeholder_without_any_result_breaks_the_rules(self) -> None:
        messages = [Message("user", "Hello"), Message("assistant", RESULT)]
        self.assertEqual(rules.broken(messages), ["{result} stands where there is no result"])

    def test_a_call_that_no_tool_takes_breaks_the_rules(self) -> None:
        table = [
            (Call("get_weather", {}), "there is no tool get_weather"),
            (Call("end_habit", {}), "end_habit lacks ['habit_id']"),
            (Call("end_habit", {"habit_id": 3, "when": "now"}), "end_habit takes no when"),
            (Call("end_habit", {"habit_id": "3"}), "end_habit does not take '3' for habit_id"),
            (Call("search_catalog", {"category": "food"}), "search_catalog does not take 'food' for category"),
            (Call("rename_page", {"id": "hello", "title": ""}), "rename_page does not take '' for title"),
        ]
        for call, expected in table:
            messages = [Message("user", "Hello"), Message("assistant", call=call)]
            self.assertEqual(rules.broken(messages), [expected])

    def test_a_text_that_nobody_said_or_found_breaks_the_rules(self) -> None:
        blocks = [{"content": "Green tea"}, {"content": "green teas", "indent": 1}]
        call = Call("create_page_with_blocks", {"title": "Tea", "blocks": blocks})
        messages = [Message("user", 'Make the page tea with "green  tea"'), Message("assistant", call=call)]
        self.assertEqual(rules.broken(messages), ["content is 'green teas', which nobody said or found"])

    def test_every_tool_is_called_but_for_what_is_read_on_by_an_offset(self) -> None:
        called = {
            message.call.name
            for messages in conversations(2500, Mixture(short=0.4))
            for message in messages
            if message.call is not None
        }
        self.assertEqual(called, set(rules.tools()))

    def test_of_what_users_say_a_quarter_to_a_third_needs_no_call(self) -> None:
        for mixture in (Mixture(short=0.58, more_turns=0.25, long=0.13), MIXTURES[2]):
            said = silent = 0
            for messages in conversations(700 if mixture.long < 1 else 100, mixture):
                for message, after in zip(messages, messages[1:], strict=False):
                    said += message.role == "user"
                    silent += message.role == "user" and after.role == "assistant" and after.call is None
            self.assertTrue(0.24 <= silent / said <= 0.33, silent / said)

    def test_a_long_chat_has_as_many_messages_as_it_is_to_have(self) -> None:
        for messages in conversations(40, MIXTURES[2]):
            self.assertGreaterEqual(sum(message.role == "user" for message in messages), LONG[0])

    def test_the_sentences_of_its_own_hold_no_gap(self) -> None:
        self.assertEqual([said for said in rules.own_sentences() if set("{}[]<>") & set(said)], [])
        self.assertEqual(answers.SAID["ko"].keys(), answers.SAID["en"].keys())

    def test_what_is_to_be_copied_stays_whole_when_it_is_typed_in_haste(self) -> None:
        rng = random.Random(3)
        title, changed = "습관 좋은 메모", 0
        for _ in range(3000):
            d = Dialogue(rng, "ko", "ko", 0.2)
            text = d.careless(f"{title} 페이지를 좀 열어 줘", title)
            self.assertIn(title, text)
            changed += text != f"{title} 페이지를 좀 열어 줘"
        self.assertGreater(changed, 100)


class Envelopes(unittest.TestCase):
    """What the model reads of a result."""

    def test_a_list_that_is_too_long_is_cut_as_the_runtime_cuts_it(self) -> None:
        items = [{"id": number, "title": "수면에 좋은 습관"} for number in range(100)]
        told = json.loads(envelopes.ok({"items": items, "note": "kept"}, "list_pages"))["data"]
        kept = len(told["items"])
        self.assertEqual(told["items"], items[:kept])
        self.assertEqual((told["count"], told["nextOffset"], told["_truncated"]), (100, kept, True))
        self.assertEqual(told["_hint"], "ask query_pages for the rest")
        told["items"] = items[: kept + 1]
        self.assertGreater(len(envelopes.compact({"status": "ok", "data": told}).encode()), envelopes.MAX_BYTES)

    def test_of_a_few_entries_the_texts_are_cut_and_the_titles_stay(self) -> None:
        items = [{"title": "수면" * 20, "summary": "걷기" * 100} for _ in range(4)]
        told = json.loads(envelopes.ok({"count": 4, "items": items}, "search_catalog"))["data"]
        self.assertEqual([one["title"] for one in told["items"]], [one["title"] for one in items])
        self.assertTrue(all("…(+" in one["summary"] for one in told["items"]))


class Tokens(unittest.TestCase):
    """The vocabulary and the network."""

    def test_each_placeholder_is_one_token_and_reads_back(self) -> None:
        known = vocabulary.build(dialogues=150)
        for placeholder in PLACEHOLDERS:
            self.assertEqual(len(known.encode(placeholder)), 1)
            self.assertEqual(known.decode(known.encode(f"a {placeholder}")), f"a {placeholder}")
        self.assertLessEqual(len(known), vocabulary.SIZE)

    def test_an_answer_is_learned_from_its_first_token_on(self) -> None:
        written = chat.pieces([Message("user", "x"), Message("assistant", RESULT)])
        self.assertIn((RESULT, chat.ANSWER, (0,)), [(piece.text, piece.weight, piece.starts) for piece in written])

    def test_blocks_of_queries_see_the_same_as_all_at_once(self) -> None:
        torch.manual_seed(1)
        q, k, v = (torch.randn(2, 3, 700, 8) for _ in range(3))
        mask = model.document_mask(torch.ones(2, 700), torch.float32)
        with patch.object(model, "_QUERIES", 10_000):
            whole = model._seen(q, k, v, mask)
        with patch.object(model, "_QUERIES", 256):
            torch.testing.assert_close(model._seen(q, k, v, mask), whole)


class Widening(unittest.TestCase):
    """A training that begins wider than the model it begins from."""

    def test_a_wider_network_says_at_first_what_the_narrower_one_said(self) -> None:
        torch.manual_seed(1)
        file = restore.open_file(BUNDLED)
        narrow, known = restore.network(file), restore.vocabulary(file)
        shape = replace(narrow.shape, width=256, heads=4, groups=4, hidden=768, layers=narrow.shape.layers + 1)
        wide = restore.graft(file, known, shape)
        ids, documents = torch.arange(20, 84)[None], torch.ones(1, 64, dtype=torch.int64)
        mask = model.document_mask(documents, torch.float32)
        with torch.no_grad():
            said = [one.logits(one(ids, mask, torch.float32)).softmax(-1) for one in (narrow, wide)]
        self.assertLess((said[0] - said[1]).abs().max().item(), 0.01)


if __name__ == "__main__":
    unittest.main()
