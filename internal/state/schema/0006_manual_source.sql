-- The sources that the person added: directories with copies of agents'
-- histories. at is in milliseconds since 1970.
CREATE TABLE manual_source (
	id     TEXT NOT NULL PRIMARY KEY,
	name   TEXT NOT NULL,
	path   TEXT NOT NULL,
	format TEXT NOT NULL,
	at     INTEGER NOT NULL,
	UNIQUE (path, format)
) STRICT, WITHOUT ROWID;
