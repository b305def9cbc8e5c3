-- The account service that is embedded. Addresses of codes are digests, codes and
-- tokens too; times are in milliseconds since 1970.
CREATE TABLE account_code (
	address     BLOB NOT NULL PRIMARY KEY,
	code        BLOB,
	expires_at  INTEGER NOT NULL,
	sent_at     INTEGER NOT NULL,
	tries       INTEGER NOT NULL,
	tries_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the limits over all addresses count.
CREATE TABLE account_event (
	at   INTEGER NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('sent', 'wrong'))
) STRICT;
CREATE INDEX account_event_at ON account_event (kind, at);

CREATE TABLE account_user (
	id         TEXT NOT NULL PRIMARY KEY,
	email      TEXT NOT NULL UNIQUE,
	nickname   TEXT NOT NULL,
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE account_session (
	digest     BLOB NOT NULL PRIMARY KEY,
	user_id    TEXT NOT NULL REFERENCES account_user (id),
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	revoked_at INTEGER
) STRICT, WITHOUT ROWID;
