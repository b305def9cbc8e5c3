-- Digests of what was forgotten beside memories: keys and prints of turns that
-- had none, and titles of sessions. No import brings them back.
CREATE TABLE gone (
  print        BLOB    PRIMARY KEY,
  forgotten_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
