"""Turns about where the user is: the context, the tree, paths, back and forward; and ping."""

from __future__ import annotations

from .. import envelopes
from ..dialogue import Dialogue
from ..grammar import choose
from . import results, words
from .pages import context
from .results import Page
from .steps import broken, goes_wrong, names


def where(d: Dialogue) -> None:
    """Where the user is, and what is selected there."""
    rng = d.rng
    d.user(d.in_passing(d.squeezed(d.ask(d.notes.CONTEXT))))
    d.call("get_current_context")
    if goes_wrong(d, "get_current_context"):
        return
    page = results.page(d) if rng.random() < 0.85 else None
    focus = results.block(d, on=page) if page and rng.random() < 0.5 else None
    selected = [results.block(d, on=page) for _ in range(rng.choice((0, 0, 1, 2, 3)))] if page else []
    d.tool(envelopes.ok(context(page, focus, selected)))
    d.result()


def index(d: Dialogue) -> None:
    """The tree of all pages."""
    d.user(d.in_passing(d.squeezed(d.ask(d.notes.INDEX))))
    d.call("switch_to_index")
    if goes_wrong(d, "switch_to_index"):
        return
    number = d.rng.choice((0, 1, 2, 3, 5, 8))
    rows, depth = [], 0
    for _ in range(number):
        rows.append({"id": results.new_id(d), "title": results.title(d), "depth": depth})
        depth = max(0, depth + d.rng.choice((-1, 0, 0, 1)))
    d.tool(envelopes.ok({"view": "index", "count": number, "total": number, "items": rows}, "switch_to_index"))
    d.result()


def note_view(d: Dialogue) -> None:
    """A page is shown, the one at a path or the one that is open."""
    rng = d.rng
    path = words.path(rng, d.language, d.novelty) if rng.random() < 0.5 else None
    if path is None:
        d.user(d.in_passing(d.squeezed(d.ask(d.notes.NOTE_VIEW))))
        d.call("switch_to_note_view")
    else:
        d.user(_said(d, d.notes.NOTE_VIEW_PATH, path))
        d.call("switch_to_note_view", pagePath=path)
    if goes_wrong(d, "switch_to_note_view"):
        return
    if rng.random() < 0.12:
        if path is None:
            broken(d, "no_page_open")
        else:
            broken(d, "page", t=path)
        return
    page = _at(d, path) if path else results.page(d, is_directory=False)
    _shown(d, page, path or page.title)


def go_to_path(d: Dialogue) -> None:
    """A path is gone to."""
    rng = d.rng
    path = words.path(rng, d.language, d.novelty)
    if rng.random() < 0.06:
        path = f"../{path}"
    d.user(_said(d, d.notes.PATH, path))
    d.call("navigate_to_path", path=path)
    if goes_wrong(d, "navigate_to_path"):
        return
    if path.startswith("..") or rng.random() < 0.14:
        broken(d, "outside" if path.startswith("..") else "page", t=path)
        return
    _shown(d, _at(d, path), path)


def _said(d: Dialogue, templates: list[str], path: str) -> str:
    """A request with a path, at times in quotation marks."""
    written = d.quoted(path) if d.rng.random() < 0.25 else path
    return " ".join(choose(d.rng, d.own(templates), p=written).split())


def _at(d: Dialogue, path: str) -> Page:
    """The page at a path."""
    last = path.strip("/").split("/")[-1]
    is_directory = not path.endswith(".md") and d.rng.random() < 0.4
    return results.page(d, last.removesuffix(".md"), is_directory=is_directory)


def _shown(d: Dialogue, page: Page, path: str) -> None:
    path = path.strip("/").removesuffix(".md")
    d.tool(envelopes.ok(results.shown(page, path, d.rng.randint(0, 40))))
    d.result()


def back(d: Dialogue) -> None:
    """One step back in the history."""
    _travel(d, "go_back", d.notes.BACK)


def forward(d: Dialogue) -> None:
    """One step forward in the history."""
    _travel(d, "go_forward", d.notes.FORWARD)


def _travel(d: Dialogue, tool: str, templates: list[str]) -> None:
    rng = d.rng
    d.user(d.in_passing(d.squeezed(d.ask(templates))))
    d.call(tool)
    if goes_wrong(d, tool):
        return
    roll = rng.random()
    if roll < 0.22:
        broken(d, "no_history")
        return
    if roll < 0.35:
        d.tool(envelopes.ok({"view": "index", "count": 0, "total": 0, "items": []}))
        d.result()
        return
    page = results.page(d)
    _shown(d, page, page.title)


def ping(d: Dialogue) -> None:
    """Whether the tools answer."""
    rng = d.rng
    if rng.random() < 0.5:
        d.user(d.ask(d.notes.PING))
        d.call("ping")
        answer = "pong"
    else:
        message = words.short_line(rng, d.other_language(0.1), d.novelty)
        d.user(" ".join(choose(rng, d.own(d.notes.PING_MESSAGE), **names(d, message, "m")).split()))
        d.call("ping", message=message)
        answer = f"pong: {message}"
    if goes_wrong(d, "ping"):
        return
    d.tool(envelopes.compact({"status": "ok", "data": answer}))
    d.result()
