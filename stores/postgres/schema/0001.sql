-- The tables of Holdfast in PostgreSQL: migration 1. docs/postgres.md explains them.
--
-- A role without the right to create tables can run against a schema that was prepared with this file:
--   CREATE SCHEMA holdfast; SET search_path TO holdfast; \i 0001.sql
--
-- Times: `at`, `until`, `due_at` and the like are lease time; `due` and what people see (`..._at` of creation
-- and update) are calendar time; both in microseconds. Numbers of 64 bits without a sign are kept in the same
-- bits.

CREATE TABLE migrations (
  number integer PRIMARY KEY,
  ran_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO migrations (number) VALUES (1);

-- One row. The server that this was written by, and lease time: clock_timestamp() plus `lease_offset`, never
-- below `lease_high`.
CREATE TABLE deployment (
  id integer PRIMARY KEY CHECK (id = 1),
  server text NOT NULL DEFAULT '',
  timeline text NOT NULL DEFAULT '',
  lease_offset bigint NOT NULL DEFAULT 0,
  lease_high bigint NOT NULL DEFAULT 0
);
INSERT INTO deployment (id) VALUES (1);

CREATE SEQUENCE instance_keys;
CREATE SEQUENCE message_ids;
CREATE SEQUENCE worker_keys;
CREATE SEQUENCE generations;
CREATE SEQUENCE delayed_numbers;
CREATE SEQUENCE early_numbers;
CREATE SEQUENCE log_numbers;
CREATE SEQUENCE set_aside_numbers;

CREATE TABLE namespaces (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);

-- What code an instance needs, interned. Never changed, never removed.
CREATE TABLE routes (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ns integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  build bigint NOT NULL,
  UNIQUE (ns, name, version, build)
);

-- What a worker needs to take an activity, interned likewise.
CREATE TABLE kinds (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ns integer NOT NULL,
  queue text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  UNIQUE (ns, queue, name)
);

-- One life of an instance id. Whoever changes it, or anything that belongs to it, locks this row.
CREATE TABLE instances (
  key bigint PRIMARY KEY,
  ns integer NOT NULL,
  route integer NOT NULL,
  execution bigint NOT NULL,
  status smallint NOT NULL,
  locked boolean NOT NULL,      -- by `worker` with `token`; the token counts also when the lease is over
  woken boolean NOT NULL,       -- ready, whatever its messages are
  delivery integer NOT NULL,    -- hand-outs since the last commit
  due_at bigint,                -- locked: the end of the lease; else since when it is ready, if it is
  until bigint NOT NULL,
  worker bigint NOT NULL,
  seen bigint NOT NULL,         -- deliveries up to this don't make it ready: its frame had them
  not_before bigint NOT NULL,   -- not ready before this
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  token uuid,
  stamp uuid,                   -- of the last commit
  request uuid,
  fingerprint uuid,
  parent bigint,
  cancel_requested_at bigint,
  name text COLLATE "C" NOT NULL,
  waits bytea,                  -- the addresses, encoded
  parked_because bytea,
  output bytea
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
CREATE UNIQUE INDEX instances_by_name ON instances (ns, name);
CREATE INDEX instances_due ON instances (route, due_at, key) WHERE due_at IS NOT NULL;
CREATE INDEX instances_by_parent ON instances (parent, key) WHERE parent IS NOT NULL;
CREATE INDEX instances_by_status ON instances (ns, status, key);

CREATE TABLE custom_status (
  key bigint PRIMARY KEY,
  version bigint NOT NULL,      -- how often it was set
  bytes bytea NOT NULL
) WITH (fillfactor = 70);

-- History: one segment per turn that had events.
CREATE TABLE history (
  key bigint NOT NULL,
  execution bigint NOT NULL,
  first_event bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (key, execution, first_event)
);

-- What instances have to read. `waits`: 1 for deliveries and news, so that the others are found without
-- passing a full mailbox.
CREATE TABLE messages (
  key bigint NOT NULL,
  id bigint NOT NULL,
  execution bigint NOT NULL,
  source bigint NOT NULL,
  waits smallint NOT NULL,
  kind smallint NOT NULL,
  address_kind smallint NOT NULL,
  address text COLLATE "C",
  body bytea NOT NULL,
  PRIMARY KEY (key, waits, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
CREATE INDEX messages_by_address ON messages (key, address_kind, address, id) WHERE waits = 1;

-- Timers of current executions.
CREATE TABLE timers (
  key bigint NOT NULL,
  event bigint NOT NULL,
  due bigint NOT NULL,
  ns integer NOT NULL,
  PRIMARY KEY (key, event)
);
CREATE INDEX timers_by_due ON timers (ns, due);

-- Messages that become visible later.
CREATE TABLE delayed (
  number bigint PRIMARY KEY,
  key bigint NOT NULL,
  at bigint NOT NULL,
  execution bigint NOT NULL,
  source bigint NOT NULL,
  ns integer NOT NULL,
  kind smallint NOT NULL,
  address_kind smallint NOT NULL,
  address text COLLATE "C",
  body bytea NOT NULL
);
CREATE INDEX delayed_by_time ON delayed (ns, at);
CREATE INDEX delayed_by_key ON delayed (key);

-- Activities: queued, or in the hands of a worker. An activity of a session is changed only by who has locked
-- the row of that session, or knows that there is none.
CREATE TABLE activities (
  key bigint NOT NULL,
  execution bigint NOT NULL,
  event bigint NOT NULL,
  until bigint NOT NULL,
  ready_since bigint NOT NULL,
  worker bigint NOT NULL,
  generation bigint NOT NULL,   -- of its session, at its last lock
  ns integer NOT NULL,
  kind integer NOT NULL,
  rank integer NOT NULL,        -- minus the priority
  attempt integer NOT NULL,
  delivery integer NOT NULL,
  locked boolean NOT NULL,      -- as for instances
  own_queue boolean NOT NULL,   -- it was scheduled with a queue of its own
  session_over smallint,        -- its session has ended: this attempt may finish, and fails as this if not
  start_within bigint,
  total_until bigint,
  deadline bigint,              -- not locked: when somebody must have taken it
  token uuid,
  session text COLLATE "C",
  body bytea NOT NULL,
  last_failure bytea,
  progress bytea,
  PRIMARY KEY (key, execution, event)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
CREATE INDEX activities_free ON activities (kind, rank, ready_since) WHERE NOT locked AND session IS NULL;
CREATE INDEX activities_locked ON activities (ns, until) WHERE locked;
CREATE INDEX activities_by_session ON activities (ns, session) WHERE session IS NOT NULL;
CREATE INDEX activities_by_deadline ON activities (ns, deadline) WHERE NOT locked AND deadline IS NOT NULL;
CREATE INDEX activities_urgent ON activities (ns, rank) WHERE rank < 0;

-- Activities that were taken away while they ran, until the lease that they had is over.
CREATE TABLE cancels (
  key bigint NOT NULL,
  execution bigint NOT NULL,
  event bigint NOT NULL,
  token uuid NOT NULL,
  worker bigint NOT NULL,
  until bigint NOT NULL,
  at bigint NOT NULL,
  ns integer NOT NULL,
  reason smallint NOT NULL,
  state smallint NOT NULL,
  name text COLLATE "C" NOT NULL,
  session text COLLATE "C",    -- that it ran in, if that has a limit: until its code has ended it counts
  PRIMARY KEY (key, execution, event, token)
);
CREATE INDEX cancels_by_session ON cancels (ns, session) WHERE session IS NOT NULL;
CREATE INDEX cancels_by_worker ON cancels (worker) WHERE state = 0;
CREATE INDEX cancels_by_end ON cancels (ns, until);

-- Deliveries for ids that don't exist yet.
CREATE TABLE early (
  number bigint PRIMARY KEY,
  at bigint NOT NULL,
  until bigint NOT NULL,
  execution bigint NOT NULL,
  source bigint NOT NULL,
  ns integer NOT NULL,
  kind smallint NOT NULL,
  address_kind smallint NOT NULL,
  instance text COLLATE "C" NOT NULL,
  address text COLLATE "C",
  body bytea NOT NULL
);
CREATE INDEX early_by_instance ON early (ns, instance);
CREATE INDEX early_by_end ON early (ns, until);

-- Key/value of instances.
CREATE TABLE kept_values (
  key bigint NOT NULL,
  name bytea NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (key, name)
);

-- Requests of clients that took effect, and what they were answered.
CREATE TABLE requests (
  ns integer NOT NULL,
  request uuid NOT NULL,
  at bigint NOT NULL,
  answer bigint NOT NULL,
  PRIMARY KEY (ns, request)
);
CREATE INDEX requests_by_time ON requests (ns, at);

-- Deleted instances whose history is removed in slices.
CREATE TABLE remains (
  key bigint PRIMARY KEY
);

-- What could not be decoded, with its bytes.
CREATE TABLE set_aside (
  number bigint PRIMARY KEY,
  key bigint NOT NULL,
  at bigint NOT NULL,
  ns integer NOT NULL,
  what text NOT NULL,
  problem bytea NOT NULL,
  bytes bytea NOT NULL
);

-- Processes that have joined. A newer one of the same node supersedes the older ones.
CREATE TABLE workers (
  key bigint PRIMARY KEY,
  seen bigint NOT NULL,
  joined_at bigint NOT NULL,
  ns integer NOT NULL,
  draining boolean NOT NULL,
  superseded boolean NOT NULL,
  node text COLLATE "C" NOT NULL,
  info bytea NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX workers_by_node ON workers (ns, node);

-- Worker sessions.
CREATE TABLE sessions (
  ns integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  worker bigint NOT NULL,       -- 0: unclaimed
  generation bigint NOT NULL,
  lease_until bigint NOT NULL,
  lease bigint NOT NULL,        -- how long it is extended; stamped by the last claim
  idle_timeout bigint NOT NULL,
  last_worker bigint NOT NULL,
  last_activity bigint NOT NULL,
  changed bigint NOT NULL,      -- the lease time of updated_at
  ttl_until bigint NOT NULL,
  opener bigint NOT NULL,       -- the instance that opened it; 0: nobody
  saved_version bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  ended smallint,               -- expired, closed or failed
  reason smallint NOT NULL,
  reclaim boolean NOT NULL,     -- of its policy
  on_record boolean NOT NULL,   -- likewise
  max_concurrent bigint NOT NULL, -- likewise; 0: no limit
  planned boolean NOT NULL,     -- the last owner gave it up itself
  restarted boolean NOT NULL,   -- it was taken from an older incarnation of its owner's node
  ran boolean NOT NULL,         -- an activity was handed out in this generation
  owner text COLLATE "C" NOT NULL,
  last_owner text COLLATE "C" NOT NULL,
  opened_by text COLLATE "C" NOT NULL,
  requirements text[] COLLATE "C" NOT NULL,
  policy bytea NOT NULL,
  note bytea NOT NULL,
  saved bytea,
  PRIMARY KEY (ns, id)
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_worker ON sessions (ns, worker) WHERE ended IS NULL;
CREATE INDEX sessions_by_opener ON sessions (opener) WHERE opener <> 0 AND ended IS NULL;

-- What became of sessions, append-only.
CREATE TABLE session_log (
  number bigint PRIMARY KEY,
  generation bigint NOT NULL,
  at bigint NOT NULL,           -- calendar time
  quiet_for bigint NOT NULL,
  ns integer NOT NULL,
  kind smallint NOT NULL,
  reason smallint NOT NULL,
  session text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  previous_owner text COLLATE "C" NOT NULL
);
CREATE INDEX session_log_by_session ON session_log (ns, session, number);

-- Instances that get news of sessions, whether there is one of that id or not.
CREATE TABLE watches (
  ns integer NOT NULL,
  session text COLLATE "C" NOT NULL,
  key bigint NOT NULL,
  PRIMARY KEY (ns, session, key)
);
CREATE INDEX watches_by_key ON watches (key);

-- Processes that wait for news. Who commits notifies only if somebody else is here.
CREATE TABLE listeners (
  id uuid PRIMARY KEY,
  ns integer NOT NULL,
  backend integer NOT NULL,
  since timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX listeners_by_namespace ON listeners (ns);
