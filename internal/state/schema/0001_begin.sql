-- How far each file or database of an agent was read. The mark is the reader's
-- own JSON (agent.Mark); nothing here looks into it. The counts are of what was
-- read up to it, so that they are never ahead of the marks nor behind them.
CREATE TABLE mark (
	agent    TEXT NOT NULL,
	path     TEXT NOT NULL,
	mark     BLOB NOT NULL,
	messages INTEGER NOT NULL,
	bytes    INTEGER NOT NULL,
	PRIMARY KEY (agent, path)
) STRICT, WITHOUT ROWID;

-- When each agent's history was last read to its end, in milliseconds since 1970.
CREATE TABLE source (
	agent           TEXT NOT NULL PRIMARY KEY,
	last_scanned_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The person's choices, and other small things that there is one of: JSON by name.
CREATE TABLE document (
	name  TEXT NOT NULL PRIMARY KEY,
	value TEXT NOT NULL CHECK (json_valid(value))
) STRICT, WITHOUT ROWID;
