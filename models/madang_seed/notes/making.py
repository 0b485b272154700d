"""Turns that make pages, empty or with lines."""

from __future__ import annotations

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..failing import fail
from ..grammar import choose
from . import results, words
from .pages import read
from .results import Block, Page
from .steps import broken, find_page, goes_wrong, names, refused
from .titles import delete
from .writing import listed, write_there


def make_page(d: Dialogue) -> None:
    """An empty page, perhaps inside another one."""
    rng = d.rng
    if results.bare(d):
        title = results.listing(d)
        d.user(d.in_passing(d.ask(d.notes.MAKE_BARE, t=title)))
        _make(d, title, None)
        return
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
    where = {"title": title, "parentId": parent.id if parent else None}
    d.call("create_page", **where)
    if refused(d, "create_page", **where):
        return
    if goes_wrong(d, "create_page", 0.06):
        return
    if rng.random() < 0.06:
        broken(d, rng.choice(("page" if parent else "title", "taken")), t=parent.id if parent else title)
        return
    page = Page(results.new_id(d), title, parent.id if parent else None)
    d.tool(envelopes.ok(results.created(page)))
    d.result()
    roll = rng.random()
    if roll < 0.3:
        write_there(d, page, is_new=True)
    else:
        _after_making(d, page, [], roll - 0.3)


def _after_making(d: Dialogue, page: Page, blocks: list[Block], roll: float) -> None:
    """What is done with the page that was made just now with these blocks, and whose id is known."""
    if roll < 0.08:
        d.user(d.ask(d.notes.TAKE_BACK_PAGE))
        delete(d, page)
    elif roll < 0.16:
        d.user(d.ask(d.notes.READ_THAT[1:]))
        read(d, page, blocks)


def make_page_with_lines(d: Dialogue) -> None:
    """A page with lines in order, some of them nested."""
    rng = d.rng
    bare = results.bare(d)
    title = results.listing(d) if bare else results.title(d)
    blocks, row = _items(d)
    slots = {"t": title, "q": d.quoted(title), "list": row}
    if bare or rng.random() < 0.85:
        text = choose(rng, d.own(d.notes.MAKE_LINES_BARE if bare else d.notes.MAKE_LINES), **slots)
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
    language = d.other_language(0.06)
    is_short = rng.random() < 0.75
    mark = rng.choice(d.notes.ITEM_MARKS) if is_short else "'{x}'"
    number = rng.choice((1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6))
    lines = [_item(d, language, is_short) for _ in range(number)]
    if rng.random() < 0.65:
        return [{"content": line} for line in lines], listed(d, [mark.replace("{x}", line) for line in lines])
    return _nested(d, lines, mark)


def _item(d: Dialogue, language: str, is_short: bool) -> str:
    """A line that can stand in a list, between quotation marks if it is long."""
    text = words.item(d.rng, language, d.novelty) if is_short else words.line(d.rng, language, d.novelty)
    return words.item(d.rng, language, d.novelty) if set(text) & set(",'\"") else text


def _nested(d: Dialogue, lines: list[str], mark: str) -> tuple[list[Data], str]:
    """Lines of which some are said to be under the one before; others are said to be outside again."""
    rng, phrases = d.rng, d.notes
    blocks: list[Data] = []
    row, depth = "", 0
    for line in lines:
        written = mark.replace("{x}", line)
        above = mark.replace("{x}", str(blocks[-1]["content"])) if blocks else ""
        roll = rng.random()
        if not blocks:
            row = written
        elif depth < 2 and roll < (0.65 if depth == 0 else 0.25):
            depth += 1
            row += rng.choice((", ", ", ", " ")) + choose(rng, phrases.UNDER, x=written, p=above)
        elif depth > 0 and roll < 0.65:
            row += rng.choice(phrases.SIBLINGS) + written
        elif depth > 0:
            depth = 0
            row += choose(rng, phrases.OUTSIDE_AGAIN, x=written)
        else:
            row += ", " + written
        blocks.append({"content": line, **({"indent": depth} if depth else {})})
    return blocks, row


def _make_with_lines(d: Dialogue, title: str, parent: Page | None, blocks: list[Data]) -> None:
    rng = d.rng
    where = {"parentId": parent.id} if parent else {}
    d.call("create_page_with_blocks", title=title, **where, blocks=blocks)
    if refused(d, "create_page_with_blocks", title=title, **where, blocks=blocks):
        return
    if rng.random() < 0.05:
        fail(d, "create_page_with_blocks")
        return
    if rng.random() < 0.03:
        broken(d, "taken", t=title)
        return
    page = Page(results.new_id(d), title, parent.id if parent else None)
    failing = {rng.randrange(len(blocks))} if len(blocks) > 1 and rng.random() < 0.06 else set()
    made: list[Data] = []
    shown: list[Block] = []
    path: list[str] = []
    for place, block in enumerate(blocks):
        if place in failing:
            continue
        depth = min(int(block.get("indent", 0)), len(path))
        path = path[:depth]
        own = results.new_id(d)
        made.append({"id": own, "parentId": path[-1] if path else None, "content": block["content"]})
        path.append(own)
        shown.append(Block(own, str(block["content"]), page, depth=depth))
    data = {
        "id": page.id,
        "title": title,
        "blocksRequested": len(blocks),
        "blocksCreated": len(made),
        "blocksFailed": len(failing),
        "blocks": made,
        "failedBlocks": [{"index": place, "code": rng.choice(("newline", "too_long"))} for place in failing],
    }
    d.tool(envelopes.ok(data, "create_page_with_blocks"))
    d.result()
    roll = rng.random()
    if roll < 0.12:
        write_there(d, page, is_new=True)
    else:
        _after_making(d, page, shown, roll - 0.12)
