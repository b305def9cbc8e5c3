-- The text index is derived: store.Rebuild makes it from the rows. Its text is
-- terms that package words has cut, so its own tokenizer has only to find the
-- spaces. Filters are terms of the column scope, so that they run inside it.
CREATE VIRTUAL TABLE words USING fts5 (
  lead, rest, around, day, scope,
  content = '', contentless_delete = 1,
  tokenize = "ascii tokenchars '_.-'"
);

-- Its terms in order, to look for the right spelling of a word.
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
