// The tables of a database file. docs/schema.md explains them at length: who writes what, and how ready rows
// are found.
#pragma once

#include <string_view>

namespace holdfast::sqlite_store {

/// Times: `at`, `until` and the like are lease time; `due` and `..._at` of what people see are calendar time;
/// both in microseconds. Numbers of 64 bits without a sign are kept in the same bits.
inline constexpr std::string_view kSchema = R"sql(
-- One row: the last number given of each kind.
CREATE TABLE counters (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  instances INTEGER NOT NULL DEFAULT 0,
  messages INTEGER NOT NULL DEFAULT 0,
  workers INTEGER NOT NULL DEFAULT 0,
  generations INTEGER NOT NULL DEFAULT 0,
  delayed INTEGER NOT NULL DEFAULT 0,
  session_log INTEGER NOT NULL DEFAULT 0,
  set_aside INTEGER NOT NULL DEFAULT 0
);
INSERT INTO counters (id) VALUES (1);

-- With the horizons: no lock of that kind ends before then.
CREATE TABLE namespaces (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  turn_horizon INTEGER NOT NULL DEFAULT 9223372036854775807,
  activity_horizon INTEGER NOT NULL DEFAULT 9223372036854775807,
  session_horizon INTEGER NOT NULL DEFAULT 9223372036854775807
);

-- What code an instance needs, interned; `id` is the namespace's, shifted by 32 bits, and a number. Never
-- changed, never removed.
CREATE TABLE routes (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  build INTEGER NOT NULL
);

-- What a worker needs to take an activity, interned like routes. `requirements`: empty for an activity of no
-- session, else the encoded list of what the session requires.
CREATE TABLE kinds (
  id INTEGER PRIMARY KEY,
  queue TEXT NOT NULL,
  name TEXT NOT NULL,
  requirements BLOB NOT NULL
);

-- One life of an instance id. Written when it starts, when it ends, and when something in it changes; most
-- turns don't touch it.
CREATE TABLE instances (
  key INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  name TEXT NOT NULL,
  route INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  status INTEGER NOT NULL,
  delivery INTEGER NOT NULL,   -- hand-outs since the last commit; of no meaning while it is held
  ready_at INTEGER,            -- its place in `ready`, or NULL; of no meaning while it is held and not lapsed
  stamp BLOB,                  -- of a last commit that wrote no segment; else that segment has it
  waits BLOB,                  -- the addresses, encoded; NULL: none
  start_id INTEGER,            -- the message that it was started with, when that is no row of `messages`:
  start_body BLOB,             -- it is unread as long as the instance has no stamp
  seen INTEGER NOT NULL DEFAULT 0,        -- deliveries up to this don't make it ready: its frame had them
  woken INTEGER NOT NULL DEFAULT 0,       -- 1: ready, whatever its messages are
  not_before INTEGER NOT NULL DEFAULT 0,  -- not ready before this
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  request BLOB,
  fingerprint BLOB,
  parent INTEGER,
  cancel_requested_at INTEGER,
  parked_because TEXT,
  output BLOB
);
CREATE UNIQUE INDEX instances_by_name ON instances (ns, name);
CREATE INDEX instances_by_parent ON instances (parent) WHERE parent IS NOT NULL;
CREATE INDEX instances_by_status ON instances (ns, status);  -- and by key

-- What instances show of themselves. Apart, because it may be long and is not read by turns.
CREATE TABLE custom_status (
  key INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,    -- how often it was set
  bytes BLOB NOT NULL
);

-- Instances in the hands of a worker. Few rows: found by key, or by a scan when the horizon has passed.
CREATE TABLE held (
  key INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  worker INTEGER NOT NULL,
  token BLOB NOT NULL,
  until INTEGER NOT NULL,
  delivery INTEGER NOT NULL,   -- counts while `stamp` is the instance's; a commit since then makes it 0
  stamp BLOB,                  -- the instance's at the last hand-out
  lapsed INTEGER NOT NULL      -- 1: a scan has seen it past its lease, and the instance is in `ready` if it is
);

-- Instances that a fetch may take, in its order. `lane` is the route.
CREATE TABLE ready (
  lane INTEGER NOT NULL,
  at INTEGER NOT NULL,
  key INTEGER NOT NULL,
  PRIMARY KEY (lane, at, key)
) WITHOUT ROWID;

-- History: one segment per turn that had events. The stamp of the last one is the instance's.
CREATE TABLE history (
  key INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  first_event INTEGER NOT NULL,
  stamp BLOB NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (key, execution, first_event)
) WITHOUT ROWID;

-- What instances have to read. `waits`: 1 for deliveries and news, so that the others are found without
-- passing a full mailbox.
CREATE TABLE messages (
  key INTEGER NOT NULL,
  waits INTEGER NOT NULL,
  id INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  source INTEGER NOT NULL,
  address_kind INTEGER NOT NULL,
  address TEXT,
  body BLOB NOT NULL,
  PRIMARY KEY (key, waits, id)
) WITHOUT ROWID;

-- Timers of current executions.
CREATE TABLE timers (
  key INTEGER NOT NULL,
  event INTEGER NOT NULL,
  ns INTEGER NOT NULL,
  due INTEGER NOT NULL,
  PRIMARY KEY (key, event)
) WITHOUT ROWID;
CREATE INDEX timers_by_due ON timers (ns, due);

-- Messages that become visible later.
CREATE TABLE delayed (
  number INTEGER PRIMARY KEY,
  key INTEGER NOT NULL,
  ns INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  source INTEGER NOT NULL,
  address_kind INTEGER NOT NULL,
  address TEXT,
  body BLOB NOT NULL
);
CREATE INDEX delayed_by_time ON delayed (ns, at);
CREATE INDEX delayed_by_key ON delayed (key);

-- Activities in the hands of a worker: no index in the way of a hand-off. Found by id, or by a scan when the
-- horizon has passed.
CREATE TABLE running (
  key INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  event INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  own_queue INTEGER NOT NULL,  -- 1: the queue is its own, else that of its session
  priority INTEGER NOT NULL,
  start_within INTEGER NOT NULL,
  total_until INTEGER NOT NULL,
  session TEXT,
  session_over INTEGER,        -- its session has ended: this attempt may finish, and fails as this if it doesn't
  attempt INTEGER NOT NULL,
  delivery INTEGER NOT NULL,
  worker INTEGER NOT NULL,
  token BLOB,
  until INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  since INTEGER NOT NULL,      -- ready from then on, when it was or will be queued
  last_failure BLOB,
  progress BLOB,
  body BLOB NOT NULL,
  PRIMARY KEY (key, execution, event)
) WITHOUT ROWID;
CREATE INDEX running_by_session ON running (session) WHERE session IS NOT NULL;

-- Activities that the last hand-off of an instance locked together: one row while they share their lock. All
-- are of one session, or all of none; none has a deadline, a priority or more than its first attempt and
-- delivery. `items`: event, kind and body of each.
CREATE TABLE packs (
  key INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  worker INTEGER NOT NULL,
  token BLOB NOT NULL,
  until INTEGER NOT NULL,
  session TEXT,
  generation INTEGER NOT NULL,
  items BLOB NOT NULL
);
CREATE INDEX packs_by_session ON packs (ns, session) WHERE session IS NOT NULL;

-- Activities that wait for a worker: as in `running`. `worker`, `token` and `until` are those of a lock that
-- is over and that nobody has taken.
CREATE TABLE queued (
  key INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  event INTEGER NOT NULL,
  -- The kind, for those that any worker with the abilities may take; minus the session's number, for those
  -- that only its owner may; 0 for those whose session does not exist yet.
  lane INTEGER NOT NULL,
  deadline INTEGER,            -- when somebody must have taken it
  kind INTEGER NOT NULL,
  own_queue INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  start_within INTEGER NOT NULL,
  total_until INTEGER NOT NULL,
  session TEXT,
  session_over INTEGER,
  attempt INTEGER NOT NULL,
  delivery INTEGER NOT NULL,
  worker INTEGER NOT NULL,
  token BLOB,
  until INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  since INTEGER NOT NULL,
  last_failure BLOB,
  progress BLOB,
  body BLOB NOT NULL,
  PRIMARY KEY (key, execution, event)
) WITHOUT ROWID;
CREATE INDEX queued_by_order ON queued (lane, priority DESC, since);
CREATE INDEX queued_by_priority ON queued (priority DESC) WHERE priority > 0;
CREATE INDEX queued_by_session ON queued (session) WHERE session IS NOT NULL;
CREATE INDEX queued_by_deadline ON queued (kind >> 32, deadline) WHERE deadline IS NOT NULL;

-- Activities that were taken away while they ran, until the lease that they had is over.
CREATE TABLE cancels (
  key INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  event INTEGER NOT NULL,
  token BLOB NOT NULL,
  ns INTEGER NOT NULL,
  worker INTEGER NOT NULL,
  name TEXT NOT NULL,
  reason INTEGER NOT NULL,
  state INTEGER NOT NULL,
  until INTEGER NOT NULL,
  at INTEGER NOT NULL,
  session TEXT,                -- that it ran in, if that has a limit: until its code has ended it counts
  PRIMARY KEY (key, execution, event, token)
) WITHOUT ROWID;
CREATE INDEX cancels_by_session ON cancels (ns, session) WHERE session IS NOT NULL;
CREATE INDEX cancels_by_worker ON cancels (worker) WHERE state = 0;
CREATE INDEX cancels_by_end ON cancels (ns, until);

-- Deliveries for ids that don't exist yet.
CREATE TABLE early (
  number INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  instance TEXT NOT NULL,
  until INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  execution INTEGER NOT NULL,
  source INTEGER NOT NULL,
  address_kind INTEGER NOT NULL,
  address TEXT,
  body BLOB NOT NULL
);
CREATE INDEX early_by_instance ON early (ns, instance);
CREATE INDEX early_by_end ON early (ns, until);

-- Key/value of instances.
CREATE TABLE kept_values (
  key INTEGER NOT NULL,
  name TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (key, name)
) WITHOUT ROWID;

-- Requests of clients that took effect, and what they were answered.
CREATE TABLE requests (
  ns INTEGER NOT NULL,
  request BLOB NOT NULL,
  at INTEGER NOT NULL,
  answer INTEGER NOT NULL,
  PRIMARY KEY (ns, request)
) WITHOUT ROWID;
CREATE INDEX requests_by_time ON requests (ns, at);

-- Deleted instances whose history was too long to go with them.
CREATE TABLE remains (
  key INTEGER PRIMARY KEY
);

-- What could not be decoded, with its bytes.
CREATE TABLE set_aside (
  number INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  key INTEGER NOT NULL,
  what TEXT NOT NULL,
  problem TEXT NOT NULL,
  bytes BLOB,
  at INTEGER NOT NULL
);

-- Processes that have joined. A newer one of the same node supersedes the older ones.
CREATE TABLE workers (
  key INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  node TEXT NOT NULL,
  info BLOB NOT NULL,
  draining INTEGER NOT NULL,
  superseded INTEGER NOT NULL,
  joined_at INTEGER NOT NULL,
  seen INTEGER NOT NULL
);
CREATE INDEX workers_by_node ON workers (ns, node);

-- Worker sessions.
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  id TEXT NOT NULL,
  open INTEGER NOT NULL,       -- 1: its items stand in the lanes of their kinds, for whoever may claim it
  policy BLOB NOT NULL,
  reclaim INTEGER NOT NULL,    -- of the policy, for sweeps. 1: when it is lost, another worker may claim it
  on_record INTEGER NOT NULL,  -- likewise. 1: it was opened, or given a policy
  ended INTEGER,               -- expired, closed or failed
  reason INTEGER NOT NULL,
  note TEXT NOT NULL,
  owner TEXT NOT NULL,         -- node
  worker INTEGER NOT NULL,     -- 0: unclaimed
  generation INTEGER NOT NULL,
  held_since INTEGER NOT NULL, -- the generation in which the last owner began to hold it; nobody else has since
  lease_until INTEGER NOT NULL,
  lease INTEGER NOT NULL,      -- how long it is extended; stamped by the last claim
  idle_timeout INTEGER NOT NULL,
  last_owner TEXT NOT NULL,
  last_worker INTEGER NOT NULL,
  planned INTEGER NOT NULL,    -- 1: the last owner gave it up itself
  restarted INTEGER NOT NULL,  -- 1: it was taken from an older incarnation of its owner's node
  ran INTEGER NOT NULL,        -- 1: an activity was handed out in this generation
  wanted TEXT,                 -- the node that is to have it next, '' for anybody
  wanted_for INTEGER NOT NULL, -- how long it is kept for that node
  last_activity INTEGER NOT NULL,
  changed INTEGER NOT NULL,    -- the lease time of updated_at
  ttl_until INTEGER NOT NULL,
  opener INTEGER NOT NULL,     -- the instance that opened it, or 0
  opened_by TEXT NOT NULL,     -- its id
  saved_size INTEGER,          -- of what stands in `saved`; NULL: nothing
  saved_version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX sessions_by_id ON sessions (ns, id);
CREATE INDEX sessions_by_worker ON sessions (worker) WHERE worker <> 0;
CREATE INDEX sessions_by_opener ON sessions (opener) WHERE opener <> 0;
CREATE INDEX sessions_wanted ON sessions (worker) WHERE wanted IS NOT NULL;

-- What owners of sessions have saved for the next ones. Apart, because it may be long: a renewal does not
-- write it.
CREATE TABLE saved (
  number INTEGER PRIMARY KEY,  -- the session's
  bytes BLOB NOT NULL
);

-- What became of sessions, append-only.
CREATE TABLE session_log (
  number INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL,
  session TEXT NOT NULL,
  kind INTEGER NOT NULL,
  reason INTEGER NOT NULL,
  owner TEXT NOT NULL,
  previous_owner TEXT NOT NULL,
  generation INTEGER NOT NULL,
  at INTEGER NOT NULL,         -- calendar time
  quiet_for INTEGER NOT NULL
);
CREATE INDEX session_log_by_session ON session_log (ns, session, number);
CREATE INDEX session_log_by_number ON session_log (ns, number);

-- Instances that get news of sessions, whether there is one of that id or not.
CREATE TABLE watches (
  ns INTEGER NOT NULL,
  session TEXT NOT NULL,
  key INTEGER NOT NULL,
  PRIMARY KEY (ns, session, key)
) WITHOUT ROWID;
CREATE INDEX watches_by_key ON watches (key);
)sql";

/// Who waits for the end of an instance, encoded; NULL: nobody.
inline constexpr std::string_view kEndWatchers = R"sql(
ALTER TABLE instances ADD COLUMN end_watchers BLOB;
)sql";

/// Instances that are to be terminated: any worker may do that.
inline constexpr std::string_view kTerminating = R"sql(
ALTER TABLE routes ADD COLUMN terminating INTEGER NOT NULL DEFAULT 0;
)sql";

/// Questions between processes. They live for seconds: a commit that has only these need not wait for the
/// disk.
inline constexpr std::string_view kAsks = R"sql(
CREATE TABLE asks (
  ns INTEGER NOT NULL,
  id BLOB NOT NULL,
  row BLOB NOT NULL,  -- encoded, with the answer once there is one
  PRIMARY KEY (ns, id)
) WITHOUT ROWID;
)sql";

/// By what people search, and how many instances have each status.
inline constexpr std::string_view kAttributes = R"sql(
ALTER TABLE instances ADD COLUMN attributes BLOB;  -- encoded; NULL: none

-- What instances are found by: an entry for each attribute, and for each keyword of a list. Entries of one
-- attribute compare as its values do.
CREATE TABLE attribute_entries (
  ns INTEGER NOT NULL,
  entry BLOB NOT NULL,
  key INTEGER NOT NULL,
  PRIMARY KEY (ns, entry, key DESC)
) WITHOUT ROWID;

-- In a row that most transactions write which start or end something.
ALTER TABLE namespaces ADD COLUMN running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN completed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE namespaces ADD COLUMN terminated INTEGER NOT NULL DEFAULT 0;
UPDATE namespaces SET
  running = (SELECT count(*) FROM instances AS i WHERE i.ns = namespaces.id AND i.status = 0),
  suspended = (SELECT count(*) FROM instances AS i WHERE i.ns = namespaces.id AND i.status = 1),
  parked = (SELECT count(*) FROM instances AS i WHERE i.ns = namespaces.id AND i.status = 2),
  completed = (SELECT count(*) FROM instances AS i WHERE i.ns = namespaces.id AND i.status = 3),
  failed = (SELECT count(*) FROM instances AS i WHERE i.ns = namespaces.id AND i.status = 4),
  cancelled = (SELECT count(*) FROM instances AS i WHERE i.ns = namespaces.id AND i.status = 5),
  terminated = (SELECT count(*) FROM instances AS i WHERE i.ns = namespaces.id AND i.status = 6);
)sql";

}  // namespace holdfast::sqlite_store
