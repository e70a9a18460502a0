-- Tables that a store of version 2 may lack: they are created when it is opened for writing, and a build that does not know
-- them works without.

-- The figures of a run again, without rounds and distributions, to be read for many runs at once.
CREATE TABLE IF NOT EXISTS packed_figures (
    run  INTEGER PRIMARY KEY REFERENCES runs (seq) ON DELETE CASCADE,
    body BLOB NOT NULL              -- records of figures.rs; the identity of each is a text
) STRICT;

-- Events of a history that the user has accepted.
CREATE TABLE IF NOT EXISTS accepted_events (
    id       TEXT PRIMARY KEY,
    why      TEXT NOT NULL,
    accepted TEXT NOT NULL          -- when, RFC 3339
) STRICT, WITHOUT ROWID;
