-- Pages of nested blocks. The rules of the toolkit stand here once more, so that no writer gets around them: a broken
-- rule aborts the statement with the rule's code in the message.

CREATE TABLE notes_pages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
    user_id TEXT NOT NULL,
    -- The page that contains it, of the same user.
    parent INTEGER,
    title TEXT NOT NULL CHECK (
        length(title) BETWEEN 1 AND 200 AND trim(title) <> ''
        AND instr(title, char(10)) = 0 AND instr(title, char(13)) = 0
    ),
    -- The title as it is compared.
    title_key TEXT NOT NULL,
    -- The name of its file and folder, safe on every system, and that name as it is compared.
    file_name TEXT NOT NULL CHECK (
        file_name NOT IN ('', '.', '..') AND octet_length(file_name) <= 200
        AND instr(file_name, '/') = 0 AND instr(file_name, '\') = 0
    ),
    file_key TEXT NOT NULL,
    -- How many blocks it has; kept by triggers.
    blocks INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT page_full CHECK (blocks <= 20000),
    UNIQUE (user_id, number),
    FOREIGN KEY (user_id, parent) REFERENCES notes_pages (user_id, number)
) STRICT;

CREATE UNIQUE INDEX notes_pages_file ON notes_pages (user_id, coalesce(parent, 0), file_key);
CREATE INDEX notes_pages_title ON notes_pages (user_id, title_key);
CREATE INDEX notes_pages_parent ON notes_pages (parent);

CREATE TRIGGER notes_pages_depth BEFORE INSERT ON notes_pages
WHEN NEW.parent IS NOT NULL AND (
    WITH RECURSIVE above (number, levels) AS (
        SELECT NEW.parent, 1
        UNION ALL
        SELECT page.parent, levels + 1 FROM above JOIN notes_pages page ON page.number = above.number
        WHERE page.parent IS NOT NULL AND levels <= 127
    )
    SELECT max(levels) FROM above
) > 127
BEGIN
    SELECT RAISE(ABORT, 'too_deep');
END;

CREATE TRIGGER notes_pages_cycle BEFORE UPDATE OF parent ON notes_pages
WHEN NEW.parent IS NOT NULL AND EXISTS (
    WITH RECURSIVE above (number) AS (
        SELECT NEW.parent
        UNION
        SELECT page.parent FROM above JOIN notes_pages page ON page.number = above.number
        WHERE page.parent IS NOT NULL
    )
    SELECT 1 FROM above WHERE number = NEW.number
)
BEGIN
    SELECT RAISE(ABORT, 'cycle');
END;

CREATE TABLE notes_blocks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
    page INTEGER NOT NULL REFERENCES notes_pages (number),
    -- The block that contains it, on the same page.
    parent INTEGER,
    -- Its place among the blocks of its parent: a fraction between those of its neighbours.
    position REAL NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (page, number),
    FOREIGN KEY (page, parent) REFERENCES notes_blocks (page, number),
    CONSTRAINT too_long CHECK (length(content) <= 10000),
    CONSTRAINT newline CHECK (
        instr(content, char(10)) + instr(content, char(11)) + instr(content, char(12)) + instr(content, char(13))
        + instr(content, char(133)) + instr(content, char(8232)) + instr(content, char(8233)) = 0
    )
) STRICT;

CREATE INDEX notes_blocks_order ON notes_blocks (page, parent, position);
CREATE INDEX notes_blocks_parent ON notes_blocks (parent);

CREATE TRIGGER notes_blocks_depth BEFORE INSERT ON notes_blocks
WHEN NEW.parent IS NOT NULL AND (
    WITH RECURSIVE above (number, levels) AS (
        SELECT NEW.parent, 1
        UNION ALL
        SELECT block.parent, levels + 1 FROM above JOIN notes_blocks block ON block.number = above.number
        WHERE block.parent IS NOT NULL AND levels <= 127
    )
    SELECT max(levels) FROM above
) > 127
BEGIN
    SELECT RAISE(ABORT, 'too_deep');
END;

-- One level up is no way into a cycle.
CREATE TRIGGER notes_blocks_cycle BEFORE UPDATE OF parent ON notes_blocks
WHEN NEW.parent IS NOT NULL
AND NEW.parent IS NOT (SELECT parent FROM notes_blocks WHERE number = OLD.parent)
AND EXISTS (
    WITH RECURSIVE above (number) AS (
        SELECT NEW.parent
        UNION
        SELECT block.parent FROM above JOIN notes_blocks block ON block.number = above.number
        WHERE block.parent IS NOT NULL
    )
    SELECT 1 FROM above WHERE number = NEW.number
)
BEGIN
    SELECT RAISE(ABORT, 'cycle');
END;

-- What is searched: words, and the single syllables and pairs of syllables of scripts without spaces in between. The
-- text itself is not kept a second time. `scope` names user and page.
CREATE VIRTUAL TABLE notes_words USING fts5 (
    one, two, scope, content = '', contentless_delete = 1, tokenize = "unicode61 categories 'L* N* Co So'"
);
CREATE VIRTUAL TABLE notes_title_words USING fts5 (
    one, two, scope, content = '', contentless_delete = 1, tokenize = "unicode61 categories 'L* N* Co So'"
);

-- Which pages the Markdown mirror has to write: those whose `changes` and `mirrored` differ. Changes are counted in their
-- own transactions, so that no crash loses one.
CREATE TABLE notes_files (
    page INTEGER PRIMARY KEY REFERENCES notes_pages (number),
    changes INTEGER NOT NULL DEFAULT 1,
    mirrored INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX notes_files_to_write ON notes_files (page) WHERE changes <> mirrored;

-- The files that the mirror wrote or was about to write, by place and SHA-256, so that no other file is taken for one.
CREATE TABLE notes_files_written (
    user_id TEXT NOT NULL,
    -- From the workspace on.
    place TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    -- Whose file it is; nothing when the page is gone or has another place, so that the file goes.
    page INTEGER,
    PRIMARY KEY (user_id, place, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX notes_files_written_page ON notes_files_written (page);
CREATE INDEX notes_files_written_gone ON notes_files_written (user_id, place) WHERE page IS NULL;

CREATE TRIGGER notes_pages_renamed AFTER UPDATE OF file_name, parent ON notes_pages
WHEN NEW.file_name <> OLD.file_name OR NEW.parent IS NOT OLD.parent
BEGIN
    UPDATE notes_files SET changes = changes + 1 WHERE page IN (
        WITH RECURSIVE inside (number) AS (
            SELECT NEW.number
            UNION
            SELECT page.number FROM inside JOIN notes_pages page ON page.parent = inside.number
        )
        SELECT number FROM inside
    );
    UPDATE notes_files_written SET page = NULL WHERE page IN (
        WITH RECURSIVE inside (number) AS (
            SELECT NEW.number
            UNION
            SELECT page.number FROM inside JOIN notes_pages page ON page.parent = inside.number
        )
        SELECT number FROM inside
    );
END;

CREATE TRIGGER notes_pages_going BEFORE DELETE ON notes_pages
BEGIN
    UPDATE notes_files_written SET page = NULL WHERE page = OLD.number;
    DELETE FROM notes_files WHERE page = OLD.number;
    DELETE FROM notes_title_words WHERE rowid = OLD.number;
END;

CREATE TRIGGER notes_pages_added AFTER INSERT ON notes_pages
BEGIN
    INSERT INTO notes_files (page) VALUES (NEW.number);
END;

CREATE TRIGGER notes_blocks_added AFTER INSERT ON notes_blocks
BEGIN
    UPDATE notes_pages SET blocks = blocks + 1 WHERE number = NEW.page;
    UPDATE notes_files SET changes = changes + 1 WHERE page = NEW.page;
END;

CREATE TRIGGER notes_blocks_removed AFTER DELETE ON notes_blocks
BEGIN
    DELETE FROM notes_words WHERE rowid = OLD.number;
    UPDATE notes_pages SET blocks = blocks - 1 WHERE number = OLD.page;
    UPDATE notes_files SET changes = changes + 1 WHERE page = OLD.page;
END;

-- A new place among the neighbours alone is no change: rebalancing keeps the order.
CREATE TRIGGER notes_blocks_changed AFTER UPDATE OF parent, content ON notes_blocks
BEGIN
    UPDATE notes_files SET changes = changes + 1 WHERE page = NEW.page;
END;

-- A block keeps its page, and a page its user: what is searched names both.
CREATE TRIGGER notes_blocks_stay BEFORE UPDATE OF page ON notes_blocks WHEN NEW.page <> OLD.page
BEGIN
    SELECT RAISE(ABORT, 'not_found');
END;

CREATE TRIGGER notes_pages_stay BEFORE UPDATE OF user_id ON notes_pages WHEN NEW.user_id <> OLD.user_id
BEGIN
    SELECT RAISE(ABORT, 'not_found');
END;

-- Where a session stands: the pages that it visited (JSON), which of them is shown, what is focused and selected (JSON).
CREATE TABLE notes_contexts (
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    history TEXT NOT NULL CHECK (json_valid(history)),
    focused_block TEXT,
    selected_blocks TEXT NOT NULL CHECK (json_valid(selected_blocks)),
    PRIMARY KEY (user_id, session_id)
) STRICT, WITHOUT ROWID;

-- What changed, for subscribers; the last 10,000 are kept.
CREATE TABLE notes_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('page_changed', 'page_deleted', 'blocks_changed', 'navigated')),
    session_id TEXT,
    page_id TEXT,
    block_ids TEXT NOT NULL CHECK (json_valid(block_ids))
) STRICT;

CREATE TRIGGER notes_changes_forget AFTER INSERT ON notes_changes
BEGIN
    DELETE FROM notes_changes WHERE number <= NEW.number - 10000;
END;
