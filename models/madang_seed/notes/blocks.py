"""Turns about blocks: finding lines, and writing, changing or deleting what stands in them."""

from __future__ import annotations

from collections.abc import Callable

from .. import envelopes
from ..dialogue import Dialogue
from ..envelopes import Data
from ..failing import not_allowed
from . import results, words
from .pages import context
from .results import Block
from .steps import broken, find_block, find_page, goes_wrong, names, pick_block, refused
from .writing import change, correct


def find_blocks(d: Dialogue) -> None:
    """What is written is looked for, then perhaps one of the lines is used."""
    rng = d.rng
    said = words.query(rng, d.other_language(0.06), d.novelty)
    arguments: Data = {"query": said}
    slots = {"k": said, "q": d.quoted(said)}
    if rng.random() < 0.16:
        title = results.title(d)
        d.user(d.in_passing(d.ask(d.notes.FIND_IN_PAGE, **slots, **names(d, title, "p"))))
        find_page(d, title, lambda page: _found(d, {"query": said, "pageId": page.id}, said, page))
        return
    counted = rng.random() < 0.08
    if counted:
        text = d.ask(d.notes.COUNT_BLOCKS, **slots)
    elif rng.random() < 0.16:
        arguments["limit"] = rng.randint(1, 9)
        text = d.ask(d.notes.FIND_BLOCKS_LIMIT, **slots, n=rng.choice(d.notes.COUNTS[arguments["limit"]]))
    else:
        # Without a word about where, it is the catalogue that is meant, if there is one.
        plain = "life" not in d.toolkits and rng.random() < 0.3
        text = d.ask(d.notes.FIND_PLAIN if plain else d.notes.FIND_BLOCKS, **slots)
    d.user(d.in_passing(text))
    _found(d, arguments, said, None, counted=counted)


def _found(
    d: Dialogue, arguments: Data, said: str, page: results.Page | None, *, counted: bool = False
) -> None:
    rng = d.rng
    d.call("query_blocks", **arguments)
    if goes_wrong(d, "query_blocks"):
        return
    number = min(rng.choice((0, 1, 1, 2, 2, 3, 4)), arguments.get("limit", 20))
    blocks = [results.block(d, around(d, said), page) for _ in range(number)]
    total = number + (rng.choice((0, 0, 3, 12)) if number == arguments.get("limit") else 0)
    d.tool(envelopes.ok(results.hits(blocks, total), "query_blocks"))
    if counted:
        d.count()
        return
    d.result()
    if blocks and rng.random() < 0.6:
        follow_blocks(d, blocks)


def around(d: Dialogue, said: str) -> str:
    """A line that has what was said in it."""
    more = words.short_line(d.rng, d.language, d.novelty)
    return d.rng.choice((said, f"{said} {more}", f"{more} {said}"))


def follow_blocks(d: Dialogue, blocks: list[Block]) -> None:
    """Something about the lines of the last result, whose ids are known."""
    rng = d.rng
    act, phrases = rng.choice(_FOLLOW)
    text = results.line(d)
    more = names(d, text, "c")
    templates = getattr(d.notes, phrases)
    # "It" and "that line" are clear where there is only one.
    templates = templates[:1] if len(blocks) == 1 else templates[1:2]
    block = pick_block(d, blocks, templates, **more)
    act(d, block, text)
    if len(blocks) > 1 and act is not delete and rng.random() < 0.25:
        is_clear = len(blocks) == 2 and rng.random() < 0.5
        other = pick_block(d, blocks, d.phrases.THE_OTHER[:4] if is_clear else d.notes.PICK_OTHER, but=block)
        act(d, other, text)


def append(d: Dialogue, block: Block, text: str, separator: str | None = None) -> None:
    """Text is added to the end of a line."""
    given = {} if separator is None else {"separator": separator}
    d.call("append_to_block", id=block.id, text=text, **given)
    if refused(d, "append_to_block", id=block.id, text=text, **given):
        return
    if goes_wrong(d, "append_to_block"):
        return
    if d.rng.random() < 0.04:
        broken(d, d.rng.choice(("block", "long")), t=block.id)
        return
    whole = f"{block.content}{' ' if separator is None else separator}{text}"
    d.tool(envelopes.ok({"id": block.id, "content": whole}))
    d.result()


def put_below(d: Dialogue, block: Block, text: str) -> None:
    """A line below another one."""
    _put(d, block, text, "insert_block_below", {"blockId": block.id})


def put_inside(d: Dialogue, block: Block, text: str) -> None:
    """A line inside another one."""
    _put(d, block, text, "create_block", {"parentBlockId": block.id})


def _put(d: Dialogue, block: Block, text: str, tool: str, where: Data) -> None:
    rng = d.rng
    d.call(tool, **where, content=text)
    if refused(d, tool, **where, content=text):
        return
    if goes_wrong(d, tool):
        return
    if rng.random() < 0.04:
        broken(d, rng.choice(("block", "deep", "full", "long")), t=block.id)
        return
    parent = block.id if "parentBlockId" in where or rng.random() < 0.3 else None
    made = Block(results.new_id(d), text, block.page, parent)
    d.tool(envelopes.ok(made.made()))
    d.result()
    if rng.random() < 0.12:
        correct(d, made)


def change_to(d: Dialogue, block: Block, text: str) -> None:
    """A line becomes another one, and perhaps another one yet."""
    change(d, block, text)
    if d.messages[-2].text.startswith('{"status":"ok"') and d.rng.random() < 0.15:
        correct(d, Block(block.id, text, block.page))


def delete(d: Dialogue, block: Block, _text: str = "") -> None:
    """A line is deleted; the person is asked and may refuse."""
    rng = d.rng
    d.call("delete_block", id=block.id)
    if goes_wrong(d, "delete_block"):
        return
    roll = rng.random()
    if roll < 0.28:
        not_allowed(d, results.line(d) if rng.random() < 0.2 else None)
        if rng.random() < 0.3:
            d.user(d.ask(d.notes.AGAIN))
            d.call("delete_block", id=block.id)
            _deleted(d)
        return
    if roll < 0.32:
        broken(d, "block", t=block.id)
        return
    _deleted(d)


def _deleted(d: Dialogue) -> None:
    d.tool(envelopes.ok({"deleted": True}))
    d.result()


def about(d: Dialogue, block: Block, _text: str = "") -> None:
    """Where a line stands."""
    d.call("get_block", id=block.id)
    if goes_wrong(d, "get_block"):
        return
    data = {
        "id": block.id,
        "pageId": block.page.id,
        "parentId": block.parent_id,
        "order": d.rng.randint(0, 9),
        "content": block.content,
    }
    d.tool(envelopes.ok(data))
    d.result()


Act = Callable[[Dialogue, Block, str], None]
_FOLLOW: list[tuple[Act, str]] = [
    (delete, "DELETE_THAT"),
    (change_to, "CHANGE_THAT"),
    (append, "APPEND_THAT"),
    (put_below, "BELOW_THAT"),
    (about, "ABOUT_THAT"),
]

# How often each is asked for of a line that is named by what it says.
_NAMED: dict[str, tuple[Act, int]] = {
    "BELOW": (put_below, 18),
    "INSIDE": (put_inside, 16),
    "APPEND": (append, 18),
    "CHANGE": (change_to, 22),
    "DELETE": (delete, 20),
    "ABOUT_BLOCK": (about, 8),
}


def with_named_block(d: Dialogue) -> None:
    """A line that is named by what it says, or by a part of that, and what is to be done with it."""
    rng = d.rng
    language = d.other_language(0.1)
    whole = words.line(rng, language, d.novelty)
    said = words.part(rng, language, whole)
    text = results.line(d)
    if rng.random() < 0.05:
        _append_with_separator(d, whole, said)
        return
    phrases, (act, _) = rng.choices(list(_NAMED.items()), [share for _, share in _NAMED.values()])[0]
    d.user(d.in_passing(d.ask(getattr(d.notes, phrases), **names(d, said, "a"), **names(d, text, "c"))))
    find_block(d, said, whole, lambda block: act(d, block, text))


def _append_with_separator(d: Dialogue, whole: str, said: str) -> None:
    text = results.line(d)
    separator, spoken = d.rng.choice(_SEPARATORS)
    d.user(d.ask(d.notes.APPEND_SEPARATOR, s=spoken, **names(d, said, "a"), **names(d, text, "c")))
    find_block(d, said, whole, lambda block: append(d, block, text, separator))


# What stands between, and how it is said.
_SEPARATORS = [
    *[(text, f"'{text}'") for text in (", ", ",", " - ", "; ", " / ", ": ", "/", " | ", "-", " + ", " · ")],
    *[(text, f'"{text}"') for text in (", ", ",", " - ", ";", " / ", " & ")],
]


def with_focused_block(d: Dialogue) -> None:
    """This line, the selected one: where the user is has to be asked first."""
    rng = d.rng
    tool, templates = rng.choice(list(d.notes.FOCUSED.items()))
    text = results.line(d)
    d.user(d.in_passing(d.ask(templates, **names(d, text, "c"))))
    d.call("get_current_context")
    if goes_wrong(d, "get_current_context"):
        return
    page = results.page(d) if rng.random() < 0.92 else None
    focus = results.block(d, on=page) if page and rng.random() < 0.85 else None
    selected = [focus] if focus and rng.random() < 0.3 else []
    d.tool(envelopes.ok(context(page, focus, selected)))
    if focus is None:
        d.result()
        return
    act = {
        "update_block": change_to,
        "delete_block": delete,
        "append_to_block": append,
        "create_block": put_inside,
        "get_block": about,
    }[tool]
    act(d, focus, text)
