-- Times are Unix milliseconds, 0 when unknown. Ids of rows are never given to
-- anybody outside; what leaves is an agent's own id, or memory.public.

CREATE TABLE agent (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE            -- '' for notes that name no agent
) STRICT;

CREATE TABLE project (
  id   INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE source (
  id   INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE session (
  id         INTEGER PRIMARY KEY,
  agent      INTEGER NOT NULL REFERENCES agent,
  external   TEXT    NOT NULL,         -- the agent's own id
  parent     TEXT    NOT NULL DEFAULT '',
  relation   TEXT    NOT NULL DEFAULT '',
  title      TEXT    NOT NULL DEFAULT '',
  cwd        TEXT    NOT NULL DEFAULT '',
  project    INTEGER REFERENCES project,
  branch     TEXT    NOT NULL DEFAULT '',
  model      TEXT    NOT NULL DEFAULT '',
  version    TEXT    NOT NULL DEFAULT '',
  background INTEGER NOT NULL DEFAULT 0,
  archived   INTEGER NOT NULL DEFAULT 0,
  started_at INTEGER NOT NULL DEFAULT 0,
  ended_at   INTEGER NOT NULL DEFAULT 0, -- latest time known of it
  told_at    INTEGER NOT NULL DEFAULT 0, -- how recent title, model and version are
  copy_of    INTEGER REFERENCES session, -- owner of turns that are in both
  turns      INTEGER NOT NULL DEFAULT 0, -- counts of the turns it owns
  messages   INTEGER NOT NULL DEFAULT 0,
  calls      INTEGER NOT NULL DEFAULT 0,
  input      INTEGER NOT NULL DEFAULT 0,
  cached     INTEGER NOT NULL DEFAULT 0,
  output     INTEGER NOT NULL DEFAULT 0,
  UNIQUE (agent, external)
) STRICT;

-- A session without turns of its own says nothing and is not listed.
CREATE INDEX session_by_time         ON session (ended_at, id) WHERE turns > 0;
CREATE INDEX session_by_agent_time   ON session (agent, ended_at, id) WHERE turns > 0;
CREATE INDEX session_by_project_time ON session (project, ended_at, id) WHERE turns > 0;
CREATE INDEX session_by_external     ON session (external);

CREATE TABLE turn (
  id       INTEGER PRIMARY KEY,
  key      BLOB    NOT NULL UNIQUE,    -- digest of agent, external id and part
  external TEXT    NOT NULL,
  part     INTEGER NOT NULL,
  session  INTEGER NOT NULL REFERENCES session, -- its owner
  at       INTEGER NOT NULL,
  source   INTEGER REFERENCES source,
  line     INTEGER NOT NULL,
  start    INTEGER NOT NULL,           -- range of bytes in the source
  stop     INTEGER NOT NULL,
  row      TEXT    NOT NULL,           -- key of the row, when the source is a database
  hash     BLOB    NOT NULL,           -- of the content as the owner sent it
  copies   INTEGER NOT NULL DEFAULT 0, -- rows in copy, 0 while one session has it
  messages INTEGER NOT NULL,
  calls    INTEGER NOT NULL,
  input    INTEGER NOT NULL,
  cached   INTEGER NOT NULL,
  output   INTEGER NOT NULL,
  body     BLOB    NOT NULL            -- JSON, zstd
) STRICT;

CREATE INDEX turn_by_session ON turn (session, at, start, id);

-- The sessions that hold the same turn, with the content hash each one sent.
CREATE TABLE copy (
  turn    INTEGER NOT NULL REFERENCES turn,
  session INTEGER NOT NULL REFERENCES session,
  source  INTEGER REFERENCES source,
  line    INTEGER NOT NULL,
  start   INTEGER NOT NULL,
  stop    INTEGER NOT NULL,
  row     TEXT    NOT NULL,
  hash    BLOB    NOT NULL,
  PRIMARY KEY (turn, session)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory (
  id         INTEGER PRIMARY KEY AUTOINCREMENT, -- the rowid of its terms; never used twice
  public     TEXT    NOT NULL UNIQUE,
  layer      TEXT    NOT NULL CHECK (layer IN ('L1', 'L2', 'L3', 'Skill')),
  status     TEXT    NOT NULL CHECK (status IN ('activated', 'resolving', 'archived')),
  agent      INTEGER NOT NULL REFERENCES agent,
  project    INTEGER REFERENCES project,
  session    INTEGER REFERENCES session,
  turn       INTEGER UNIQUE REFERENCES turn,  -- the turn it is the trace of
  turn_ref   TEXT    NOT NULL DEFAULT '',     -- the turn a note names
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version    INTEGER NOT NULL DEFAULT 1,
  edited     INTEGER NOT NULL DEFAULT 0,      -- 1: title, 2: summary were set by hand
  title      TEXT    NOT NULL,
  summary    TEXT    NOT NULL,
  tags       TEXT    NOT NULL DEFAULT '[]',
  body       TEXT                             -- of a note; a trace has its text in turn
) STRICT;

CREATE INDEX memory_by_time         ON memory (created_at, id);
CREATE INDEX memory_by_layer_time   ON memory (layer, created_at, id);
CREATE INDEX memory_by_agent_time   ON memory (agent, created_at, id);
CREATE INDEX memory_by_project_time ON memory (project, created_at, id);
CREATE INDEX memory_by_session      ON memory (session);

-- What was forgotten, so that no import brings it back.
CREATE TABLE tombstone (
  memory       INTEGER PRIMARY KEY,
  public       TEXT    NOT NULL UNIQUE,
  turn         BLOB    UNIQUE,           -- key of its turn
  print        BLOB,                     -- of what was said, however it is numbered
  forgotten_at INTEGER NOT NULL
) STRICT;

CREATE INDEX tombstone_by_print ON tombstone (print) WHERE print IS NOT NULL;

CREATE TABLE idempotency (
  key         TEXT    PRIMARY KEY,
  fingerprint BLOB    NOT NULL,          -- of the request
  about       TEXT    NOT NULL,          -- public id of the memory it made or changed
  answer      BLOB    NOT NULL,          -- JSON; empty once the memory was forgotten
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_time  ON idempotency (created_at);
CREATE INDEX idempotency_by_about ON idempotency (about);

CREATE TABLE change (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  memory  INTEGER NOT NULL,
  version INTEGER NOT NULL,              -- 0: forgotten
  at      INTEGER NOT NULL
) STRICT;

-- Counters, kept by the writer. No page counts rows.
CREATE TABLE tally (
  layer   TEXT    NOT NULL,
  status  TEXT    NOT NULL,
  agent   INTEGER NOT NULL,
  project INTEGER NOT NULL,              -- 0 for none
  n       INTEGER NOT NULL,
  PRIMARY KEY (layer, status, agent, project)
) STRICT, WITHOUT ROWID;

CREATE TABLE day (
  day INTEGER PRIMARY KEY,               -- days since 1970-01-01, UTC
  n   INTEGER NOT NULL
) STRICT;

CREATE TABLE total (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  sessions INTEGER NOT NULL DEFAULT 0,
  turns    INTEGER NOT NULL DEFAULT 0,
  messages INTEGER NOT NULL DEFAULT 0,
  calls    INTEGER NOT NULL DEFAULT 0,
  input    INTEGER NOT NULL DEFAULT 0,
  cached   INTEGER NOT NULL DEFAULT 0,
  output   INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO total (id) VALUES (1);

-- Facts about the file itself, such as the version of its text index.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
