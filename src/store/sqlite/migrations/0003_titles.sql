-- The title that the user gave a chat; NULL where it is made of a text. It is erased with the texts.
ALTER TABLE madang_sessions ADD COLUMN title TEXT;
