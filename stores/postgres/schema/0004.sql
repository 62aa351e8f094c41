-- Migration 4: lists, newest first, in an order that only these indexes have. While it was that of `key`, a
-- server with statistics went through the primary key from its end, past all that the list does not want. To be
-- run after 0003.sql, in the same way.

DROP INDEX instances_by_status, instances_by_parent;
CREATE INDEX instances_by_status ON instances (ns, status, (-key));
CREATE INDEX instances_by_parent ON instances (parent, (-key)) WHERE parent IS NOT NULL;

INSERT INTO migrations (number) VALUES (4);
