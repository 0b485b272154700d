"""Turns about pages: opening, listing, finding and reading them."""

from __future__ import annotations

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from . import results, words
from .results import Block, Page
from .steps import broken, find_page, goes_wrong, names, pick_page
from .titles import delete, rename, rename_or_delete
from .writing import write_here, write_there, write_to_picked


def open_page(d: Dialogue) -> None:
    """A page is opened by its title."""
    bare = results.bare(d)
    title = results.listing(d) if bare else results.title(d)
    d.user(d.in_passing(d.ask(d.notes.OPEN_BARE if bare else d.notes.OPEN, t=title, q=d.quoted(title))))
    d.call("open_page", pageTitle=title)
    if goes_wrong(d, "open_page"):
        return
    if d.rng.random() < 0.14:
        broken(d, "page", t=title)
        return
    page = results.page(d, title)
    _opened(d, page)
    if d.rng.random() < 0.4:
        _after_opening(d, page)


def _opened(d: Dialogue, page: Page) -> None:
    count = d.rng.choice((0, 1, 2, d.rng.randint(3, 60)))
    d.tool(envelopes.ok(results.opened(page, count)))
    d.result()


def _after_opening(d: Dialogue, page: Page) -> None:
    """What is done with the page that was opened just now: its id is known, but where the user is may have changed."""
    roll = d.rng.random()
    if roll < 0.4:
        write_here(d)
    elif roll < 0.6:
        d.user(d.ask(d.notes.READ_THAT[1:]))
        read(d, page)
    elif roll < 0.8:
        d.user(d.ask(d.notes.READ_HERE))
        d.call("get_current_context")
        d.tool(envelopes.ok(context(page, None, [])))
        read(d, page)
    else:
        d.user(d.ask(d.notes.CONTEXT))
        d.call("get_current_context")
        d.tool(envelopes.ok(context(page, None, [])))
        d.result()


def list_pages(d: Dialogue) -> None:
    """The pages there are."""
    rng = d.rng
    roll = rng.random()
    arguments: Data = {}
    counted = roll < 0.14
    if counted:
        text = d.squeezed(d.ask(d.notes.COUNT_PAGES))
    elif roll < 0.5:
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
    envelope = envelopes.ok(results.rows(pages, total), "list_pages")
    d.tool(envelope)
    pages = kept(envelope, pages)
    if counted:
        d.count()
        return
    d.result()
    if pages and rng.random() < 0.5:
        follow_pages(d, pages)


def kept(envelope: str, rows: list) -> list:
    """The rows that the envelope had room for."""
    return [row for row in rows if f'"id":"{row.id}"' in envelope]


def find_pages(d: Dialogue) -> None:
    """Pages are looked for, then perhaps one of them is used."""
    rng = d.rng
    said = words.query(rng, d.other_language(0.06), d.novelty) if rng.random() < 0.7 else results.title(d)
    arguments: Data = {"query": said}
    counted = rng.random() < 0.1
    if counted:
        text = d.ask(d.notes.COUNT_FOUND_PAGES, k=said, q=d.quoted(said))
    elif rng.random() < 0.2:
        arguments["limit"] = rng.randint(1, 9)
        count = rng.choice(d.notes.COUNTS[arguments["limit"]])
        text = d.ask(d.notes.FIND_PAGES_LIMIT, k=said, q=d.quoted(said), n=count)
    else:
        text = d.ask(d.notes.FIND_PAGES, k=said, q=d.quoted(said))
    d.user(d.in_passing(text))
    d.call("query_pages", **arguments)
    if goes_wrong(d, "query_pages"):
        return
    number = min(rng.choice((0, 1, 1, 2, 2, 3, 4)), arguments.get("limit", 10))
    pages = [results.page(d, said if rng.random() < 0.2 else _around(d, said)) for _ in range(number)]
    total = number + (rng.choice((0, 0, 3, 12)) if number == arguments.get("limit") else 0)
    d.tool(envelopes.ok(results.rows(pages, total), "query_pages"))
    if counted:
        d.count()
        return
    d.result()
    if pages and rng.random() < 0.65:
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
        if len(pages) > 1 and rng.random() < 0.6:
            is_clear = len(pages) == 2 and rng.random() < 0.5
            page = pick_page(d, pages, d.phrases.THE_OTHER[:4] if is_clear else d.notes.PICK_OTHER, but=page)
            d.call("open_page", pageId=page.id)
            _opened(d, page)
    elif roll < 0.64:
        # "It" and "that page" are clear where there is only one.
        templates = d.notes.READ_THAT if len(pages) == 1 else d.notes.READ_THAT[:1]
        read(d, pick_page(d, pages, templates))
    elif roll < 0.74:
        rename_or_delete(d, pages)
    elif len(pages) == 1:
        write_there(d, pages[0])
    else:
        write_to_picked(d, pages)


def read_page(d: Dialogue) -> None:
    """What stands on a page that is named by its title, or on the open one."""
    if d.rng.random() < 0.3:
        d.user(d.in_passing(d.squeezed(d.ask(d.notes.READ_HERE))))
        d.call("get_current_context")
        page = _context_page(d)
        if page is not None:
            read(d, page)
        return
    bare = results.bare(d)
    title = results.listing(d) if bare else results.title(d)
    d.user(d.in_passing(d.ask(d.notes.READ_BARE if bare else d.notes.READ, **names(d, title, "p"))))
    find_page(d, title, lambda page: read(d, page))


def rename_page(d: Dialogue) -> None:
    """A page gets another title: one that is named, or the open one."""
    title = results.title(d)
    slots = {"t": title, "q": d.quoted(title)}
    if d.rng.random() < 0.2:
        d.user(d.in_passing(d.ask(d.notes.RENAME_HERE, **slots)))
        d.call("get_current_context")
        page = _context_page(d)
        if page is not None:
            rename(d, page, title)
        return
    named = results.title(d)
    d.user(d.in_passing(d.ask(d.notes.RENAME, **slots, **names(d, named, "p"))))
    find_page(d, named, lambda page: rename(d, page, title))


def delete_page(d: Dialogue) -> None:
    """A page is deleted: one that is named, or the open one."""
    if d.rng.random() < 0.2:
        d.user(d.in_passing(d.ask(d.notes.DELETE_PAGE_HERE)))
        d.call("get_current_context")
        page = _context_page(d)
        if page is not None:
            delete(d, page)
        return
    named = results.title(d)
    d.user(d.in_passing(d.ask(d.notes.DELETE_PAGE, **names(d, named, "p"))))
    find_page(d, named, lambda page: delete(d, page))


def _context_page(d: Dialogue) -> Page | None:
    if d.rng.random() < 0.12:
        d.tool(envelopes.ok(context(None, None, [])))
        d.result()
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


def read(d: Dialogue, page: Page, blocks: list[Block] | None = None) -> None:
    """The lines of a page whose id is known: these, or any."""
    d.call("get_page_blocks", pageId=page.id)
    if goes_wrong(d, "get_page_blocks"):
        return
    if blocks is None:
        blocks = results.block_lines(d, page, d.rng.choice((0, 1, 2, 3, 3, 4, 5, 7)))
    d.tool(envelopes.ok(results.lines(page, blocks, len(blocks)), "get_page_blocks"))
    d.result()
