-- What was asked of the memory, and what it answered: who asked, what was
-- returned, when, and how long it took. Bounded by age and bytes. It holds what
-- was asked, but of what is remembered only ids.
CREATE TABLE recall_log (
  id      INTEGER PRIMARY KEY,
  public  TEXT    NOT NULL UNIQUE,     -- of a search, its searchEventId
  tool    TEXT    NOT NULL,
  agent   INTEGER NOT NULL REFERENCES agent,
  session TEXT    NOT NULL,            -- the caller's; '' if it named none
  turn    TEXT    NOT NULL,            -- likewise
  at      INTEGER NOT NULL,
  took    INTEGER NOT NULL,            -- microseconds
  failed  INTEGER NOT NULL,
  input   TEXT    NOT NULL,            -- JSON
  output  TEXT    NOT NULL,            -- JSON
  bytes   INTEGER NOT NULL             -- of the row, roughly
) STRICT;

CREATE INDEX recall_log_by_tool    ON recall_log (tool, id);
CREATE INDEX recall_log_by_agent   ON recall_log (agent, id);
CREATE INDEX recall_log_by_session ON recall_log (session, id) WHERE session <> '';

-- Counters of the rows that are there.
CREATE TABLE recall_tally (
  tool  TEXT    NOT NULL,
  agent INTEGER NOT NULL,
  n     INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (tool, agent)
) STRICT, WITHOUT ROWID;

-- Counters by day, UTC; they outlive the rows.
CREATE TABLE recall_day (
  day   INTEGER PRIMARY KEY,
  n     INTEGER NOT NULL,              -- searches
  hits  INTEGER NOT NULL,              -- that found something
  score REAL    NOT NULL               -- sum of their best scores
) STRICT;

-- Calls by how long they took: bucket b holds those of 2^(b/4) microseconds or
-- more, and less than a quarter of an octave longer.
CREATE TABLE recall_time (
  day    INTEGER NOT NULL,
  tool   TEXT    NOT NULL,
  bucket INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  took   INTEGER NOT NULL,             -- sum, microseconds
  PRIMARY KEY (day, tool, bucket)
) STRICT, WITHOUT ROWID;

-- What became of the memories that were returned, by the last verdict of each
-- search.
CREATE TABLE feedback (
  memory  INTEGER NOT NULL,
  search  TEXT    NOT NULL,            -- recall_log.public; '' if none was named
  verdict TEXT    NOT NULL CHECK (verdict IN ('used', 'ignored', 'helpful', 'wrong')),
  note    TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (memory, search)
) STRICT, WITHOUT ROWID;

CREATE INDEX feedback_by_search ON feedback (search) WHERE search <> '';
CREATE INDEX feedback_by_time   ON feedback (at) WHERE search <> '';

-- The same, counted. It outlives feedback and log, not the memory.
CREATE TABLE uses (
  memory  INTEGER PRIMARY KEY,
  shown   INTEGER NOT NULL DEFAULT 0,  -- in contexts
  used    INTEGER NOT NULL DEFAULT 0,
  ignored INTEGER NOT NULL DEFAULT 0,
  helpful INTEGER NOT NULL DEFAULT 0,
  wrong   INTEGER NOT NULL DEFAULT 0,
  last_at INTEGER NOT NULL             -- shown or judged
) STRICT;
