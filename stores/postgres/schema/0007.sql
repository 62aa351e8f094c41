-- Migration 7: questions between processes. They live for seconds, and may get lost with the server. To be run
-- after 0006.sql, in the same way.

CREATE UNLOGGED TABLE asks (
  ns integer NOT NULL,
  id uuid NOT NULL,
  body bytea NOT NULL,  -- encoded, with the answer once there is one
  PRIMARY KEY (ns, id)
);

INSERT INTO migrations (number) VALUES (7);
