-- Habits and their entries. The rules of the toolkit stand here once more, so that no writer gets around them:
-- a broken rule aborts the statement with the rule's code in the message.

CREATE TABLE life_habits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('build', 'break')),
    protocol_id TEXT,
    break_protocol_id TEXT,
    diet_pattern_id TEXT,
    frame_level TEXT NOT NULL,
    framed_text TEXT NOT NULL CHECK (length(framed_text) BETWEEN 1 AND 200),
    anchor_when TEXT CHECK (length(anchor_when) <= 200),
    anchor_after_what TEXT CHECK (length(anchor_after_what) <= 200),
    dose_text TEXT CHECK (length(dose_text) <= 200),
    started_on TEXT NOT NULL CHECK (started_on IS date(started_on)),
    ended_on TEXT CHECK (ended_on IS date(ended_on)),
    CONSTRAINT r3_frame CHECK (frame_level IN ('L2', 'L3')),
    CONSTRAINT r8_xor CHECK (
        (protocol_id IS NOT NULL) + (break_protocol_id IS NOT NULL) + (diet_pattern_id IS NOT NULL) = 1
    ),
    CONSTRAINT type_follows_origin CHECK ((type = 'break') = (break_protocol_id IS NOT NULL))
) STRICT;

-- An item is active at most once for a user.
CREATE UNIQUE INDEX life_habits_active_item
    ON life_habits (user_id, coalesce(protocol_id, break_protocol_id, diet_pattern_id))
    WHERE ended_on IS NULL;

CREATE TRIGGER life_habits_quota_insert
BEFORE INSERT ON life_habits
WHEN NEW.ended_on IS NULL
    AND (
        SELECT count(*) FROM life_habits
        WHERE user_id = NEW.user_id AND type = NEW.type AND ended_on IS NULL
    ) >= CASE NEW.type WHEN 'break' THEN 1 ELSE 3 END
    -- A second row of an active item is the unique index's business.
    AND NOT EXISTS (
        SELECT 1 FROM life_habits
        WHERE user_id = NEW.user_id AND ended_on IS NULL
            AND coalesce(protocol_id, break_protocol_id, diet_pattern_id)
                = coalesce(NEW.protocol_id, NEW.break_protocol_id, NEW.diet_pattern_id)
    )
BEGIN
    SELECT RAISE(ABORT, 'r3_quota');
END;

-- Taking up an ended habit again, or giving it to another user, needs a free place too.
CREATE TRIGGER life_habits_quota_update
BEFORE UPDATE OF user_id, type, ended_on ON life_habits
WHEN NEW.ended_on IS NULL
    AND (
        SELECT count(*) FROM life_habits
        WHERE user_id = NEW.user_id AND type = NEW.type AND ended_on IS NULL AND id <> NEW.id
    ) >= CASE NEW.type WHEN 'break' THEN 1 ELSE 3 END
BEGIN
    SELECT RAISE(ABORT, 'r3_quota');
END;

CREATE TABLE life_entries (
    habit_id INTEGER NOT NULL REFERENCES life_habits (id),
    date TEXT NOT NULL CHECK (date IS date(date)),
    value TEXT NOT NULL CHECK (value IN ('done', 'blank')),
    note TEXT CHECK (length(note) <= 200),
    -- How often it was corrected, which a person has to ask for.
    corrections INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (habit_id, date)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER life_entries_keep_their_value
BEFORE UPDATE ON life_entries
WHEN NEW.habit_id <> OLD.habit_id OR NEW.date <> OLD.date
    OR (NEW.value <> OLD.value AND NEW.corrections <> OLD.corrections + 1)
    OR NEW.corrections NOT IN (OLD.corrections, OLD.corrections + 1)
BEGIN
    SELECT RAISE(ABORT, 'r5_duplicate');
END;
