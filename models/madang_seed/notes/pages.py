"""Turns about pages: opening, listing, finding, reading and making them."""

from __future__ import annotations

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..failing import fail
from ..grammar import choose
from . import answers, results, words
from .results import Block, Page
from .steps import broken, find_page, goes_wrong, names, pick_page, quoted


def open_page(d: Dialogue) -> None:
    """A page is opened by its title."""
    title = results.title(d)
    d.user(d.in_passing(d.ask(d.notes.OPEN, t=title, q=quoted(d, title))))
    d.call("open_page", pageTitle=title)
    if goes_wrong(d, "open_page"):
        return
    if d.rng.random() < 0.14:
        broken(d, "page", "no_page", t=title, k=title)
        return
    page = results.page(d, title)
    _opened(d, page)
    if d.rng.random() < 0.25:
        _after_opening(d, page)


def _opened(d: Dialogue, page: Page) -> None:
    count = d.rng.choice((0, 1, 2, d.rng.randint(3, 60)))
    d.tool(envelopes.ok(results.opened(page, count)))
    answers.done(d, "opened", t=page.title, n=count)


def _after_opening(d: Dialogue, page: Page) -> None:
    """What is done with the page that was opened just now: its id is known."""
    if d.rng.random() < 0.5:
        write_here(d)
        return
    d.user(d.ask(d.notes.READ_THAT if d.rng.random() < 0.5 else d.notes.READ_HERE, o=d.phrases.ORDINALS[1][0]))
    read(d, page)


def write_here(d: Dialogue) -> None:
    """A line is written where the user is."""
    rng = d.rng
    text = results.line(d)
    d.user(d.in_passing(d.ask(d.notes.ADD_HERE, **names(d, text, "c"))))
    d.call("insert_block_below_current", content=text)
    if goes_wrong(d, "insert_block_below_current"):
        return
    if rng.random() < 0.1:
        broken(d, "no_page_open")
        return
    if rng.random() < 0.03:
        broken(d, rng.choice(("full", "deep", "long")))
        return
    block = results.block(d, text)
    d.tool(envelopes.ok(block.made()))
    answers.done(d, "added_here", c=text)
    if rng.random() < 0.18:
        correct(d, block)


def correct(d: Dialogue, block: Block) -> None:
    """No, not that: the line that has just been written is changed."""
    text = results.line(d)
    d.user(d.ask(d.notes.CORRECT, was=block.content, **names(d, text, "c")))
    change(d, block, text)


def change(d: Dialogue, block: Block, text: str) -> None:
    """A line becomes another."""
    d.call("update_block", id=block.id, content=text)
    if goes_wrong(d, "update_block"):
        return
    d.tool(envelopes.ok({"id": block.id, "content": text}))
    answers.done(d, "changed", c=text)


def list_pages(d: Dialogue) -> None:
    """The pages there are."""
    rng = d.rng
    roll = rng.random()
    arguments: Data = {}
    if roll < 0.5:
        text = d.squeezed(d.ask(d.notes.LIST))
    elif roll < 0.75:
        text, arguments = d.squeezed(d.ask(d.notes.LIST_FOLDERS)), {"includeDirectories": True}
    else:
        limit = rng.randint(1, 10)
        text, arguments = d.ask(d.notes.LIST_LIMIT, n=rng.choice(d.notes.COUNTS[limit])), {"limit": limit}
    d.user(d.in_passing(text))
    d.call("list_pages", **arguments)
    if goes_wrong(d, "list_pages"):
        return
    number = min(rng.choice((0, 1, 2, 3, 3, 4, 6, 14)), arguments.get("limit", 100))
    plain = None if arguments.get("includeDirectories") else False
    pages = [results.page(d, is_directory=plain) for _ in range(number)]
    total = number if "limit" not in arguments else number + rng.choice((0, 1, 4, 20))
    envelope = envelopes.ok(results.rows(pages, total))
    d.tool(envelope)
    pages = kept(envelope, pages)
    if not pages:
        answers.not_done(d, "no_list")
        return
    answers.listed(d, [page.title for page in pages], total)
    if rng.random() < 0.5:
        follow_pages(d, pages)


def kept(envelope: str, rows: list) -> list:
    """The rows that the envelope had room for."""
    return [row for row in rows if f'"id":"{row.id}"' in envelope]


def find_pages(d: Dialogue) -> None:
    """Pages are looked for, then perhaps one of them is used."""
    rng = d.rng
    said = words.query(rng, d.other_language(0.06), d.novelty)
    arguments: Data = {"query": said}
    if rng.random() < 0.2:
        arguments["limit"] = rng.randint(1, 9)
        count = rng.choice(d.notes.COUNTS[arguments["limit"]])
        text = d.ask(d.notes.FIND_PAGES_LIMIT, k=said, q=quoted(d, said), n=count)
    else:
        text = d.ask(d.notes.FIND_PAGES, k=said, q=quoted(d, said))
    d.user(d.in_passing(text))
    d.call("query_pages", **arguments)
    if goes_wrong(d, "query_pages"):
        return
    number = min(rng.choice((0, 1, 1, 2, 2, 3, 4)), arguments.get("limit", 10))
    pages = [results.page(d, said if rng.random() < 0.2 else _around(d, said)) for _ in range(number)]
    total = number + (rng.choice((0, 0, 3, 12)) if number == arguments.get("limit") else 0)
    d.tool(envelopes.ok(results.rows(pages, total)))
    if not pages:
        answers.not_done(d, "no_pages", k=said)
        return
    answers.listed(d, [page.title for page in pages], total)
    if rng.random() < 0.65:
        follow_pages(d, pages)


def _around(d: Dialogue, said: str) -> str:
    more = words.short_line(d.rng, d.language, d.novelty)
    return d.rng.choice((f"{said} {more}", f"{more} {said}"))


def follow_pages(d: Dialogue, pages: list[Page]) -> None:
    """Something about the pages of the last result, whose ids are known."""
    rng = d.rng
    roll = rng.random()
    if roll < 0.42:
        page = pick_page(d, pages, d.notes.OPEN_THAT if len(pages) == 1 else d.notes.OPEN_THAT[:2])
        d.call("open_page", pageId=page.id)
        _opened(d, page)
        if len(pages) > 1 and rng.random() < 0.45:
            page = pick_page(d, pages, d.notes.PICK_OTHER, but=page)
            d.call("open_page", pageId=page.id)
            _opened(d, page)
    elif roll < 0.64:
        # "It" and "that page" are clear where there is only one.
        templates = d.notes.READ_THAT if len(pages) == 1 else d.notes.READ_THAT[:1]
        read(d, pick_page(d, pages, templates))
    elif roll < 0.9 and len(pages) == 1:
        write_there(d, pages[0])
    elif roll < 0.9:
        write_to_picked(d, pages)
    else:
        # By title although an id is known: that is how a page is opened that somebody names.
        page = d.rng.choice(pages)
        d.user(d.ask(d.notes.OPEN, t=page.title, q=quoted(d, page.title)))
        d.call("open_page", pageTitle=page.title)
        _opened(d, page)


def write_to_picked(d: Dialogue, pages: list[Page]) -> None:
    """A line for one of several pages, which is named by its place."""
    text = results.line(d)
    add_line(d, pick_page(d, pages, _TO_PICKED[d.language], **names(d, text, "c")), text)


_TO_PICKED = {
    "ko": ["{o} [페이지에|거에|것에] {cq:이라고} <jot><end>", "{o} 페이지에 [{cq:을}|{cq}] [추가해<go>|적어<go>]<end>"],
    "en": ["<ask><jot> {cq} [to|on] {o}<end>", "on {o}[,|] [write|add] {cq}<end>"],
}


def write_there(d: Dialogue, page: Page) -> None:
    """A line for the page of the last result."""
    text = results.line(d)
    d.user(d.ask(d.notes.WRITE_THERE, **names(d, text, "c")))
    add_line(d, page, text)


def add_line(d: Dialogue, page: Page, text: str) -> None:
    """A line is added to a page whose id is known."""
    rng = d.rng
    d.call("create_block", pageId=page.id, content=text)
    if goes_wrong(d, "create_block"):
        return
    if rng.random() < 0.04:
        rule = rng.choice(("page", "full", "long"))
        broken(d, rule, t=page.id)
        return
    block = Block(results.new_id(d), text, page)
    d.tool(envelopes.ok(block.made()))
    answers.done(d, "added", t=page.title, c=text)
    roll = rng.random()
    if roll < 0.14:
        correct(d, block)
    elif roll < 0.3:
        more = results.line(d)
        d.user(d.ask(d.notes.MORE_THERE, **names(d, more, "c")))
        add_line(d, page, more)


def add_to_page(d: Dialogue) -> None:
    """A line, or two, for a page that is named by its title."""
    rng = d.rng
    title, text = results.title(d), results.line(d)
    slots = names(d, title, "p") | names(d, text, "c")
    if rng.random() < 0.84:
        d.user(d.in_passing(d.ask(d.notes.ADD_TO_PAGE, **slots)))
        find_page(d, title, lambda page: add_line(d, page, text))
        return
    second = results.line(d)
    d.user(d.in_passing(d.ask(d.notes.ADD_TWO, **slots, c2q=quoted(d, second), c2=second)))
    find_page(d, title, lambda page: _add_both(d, page, text, second))


def _add_both(d: Dialogue, page: Page, text: str, second: str) -> None:
    for one in (text, second):
        d.call("create_block", pageId=page.id, content=one)
        block = Block(results.new_id(d), one, page)
        d.tool(envelopes.ok(block.made()))
    answers.done(d, "added_both", t=page.title, c=text, e=second)


def read_page(d: Dialogue) -> None:
    """What stands on a page that is named by its title, or on the open one."""
    if d.rng.random() < 0.3:
        d.user(d.in_passing(d.squeezed(d.ask(d.notes.READ_HERE))))
        d.call("get_current_context")
        page = _context_page(d)
        if page is not None:
            read(d, page)
        return
    title = results.title(d)
    d.user(d.in_passing(d.ask(d.notes.READ, **names(d, title, "p"))))
    find_page(d, title, lambda page: read(d, page))


def _context_page(d: Dialogue) -> Page | None:
    if d.rng.random() < 0.12:
        d.tool(envelopes.ok(context(None, None, [])))
        answers.not_done(d, "no_open")
        return None
    page = results.page(d)
    focus = results.block(d, on=page) if d.rng.random() < 0.3 else None
    d.tool(envelopes.ok(context(page, focus, [])))
    return page


def context(page: Page | None, focus: Block | None, selected: list[Block]) -> Data:
    """The result of asking where the user is."""
    short = lambda block: {"id": block.id, "content": block.content}  # noqa: E731
    return {
        "page": {"id": page.id, "title": page.title} if page else None,
        "focusedBlock": short(focus) if focus else None,
        "selectedBlocks": [short(block) for block in selected],
        "hasSelection": bool(selected),
        "hasFocus": focus is not None,
    }


def read(d: Dialogue, page: Page) -> None:
    """The lines of a page whose id is known."""
    d.call("get_page_blocks", pageId=page.id)
    if goes_wrong(d, "get_page_blocks"):
        return
    number = d.rng.choice((0, 1, 2, 3, 3, 4, 5, 7))
    blocks = results.block_lines(d, page, number)
    envelope = envelopes.ok(results.lines(page, blocks, number))
    d.tool(envelope)
    blocks = kept(envelope, blocks)
    answers.read(d, page, blocks, number)


def make_page(d: Dialogue) -> None:
    """An empty page, perhaps inside another one."""
    rng = d.rng
    title = results.title(d)
    if rng.random() < 0.72:
        d.user(d.in_passing(d.ask(d.notes.MAKE, t=title, q=quoted(d, title))))
        _make(d, title, None)
        return
    parent = results.title(d) if rng.random() < 0.5 else rng.choice(words.FOLDERS[d.language])
    d.user(d.in_passing(d.ask(d.notes.MAKE_IN, t=title, q=quoted(d, title), **names(d, parent, "p"))))
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
    slots = {"t": title, "q": quoted(d, title), "list": listed}
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
