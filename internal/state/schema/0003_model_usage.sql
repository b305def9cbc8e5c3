-- What calls of models have used. A call in the background is written down
-- before it is made, with what it may use at most, and again after it.
CREATE TABLE model_usage (
	kind           TEXT NOT NULL,
	source         TEXT NOT NULL,
	operation      TEXT NOT NULL,
	at             INTEGER NOT NULL, -- milliseconds since 1970
	model          TEXT NOT NULL,
	background     INTEGER NOT NULL,
	input          INTEGER NOT NULL,
	output         INTEGER NOT NULL,
	total          INTEGER NOT NULL,
	cached         INTEGER NOT NULL,
	cache_creation INTEGER NOT NULL,
	micros         INTEGER NOT NULL,
	PRIMARY KEY (kind, source, operation)
) STRICT, WITHOUT ROWID;

-- For the budget: the sums of a day.
CREATE INDEX model_usage_day ON model_usage (at, background, total, micros);
