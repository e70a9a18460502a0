PRAGMA application_id = 1869833071; -- "osco"
PRAGMA user_version = 2;

-- The columns of a list of runs come first: they lie in the table's own pages, the long ones in overflow pages.
CREATE TABLE runs (
    seq            INTEGER PRIMARY KEY, -- in the order they arrived here
    id             TEXT NOT NULL UNIQUE,
    started        TEXT NOT NULL,       -- RFC 3339, as in the document
    started_us     INTEGER NOT NULL,    -- the same in microseconds since 1970 UTC: newest is the highest
    finished       TEXT,                -- NULL while unfinished
    oscost         TEXT NOT NULL,
    rounds         INTEGER NOT NULL DEFAULT 0, -- their number, counted with each insert: a list need not scan them. Thinning removes them, and keeps it
    results        INTEGER NOT NULL DEFAULT 0, -- their number
    machine_line   TEXT NOT NULL,       -- the machine in one line
    tags           TEXT NOT NULL,       -- JSON object
    asked          TEXT NOT NULL,       -- JSON object
    system_group   TEXT AS (asked ->> '$.group') VIRTUAL,
    seed           TEXT NOT NULL,       -- decimal: an unsigned 64 bit number does not fit an INTEGER
    core_clock_ghz TEXT NOT NULL,       -- JSON object; null where unknown
    area_seconds   TEXT NOT NULL,       -- JSON object
    machine        TEXT NOT NULL,       -- JSON object
    plan           TEXT                 -- what the runner resumes by; NULL for an imported run
) STRICT;
CREATE INDEX runs_by_start ON runs (started_us);
CREATE INDEX unfinished_runs ON runs (started_us) WHERE finished IS NULL;
CREATE INDEX runs_by_group ON runs (system_group) WHERE system_group IS NOT NULL;

-- The tags again, one by one, to find runs by.
CREATE TABLE tags (
    run   INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_tag ON tags (key, value);

-- Texts that many rounds share. They stay when runs are deleted.
CREATE TABLE texts (
    seq  INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE packed_rounds (
    run        INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,    -- the order the runner gave them
    case_name  INTEGER NOT NULL REFERENCES texts (seq), -- area/name
    params     INTEGER NOT NULL REFERENCES texts (seq), -- JSON object
    kind       TEXT NOT NULL CHECK (kind IN ('round', 'count', 'kept')),
    outcome    INTEGER NOT NULL REFERENCES texts (seq),
    started_ms INTEGER NOT NULL,    -- milliseconds since 1970 UTC
    crc32      INTEGER NOT NULL,    -- of what the worker printed
    lines      BLOB NOT NULL,       -- what it printed: deflate (RFC 1951) after the preset dictionary of packing.rs
    PRIMARY KEY (run, seq)
) STRICT;
CREATE VIEW rounds AS
    SELECT run, packed_rounds.seq AS seq, cases.text AS case_name, points.text AS params, kind, outcomes.text AS outcome,
           started_ms, crc32, lines
    FROM packed_rounds
    JOIN texts AS cases ON cases.seq = packed_rounds.case_name
    JOIN texts AS points ON points.seq = packed_rounds.params
    JOIN texts AS outcomes ON outcomes.seq = packed_rounds.outcome;

-- All results of a run together: compressed one by one they would take three times as much.
CREATE TABLE packed_results (
    run   INTEGER PRIMARY KEY REFERENCES runs (seq) ON DELETE CASCADE,
    bytes INTEGER NOT NULL,         -- length of the JSON array of results, as in the document
    body  BLOB NOT NULL             -- that array: zlib (RFC 1950), or as it is if that is not shorter
) STRICT;
-- For the sqlite3 shell, which has the function sqlar_uncompress; this library has not.
CREATE VIEW results AS
    SELECT run, key AS seq, value AS body, value ->> '$.case' AS case_name, value -> '$.params' AS params,
           value ->> '$.metric' AS metric, value ->> '$.unit' AS unit, value ->> '$.outcome' AS outcome,
           value ->> '$.estimate.median' AS median, value ->> '$.estimate.low' AS low,
           value ->> '$.estimate.high' AS high
    FROM packed_results, json_each(CAST(sqlar_uncompress(body, bytes) AS TEXT));

-- What the sentinel's ratios were in the quiet parts of earlier runs. They depend on the kind of CPU and on the build
-- only, so that a short run in a disturbed hour can be told from a quiet one.
CREATE TABLE quiet_levels (
    seq   INTEGER PRIMARY KEY,
    key   TEXT NOT NULL, -- the build and the kind of CPU
    alu   REAL NOT NULL,
    chase REAL NOT NULL
) STRICT;

-- How many core cycles a multiplication takes on a kind of CPU, once it was found.
CREATE TABLE multiplication_cycles (
    cpu    TEXT PRIMARY KEY,
    cycles INTEGER NOT NULL
) STRICT;
