"""What is done to a page as a whole, whose id is known: it gets another title, or it is deleted."""

from __future__ import annotations

from .. import envelopes
from ..dialogue import Dialogue
from ..failing import not_allowed
from . import results
from .results import Page
from .steps import broken, goes_wrong, names, pick_page, refused


def rename(d: Dialogue, page: Page, title: str) -> None:
    """A page whose id is known gets another title, and perhaps another one yet."""
    rng = d.rng
    d.call("rename_page", id=page.id, title=title)
    if refused(d, "rename_page", id=page.id, title=title) or goes_wrong(d, "rename_page"):
        return
    if rng.random() < 0.1:
        rule = rng.choice(("taken", "taken", "page", "title"))
        broken(d, rule, t=page.id if rule == "page" else title)
        return
    d.tool(envelopes.ok({"id": page.id, "title": title}))
    d.result()
    if rng.random() < 0.12:
        other = results.title(d)
        d.user(d.ask(d.notes.CORRECT, was=title, c=other, cq=d.quoted(other)))
        d.call("rename_page", id=page.id, title=other)
        d.tool(envelopes.ok({"id": page.id, "title": other}))
        d.result()


def rename_or_delete(d: Dialogue, pages: list[Page]) -> None:
    """One of the pages of the last result is renamed or deleted."""
    # "It" and "that page" are clear where there is only one.
    templates = slice(None) if len(pages) == 1 else slice(1)
    if d.rng.random() < 0.5:
        delete(d, pick_page(d, pages, d.notes.DELETE_PAGE_THAT[templates]))
        return
    title = results.title(d)
    rename(d, pick_page(d, pages, d.notes.RENAME_THAT[templates], **names(d, title, "c")), title)


def delete(d: Dialogue, page: Page) -> None:
    """A page whose id is known is deleted; a person is asked and may refuse."""
    rng = d.rng
    d.call("delete_page", id=page.id)
    if goes_wrong(d, "delete_page"):
        return
    roll = rng.random()
    if roll < 0.25:
        not_allowed(d, results.line(d) if rng.random() < 0.2 else None)
    elif roll < 0.34:
        rule = rng.choice(("has_pages", "has_page", "page"))
        broken(d, rule, t=page.id if rule == "page" else page.title)
    else:
        count = rng.choice((0, 1, 2, rng.randint(3, 60)))
        d.tool(envelopes.ok({"id": page.id, "title": page.title, "deleted": True, "blocksDeleted": count}))
        d.result()
