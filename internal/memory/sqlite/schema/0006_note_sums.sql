-- A letter that the disk changed must not be taken for what was noted. Turns have a
-- checksum in their zstd frame; this is that of a note, or of what was learned.
ALTER TABLE memory ADD COLUMN sum INTEGER; -- CRC-32C of body; NULL: without body, or written before there were sums
