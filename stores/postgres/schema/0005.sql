-- Migration 5: who waits for the end of an instance. To be run after 0004.sql, in the same way.

ALTER TABLE instances ADD COLUMN end_watchers bytea;  -- encoded; only a few instances have any

INSERT INTO migrations (number) VALUES (5);
