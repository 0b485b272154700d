"""Turns that write lines: where the user is or on a page that is named, and the correction of what was just written."""

from __future__ import annotations

from .. import envelopes
from ..dialogue import Dialogue
from ..failing import not_allowed
from ..grammar import choose
from . import results, words
from .results import Block, Page
from .steps import broken, find_page, goes_wrong, names, pick_page, refused


def write_here(d: Dialogue) -> None:
    """A line is written where the user is."""
    rng = d.rng
    is_bare = rng.random() < 0.35
    text = words.short_line(rng, d.other_language(0.05), d.novelty) if is_bare else results.line(d)
    templates = d.notes.ADD_HERE_BARE if is_bare else d.notes.ADD_HERE
    d.user(d.in_passing(d.ask(templates, **names(d, text, "c"))))
    d.call("insert_block_below_current", content=text)
    if refused(d, "insert_block_below_current", content=text):
        return
    if goes_wrong(d, "insert_block_below_current"):
        return
    if rng.random() < 0.1:
        broken(d, rng.choice(("no_page_open", "no_page_open", "no_page_open", "page_gone")))
        return
    if rng.random() < 0.03:
        broken(d, rng.choice(("full", "deep", "long")))
        return
    block = results.block(d, text)
    d.tool(envelopes.ok(block.made()))
    d.result()
    roll = rng.random()
    if roll < 0.18:
        correct(d, block)
    elif roll < 0.26:
        take_back(d, block)


def add_to_page(d: Dialogue) -> None:
    """A line, or two, for a page that is named by its title."""
    rng = d.rng
    if results.bare(d):
        title, text = results.listing(d), words.short_line(rng, d.other_language(0.05), d.novelty)
        d.user(d.in_passing(d.ask(d.notes.ADD_BARE, **names(d, title, "p"), **names(d, text, "c"))))
        find_page(d, title, lambda page: add_line(d, page, text))
        return
    if rng.random() < 0.28:
        _add_several(d)
        return
    title, text = results.title(d), results.line(d)
    slots = names(d, title, "p") | names(d, text, "c")
    if rng.random() < 0.87:
        d.user(d.in_passing(d.ask(d.notes.ADD_TO_PAGE, **slots)))
        find_page(d, title, lambda page: add_line(d, page, text))
        return
    second = results.line(d)
    d.user(d.in_passing(d.ask(d.notes.ADD_TWO, **slots, c2q=d.quoted(second), c2=second)))
    find_page(d, title, lambda page: _add_all(d, page, [text, second]))


def _add_several(d: Dialogue) -> None:
    """A few short lines for a page, named in a row."""
    rng = d.rng
    title = results.listing(d) if rng.random() < 0.6 else results.title(d)
    lines = [words.item(rng, d.language, d.novelty) for _ in range(rng.choice((2, 2, 3, 3, 4)))]
    mark = rng.choice(d.notes.ITEM_MARKS)
    slots = {"list": listed(d, [mark.replace("{x}", line) for line in lines])}
    text = choose(rng, d.own(d.notes.ADD_SEVERAL), **slots, **names(d, title, "p"))
    d.user(d.in_passing(" ".join(text.split())))
    find_page(d, title, lambda page: _add_all(d, page, lines))


def listed(d: Dialogue, written: list[str]) -> str:
    """Several lines in a row, as people name them."""
    if len(written) == 1:
        return written[0]
    between = d.rng.choice(d.notes.BETWEEN)
    last = d.rng.choice(d.notes.AND) if between == ", " else between
    return between.join(written[:-1]) + last + written[-1]


def _add_all(d: Dialogue, page: Page, lines: list[str]) -> None:
    for one in lines:
        d.call("create_block", pageId=page.id, content=one)
        if d.rng.random() < 0.05:
            not_allowed(d)
            return
        block = Block(results.new_id(d), one, page)
        d.tool(envelopes.ok(block.made()))
    d.result()


def write_to_picked(d: Dialogue, pages: list[Page]) -> None:
    """A line for one of several pages, which is named by its place."""
    text = results.line(d)
    add_line(d, pick_page(d, pages, _TO_PICKED[d.language], **names(d, text, "c")), text)


_TO_PICKED = {
    "ko": ["{o} [페이지에|거에|것에] {cq:이라고} <jot><end>", "{o} 페이지에 [{cq:을}|{cq}] [추가해<go>|적어<go>]<end>"],
    "en": ["<ask><jot> {cq} [to|on] {o}<end>", "on {o}[,|] [write|add] {cq}<end>"],
}


def write_there(d: Dialogue, page: Page, *, is_new: bool = False) -> None:
    """A line for the page of the last result."""
    text = results.line(d)
    templates = d.notes.WRITE_THERE + d.notes.WRITE_MADE if is_new else d.notes.WRITE_THERE
    d.user(d.ask(templates, **names(d, text, "c")))
    add_line(d, page, text)


def add_line(d: Dialogue, page: Page, text: str) -> None:
    """A line is added to a page whose id is known."""
    rng = d.rng
    d.call("create_block", pageId=page.id, content=text)
    if refused(d, "create_block", pageId=page.id, content=text):
        return
    if goes_wrong(d, "create_block"):
        return
    if rng.random() < 0.04:
        rule = rng.choice(("page", "full", "long"))
        broken(d, rule, t=page.id)
        return
    block = Block(results.new_id(d), text, page)
    d.tool(envelopes.ok(block.made()))
    d.result()
    roll = rng.random()
    if roll < 0.14:
        correct(d, block)
    elif roll < 0.2:
        take_back(d, block)
    elif roll < 0.34:
        more = results.line(d)
        d.user(d.ask(d.notes.MORE_THERE, **names(d, more, "c")))
        add_line(d, page, more)


def take_back(d: Dialogue, block: Block) -> None:
    """The line that has just been written is deleted again."""
    d.user(d.ask(d.notes.TAKE_BACK_LINE))
    d.call("delete_block", id=block.id)
    if d.rng.random() < 0.25:
        not_allowed(d)
        return
    d.tool(envelopes.ok({"deleted": True}))
    d.result()


def correct(d: Dialogue, block: Block) -> None:
    """No, not that: the line that has just been written is changed."""
    text = results.line(d)
    d.user(d.ask(d.notes.CORRECT, was=block.content, **names(d, text, "c")))
    change(d, block, text)


def change(d: Dialogue, block: Block, text: str) -> None:
    """A line becomes another."""
    d.call("update_block", id=block.id, content=text)
    if refused(d, "update_block", id=block.id, content=text):
        return
    if goes_wrong(d, "update_block"):
        return
    d.tool(envelopes.ok({"id": block.id, "content": text}))
    d.result()
