-- The machine of a run, by which series of one machine are told from those of others: the tag that names it in a fleet, else the hash
-- of its id; NULL where neither is known.
CREATE OR REPLACE VIEW oscost_runs AS
    SELECT id AS run, to_timestamp(started_us / 1e6) AS started, oscost_time(finished) AS finished, oscost AS version, writer,
           machine_line AS machine, oscost_json(machine) AS facts, oscost_json(tags) AS tags, oscost_json(asked) AS asked,
           rounds, results, COALESCE(oscost_json(tags) ->> 'node', oscost_json(machine) ->> 'machine_id') AS node
    FROM runs;
CREATE OR REPLACE VIEW oscost_points AS
    SELECT runs.id AS run, to_timestamp(runs.started_us / 1e6) AS started, texts.identity ->> 'case' AS case_name,
           texts.identity -> 'params' AS params, texts.identity ->> 'metric' AS metric, texts.identity ->> 'unit' AS unit,
           texts.identity ->> 'better' AS better, points.outcome, points.reason, points.median AS value, points.low,
           points.high, points.cycles, points.rounds, points.is_doubtful, runs.machine_line AS machine,
           oscost_json(runs.tags) AS tags,
           COALESCE(oscost_json(runs.tags) ->> 'node', oscost_json(runs.machine) ->> 'machine_id') AS node
    FROM points
    JOIN runs ON runs.seq = points.run
    JOIN texts ON texts.seq = points.identity;
