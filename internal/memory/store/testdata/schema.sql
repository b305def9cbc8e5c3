-- The schema after all migrations. Made by go test -update; do not edit.

CREATE TABLE agent (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE            -- '' for notes that name no agent
) STRICT;

CREATE TABLE change (
  seq     INTEGER PRIMARY KEY AUTOINCREMENT,
  memory  INTEGER NOT NULL,
  version INTEGER NOT NULL,              -- 0: forgotten
  at      INTEGER NOT NULL
) STRICT;

CREATE TABLE claim (
  id         INTEGER PRIMARY KEY,
  key        BLOB    NOT NULL UNIQUE,        -- digest of topic and value
  topic      BLOB    NOT NULL,               -- one claim of a topic stands
  rule       TEXT    NOT NULL,
  layer      TEXT    NOT NULL,
  project    INTEGER REFERENCES project,
  need       INTEGER NOT NULL,               -- turns that must say so before it is a memory; 0: never
  most       INTEGER NOT NULL,               -- what most turns say stands, rather than what was said last
  instead    BLOB,                           -- key of the claim that takes the place of those this one ends
  title      TEXT    NOT NULL,
  body       TEXT    NOT NULL,
  memory     INTEGER UNIQUE REFERENCES memory,
  confidence REAL    NOT NULL DEFAULT 0,
  valid_from INTEGER NOT NULL DEFAULT 0,
  valid_to   INTEGER NOT NULL DEFAULT 0,     -- 0 while it stands
  successor  BLOB                            -- key of the claim that ended it
) STRICT;

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

CREATE TABLE day (
  day INTEGER PRIMARY KEY,               -- days since 1970-01-01, UTC
  n   INTEGER NOT NULL
) STRICT;

CREATE TABLE evidence (
  claim INTEGER NOT NULL REFERENCES claim,
  turn  INTEGER NOT NULL REFERENCES turn,
  at    INTEGER NOT NULL,
  nth   INTEGER NOT NULL,                    -- place in the turn
  sure  REAL    NOT NULL,
  hash  BLOB    NOT NULL,                    -- of the turn as it was read
  PRIMARY KEY (claim, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE feedback (
  memory  INTEGER NOT NULL,
  search  TEXT    NOT NULL,            -- recall_log.public; '' if none was named
  verdict TEXT    NOT NULL CHECK (verdict IN ('used', 'ignored', 'helpful', 'wrong')),
  note    TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (memory, search)
) STRICT, WITHOUT ROWID;

CREATE TABLE gone (
  print        BLOB    PRIMARY KEY,
  forgotten_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
  key         TEXT    PRIMARY KEY,
  fingerprint BLOB    NOT NULL,          -- of the request
  about       TEXT    NOT NULL,          -- public id of the memory it made or changed
  answer      BLOB    NOT NULL,          -- JSON; empty once the memory was forgotten
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE index_file (
  id   INTEGER PRIMARY KEY,
  seq  INTEGER NOT NULL,
  mark BLOB NOT NULL
) STRICT;

CREATE TABLE index_gone (memory INTEGER PRIMARY KEY) STRICT;

CREATE TABLE index_todo (memory INTEGER PRIMARY KEY) STRICT;

CREATE TABLE learned_tally (
  rule    TEXT    NOT NULL,
  layer   TEXT    NOT NULL,
  status  TEXT    NOT NULL,
  agent   INTEGER NOT NULL,
  project INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  PRIMARY KEY (rule, layer, status, agent, project)
) STRICT, WITHOUT ROWID;

CREATE TABLE live_session (
  session   INTEGER PRIMARY KEY REFERENCES session,
  key       TEXT    NOT NULL,          -- resumes it without its id; '' for none
  opened_at INTEGER NOT NULL,
  closed_at INTEGER NOT NULL           -- 0 while it is open
) STRICT;

CREATE TABLE live_turn (
  id         INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL REFERENCES session,
  external   TEXT    NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN (
    'started',                         -- and not completed
    'told',                            -- the turn is as the agent told of it
    'read',                            -- the turn is as the log has it
    'forgotten')),
  turn       INTEGER REFERENCES turn,  -- of told and read
  query      TEXT    NOT NULL,         -- of started
  started_at INTEGER NOT NULL,
  asked      BLOB,                     -- digests of the request and the answer
  said       BLOB,
  UNIQUE (session, external)
) STRICT;

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
, rule TEXT NOT NULL DEFAULT '', origin INTEGER, sum INTEGER) STRICT;

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE project (
  id   INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE recall_day (
  day   INTEGER PRIMARY KEY,
  n     INTEGER NOT NULL,              -- searches
  hits  INTEGER NOT NULL,              -- that found something
  score REAL    NOT NULL               -- sum of their best scores
) STRICT;

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

CREATE TABLE recall_tally (
  tool  TEXT    NOT NULL,
  agent INTEGER NOT NULL,
  n     INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (tool, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE recall_time (
  day    INTEGER NOT NULL,
  tool   TEXT    NOT NULL,
  bucket INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  took   INTEGER NOT NULL,             -- sum, microseconds
  PRIMARY KEY (day, tool, bucket)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE source (
  id   INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE tally (
  layer   TEXT    NOT NULL,
  status  TEXT    NOT NULL,
  agent   INTEGER NOT NULL,
  project INTEGER NOT NULL,              -- 0 for none
  n       INTEGER NOT NULL,
  PRIMARY KEY (layer, status, agent, project)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstone (
  memory       INTEGER PRIMARY KEY,
  public       TEXT    NOT NULL UNIQUE,
  turn         BLOB    UNIQUE,           -- key of its turn
  print        BLOB,                     -- of what was said, however it is numbered
  forgotten_at INTEGER NOT NULL
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

CREATE TABLE unlearned (
  turn INTEGER PRIMARY KEY REFERENCES turn
) STRICT;

CREATE TABLE uses (
  memory  INTEGER PRIMARY KEY,
  shown   INTEGER NOT NULL DEFAULT 0,  -- in contexts
  used    INTEGER NOT NULL DEFAULT 0,
  ignored INTEGER NOT NULL DEFAULT 0,
  helpful INTEGER NOT NULL DEFAULT 0,
  wrong   INTEGER NOT NULL DEFAULT 0,
  last_at INTEGER NOT NULL             -- shown or judged
) STRICT;

CREATE INDEX claim_by_topic ON claim (topic);

CREATE INDEX claim_open     ON claim (rule, project) WHERE memory IS NOT NULL AND valid_to = 0;

CREATE INDEX evidence_by_turn ON evidence (turn);

CREATE INDEX feedback_by_search ON feedback (search) WHERE search <> '';

CREATE INDEX feedback_by_time   ON feedback (at) WHERE search <> '';

CREATE INDEX idempotency_by_about ON idempotency (about);

CREATE INDEX idempotency_by_time  ON idempotency (created_at);

CREATE INDEX live_session_by_key ON live_session (key) WHERE key <> '' AND closed_at = 0;

CREATE INDEX live_turn_by_asked ON live_turn (asked) WHERE state IN ('told', 'forgotten');

CREATE INDEX live_turn_by_start ON live_turn (started_at) WHERE state = 'started';

CREATE INDEX live_turn_by_turn  ON live_turn (turn) WHERE turn IS NOT NULL;

CREATE INDEX memory_by_agent_time   ON memory (agent, created_at, id);

CREATE INDEX memory_by_layer_time   ON memory (layer, created_at, id);

CREATE INDEX memory_by_project_time ON memory (project, created_at, id);

CREATE INDEX memory_by_rule_time ON memory (rule, created_at, id) WHERE rule <> '';

CREATE INDEX memory_by_session      ON memory (session);

CREATE INDEX memory_by_time         ON memory (created_at, id);

CREATE INDEX recall_log_by_agent   ON recall_log (agent, id);

CREATE INDEX recall_log_by_session ON recall_log (session, id) WHERE session <> '';

CREATE INDEX recall_log_by_tool    ON recall_log (tool, id);

CREATE INDEX session_by_agent_time   ON session (agent, ended_at, id) WHERE turns > 0;

CREATE INDEX session_by_external     ON session (external);

CREATE INDEX session_by_project_time ON session (project, ended_at, id) WHERE turns > 0;

CREATE INDEX session_by_time         ON session (ended_at, id) WHERE turns > 0;

CREATE INDEX tombstone_by_print ON tombstone (print) WHERE print IS NOT NULL;

CREATE INDEX turn_by_session ON turn (session, at, start, id);
