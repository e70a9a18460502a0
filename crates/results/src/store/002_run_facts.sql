-- Documents of schema 2. Runs of an older oscost have neither.
ALTER TABLE runs ADD COLUMN core_clock_ghz TEXT; -- JSON object; NULL where unknown
ALTER TABLE runs ADD COLUMN area_seconds TEXT;   -- JSON object; NULL where unknown

-- What the sentinel's ratios were in the quiet parts of earlier runs. They depend on the kind of CPU and on the build
-- only, so that a short run in a disturbed hour can be told from a quiet one.
CREATE TABLE quiet_levels (
    seq   INTEGER PRIMARY KEY,
    key   TEXT NOT NULL, -- the build and the kind of CPU
    alu   REAL NOT NULL,
    chase REAL NOT NULL
);

-- How many core cycles a multiplication takes on a kind of CPU, once it was found.
CREATE TABLE multiplication_cycles (
    cpu    TEXT PRIMARY KEY,
    cycles INTEGER NOT NULL
);

-- The untimed pass is called `count`, and the end that a worker reports `reported`.
CREATE TABLE renamed_rounds (
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
INSERT INTO renamed_rounds
    SELECT run, seq, case_name, params, iif(kind = 'why', 'count', kind),
           replace(outcome, '{"told":', '{"reported":'), started_ms, lines
    FROM rounds;
DROP TABLE rounds;
ALTER TABLE renamed_rounds RENAME TO rounds;
