-- How far each file or database of an agent was read. The mark is the reader's
-- own JSON (agent.Mark); nothing here looks into it.
CREATE TABLE mark (
	agent TEXT NOT NULL,
	path  TEXT NOT NULL,
	mark  BLOB NOT NULL,
	PRIMARY KEY (agent, path)
) STRICT, WITHOUT ROWID;

-- What was read of each agent so far. Times are milliseconds since 1970.
CREATE TABLE source (
	agent           TEXT NOT NULL PRIMARY KEY,
	messages        INTEGER NOT NULL,
	conversations   INTEGER NOT NULL,
	bytes           INTEGER NOT NULL,
	last_scanned_at INTEGER,
	last_error      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The person's choices, and other small things that there is one of: JSON by name.
CREATE TABLE document (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID;
