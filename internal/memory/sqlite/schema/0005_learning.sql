-- What was learned from turns. Package learn reads them and says what they claim;
-- which of the claims about one topic stands is decided here, from all evidence
-- there is, so that it does not matter in which order turns come.

ALTER TABLE memory ADD COLUMN rule TEXT NOT NULL DEFAULT ''; -- by which it was learned; '' for traces and notes
ALTER TABLE memory ADD COLUMN origin INTEGER;                -- the turn it was first learned from

CREATE INDEX memory_by_rule_time ON memory (rule, created_at, id) WHERE rule <> '';

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

CREATE INDEX claim_by_topic ON claim (topic);
CREATE INDEX claim_open     ON claim (rule, project) WHERE memory IS NOT NULL AND valid_to = 0;

CREATE TABLE evidence (
  claim INTEGER NOT NULL REFERENCES claim,
  turn  INTEGER NOT NULL REFERENCES turn,
  at    INTEGER NOT NULL,
  nth   INTEGER NOT NULL,                    -- place in the turn
  sure  REAL    NOT NULL,
  hash  BLOB    NOT NULL,                    -- of the turn as it was read
  PRIMARY KEY (claim, turn)
) STRICT, WITHOUT ROWID;

CREATE INDEX evidence_by_turn ON evidence (turn);

-- Turns that nothing was learned from yet, or that changed since.
CREATE TABLE unlearned (
  turn INTEGER PRIMARY KEY REFERENCES turn
) STRICT;

INSERT INTO unlearned SELECT id FROM turn;

-- Like tally, of what was learned.
CREATE TABLE learned_tally (
  rule    TEXT    NOT NULL,
  layer   TEXT    NOT NULL,
  status  TEXT    NOT NULL,
  agent   INTEGER NOT NULL,
  project INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  PRIMARY KEY (rule, layer, status, agent, project)
) STRICT, WITHOUT ROWID;
