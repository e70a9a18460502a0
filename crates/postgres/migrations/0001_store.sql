-- The tables of the store. Those of the SQLite file have the same names and columns; results/src/store/tables.sql describes
-- them. Each statement of the store works on both.

-- NULL where the text is no JSON that PostgreSQL reads, such as with a NUL character.
CREATE FUNCTION oscost_json(text TEXT) RETURNS JSONB LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN text::jsonb;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- NULL where the text is no time.
CREATE FUNCTION oscost_time(text TEXT) RETURNS TIMESTAMPTZ LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN text::timestamptz;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- What a text says of a metric of a point; NULL for other texts.
CREATE FUNCTION oscost_identity(text TEXT) RETURNS JSONB LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN text LIKE '{"case":%' THEN oscost.oscost_json(text) END
$$;

CREATE TABLE runs (
    seq            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id             TEXT COLLATE "C" NOT NULL UNIQUE,
    started        TEXT NOT NULL,
    started_us     BIGINT NOT NULL,
    finished       TEXT,
    oscost         TEXT NOT NULL,
    rounds         BIGINT NOT NULL DEFAULT 0,
    results        BIGINT NOT NULL DEFAULT 0,
    machine_line   TEXT NOT NULL,
    tags           TEXT NOT NULL,
    asked          TEXT NOT NULL,
    system_group   TEXT GENERATED ALWAYS AS (oscost_json(asked) ->> 'group') STORED,
    seed           TEXT NOT NULL,
    core_clock_ghz TEXT NOT NULL,
    area_seconds   TEXT NOT NULL,
    machine        TEXT NOT NULL,
    plan           TEXT,
    writer         TEXT NOT NULL DEFAULT session_user  -- who added it, and may change it
);
CREATE INDEX runs_by_start ON runs (started_us);
CREATE INDEX unfinished_runs ON runs (started_us) WHERE finished IS NULL;
CREATE INDEX runs_by_group ON runs USING hash (system_group) WHERE system_group IS NOT NULL;

CREATE TABLE tags (
    run   BIGINT NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    key   TEXT NOT NULL,
    value TEXT NOT NULL
);
CREATE INDEX tags_of_run ON tags (run);
-- A B-tree has a limit of length, a hash has none.
CREATE INDEX runs_by_tag ON tags USING hash (value);
CREATE INDEX runs_by_key ON tags USING hash (key);

CREATE TABLE texts (
    seq      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    text     TEXT COLLATE "C" NOT NULL,
    -- For the views.
    identity JSONB GENERATED ALWAYS AS (oscost_identity(text)) STORED,
    EXCLUDE USING hash (text WITH =)
);
CREATE INDEX texts_by_case ON texts ((identity ->> 'case')) WHERE identity IS NOT NULL;

CREATE TABLE packed_rounds (
    run        BIGINT NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    seq        BIGINT NOT NULL,
    case_name  BIGINT NOT NULL REFERENCES texts (seq),
    params     BIGINT NOT NULL REFERENCES texts (seq),
    kind       TEXT NOT NULL CHECK (kind IN ('round', 'count', 'kept')),
    outcome    BIGINT NOT NULL REFERENCES texts (seq),
    started_ms BIGINT NOT NULL,
    crc32      BIGINT NOT NULL,
    lines      BYTEA NOT NULL,
    PRIMARY KEY (run, seq)
);
-- They are compressed already.
ALTER TABLE packed_rounds ALTER COLUMN lines SET STORAGE EXTERNAL;
CREATE VIEW rounds AS
    SELECT run, packed_rounds.seq AS seq, cases.text AS case_name, points.text AS params, kind, outcomes.text AS outcome,
           started_ms, crc32, lines
    FROM packed_rounds
    JOIN texts AS cases ON cases.seq = packed_rounds.case_name
    JOIN texts AS points ON points.seq = packed_rounds.params
    JOIN texts AS outcomes ON outcomes.seq = packed_rounds.outcome;

CREATE TABLE packed_results (
    run   BIGINT PRIMARY KEY REFERENCES runs (seq) ON DELETE CASCADE,
    bytes BIGINT NOT NULL,
    body  BYTEA NOT NULL
);
ALTER TABLE packed_results ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE packed_figures (
    run  BIGINT PRIMARY KEY REFERENCES runs (seq) ON DELETE CASCADE,
    body BYTEA NOT NULL
);
ALTER TABLE packed_figures ALTER COLUMN body SET STORAGE EXTERNAL;

-- The results again, for users of SQL: PostgreSQL cannot read packed ones.
CREATE TABLE points (
    run         BIGINT NOT NULL REFERENCES runs (seq) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    identity    BIGINT NOT NULL REFERENCES texts (seq),
    outcome     TEXT NOT NULL,
    reason      TEXT,
    median      DOUBLE PRECISION,
    low         DOUBLE PRECISION,   -- NULL with fewer rounds than an interval needs
    high        DOUBLE PRECISION,
    cycles      DOUBLE PRECISION,
    rounds      INTEGER NOT NULL,
    is_doubtful BOOLEAN NOT NULL,
    PRIMARY KEY (run, seq)
);
CREATE INDEX points_by_identity ON points (identity, run);

CREATE TABLE quiet_levels (
    seq   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key   TEXT NOT NULL,
    alu   DOUBLE PRECISION NOT NULL,
    chase DOUBLE PRECISION NOT NULL
);
CREATE INDEX quiet_levels_by_key ON quiet_levels (key, seq);

CREATE TABLE multiplication_cycles (
    cpu    TEXT PRIMARY KEY,
    cycles BIGINT NOT NULL,
    writer TEXT NOT NULL DEFAULT session_user
);

CREATE TABLE accepted_events (
    id       TEXT PRIMARY KEY,
    why      TEXT NOT NULL,
    accepted TEXT NOT NULL,
    writer   TEXT NOT NULL DEFAULT session_user
);

-- Who may do what: all read what they were granted; rows are added, changed and deleted by the user who added them. The
-- owner of the tables is not subject to these policies.
ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON runs FOR SELECT USING (true);
CREATE POLICY own ON runs USING (writer = session_user) WITH CHECK (writer = session_user);
ALTER TABLE multiplication_cycles ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON multiplication_cycles FOR SELECT USING (true);
CREATE POLICY own ON multiplication_cycles USING (writer = session_user) WITH CHECK (writer = session_user);
ALTER TABLE accepted_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON accepted_events FOR SELECT USING (true);
CREATE POLICY own ON accepted_events USING (writer = session_user) WITH CHECK (writer = session_user);

CREATE FUNCTION oscost_is_own(run_seq BIGINT) RETURNS BOOLEAN LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT EXISTS (SELECT FROM oscost.runs WHERE seq = run_seq AND writer = session_user)
$$;
DO $$
DECLARE
    of_run TEXT;
BEGIN
    FOREACH of_run IN ARRAY ARRAY['tags', 'packed_rounds', 'packed_results', 'packed_figures', 'points'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', of_run);
        EXECUTE format('CREATE POLICY reading ON %I FOR SELECT USING (true)', of_run);
        EXECUTE format('CREATE POLICY own ON %I USING (oscost_is_own(run)) WITH CHECK (oscost_is_own(run))', of_run);
    END LOOP;
END $$;

-- The interface for users of SQL, which docs/store.md describes.
CREATE VIEW oscost_runs AS
    SELECT id AS run, to_timestamp(started_us / 1e6) AS started, oscost_time(finished) AS finished, oscost AS version, writer,
           machine_line AS machine, oscost_json(machine) AS facts, oscost_json(tags) AS tags, oscost_json(asked) AS asked,
           rounds, results
    FROM runs;
CREATE VIEW oscost_points AS
    SELECT runs.id AS run, to_timestamp(runs.started_us / 1e6) AS started, texts.identity ->> 'case' AS case_name,
           texts.identity -> 'params' AS params, texts.identity ->> 'metric' AS metric, texts.identity ->> 'unit' AS unit,
           texts.identity ->> 'better' AS better, points.outcome, points.reason, points.median AS value, points.low,
           points.high, points.cycles, points.rounds, points.is_doubtful, runs.machine_line AS machine,
           oscost_json(runs.tags) AS tags
    FROM points
    JOIN runs ON runs.seq = points.run
    JOIN texts ON texts.seq = points.identity;
