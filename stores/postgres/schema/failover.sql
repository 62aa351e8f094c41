-- Another server has taken over, which may lack the last commits of the one before. Nobody who held something
-- there can rely on it: locks are free, and numbers that may have been given are given no more. Run inside of a
-- transaction that has locked the row of `deployment`.
UPDATE instances SET locked = false, token = NULL, seen = 0, woken = true, due_at = least(due_at, until)
 WHERE locked;
UPDATE activities SET locked = false, token = NULL, ready_since = least(ready_since, until),
 deadline = CASE WHEN session_over IS NOT NULL THEN ready_since
 ELSE least(ready_since + start_within, total_until) END WHERE locked;
UPDATE sessions SET lease_until = 0 WHERE ended IS NULL AND worker <> 0;
SELECT setval('instance_keys', nextval('instance_keys') + 1000000),
 setval('message_ids', nextval('message_ids') + 1000000),
 setval('worker_keys', nextval('worker_keys') + 1000000),
 setval('generations', nextval('generations') + 1000000),
 setval('log_numbers', nextval('log_numbers') + 1000000),
 setval('set_aside_numbers', nextval('set_aside_numbers') + 1000000);
