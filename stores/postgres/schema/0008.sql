-- Migration 8: search attributes, and counts by status. To be run after 0007.sql, in the same way.

ALTER TABLE instances ADD COLUMN attributes bytea;  -- encoded; NULL: none

-- What instances are found by: an entry for each attribute, and for each keyword of a list. Entries of one
-- attribute compare as its values do. Lists go by `-key`, as with the indexes of instances.
CREATE TABLE attribute_entries (
  key bigint NOT NULL,
  ns integer NOT NULL,
  entry bytea NOT NULL,
  PRIMARY KEY (key, entry)
);
CREATE INDEX attribute_entries_by_value ON attribute_entries (ns, entry, (-key));

-- How many instances have each status: the sum over all rows. Each connection adds to a row of its own, so
-- that none waits for another; sweeps add up those of connections that are gone.
CREATE TABLE status_counts (
  ns integer NOT NULL,
  backend integer NOT NULL,
  running bigint NOT NULL,
  suspended bigint NOT NULL,
  parked bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  terminated bigint NOT NULL,
  PRIMARY KEY (ns, backend)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
INSERT INTO status_counts SELECT ns, 0, count(*) FILTER (WHERE status = 0), count(*) FILTER (WHERE status = 1),
  count(*) FILTER (WHERE status = 2), count(*) FILTER (WHERE status = 3), count(*) FILTER (WHERE status = 4),
  count(*) FILTER (WHERE status = 5), count(*) FILTER (WHERE status = 6) FROM instances GROUP BY ns;

INSERT INTO migrations (number) VALUES (8);
