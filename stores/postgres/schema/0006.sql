-- Migration 6: instances that are to be terminated, which any worker may do. To be run after 0005.sql, in the same way.

ALTER TABLE routes ADD COLUMN terminating boolean NOT NULL DEFAULT false;
ALTER TABLE routes DROP CONSTRAINT routes_ns_name_version_build_key;
ALTER TABLE routes ADD UNIQUE (ns, name, version, build, terminating);

INSERT INTO migrations (number) VALUES (6);
