-- Sessions that agents opened, rather than that were read from their logs.
CREATE TABLE live_session (
  session   INTEGER PRIMARY KEY REFERENCES session,
  key       TEXT    NOT NULL,          -- resumes it without its id; '' for none
  opened_at INTEGER NOT NULL,
  closed_at INTEGER NOT NULL           -- 0 while it is open
) STRICT;

CREATE INDEX live_session_by_key ON live_session (key) WHERE key <> '' AND closed_at = 0;

-- Turns that agents told of. The log of the agent tells of the same turns, maybe
-- under other ids; asked and said recognise them.
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

CREATE INDEX live_turn_by_turn  ON live_turn (turn) WHERE turn IS NOT NULL;
CREATE INDEX live_turn_by_asked ON live_turn (asked) WHERE state IN ('told', 'forgotten');
CREATE INDEX live_turn_by_start ON live_turn (started_at) WHERE state = 'started';
