-- What judges figures belongs to its writer: no run is judged by what another writer has stored.

-- It is not known who added the levels of earlier builds, and no run uses them.
ALTER TABLE quiet_levels ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE quiet_levels ALTER COLUMN writer SET DEFAULT session_user;
DROP INDEX quiet_levels_by_key;
CREATE INDEX quiet_levels_by_key ON quiet_levels (key, writer, seq);
ALTER TABLE quiet_levels ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON quiet_levels FOR SELECT USING (true);
CREATE POLICY own ON quiet_levels USING (writer = session_user) WITH CHECK (writer = session_user);

ALTER TABLE multiplication_cycles DROP CONSTRAINT multiplication_cycles_pkey, ADD PRIMARY KEY (cpu, writer);

-- The id of an event begins with that of a run, up to the first slash. The run's writer accepts it, or the owner of the tables.
CREATE FUNCTION oscost_is_of_own_run(event TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT EXISTS (SELECT FROM oscost.runs WHERE id = split_part(event, '/', 1) AND writer = session_user)
$$;
DROP POLICY own ON accepted_events;
CREATE POLICY own ON accepted_events USING (oscost_is_of_own_run(id)) WITH CHECK (oscost_is_of_own_run(id));
DELETE FROM accepted_events
WHERE writer <> (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'oscost.runs'::regclass)
      AND NOT EXISTS (SELECT FROM runs
                      WHERE runs.id = split_part(accepted_events.id, '/', 1) AND runs.writer = accepted_events.writer);
