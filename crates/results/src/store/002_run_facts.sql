-- Documents of schema 2. Runs of an older oscost have neither.
ALTER TABLE runs ADD COLUMN core_clock_ghz TEXT; -- JSON object; NULL where unknown
ALTER TABLE runs ADD COLUMN area_seconds TEXT;   -- JSON object; NULL where unknown
