-- The tokens of agents, by their digests: the tokens themselves are nowhere. One
-- that was revoked stays, so that the log of what it did keeps its name.
CREATE TABLE agent_token (
	id         TEXT NOT NULL PRIMARY KEY,
	agent      TEXT NOT NULL,
	digest     BLOB NOT NULL UNIQUE,
	created_at INTEGER NOT NULL,
	used_at    INTEGER,
	revoked_at INTEGER
) STRICT, WITHOUT ROWID;
