"""What the tools of the notes answer: the same shapes and texts as the toolkit's own."""

from __future__ import annotations

from dataclasses import dataclass

from ..dialogue import Dialogue
from ..envelopes import Data
from ..lexicon import INJECTIONS
from . import words
from .ids import Ids


@dataclass(frozen=True)
class Page:
    """A page as results show it."""

    id: str
    title: str
    parent_id: str | None = None
    is_directory: bool = False

    def data(self) -> Data:
        """As the tools write it."""
        return {"id": self.id, "title": self.title, "parentId": self.parent_id, "isDirectory": self.is_directory}


@dataclass(frozen=True)
class Block:
    """A block as results show it."""

    id: str
    content: str
    page: Page
    parent_id: str | None = None
    depth: int = 0

    def hit(self) -> Data:
        """As a search writes it."""
        return {"id": self.id, "pageId": self.page.id, "pageTitle": self.page.title, "content": self.content}

    def made(self) -> Data:
        """As a tool writes it that has made it."""
        return {"id": self.id, "content": self.content, "pageId": self.page.id, "parentId": self.parent_id}

    def line(self) -> Data:
        """As it stands on its page."""
        return {"id": self.id, "depth": self.depth, "content": self.content}


def new_id(d: Dialogue) -> str:
    """The next id of this conversation."""
    if d.ids is None:
        d.ids = Ids(d.rng)
    return d.ids.next()


def title(d: Dialogue) -> str:
    """A title in the language of the user, now and then in the other one."""
    return words.title(d.rng, d.other_language(0.1), d.novelty)


def bare(d: Dialogue) -> bool:
    """Whether a page is named as a list or as notes, without the word page."""
    return d.rng.random() < 0.22


def listing(d: Dialogue) -> str:
    """The title of a list or of notes."""
    return words.listing(d.rng, d.language, 0.5 * d.novelty)


def line(d: Dialogue) -> str:
    """A line in the language of the user, now and then in the other one."""
    return words.line(d.rng, d.other_language(0.1), d.novelty)


def page(d: Dialogue, named: str | None = None, *, is_directory: bool | None = None) -> Page:
    """A page, perhaps inside another one."""
    rng = d.rng
    parent = new_id(d) if rng.random() < 0.2 else None
    own = rng.choice(INJECTIONS[d.language]) if rng.random() < 0.02 else title(d)
    return Page(
        new_id(d),
        own if named is None else named,
        parent,
        rng.random() < 0.15 if is_directory is None else is_directory,
    )


def block(d: Dialogue, content: str | None = None, on: Page | None = None) -> Block:
    """A block on a page."""
    parent = new_id(d) if d.rng.random() < 0.2 else None
    return Block(new_id(d), line(d) if content is None else content, on or page(d), parent)


def rows(pages: list[Page], total: int) -> Data:
    """The result of a search for pages, or of the list."""
    return {"count": len(pages), "total": total, "items": [one.data() for one in pages]}


def hits(blocks: list[Block], total: int) -> Data:
    """The result of a search in blocks."""
    return {"count": len(blocks), "total": total, "items": [one.hit() for one in blocks]}


def lines(on: Page, blocks: list[Block], total: int) -> Data:
    """The blocks of a page."""
    return {
        "pageId": on.id,
        "pageTitle": on.title,
        "count": len(blocks),
        "total": total,
        "items": [one.line() for one in blocks],
    }


def opened(one: Page, count: int) -> Data:
    """The result of opening a page."""
    return {"pageId": one.id, "pageTitle": one.title, "blockCount": count}


def created(one: Page) -> Data:
    """The result of making a page."""
    return {"id": one.id, "title": one.title, "parentId": one.parent_id}


def shown(one: Page, path: str, count: int) -> Data:
    """The result of going somewhere."""
    data = {"pageId": one.id, "pageTitle": one.title, "path": path}
    if one.is_directory:
        return {"view": "directory", **data}
    return {"view": "page", **data, "blockCount": count}


def block_lines(d: Dialogue, on: Page, number: int) -> list[Block]:
    """Blocks of a page in reading order."""
    made: list[Block] = []
    depth = 0
    for _ in range(number):
        made.append(Block(new_id(d), line(d), on, depth=depth))
        depth = max(0, depth + d.rng.choice((-1, 0, 0, 0, 1)))
    return made


# The code and the reason of each broken rule; `{t}` is a title or an id.
BROKEN: dict[str, tuple[str, dict[str, str]]] = {
    "page": ("not_found", {"ko": "'{t}' 페이지를 찾을 수 없습니다.", "en": "there is no page '{t}'."}),
    "block": ("not_found", {"ko": "'{t}' 블록을 찾을 수 없습니다.", "en": "there is no block '{t}'."}),
    "no_page_open": ("no_page_open", {"ko": "열린 페이지가 없습니다.", "en": "no page is open."}),
    "page_gone": ("page_gone", {"ko": "열려 있던 페이지가 삭제되었습니다. open_page로 다른 페이지를 열어 주세요.", "en": "the page that was open was deleted: open another one with open_page."}),
    "taken": ("title_taken", {"ko": "'{t}' 제목은 다른 페이지가 쓰고 있습니다. 다른 제목을 골라 주세요.", "en": "another page is called '{t}': choose another title."}),
    "has_pages": ("has_pages", {"ko": "'{t}' 페이지 안에 페이지가 2개 있습니다. 그 페이지들을 먼저 삭제해 주세요.", "en": "the page '{t}' contains 2 pages: delete those first."}),
    "has_page": ("has_pages", {"ko": "'{t}' 페이지 안에 페이지가 1개 있습니다. 그 페이지들을 먼저 삭제해 주세요.", "en": "the page '{t}' contains a page: delete that one first."}),
    "no_history": ("no_history", {"ko": "더 이동할 기록이 없습니다.", "en": "there is nothing to go to."}),
    "outside": ("outside_workspace", {"ko": "작업 공간 밖의 경로는 열 수 없습니다.", "en": "the path leads out of the workspace."}),
    "full": ("page_full", {"ko": "한 페이지에는 블록을 20000개까지 둘 수 있습니다.", "en": "a page has at most 20000 blocks."}),
    "deep": ("too_deep", {"ko": "128단계보다 깊게 넣을 수 없습니다.", "en": "nothing can be nested deeper than 128 levels."}),
    "long": ("too_long", {"ko": "블록에는 10000자까지 쓸 수 있습니다.", "en": "a block has at most 10000 characters."}),
    "newline": ("newline", {"ko": "블록은 한 줄이어야 합니다. 줄마다 블록을 만들어 주세요.", "en": "a block is one line: make a block for each line."}),
    "title": ("validation", {"ko": "제목은 200자까지 쓸 수 있습니다.", "en": "a title has at most 200 characters."}),
}  # fmt: skip
