-- Migration 3: sessions that a person wants to leave their owners. To be run after 0002.sql, in the same way.

-- The node that is to have it next, '' for anybody; only a few sessions have one. How long it is kept for it.
ALTER TABLE sessions ADD COLUMN wanted text COLLATE "C";
ALTER TABLE sessions ADD COLUMN wanted_for bigint NOT NULL DEFAULT 0;
CREATE INDEX sessions_wanted ON sessions (ns, worker) WHERE wanted IS NOT NULL;

INSERT INTO migrations (number) VALUES (3);
