"""Turns that make pages, empty or with lines."""

from __future__ import annotations

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..failing import fail
from ..grammar import choose
from . import answers, results, words
from .results import Page
from .steps import broken, find_page, goes_wrong, names
from .writing import write_there


def make_page(d: Dialogue) -> None:
    """An empty page, perhaps inside another one."""
    rng = d.rng
    title = results.title(d)
    if rng.random() < 0.72:
        d.user(d.in_passing(d.ask(d.notes.MAKE, t=title, q=d.quoted(title))))
        _make(d, title, None)
        return
    parent = results.title(d) if rng.random() < 0.5 else rng.choice(words.FOLDERS[d.language])
    d.user(d.in_passing(d.ask(d.notes.MAKE_IN, t=title, q=d.quoted(title), **names(d, parent, "p"))))
    find_page(d, parent, lambda page: _make(d, title, page), is_directory=rng.random() < 0.7)


def _make(d: Dialogue, title: str, parent: Page | None) -> None:
    rng = d.rng
    d.call("create_page", title=title, parentId=parent.id if parent else None)
    if goes_wrong(d, "create_page", 0.06):
        return
    if rng.random() < 0.03:
        broken(d, "page" if parent else "title", t=parent.id if parent else title)
        return
    page = Page(results.new_id(d), title, parent.id if parent else None)
    d.tool(envelopes.ok(results.created(page)))
    answers.done(d, "created_in" if parent else "created", t=title, p=parent.title if parent else "")
    if rng.random() < 0.2:
        write_there(d, page)


def make_page_with_lines(d: Dialogue) -> None:
    """A page with lines in order, some of them nested."""
    rng = d.rng
    title = results.title(d)
    blocks, listed = _items(d)
    slots = {"t": title, "q": d.quoted(title), "list": listed}
    if rng.random() < 0.85:
        text = choose(rng, d.own(d.notes.MAKE_LINES), **slots)
        d.user(d.in_passing(" ".join(text.split())))
        _make_with_lines(d, title, None, blocks)
        return
    parent = results.title(d) if rng.random() < 0.5 else rng.choice(words.FOLDERS[d.language])
    text = choose(rng, d.own(d.notes.MAKE_LINES_IN), **slots, **names(d, parent, "p"))
    d.user(d.in_passing(" ".join(text.split())))
    find_page(d, parent, lambda page: _make_with_lines(d, title, page, blocks), is_directory=rng.random() < 0.7)


def _items(d: Dialogue) -> tuple[list[Data], str]:
    """The lines of a new page, and how they are listed in a request."""
    rng = d.rng
    number = rng.choice((1, 2, 2, 2, 3, 3, 3, 4, 5, 6))
    language = d.other_language(0.06)
    short = rng.random() < 0.75
    mark = rng.choice(d.notes.ITEM_MARKS) if short else "'{x}'"
    separators = rng.random() < 0.6
    blocks: list[Data] = []
    listed, depth = "", 0
    nests = rng.random() < 0.35
    for place in range(number):
        text = words.short_line(rng, language, d.novelty) if short else words.line(rng, language, d.novelty)
        if "," in text or "'" in text or '"' in text:
            text = words.short_line(rng, language, 1.0).replace("'", "").replace(",", "")
        written = mark.replace("{x}", text)
        deeper = place > 0 and nests and rng.random() < 0.5
        depth = min(depth + 1, 2) if deeper else depth
        if deeper:
            above = mark.replace("{x}", str(blocks[-1]["content"]))
            written = choose(rng, d.notes.UNDER, x=written, p=above)
            joined = ", "
        else:
            if place > 0 and depth > 0:
                # Without a word about it a line is on the outermost level again; "also under it" keeps the level.
                depth = 0
            joined = "" if place == 0 else (rng.choice(d.notes.AND) if place == number - 1 else ", ")
            joined = joined if separators or place == 0 else ", "
        listed += joined + written
        blocks.append({"content": text, **({"indent": depth} if depth else {})})
    return blocks, listed


def _make_with_lines(d: Dialogue, title: str, parent: Page | None, blocks: list[Data]) -> None:
    rng = d.rng
    where = {"parentId": parent.id} if parent else {}
    d.call("create_page_with_blocks", title=title, **where, blocks=blocks)
    if rng.random() < 0.05:
        fail(d, "create_page_with_blocks")
        return
    page = Page(results.new_id(d), title, parent.id if parent else None)
    failing = {rng.randrange(len(blocks))} if len(blocks) > 1 and rng.random() < 0.06 else set()
    made: list[Data] = []
    path: list[str] = []
    for place, block in enumerate(blocks):
        if place in failing:
            continue
        depth = min(int(block.get("indent", 0)), len(path))
        path = path[:depth]
        own = results.new_id(d)
        made.append({"id": own, "parentId": path[-1] if path else None, "content": block["content"]})
        path.append(own)
    data = {
        "id": page.id,
        "title": title,
        "blocksRequested": len(blocks),
        "blocksCreated": len(made),
        "blocksFailed": len(failing),
        "blocks": made,
        "failedBlocks": [{"index": place, "code": rng.choice(("newline", "too_long"))} for place in failing],
    }
    d.tool(envelopes.ok(data))
    if failing:
        answers.done(d, "created_some", t=title, n=len(blocks), m=len(failing))
    else:
        answers.done(d, "created_lines", t=title, n=len(blocks))
    if rng.random() < 0.12:
        write_there(d, page)
