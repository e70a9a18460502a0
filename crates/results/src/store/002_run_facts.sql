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
CREATE INDEX quiet_levels_by_key ON quiet_levels (key, seq);
