"""What the assistant says of pages and blocks, each in the user's language and with no more than a result says."""

from __future__ import annotations

from ..dialogue import Dialogue
from .results import Block, Page

SHOWN = 4

# One sentence for each thing that went well: `{c}` a line, `{t}` a title.
DONE = {
    "ko": {
        "opened": "'{t}' 페이지를 열었어요. 블록은 {n}개예요.",
        "created": "'{t}' 페이지를 만들었어요.",
        "created_in": "'{p}' 안에 '{t}' 페이지를 만들었어요.",
        "created_lines": "'{t}' 페이지를 만들고 {n}줄을 추가했어요.",
        "created_some": "'{t}' 페이지를 만들었지만 {n}줄 가운데 {m}줄은 추가하지 못했어요.",
        "added": "'{t}' 페이지에 '{c}' 줄을 추가했어요.",
        "added_both": "'{t}' 페이지에 '{c}' 줄과 '{e}' 줄을 추가했어요.",
        "added_here": "'{c}' 줄을 추가했어요.",
        "below": "'{a}' 아래에 '{c}' 줄을 추가했어요.",
        "inside": "'{a}'의 하위 항목으로 '{c}' 줄을 추가했어요.",
        "appended": "덧붙였어요. 이제 '{c}' 줄이에요.",
        "changed": "줄을 '{c}'로 바꾸었어요.",
        "deleted": "'{c}' 줄을 지우고 저장했어요.",
        "about_top": "'{c}' 줄은 '{t}' 페이지의 맨 바깥에 있어요.",
        "about_under": "'{c}' 줄은 '{t}' 페이지에서 다른 블록 안에 있어요.",
        "index": "전체 페이지 트리를 보여 드려요.",
        "view": "'{t}' 페이지를 노트 화면에 띄웠어요.",
        "view_open": "노트 화면으로 돌아왔어요.",
        "went": "'{t}'로 이동했어요.",
        "back": "뒤로 갔어요. 이제 '{t}'예요.",
        "forward": "앞으로 갔어요. 이제 '{t}'예요.",
        "ping": "{m}",
    },
    "en": {
        "opened": "I opened the page '{t}'. It has {n} block{s}.",
        "created": "I created the page '{t}'.",
        "created_in": "I created the page '{t}' in '{p}'.",
        "created_lines": "I created the page '{t}' and added {n} line{s}.",
        "created_some": "I created the page '{t}', but {m} of {n} lines could not be added.",
        "added": "I added '{c}' to the page '{t}'.",
        "added_both": "I added '{c}' and '{e}' to the page '{t}'.",
        "added_here": "I added '{c}'.",
        "below": "I added '{c}' below '{a}'.",
        "inside": "I added '{c}' inside '{a}'.",
        "appended": "I added it to the end. The line is now '{c}'.",
        "changed": "I changed the line to '{c}'.",
        "deleted": "I deleted the line '{c}'.",
        "about_top": "The line '{c}' is on the page '{t}', on the outermost level.",
        "about_under": "The line '{c}' is on the page '{t}', inside another block.",
        "index": "Here is the tree of all pages.",
        "view": "The note view shows the page '{t}'.",
        "view_open": "We are back in the note view.",
        "went": "I went to '{t}'.",
        "back": "I went back to '{t}'.",
        "forward": "I went forward to '{t}'.",
        "ping": "{m}",
    },
}

# What was not done and why.
NOT_DONE = {
    "ko": {
        "no_pages": "'{k}'에 맞는 페이지를 찾지 못했어요.",
        "no_blocks": "'{k}'에 맞는 줄을 찾지 못했어요.",
        "no_page": "'{k}' 페이지가 없어서 하지 못했어요. 바뀐 것은 없어요.",
        "no_block": "'{k}' 줄이 없어서 하지 못했어요. 바뀐 것은 없어요.",
        "page": "그런 페이지가 없어서 하지 못했어요.",
        "block": "그런 블록이 없어서 하지 못했어요.",
        "no_page_open": "열린 페이지가 없어서 하지 못했어요. 어느 페이지를 열까요?",
        "no_history_back": "뒤로 갈 기록이 없어요.",
        "no_history_forward": "앞으로 갈 기록이 없어요.",
        "outside": "작업 공간 밖의 경로라서 갈 수 없어요.",
        "full": "페이지에 블록이 너무 많아서 추가하지 못했어요.",
        "deep": "너무 깊은 단계라서 추가하지 못했어요.",
        "long": "줄이 너무 길어서 적지 못했어요.",
        "newline": "한 블록은 한 줄이어야 해서 적지 못했어요.",
        "title": "제목이 너무 길어서 만들지 못했어요.",
        "empty": "'{t}' 페이지에는 아직 적힌 것이 없어요.",
        "no_open": "지금 열린 페이지가 없어요.",
        "no_focus": "지금 선택되거나 커서가 있는 블록이 없어요. 어느 줄인지 말씀해 주세요.",
        "no_list": "페이지가 아직 없어요.",
    },
    "en": {
        "no_pages": "I found no page for '{k}'.",
        "no_blocks": "I found no line for '{k}'.",
        "no_page": "I found no page '{k}', so it was not done. Nothing was changed.",
        "no_block": "I found no line '{k}', so it was not done. Nothing was changed.",
        "page": "That page does not exist, so it was not done.",
        "block": "That block does not exist, so it was not done.",
        "no_page_open": "No page is open, so it was not done. Which page shall I open?",
        "no_history_back": "There is nothing to go back to.",
        "no_history_forward": "There is nothing to go forward to.",
        "outside": "The path leads out of the workspace, so I could not go there.",
        "full": "The page has too many blocks, so it was not added.",
        "deep": "That would be nested too deep, so it was not added.",
        "long": "The line is too long, so it was not written.",
        "newline": "A block is one line, so it was not written.",
        "title": "The title is too long, so the page was not created.",
        "empty": "There is nothing on the page '{t}' yet.",
        "no_open": "No page is open.",
        "no_focus": "No block is focused or selected. Which line do you mean?",
        "no_list": "There are no pages yet.",
    },
}

# Questions back and what is said without any tool.
TALK = {
    "ko": {
        "MAKE_NOTHING": "어떤 제목으로 페이지를 만들까요?",
        "ADD_NOTHING_HERE": "무엇이라고 적을까요?",
        "CHANGE_NOTHING": "어느 줄을 무엇으로 바꿀까요?",
        "DELETE_NOTHING": "어느 줄을 지울까요?",
        "FIND_NOTHING": "무엇을 찾을까요?",
        "OPEN_NOTHING": "어느 페이지를 열까요?",
        "OTHERS": "다른 사람의 노트는 볼 수 없어요. 본인의 노트만 볼 수 있어요.",
        "DONT": "알겠어요. 아무것도 하지 않았어요.",
        "HOW": "페이지를 열고 만들고, 줄을 찾고 적고 고치고 지울 수 있어요. 예를 들어 '장보기' 페이지에 '우유'를 적어 달라고 말씀해 주세요.",
    },
    "en": {
        "MAKE_NOTHING": "What title shall the page have?",
        "ADD_NOTHING_HERE": "What shall I write?",
        "CHANGE_NOTHING": "Which line shall I change, and to what?",
        "DELETE_NOTHING": "Which line shall I delete?",
        "FIND_NOTHING": "What shall I look for?",
        "OPEN_NOTHING": "Which page shall I open?",
        "OTHERS": "I cannot see the notes of other people, only your own.",
        "DONT": "All right, I have not done anything.",
        "HOW": "I can open and create pages, and find, write, change and delete lines. For example, ask me to add 'milk' to the page 'Groceries'.",
    },
}

CANCELLED = {
    "ko": {
        "denied": "허락하지 않으셔서 지우지 않았어요. 바뀐 것은 없어요.",
        "expired": "제때 답이 없어서 지우지 않았어요. 바뀐 것은 없어요.",
        "unreachable": "확인해 줄 사람이 없어서 지우지 않았어요. 바뀐 것은 없어요.",
        "dismissed": "화면이 닫혀서 지우지 않았어요. 바뀐 것은 없어요.",
    },
    "en": {
        "denied": "You did not confirm, so it was not deleted. Nothing was changed.",
        "expired": "The question expired, so it was not deleted. Nothing was changed.",
        "unreachable": "Nobody could be asked to confirm, so it was not deleted. Nothing was changed.",
        "dismissed": "The screen was closed, so it was not deleted. Nothing was changed.",
    },
}


def done(d: Dialogue, what: str, **slots: object) -> None:
    """Says that something was done."""
    s = "" if slots.get("n") == 1 else "s"
    d.say(DONE[d.language][what].format(s=s, **slots))


def not_done(d: Dialogue, what: str, **slots: object) -> None:
    """Says that something was not done or found."""
    d.say(NOT_DONE[d.language][what].format(**slots))


def listed(d: Dialogue, texts: list[str], total: int, *, asking: str = "") -> None:
    """Names what a result has, the first few, and asks which one where that is open."""
    shown = [f"{number}. {text}" for number, text in enumerate(texts[:SHOWN], 1)]
    more = total - len(shown)
    if d.language == "ko":
        rest = [f"그 밖에 {more}개가 더 있어요."] if more > 0 else []
        tail = {"page": ["어느 페이지인가요?"], "block": ["어느 줄인가요?"]}.get(asking, [])
        head = f"{total}개를 찾았어요."
    else:
        rest = [f"There are {more} more."] if more > 0 else []
        tail = {"page": ["Which page do you mean?"], "block": ["Which line do you mean?"]}.get(asking, [])
        head = f"I found {total}:" if total > 1 else "I found one:"
    d.say("\n".join([head, *shown, *rest, *tail]))


def read(d: Dialogue, page: Page, blocks: list[Block], total: int) -> None:
    """Says what stands on a page."""
    if not blocks:
        not_done(d, "empty", t=page.title)
        return
    shown = [f"- {one.content}" for one in blocks[: SHOWN + 2]]
    more = total - len(shown)
    if d.language == "ko":
        rest = [f"그 밖에 {more}줄이 더 있어요."] if more > 0 else []
        head = f"'{page.title}' 페이지에는 {total}줄이 있어요."
    else:
        rest = [f"There are {more} more lines."] if more > 0 else []
        head = f"The page '{page.title}' has {total} line{'s' if total > 1 else ''}:"
    d.say("\n".join([head, *shown, *rest]))


def context(d: Dialogue, page: Page | None, focus: Block | None, selected: int) -> None:
    """Says where the user is."""
    if page is None:
        not_done(d, "no_open")
        return
    if d.language == "ko":
        text = f"'{page.title}' 페이지가 열려 있어요."
        text += f" 커서는 '{focus.content}' 줄에 있어요." if focus else ""
        text += f" 선택한 블록은 {selected}개예요." if selected else ""
    else:
        text = f"The page '{page.title}' is open."
        text += f" The focus is on '{focus.content}'." if focus else ""
        text += f" {selected} block{'s are' if selected > 1 else ' is'} selected." if selected else ""
    d.say(text)
