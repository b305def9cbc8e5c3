-- What memories mean, as vectors of one embedding model. All of it can be made
-- anew: it is dropped when the model is another one.

CREATE TABLE vector_space (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  name TEXT    NOT NULL,               -- of the model, with its version and settings
  dims INTEGER NOT NULL                -- numbers of a vector, 0 until there is one
) STRICT;

CREATE TABLE vector (
  memory INTEGER PRIMARY KEY,
  data   BLOB NOT NULL                 -- a factor (float32, little endian), the script of the text, and dims signed bytes
) STRICT;

-- Memories that have no vector yet, or one of an older text.
CREATE TABLE vector_due (
  memory INTEGER PRIMARY KEY
) STRICT;
