PRAGMA application_id = 1869833071; -- "osco"
PRAGMA user_version = 1;

CREATE TABLE runs (
    seq            INTEGER PRIMARY KEY, -- in the order they arrived here
    id             TEXT NOT NULL UNIQUE,
    started        TEXT NOT NULL,       -- RFC 3339, as in the document
    started_us     INTEGER NOT NULL,    -- the same in microseconds since 1970 UTC: newest is the highest
    finished       TEXT,                -- NULL while unfinished
    seed           TEXT NOT NULL,       -- decimal: an unsigned 64 bit number does not fit an INTEGER
    oscost         TEXT NOT NULL,
    tags           TEXT NOT NULL,       -- JSON object
    asked          TEXT NOT NULL,       -- JSON object
    machine        TEXT NOT NULL,       -- JSON object
    plan           TEXT,                -- what the runner resumes by; NULL for an imported run
    core_clock_ghz TEXT NOT NULL,       -- JSON object; null where unknown
    area_seconds   TEXT NOT NULL        -- JSON object
) STRICT;

CREATE TABLE rounds (
    run        INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,    -- the order the runner gave them
    case_name  TEXT NOT NULL,       -- area/name
    params     TEXT NOT NULL,       -- JSON object
    kind       TEXT NOT NULL CHECK (kind IN ('round', 'count')),
    outcome    TEXT NOT NULL,
    started_ms INTEGER NOT NULL,    -- milliseconds since 1970 UTC
    lines      BLOB NOT NULL,       -- what the worker printed, zlib (RFC 1950)
    PRIMARY KEY (run, seq)
) STRICT;

CREATE TABLE results (
    run       INTEGER NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    seq       INTEGER NOT NULL,     -- place in the document
    body      TEXT NOT NULL,        -- JSON object, as in the document
    case_name TEXT AS (body ->> '$.case') VIRTUAL,
    params    TEXT AS (body -> '$.params') VIRTUAL,
    metric    TEXT AS (body ->> '$.metric') VIRTUAL,
    unit      TEXT AS (body ->> '$.unit') VIRTUAL,
    outcome   TEXT AS (body ->> '$.outcome') VIRTUAL,
    median    REAL AS (body ->> '$.estimate.median') VIRTUAL,
    low       REAL AS (body ->> '$.estimate.low') VIRTUAL,
    high      REAL AS (body ->> '$.estimate.high') VIRTUAL,
    PRIMARY KEY (run, seq),
    UNIQUE (run, case_name, params, metric)
) STRICT;

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
