-- The text index is derived: store.Rebuild makes it from the rows. It is in files
-- of its own (package index); here is which they are, and what they do not hold
-- yet.
DROP TABLE IF EXISTS vocabulary;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS index_file;
DROP TABLE IF EXISTS index_todo;
DROP TABLE IF EXISTS index_gone;

CREATE TABLE index_file (
  id   INTEGER PRIMARY KEY,
  seq  INTEGER NOT NULL,
  mark BLOB NOT NULL
) STRICT;

-- Memories that came or changed after the last file was written.
CREATE TABLE index_todo (memory INTEGER PRIMARY KEY) STRICT;

-- Memories that were deleted, and may still be in a file.
CREATE TABLE index_gone (memory INTEGER PRIMARY KEY) STRICT;
