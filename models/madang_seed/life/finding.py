"""Turns that search the catalogue or read an item, and what follows from a result."""

from __future__ import annotations

from collections.abc import Callable

from ..answers import SAID
from ..dialogue import Dialogue
from ..envelopes import Data
from ..grammar import choose, say
from ..lexicon import noun
from ..placeholders import RESULT
from ..talking import small_talk
from . import results
from .adding import add_item
from .catalogue import CATEGORIES, Item, catalogue
from .results import Row
from .words import any_item, fail, keyword_for, maybe_quoted, title_of


def _search_request(d: Dialogue) -> tuple[str, Data]:
    rng = d.rng
    request, arguments = rng.choices(list(_SEARCHES), list(_SEARCHES.values()))[0](d)
    return d.in_passing(request), arguments


def _category(d: Dialogue) -> tuple[str, str]:
    """A category and a word for it."""
    category = d.rng.choice(CATEGORIES)
    return category, d.rng.choice(d.phrases.CATEGORY_WORDS[category])


def _by_category(d: Dialogue) -> tuple[str, Data]:
    category, word = _category(d)
    return d.squeezed(d.ask(d.phrases.BY_CATEGORY, c=word)), {"category": category}


def _by_complaint(d: Dialogue) -> tuple[str, Data]:
    category, _ = _category(d)
    text = choose(d.rng, d.own(d.phrases.COMPLAINTS[category])) + choose(d.rng, d.own(d.phrases.COMPLAINT_ENDS))
    return d.squeezed(d.polish(text)), {"category": category}


def _by_aim(d: Dialogue) -> tuple[str, Data]:
    category, _ = _category(d)
    aim = choose(d.rng, d.phrases.AIMS[category])
    return d.squeezed(d.ask(d.phrases.BY_AIM, v=aim)), {"category": category}


def _by_situation(d: Dialogue) -> tuple[str, Data]:
    category, _ = _category(d)
    situation = choose(d.rng, d.phrases.SITUATIONS[category])
    return d.squeezed(d.ask(d.phrases.BY_SITUATION, s=situation)), {"category": category}


def _by_keyword(d: Dialogue) -> tuple[str, Data]:
    keyword = keyword_for(d)
    besides, too = (noun(d.rng, d.language, 0.1) for _ in range(2))
    text = d.ask(d.phrases.BY_KEYWORD, k=keyword, q=maybe_quoted(d, keyword), n=besides, m=too)
    return text, {"keyword": keyword}


def _by_category_word(d: Dialogue) -> tuple[str, Data]:
    """A word for a category, but asked for as a word."""
    _, word = _category(d)
    return d.ask(_QUOTED_KEYWORD[d.language], q=d.quoted(word)), {"keyword": word}


def _by_both(d: Dialogue) -> tuple[str, Data]:
    category, word = _category(d)
    keyword = keyword_for(d)
    text = d.ask(d.phrases.BOTH, c=word, k=keyword, q=maybe_quoted(d, keyword))
    return text, {"category": category, "keyword": keyword}


def _by_number(d: Dialogue) -> tuple[str, Data]:
    limit = d.rng.randint(1, 10) if d.rng.random() < 0.4 else d.rng.randint(1, 5)
    category, word = _category(d)
    arguments: Data = {"category": category}
    if d.rng.random() < 0.35:
        word = keyword_for(d)
        arguments = {"keyword": word}
    text = d.ask(d.phrases.BY_LIMIT, t=word, n=d.rng.choice(d.phrases.LIMITS[limit]))
    return text, {**arguments, "limit": limit}


def _everything(d: Dialogue) -> tuple[str, Data]:
    return d.squeezed(d.ask(d.phrases.EVERYTHING)), {}


_SEARCHES: dict[Callable[[Dialogue], tuple[str, Data]], int] = {
    _by_category: 26,
    _by_complaint: 16,
    _by_situation: 5,
    _by_aim: 10,
    _by_keyword: 44,
    _by_category_word: 3,
    _by_both: 9,
    _by_number: 12,
    _everything: 6,
}

_QUOTED_KEYWORD = {
    "ko": [
        "{q} 키워드로 [검색해줘|찾아줘|검색]",
        "{q:이라는} [단어로|말로|키워드로] [검색해줘|찾아줘]",
        "[키워드|검색어] {q:으로} [검색|찾아줘|검색해줘]",
        "{q:이라는} 단어가 들어간 [거|프로토콜] 찾아줘",
    ],
    "en": [
        "search [for |]the [keyword|word|term] {q}",
        "[keyword|search term][:|] {q}",
        "find [protocols|items] with the [word|keyword] {q}",
        "search by keyword {q}",
    ],
}


def search(d: Dialogue) -> tuple[list[Row], int]:
    """A search and what it found."""
    text, arguments = _search_request(d)
    d.user(text)
    return _search_with(d, arguments, invent=0.3)


def _search_with(d: Dialogue, arguments: Data, invent: float, *, to_add: bool = False) -> tuple[list[Row], int]:
    """A search. Who wants to add something is asked which of the hits it is, even where there is one."""
    d.call("search_catalog", **arguments)
    if d.rng.random() < 0.03:
        fail(d, "search_catalog")
        return [], 0
    rows, total = results.search_rows(d.rng, arguments, d.locale, invent)
    d.tool(results.search_envelope(rows, total))
    shown = _kept(d.messages[-1].text, rows)
    if to_add and rows:
        d.which()
    else:
        d.result()
    return shown, total


def _kept(envelope: str, rows: list[Row]) -> list[Row]:
    """The rows that the envelope had room for."""
    return [row for row in rows if f'"id":"{row.id}"' in envelope]


def search_then(d: Dialogue) -> None:
    """A search, then something about one of its results."""
    rows, _ = search(d)
    if not rows:
        return
    follow = d.rng.random()
    if follow < 0.4:
        _pick_add(d, rows)
    elif follow < 0.8:
        row = _pick(d, rows, d.phrases.PICK_DETAIL)
        _query(d, row)
        if d.rng.random() < 0.6:
            d.user(d.ask(d.phrases.THIS_ADD))
            add_item(d, row.id, row.title)
    elif follow < 0.87:
        _search_other(d)
    elif follow < 0.93:
        row = d.rng.choice(rows)
        d.user(d.ask(d.phrases.ADD, t=row.title, q=d.quoted(row.title), u=title_of(d, any_item(d))))
        add_item(d, row.id, row.title)
    else:
        small_talk(d)


def _search_other(d: Dialogue) -> None:
    """No, not that: another word or another category is searched for."""
    arguments: Data
    if d.rng.random() < 0.5:
        category, word = _category(d)
        arguments = {"category": category}
    else:
        word = keyword_for(d)
        arguments = {"keyword": word}
    d.user(d.ask(d.phrases.SEARCH_OTHER, t=word))
    _search_with(d, arguments, invent=0.3)


# From a longer list nobody takes the last one, because it may have been too long to be shown.
_SHORT = 4


def _pick(d: Dialogue, rows: list[Row], templates: list[str], but: Row | None = None) -> Row:
    """The row that the user names by its place or by its title."""
    places = [place for place in d.phrases.ORDINALS if place <= len(rows) and (place > 0 or 1 < len(rows) <= _SHORT)]
    places = [place for place in places if rows[place - 1 if place > 0 else -1] is not but]
    # Among the first ones they mostly choose.
    place = d.rng.choices(places, [1 if place > 3 else 3 for place in places])[0]
    row = rows[place - 1 if place > 0 else -1]
    d.user(d.ask(templates, o=d.rng.choice(d.phrases.ORDINALS[place]), t=row.title, q=d.quoted(row.title)))
    return row


def _pick_add(d: Dialogue, rows: list[Row], templates: list[str] | None = None, **given: str) -> None:
    row = _pick(d, rows, templates or d.phrases.PICK_ADD)
    add_item(d, row.id, row.title, **given)
    if len(rows) > 1 and d.messages[-1].text == RESULT and d.rng.random() < 0.16:
        is_clear = len(rows) == 2 and d.rng.random() < 0.5
        other = _pick(d, rows, d.phrases.THE_OTHER if is_clear else d.phrases.NO_OTHER, but=row)
        add_item(d, other.id, other.title, **given)


def search_and_add(d: Dialogue) -> None:
    """Search, perhaps look, and add within one turn."""
    rng = d.rng
    category = rng.choice(CATEGORIES)
    word = rng.choice(d.phrases.CATEGORY_WORDS[category])
    arguments: Data = {"category": category}
    if rng.random() < 0.4:
        word = keyword_for(d)
        arguments = {"keyword": word}
    look = rng.random() < 0.5
    templates = (_LOOK_AND_ADD if look else _FIND_AND_ADD)[d.language]
    if rng.random() < 0.3:
        keyword = keyword_for(d)
        arguments = {"category": category, "keyword": keyword}
        templates = (_LOOK_AND_ADD_BOTH if look else _FIND_AND_ADD_BOTH)[d.language]
        d.user(d.ask(templates, t=rng.choice(d.phrases.CATEGORY_WORDS[category]), k=maybe_quoted(d, keyword)))
    else:
        d.user(d.ask(templates, t=word))
    d.call("search_catalog", **arguments)
    rows, total = results.search_rows(rng, arguments, d.locale, 0.5)
    d.tool(results.search_envelope(rows, total))
    if not rows:
        d.result()
        return
    if look:
        d.call("query_protocol", id=rows[0].id)
        d.tool(_record_of(d, rows[0]))
    add_item(d, rows[0].id, rows[0].title)


_FIND_AND_ADD = {
    "ko": [
        "{t} [프로토콜|관련된 거|습관] [찾아서|검색해서|찾아보고] 첫 번째 [거|것|걸] [추가해줘|등록해줘]",
        "{t} [프로토콜|습관] [하나 |]찾아서 [바로 |]추가해줘",
        "{t} 관련해서 하나 골라서 추가해줘",
    ],
    "en": [
        "[find|search for] [a|] {t} [protocol|habit] and add [the first one|it|the first result]",
        "look for {t} protocols and add the first one",
        "find something for {t} and add it to my habits",
    ],
}
_LOOK_AND_ADD = {
    "ko": [
        "{t} [프로토콜|관련된 거|습관] 찾아서 [내용 확인하고|자세히 보고|읽어 보고|살펴보고] 추가해줘",
        "{t} [프로토콜|거] 찾고, 자세히 본 다음 추가해줘",
    ],
    "en": [
        "[find|search for] [a|] {t} protocol, [read|check|look at] [the details|it] and add it",
        "look for {t}, check the details of the first one, then add it",
    ],
}


_FIND_AND_ADD_BOTH = {
    "ko": [
        "{t}[에서| 쪽에서| 분야에서| 카테고리에서] {k:을} [찾아서|검색해서] [첫 번째 거 |그거 |그걸 |]추가해줘",
        "{t} 분야에서 {k:을} [찾아서|검색해서] [첫 번째 거 |그거 |그걸 |]등록해줘",
    ],
    "en": ["[find|search for|look for] {k} [in|under|among] {t} and add [it|the first one|the first result]"],
}
_LOOK_AND_ADD_BOTH = {
    "ko": [
        "{t}[에서| 쪽에서| 분야에서| 카테고리에서] {k:을} [찾아|검색해서] [자세히|내용] 보고 [그걸 |그거 |]추가해줘",
        "{t}[ 쪽에서| 분야에서] {k:을} [찾아|찾아서] [자세히 보고|읽어 보고] [그걸 |그거 |]등록해줘",
    ],
    "en": ["[find|search for|look for] {k} [in|under|among] {t}, [read|check|look at] [the details|it] and add it"],
}


def _record_of(d: Dialogue, row: Row) -> str:
    known = {item.id: item for item in catalogue()}
    return results.record_envelope(known.get(row.id) or _made_item(d, row), d.locale)


def _made_item(d: Dialogue, row: Row) -> Item:
    rng, locale = d.rng, d.locale
    sentence = lambda: results.framed_text(rng, locale, 0.3) + "."  # noqa: E731
    both = lambda value: {"ko": value, "en": value}  # noqa: E731
    return Item(
        id=row.id,
        kind="protocol",
        category=row.category,
        title=both(row.title),
        summary=both(row.summary),
        why=both(sentence()),
        steps=both([sentence() for _ in range(rng.choice((2, 3)))]),
        standard=both(results.dose(rng, locale)),
        minimum=both(results.dose(rng, locale)),
        anchor=both(results.anchor_when(rng, locale)),
        keywords=both([noun(rng, locale, 0.3) for _ in range(3)]),
    )


def _query(d: Dialogue, row: Row) -> None:
    d.call("query_protocol", id=row.id)
    known = {item.id: item for item in catalogue()}
    item = known.get(row.id) or _made_item(d, row)
    if d.rng.random() < 0.04:
        fail(d, "query_protocol")
        return
    d.tool(results.record_envelope(item, d.locale))
    d.result()


def detail(d: Dialogue) -> None:
    """Details of a named item, then perhaps adding it."""
    rng = d.rng
    if rng.random() < 0.14:
        word = keyword_for(d)
        d.user(d.ask(d.phrases.DETAIL_UNKNOWN, k=word, q=d.quoted(word)))
        _search_with(d, {"keyword": word}, invent=0.4)
        return
    item = any_item(d)
    row = results.row_of(item, d.locale)
    if rng.random() < 0.12:
        row = row if rng.random() < 0.5 else results.invented_row(rng, d.locale)
        d.user(d.ask(d.phrases.DETAIL_ID, id=row.id))
        _query(d, row)
        return
    title = title_of(d, item)
    d.user(d.in_passing(d.ask(d.phrases.DETAIL, t=title, q=d.quoted(title))))
    _query(d, row)
    if d.rng.random() < 0.35:
        d.user(d.ask(d.phrases.THIS_ADD))
        add_item(d, row.id, row.title)


def add_unknown(d: Dialogue) -> None:
    """Wants to add what is no item's title: a search comes first."""
    word = keyword_for(d)
    text = d.ask(d.phrases.ADD_UNKNOWN, k=word, q=d.quoted(word))
    while "notes" in d.toolkits and not any(said in text.lower() for said in _OF_HABITS):
        # Where there are notes too, something is only added to the habits that is said to be one.
        text = d.ask(d.phrases.ADD_UNKNOWN, k=word, q=d.quoted(word))
    d.user(text)
    rows, _ = _search_with(d, {"keyword": word}, invent=0.5, to_add=True)
    if rows and d.rng.random() < 0.5:
        _take(d, rows)


def wish(d: Dialogue) -> None:
    """Wants to do something at some time and so much of it: an item is looked for that could be meant."""
    rng = d.rng
    word, act = rng.choice(d.phrases.ACTIVITIES)
    given = {
        "anchor_when": say(rng, rng.choice(d.phrases.WISH_TIMES), h=rng.randint(1, 12)),
        "dose_text": rng.choice(d.phrases.WISH_DOSES).format(n=rng.choice((3, 5, 10, 15, 20, 25, 30, 40, 45, 50))),
    }
    roll = rng.random()
    templates = d.phrases.WISH
    if roll < 0.2:
        templates = d.phrases.WISH_WHEN
        del given["dose_text"]
    elif roll < 0.4:
        templates = d.phrases.WISH_DOSE
        del given["anchor_when"]
    slots = {"v": act, "w": given.get("anchor_when", ""), "d": given.get("dose_text", "")}
    d.user(d.in_passing(d.ask(templates, **slots)))
    rows, _ = _search_with(d, {"keyword": word}, invent=0.4, to_add=True)
    if rows and rng.random() < 0.7:
        _take(d, rows, **given)


def _take(d: Dialogue, rows: list[Row], **given: str) -> None:
    """The answer to the question which of the hits is to be added."""
    if len(rows) > 1 or d.rng.random() < 0.3:
        _pick_add(d, rows, d.phrases.PICK_ITEM, **given)
    elif d.rng.random() < 0.8:
        d.user(d.ask(d.phrases.THIS_ADD))
        add_item(d, rows[0].id, rows[0].title, **given)
    else:
        d.user(d.ask(d.phrases.CHAT))
        d.say(SAID[d.language]["nevermind"])


def count_items(d: Dialogue) -> None:
    """How many items there are, of a category, of a word or at all."""
    roll = d.rng.random()
    arguments: Data = {}
    if roll < 0.5:
        category, word = _category(d)
        arguments, text = {"category": category}, d.ask(d.phrases.COUNT_CATEGORY, c=word)
    elif roll < 0.75:
        word = keyword_for(d)
        arguments, text = {"keyword": word}, d.ask(d.phrases.COUNT_KEYWORD, k=word)
    else:
        text = d.squeezed(d.ask(d.phrases.COUNT_ALL))
    d.user(d.in_passing(text))
    d.call("search_catalog", **arguments)
    d.tool(results.search_envelope(*results.search_rows(d.rng, arguments, d.locale, 0.3)))
    d.count()


_OF_HABITS = ("습관", "프로토콜", "루틴", "habit", "protocol", "routine")
