-- What was written into the agents' files, so that it can be taken out again.
-- State and data belong to the writer (package skill); nothing here looks into
-- them. at is in milliseconds since 1970.
CREATE TABLE install (
	agent TEXT NOT NULL,
	part  TEXT NOT NULL,
	state TEXT NOT NULL,
	data  BLOB NOT NULL,
	at    INTEGER NOT NULL,
	PRIMARY KEY (agent, part)
) STRICT, WITHOUT ROWID;
