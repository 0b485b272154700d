"""Steps that many turns share: looking a page or a block up by what was said of it, and what may go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..failing import fail, not_allowed
from . import results, words
from .results import Block, Page

Some = TypeVar("Some", Page, Block)
OnPage = Callable[[Page], None]
OnBlock = Callable[[Block], None]


def names(d: Dialogue, text: str, key: str) -> Data:
    """The slots of a text as it stands and in quotation marks."""
    return {key: text, f"{key}q": d.quoted(text)}


def broken(d: Dialogue, rule: str, **slots: str) -> None:
    """The tool refuses by a rule."""
    code, reasons = results.BROKEN[rule]
    d.tool(envelopes.error(code, reasons[d.locale].format(**slots)))
    d.result()


def refused(d: Dialogue, tool: str, **arguments: object) -> bool:
    """Now and then a person does not allow what is to be written; at times it is tried again, and allowed."""
    rng = d.rng
    if rng.random() >= 0.14:
        return False
    not_allowed(d, results.line(d) if rng.random() < 0.15 else None)
    if rng.random() >= 0.2:
        return True
    d.user(d.ask(d.notes.AGAIN))
    d.call(tool, **arguments)
    return False


def goes_wrong(d: Dialogue, tool: str, share: float = 0.04) -> bool:
    """Now and then the tool fails for a reason that is none of its own."""
    if d.rng.random() >= share:
        return False
    fail(d, tool)
    return True


def find_page(d: Dialogue, said: str, then: OnPage, *, is_directory: bool | None = None) -> None:
    """Looks a page up by its title and goes on with it; asks back where several fit."""
    rng = d.rng
    d.call("query_pages", query=said)
    if goes_wrong(d, "query_pages", 0.02):
        return
    roll = rng.random()
    if roll < 0.08:
        d.tool(envelopes.ok(results.rows([], 0), "query_pages"))
        d.result()
        return
    exact = results.page(d, said, is_directory=is_directory)
    others = [results.page(d, _longer(d, said)) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    if roll < 0.7:
        found = [exact]
    elif roll < 0.85:
        # The best hit comes first: the title itself.
        found = [exact, *others]
    else:
        found = [results.page(d, _longer(d, said)), *others]
    d.tool(envelopes.ok(results.rows(found, len(found)), "query_pages"))
    if found[0] is exact:
        then(exact)
        return
    # Even where there is one: its title is another than was said.
    d.which()
    if rng.random() < 0.75:
        then(pick_page(d, found, d.notes.PICK if len(found) > 1 else d.notes.YES))


def find_block(d: Dialogue, said: str, whole: str, then: OnBlock) -> None:
    """Looks a block up by what was said of it and goes on with it; asks back where several fit."""
    rng = d.rng
    d.call("query_blocks", query=said)
    if goes_wrong(d, "query_blocks", 0.02):
        return
    roll = rng.random()
    if roll < 0.08:
        d.tool(envelopes.ok(results.hits([], 0), "query_blocks"))
        d.result()
        return
    one = results.block(d, whole)
    others = [results.block(d, _longer(d, said)) for _ in range(rng.choice((1, 1, 2, 3)))]
    if roll < 0.74:
        found = [one]
    elif roll < 0.86:
        one = results.block(d, said)
        found = [one, *others]
    else:
        one = results.block(d, _longer(d, said))
        found = [one, *others]
    d.tool(envelopes.ok(results.hits(found, len(found)), "query_blocks"))
    if len(found) == 1 or one.content == said:
        then(one)
        return
    d.which()
    if rng.random() < 0.75:
        then(pick_block(d, found, d.notes.PICK))


def _longer(d: Dialogue, said: str) -> str:
    """A text that has what was said in it, and more."""
    rng = d.rng
    more = words.short_line(rng, d.language, d.novelty)
    return rng.choice((f"{said} {more}", f"{more} {said}", f"{said} {more}"))


def pick_page(d: Dialogue, found: list[Page], templates: list[str], but: Page | None = None, **more: str) -> Page:
    """The user says which of the pages is meant."""
    page, slots = _picked(d, found, but)
    d.user(d.ask(templates, t=page.title, q=d.quoted(page.title), **slots, **more))
    return page


def pick_block(d: Dialogue, found: list[Block], templates: list[str], but: Block | None = None, **more: str) -> Block:
    """The user says which of the blocks is meant."""
    block, slots = _picked(d, found, but)
    d.user(d.ask(templates, t=block.content, q=d.quoted(block.content), **slots, **more))
    return block


# From a longer list nobody takes the last one, because it may have been too long to be shown.
_SHORT = 4


def _picked(d: Dialogue, found: list[Some], but: Some | None) -> tuple[Some, dict[str, str]]:
    """One of what was shown, and the word for its place."""
    places = {place: found[place - 1] for place in d.phrases.ORDINALS if 0 < place <= len(found)}
    if 1 < len(found) <= _SHORT:
        places[-1] = found[-1]
    places = {place: one for place, one in places.items() if one is not but}
    place = d.rng.choice(list(places))
    return places[place], {"o": d.rng.choice(d.phrases.ORDINALS[place])}
