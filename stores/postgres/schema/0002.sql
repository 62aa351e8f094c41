-- Migration 2: what one worker holds without a break, and a log that is trimmed from its beginning. To be run
-- after 0001.sql, in the same way.

-- The generation in which the last owner began to hold it; nobody else has since. 0: never claimed.
ALTER TABLE sessions ADD COLUMN held_since bigint NOT NULL DEFAULT 0;
UPDATE sessions SET held_since = generation;
CREATE INDEX session_log_by_number ON session_log (ns, number);

INSERT INTO migrations (number) VALUES (2);
