-- Attempts of a tenant to get at another one's rows, with the psql of its own role. Written from the tables' names and
-- from what Postgres can do, before there were policies by role; the last family was added when they were known.
--
-- `-- attempt: NAME` begins one; each runs in a psql of its own, which goes on after an error. `-- each: payload` (or
-- envelope, table) before it makes one of it for every such table, in the place of {table}. {own}, {foreign}: tenants;
-- {own_hex}, {foreign_hex}, {project_hex}: as the settings have them; {own_role}, {foreign_role}: the roles.

-- family: settings
-- each: payload
-- attempt: set the tenant and read
SET sidemirror.tenant_id = '{foreign_hex}';
SET sidemirror.project_id = '{project_hex}';
TABLE sidemirror.{table};

-- each: payload
-- attempt: set the tenant and delete
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
DELETE FROM sidemirror.{table};

-- attempt: set the tenant in plain text
SET sidemirror.tenant_id = '{foreign}';
SET sidemirror.project_id = 'shop';
TABLE sidemirror.turns;

-- attempt: set within a transaction
BEGIN;
SET LOCAL sidemirror.tenant_id = '{own_hex}';
SET LOCAL sidemirror.project_id = '{project_hex}';
DECLARE c CURSOR FOR TABLE sidemirror.sessions;
FETCH 1 FROM c;
SET LOCAL sidemirror.tenant_id = '{foreign_hex}';
FETCH ALL FROM c;
TABLE sidemirror.sessions;
COMMIT;

-- attempt: set while the statement runs
SELECT set_config('sidemirror.project_id', '{project_hex}', false);
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false);
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), turn_id, encode(body, 'escape') FROM sidemirror.turns;
SELECT * FROM sidemirror.turns WHERE set_config('sidemirror.tenant_id', '{foreign_hex}', false) IS NOT NULL;

-- attempt: set before a plan that is kept
SET plan_cache_mode = force_generic_plan;
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
PREPARE p AS SELECT * FROM sidemirror.memories;
EXECUTE p;
SET sidemirror.tenant_id = '{foreign_hex}';
EXECUTE p;

-- attempt: a setting for good
ALTER ROLE {own_role} SET sidemirror.tenant_id = '{foreign_hex}';
ALTER ROLE {own_role} SET sidemirror.project_id = '{project_hex}';
ALTER ROLE {own_role} SET row_security = off;
\c
TABLE sidemirror.jobs;
ALTER ROLE {own_role} RESET ALL;

-- attempt: a setting for the other role
ALTER ROLE {foreign_role} SET sidemirror.tenant_id = '{own_hex}';
ALTER ROLE ALL SET sidemirror.tenant_id = '{foreign_hex}';
ALTER ROLE {foreign_role} SET search_path = public, pg_temp, pg_catalog;

-- attempt: a setting for the database
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET sidemirror.tenant_id = %L', current_database(), '{foreign_hex}'); END $$;

-- attempt: row security off
SET row_security = off;
TABLE sidemirror.turns;
TABLE sidemirror.job_envelopes;
COPY sidemirror.memories TO STDOUT;

-- attempt: as a replica
SET session_replication_role = replica;
DELETE FROM sidemirror.turns;
TABLE sidemirror.turns;

-- attempt: without the tenant
RESET sidemirror.tenant_id;
SET sidemirror.project_id = '{project_hex}';
TABLE sidemirror.turns;
SET sidemirror.tenant_id = '';
TABLE sidemirror.turns;
SET sidemirror.tenant_id = '2a';
TABLE sidemirror.turns;
SET sidemirror.tenant_id = '25';
TABLE sidemirror.turns;

-- attempt: malformed settings
SET sidemirror.project_id = '{project_hex}';
SET sidemirror.tenant_id = 'zz';
TABLE sidemirror.turns;
SET sidemirror.tenant_id = '{foreign_hex}00';
TABLE sidemirror.turns;
SET sidemirror.tenant_id = 'ff';
TABLE sidemirror.turns;

-- attempt: a list of tenants
SET sidemirror.project_id = '{project_hex}';
SET sidemirror.tenant_id = '{own_hex}2c{foreign_hex}';
TABLE sidemirror.turns;
SET sidemirror.tenant_id = '{own_hex}', '{foreign_hex}';
TABLE sidemirror.turns;

-- family: roles
-- attempt: the other role
SET ROLE {foreign_role};
SET sidemirror.tenant_id = '{foreign_hex}';
SET sidemirror.project_id = '{project_hex}';
TABLE sidemirror.turns;

-- attempt: the other role by a setting
SELECT set_config('role', '{foreign_role}', false);
SELECT set_config('session_authorization', '{foreign_role}', false);
TABLE sidemirror.job_envelopes;

-- attempt: the other's session
SET SESSION AUTHORIZATION {foreign_role};
SET sidemirror.tenant_id = '{foreign_hex}';
TABLE sidemirror.turns;

-- attempt: the owner
SET ROLE owner;
SET SESSION AUTHORIZATION owner;
ALTER TABLE sidemirror.turns NO FORCE ROW LEVEL SECURITY;
TABLE sidemirror.turns;

-- attempt: the superuser
SET ROLE superuser;
SET SESSION AUTHORIZATION DEFAULT;
RESET ROLE;
TABLE sidemirror.turns;

-- attempt: whoever reads everything
SET ROLE pg_read_all_data;
SET ROLE pg_monitor;
SET ROLE pg_database_owner;
SET ROLE bypass;
TABLE sidemirror.turns;

-- attempt: a role of one's own
CREATE ROLE made_within LOGIN;
SET ROLE made_within;
TABLE sidemirror.turns;

-- attempt: a role in the other
CREATE ROLE made_within LOGIN IN ROLE {foreign_role};
CREATE ROLE made_within LOGIN ROLE {own_role} IN ROLE {foreign_role};
GRANT {foreign_role} TO {own_role};
GRANT {foreign_role} TO {own_role} WITH INHERIT TRUE, SET TRUE;
TABLE sidemirror.turns;

-- attempt: oneself upwards
ALTER ROLE {own_role} SUPERUSER;
ALTER ROLE {own_role} BYPASSRLS;
ALTER ROLE {own_role} CREATEROLE;
ALTER ROLE {own_role} REPLICATION;
UPDATE pg_authid SET rolsuper = true WHERE rolname = '{own_role}';
GRANT pg_read_all_data, pg_write_all_data TO {own_role};
TABLE sidemirror.turns;

-- attempt: rename
ALTER ROLE {own_role} RENAME TO somebody;
ALTER ROLE {foreign_role} RENAME TO somebody;
ALTER ROLE {own_role} RENAME TO owner;

-- attempt: what the other has
REASSIGN OWNED BY {foreign_role} TO {own_role};
DROP OWNED BY {foreign_role};
GRANT SELECT ON ALL TABLES IN SCHEMA sidemirror TO PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA sidemirror FROM {foreign_role};
REVOKE ALL ON SCHEMA sidemirror FROM {foreign_role};

-- attempt: passwords
SELECT rolname, rolpassword FROM pg_authid;
SELECT * FROM pg_shadow;
ALTER ROLE {foreign_role} PASSWORD 'x';
\c - {foreign_role} /nonexistent

-- family: functions
-- attempt: a definer's function
CREATE FUNCTION pg_temp.look() RETURNS SETOF sidemirror.turns LANGUAGE sql SECURITY DEFINER AS 'TABLE sidemirror.turns';
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
SELECT * FROM pg_temp.look();

-- attempt: a function that gives itself a role
CREATE FUNCTION pg_temp.look() RETURNS bigint LANGUAGE sql SET role = {foreign_role} AS 'SELECT count(*) FROM sidemirror.turns';
SELECT pg_temp.look();
CREATE FUNCTION pg_temp.look2() RETURNS bigint LANGUAGE sql SET row_security = off AS 'SELECT count(*) FROM sidemirror.job_envelopes';
SELECT pg_temp.look2();

-- attempt: a function that gives itself a tenant
CREATE FUNCTION pg_temp.look() RETURNS SETOF sidemirror.memories LANGUAGE sql SET sidemirror.tenant_id = '{foreign_hex}'
SET sidemirror.project_id = '{project_hex}' AS 'TABLE sidemirror.memories';
SELECT * FROM pg_temp.look();

-- each: table
-- attempt: a leaky condition
CREATE FUNCTION pg_temp.tell(given text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE '%', given; RETURN false; END $$;
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
SELECT 1 FROM sidemirror.{table} AS t WHERE pg_temp.tell(t::text);

-- attempt: a condition called leakproof
CREATE FUNCTION pg_temp.tell(given text) RETURNS boolean LANGUAGE plpgsql LEAKPROOF COST 0.0000001 AS $$ BEGIN RAISE NOTICE '%', given; RETURN false; END $$;
SELECT 1 FROM sidemirror.turns WHERE pg_temp.tell(turn_id);
ALTER FUNCTION texteq(text, text) NOT LEAKPROOF;

-- attempt: an operator of one's own
CREATE FUNCTION pg_temp.tell(a text, b text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE '% %', a, b; RETURN true; END $$;
CREATE OPERATOR pg_temp.<<< (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.tell);
SELECT 1 FROM sidemirror.turns WHERE turn_id OPERATOR(pg_temp.<<<) 'x';

-- attempt: an aggregate of one's own
CREATE FUNCTION pg_temp.add(a text, b text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', b; RETURN b; END $$;
CREATE AGGREGATE pg_temp.all_of(text) (SFUNC = pg_temp.add, STYPE = text, INITCOND = '');
SELECT pg_temp.all_of(job_id) FROM sidemirror.job_envelopes;
SELECT pg_temp.all_of(turn_id) FROM sidemirror.turns;

-- attempt: the functions of the schema replaced
CREATE OR REPLACE FUNCTION sidemirror.tenant_id() RETURNS text LANGUAGE sql AS $$ SELECT '{foreign}' $$;
CREATE OR REPLACE FUNCTION sidemirror.project_id() RETURNS text LANGUAGE sql AS $$ SELECT 'shop' $$;
ALTER FUNCTION sidemirror.tenant_id() SECURITY DEFINER;
ALTER FUNCTION sidemirror.tenant_id() SET role = {foreign_role};
ALTER FUNCTION sidemirror.tenant_id() RESET ALL;
DROP FUNCTION sidemirror.tenant_id() CASCADE;

-- attempt: the functions of the schema called
SELECT sidemirror.protect('pg_class');
SELECT sidemirror.tenant_id(), sidemirror.project_id();
SELECT sidemirror.keep_job_envelope();
SELECT p.proname, pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'sidemirror';

-- attempt: count as if a memory were there
SELECT sidemirror.count_memory(m, 1) FROM (SELECT (jsonb_populate_record(NULL::sidemirror.memories, '{"tenant_id": "{foreign}", "project_id": "shop", "content_terms": "a", "task_terms": ""}')).*) AS m;
SELECT sidemirror.index_words(jsonb_populate_record(NULL::sidemirror.memories, '{"tenant_id": "{foreign}", "project_id": "shop", "memory_id": "x", "content_terms": "a", "task_terms": ""}'));

-- attempt: count as if one were there, with the tenant set
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
SELECT sidemirror.count_memory(jsonb_populate_record(NULL::sidemirror.memories, '{"tenant_id": "{foreign}", "project_id": "shop", "content_terms": "a", "task_terms": ""}'), 1);

-- attempt: a block of dynamic statements over all tables
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
DO $$
DECLARE t record; found text; n bigint;
BEGIN
    FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'sidemirror' LOOP
        BEGIN
            EXECUTE format('SELECT string_agg(x::text, chr(10)), count(*) FROM sidemirror.%I AS x WHERE x::text LIKE %L', t.tablename, '%{foreign}%') INTO found, n;
            RAISE NOTICE '% % %', t.tablename, n, found;
        EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', t.tablename, SQLERRM;
        END;
    END LOOP;
END $$;

-- attempt: a block of writes over all tables
DO $$
DECLARE t record; n bigint;
BEGIN
    FOR t IN SELECT tablename, verb FROM pg_tables, (VALUES ('DELETE FROM sidemirror.%I'), ('TRUNCATE sidemirror.%I'), ('DROP TABLE sidemirror.%I CASCADE'), ('ALTER TABLE sidemirror.%I DISABLE ROW LEVEL SECURITY'), ('GRANT ALL ON sidemirror.%I TO PUBLIC'), ('INSERT INTO sidemirror.%1$I TABLE sidemirror.%1$I')) AS verbs (verb)
             WHERE schemaname = 'sidemirror' AND tablename NOT IN (SELECT table_name FROM information_schema.columns WHERE column_name = 'tenant_id' AND table_schema = 'nowhere') LOOP
        BEGIN
            EXECUTE format(t.verb, t.tablename);
            GET DIAGNOSTICS n = ROW_COUNT;
            RAISE NOTICE '% %', t.tablename, t.verb;
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
    END LOOP;
END $$;

-- attempt: any routine that another one owns and runs as
SELECT p.oid::regprocedure, p.prosecdef FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema');

-- family: views
-- attempt: a view in the temporary schema
CREATE TEMP VIEW v AS TABLE sidemirror.turns;
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
TABLE v;
INSERT INTO v (tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body) VALUES ('{foreign}', 'shop', 'planted', 's', 1, 'open', 1, 1, 1, '');

-- attempt: a view as its caller
CREATE TEMP VIEW v WITH (security_invoker = true, security_barrier = false) AS SELECT * FROM sidemirror.job_envelopes;
TABLE v;
CREATE TEMP RECURSIVE VIEW r (n) AS SELECT count(*) FROM sidemirror.open_turn_envelopes UNION ALL SELECT n + 1 FROM r WHERE n < 0;
TABLE r;

-- attempt: a view for everybody
CREATE VIEW public.v AS TABLE sidemirror.turns;
CREATE VIEW sidemirror.v AS TABLE sidemirror.turns;
CREATE OR REPLACE VIEW pg_catalog.v AS TABLE sidemirror.turns;

-- attempt: a materialised view
CREATE MATERIALIZED VIEW public.m AS TABLE sidemirror.turns;
CREATE TEMP TABLE m AS SELECT * FROM sidemirror.turn_bodies;
CREATE TEMP TABLE m AS TABLE sidemirror.job_envelopes;
TABLE m;

-- attempt: a rule
CREATE RULE r AS ON SELECT TO sidemirror.turns DO INSTEAD SELECT 1;
CREATE RULE r AS ON INSERT TO sidemirror.turns DO ALSO NOTIFY turns;
CREATE RULE r AS ON DELETE TO sidemirror.turns DO INSTEAD NOTHING;

-- family: copy
-- each: table
-- attempt: copy out
COPY (SELECT * FROM sidemirror.{table}) TO STDOUT;
COPY sidemirror.{table} TO STDOUT;

-- attempt: copy out with the tenant set
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
\copy sidemirror.memories TO STDOUT
\copy (SELECT * FROM sidemirror.goal_reflections) TO STDOUT WITH CSV HEADER

-- attempt: copy in for the other
COPY sidemirror.job_envelopes (tenant_id, project_id, job_id, kind, position, due_us, used_up) FROM STDIN;
{foreign}	shop	planted	goal	1	1	f
\.

-- attempt: copy in for the other, with the tenant set
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
COPY sidemirror.sessions FROM STDIN;
{foreign}	shop	planted	1	1	\\x00
\.

-- attempt: copy to the server
COPY sidemirror.turns TO '/tmp/turns';
COPY sidemirror.turns TO PROGRAM 'cat';
CREATE TEMP TABLE f (line text);
COPY f FROM '/etc/passwd';
COPY f FROM PROGRAM 'cat global/pg_filenode.map';

-- family: shadows
-- attempt: temporary tables with our names
CREATE TEMP TABLE turns (tenant_id text, project_id text);
CREATE TEMP TABLE schema_migrations (number bigint);
SET search_path = pg_temp, sidemirror, public;
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
TABLE sidemirror.turns;

-- attempt: temporary tables with the catalogue's names
CREATE TEMP TABLE pg_roles AS SELECT oid, rolname, true AS rolsuper, true AS rolbypassrls FROM pg_catalog.pg_roles;
CREATE TEMP TABLE pg_auth_members (roleid oid, member oid);
CREATE TEMP TABLE pg_authid (oid oid, rolname name, rolsuper boolean);
CREATE TEMP TABLE pg_settings (name text, setting text);
SET search_path = pg_temp, pg_catalog;
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
TABLE sidemirror.turns;
TABLE sidemirror.job_envelopes;

-- attempt: temporary functions with the catalogue's names
CREATE FUNCTION pg_temp.current_setting(text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT '{foreign_hex}' $$;
CREATE FUNCTION pg_temp.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION pg_temp.pg_has_role(oid, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION pg_temp.texteq(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.texteq);
SET search_path = pg_temp, pg_catalog;
SELECT set_config('sidemirror.project_id', '{project_hex}', false), set_config('sidemirror.tenant_id', '{foreign_hex}', false);
TABLE sidemirror.turns;
TABLE sidemirror.job_envelopes;

-- attempt: temporary types
CREATE DOMAIN pg_temp.text AS pg_catalog.text DEFAULT '{foreign}';
CREATE DOMAIN pg_temp.name AS pg_catalog.text;
SET search_path = pg_temp, pg_catalog;
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
TABLE sidemirror.sessions;
TABLE sidemirror.receipt_envelopes;

-- attempt: the schema shadowed
CREATE SCHEMA sidemirror;
CREATE SCHEMA {own_role};
CREATE SCHEMA AUTHORIZATION {own_role};
ALTER SCHEMA sidemirror RENAME TO other;
CREATE TABLE sidemirror.turns2 (LIKE sidemirror.turns INCLUDING ALL);

-- attempt: an heir
CREATE TEMP TABLE heir () INHERITS (sidemirror.turns);
CREATE TABLE public.heir () INHERITS (sidemirror.turns);
ALTER TABLE sidemirror.turns ADD COLUMN mine text;
CREATE TEMP TABLE part PARTITION OF sidemirror.turns DEFAULT;
CREATE TEMP TABLE like_it (LIKE sidemirror.turns INCLUDING ALL);
INSERT INTO like_it TABLE sidemirror.turns;
TABLE like_it;

-- attempt: what others would call
CREATE FUNCTION public.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'x' $$;
CREATE FUNCTION public.sum(bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT 1 $$;
CREATE TABLE public.turns (x int);

-- family: envelopes
-- each: envelope
-- attempt: read
TABLE sidemirror.{table};
SELECT count(*) FROM sidemirror.{table} WHERE tenant_id = '{foreign}';

-- each: envelope
-- attempt: lock rows
BEGIN;
SELECT * FROM sidemirror.{table} WHERE tenant_id <> '{own}' FOR UPDATE SKIP LOCKED;
SELECT * FROM sidemirror.{table} WHERE tenant_id <> '{own}' FOR KEY SHARE;
ROLLBACK;

-- each: envelope
-- attempt: delete
DELETE FROM sidemirror.{table} WHERE tenant_id = '{foreign}' RETURNING *;
DELETE FROM sidemirror.{table} WHERE tenant_id <> '{own}';

-- each: envelope
-- attempt: change
UPDATE sidemirror.{table} SET tenant_id = '{own}' WHERE tenant_id = '{foreign}' RETURNING *;
UPDATE sidemirror.{table} SET tenant_id = '{foreign}' RETURNING *;

-- each: envelope
-- attempt: the same rows for the other
INSERT INTO sidemirror.{table} SELECT (jsonb_populate_record(e, '{"tenant_id": "{foreign}"}')).* FROM sidemirror.{table} AS e;
INSERT INTO sidemirror.{table} SELECT (jsonb_populate_record(e, '{"tenant_id": "{foreign}"}')).* FROM sidemirror.{table} AS e ON CONFLICT DO NOTHING RETURNING *;

-- attempt: the sums of everybody
SELECT * FROM sidemirror.ledger_envelopes WHERE tenant_id = '';
UPDATE sidemirror.ledger_envelopes SET tokens = 0, nano_usd = 0 WHERE tenant_id = '' RETURNING *;
INSERT INTO sidemirror.ledger_envelopes VALUES ('', 1, '', 999, 999) ON CONFLICT (tenant_id, day, purpose) DO UPDATE SET tokens = 999 RETURNING *;
DELETE FROM sidemirror.ledger_envelopes WHERE tenant_id = '' RETURNING *;

-- attempt: a job made due, and not
UPDATE sidemirror.job_envelopes SET due_us = NULL;
UPDATE sidemirror.job_envelopes SET due_us = 0, used_up = true WHERE tenant_id = '{foreign}' RETURNING *;

-- attempt: merge into envelopes
MERGE INTO sidemirror.job_envelopes AS e USING (VALUES ('{foreign}')) AS v (t) ON e.tenant_id = v.t WHEN MATCHED THEN DELETE;
MERGE INTO sidemirror.job_envelopes AS e USING (VALUES ('{foreign}')) AS v (t) ON e.tenant_id = v.t AND false WHEN NOT MATCHED THEN INSERT (tenant_id, project_id, job_id, kind, position, used_up) VALUES (v.t, 'shop', 'merged', 'goal', 1, false);

-- family: writes
-- each: payload
-- attempt: one's own rows to the other
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
UPDATE sidemirror.{table} SET tenant_id = '{foreign}' RETURNING *;
INSERT INTO sidemirror.{table} OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(e, '{"tenant_id": "{foreign}"}')).* FROM sidemirror.{table} AS e;

-- attempt: insert a session for the other
INSERT INTO sidemirror.sessions VALUES ('{foreign}', 'shop', 'planted', 1, 1, '');
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
INSERT INTO sidemirror.sessions VALUES ('{foreign}', 'shop', 'planted', 1, 1, '');
INSERT INTO sidemirror.sessions VALUES ('{own}', 'shop', 'planted', 1, 1, '');

-- attempt: insert a job that the other's sidecar would do
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
INSERT INTO sidemirror.jobs (tenant_id, project_id, job_id, kind, state, due_us, attempts, max_attempts, run_at_us, token, created_us, updated_us, payload)
VALUES ('{foreign}', 'shop', 'planted', 'goal', 'queued', 0, 0, 3, 0, 0, 0, 0, 'x');

-- attempt: merge
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
MERGE INTO sidemirror.turns AS t USING (VALUES (1)) AS v (n) ON t.tenant_id = '{foreign}' WHEN MATCHED THEN DELETE;
MERGE INTO sidemirror.turns AS t USING (VALUES (1)) AS v (n) ON t.tenant_id = '{foreign}' WHEN MATCHED THEN UPDATE SET body = 'gone' RETURNING *;

-- attempt: truncate
TRUNCATE sidemirror.turns;
TRUNCATE sidemirror.job_envelopes;
TRUNCATE sidemirror.turns CASCADE;

-- attempt: the schema's record
UPDATE sidemirror.schema_migrations SET compatible = false;
DELETE FROM sidemirror.schema_migrations;
INSERT INTO sidemirror.schema_migrations VALUES (999999999999, 'x', 'x', false, 1);

-- attempt: what a statement gives back of the other's
INSERT INTO sidemirror.sessions VALUES ('{foreign}', 'shop', 'canary-{foreign}-n1001', 1, 1, '') ON CONFLICT (tenant_id, project_id, session_id) DO UPDATE SET created_us = 1 RETURNING *;
WITH gone AS (DELETE FROM sidemirror.open_turn_envelopes RETURNING *) SELECT * FROM gone WHERE tenant_id <> '{own}';

-- family: listening
-- attempt: listen
LISTEN sidemirror;
LISTEN turns;
LISTEN "{foreign}";
SELECT pg_listening_channels(), pg_notification_queue_usage();
NOTIFY turns, 'x';

-- family: locks
-- attempt: who holds what
SELECT locktype, relation::regclass, classid, objid, mode, granted FROM pg_locks;
SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity;

-- attempt: row locks of the other
BEGIN;
SELECT * FROM sidemirror.turns FOR UPDATE;
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', true), set_config('sidemirror.project_id', '{project_hex}', true);
SELECT * FROM sidemirror.turns FOR UPDATE NOWAIT;
ROLLBACK;

-- attempt: end the other's connections
SELECT pg_terminate_backend(pid), pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename <> current_user;
SELECT pg_reload_conf(), pg_rotate_logfile();

-- family: statistics
-- each: table
-- attempt: what the planner knows
SELECT * FROM pg_stats WHERE schemaname = 'sidemirror' AND tablename = '{table}';
SELECT * FROM pg_statistic WHERE starelid = 'sidemirror.{table}'::regclass;

-- attempt: what others ask
SELECT datname, usename, application_name, client_addr, state, query FROM pg_stat_activity WHERE usename <> current_user;
SELECT * FROM pg_stat_statements;
SELECT * FROM pg_prepared_statements;
SELECT * FROM pg_cursors;
SELECT * FROM pg_prepared_xacts;

-- attempt: extended statistics
SELECT * FROM pg_stats_ext;
SELECT * FROM pg_statistic_ext_data;
CREATE STATISTICS public.s ON tenant_id, project_id FROM sidemirror.turns;
CREATE TEMP TABLE t AS SELECT 1 AS x;
CREATE STATISTICS pg_temp.s (mcv) ON tenant_id, project_id FROM sidemirror.turns;

-- attempt: settings of roles
SELECT * FROM pg_db_role_setting;
SELECT name, setting FROM pg_settings WHERE name LIKE 'sidemirror%';
SELECT * FROM pg_file_settings;
SELECT * FROM pg_hba_file_rules;

-- attempt: pages
CREATE EXTENSION pageinspect;
CREATE EXTENSION pg_visibility;
CREATE EXTENSION pgstattuple;
CREATE EXTENSION pg_buffercache;
CREATE EXTENSION pg_walinspect;
CREATE EXTENSION amcheck;
SELECT get_raw_page('sidemirror.turns', 0);
SELECT * FROM bt_page_items('sidemirror.turns_pkey', 1);

-- attempt: other ways in
CREATE EXTENSION dblink;
CREATE EXTENSION postgres_fdw;
CREATE EXTENSION file_fdw;
CREATE EXTENSION adminpack;
CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw;
CREATE LANGUAGE plpython3u;
LOAD '$libdir/plugins/x';

-- family: errors
-- each: payload
-- attempt: a key that is taken
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
INSERT INTO sidemirror.{table} (tenant_id, project_id) VALUES ('{foreign}', 'shop');
INSERT INTO sidemirror.{table} SELECT (e).* FROM (SELECT jsonb_populate_record(NULL::sidemirror.{table}, '{"tenant_id": "{foreign}", "project_id": "shop", "session_id": "canary-{foreign}-n1001", "turn_id": "canary-{foreign}-n1001", "created_us": 1}') AS e) AS x;

-- attempt: a cast that names what it could not cast
SELECT turn_id::integer FROM sidemirror.open_turn_envelopes;
SELECT tenant_id::integer FROM sidemirror.ledger_envelopes;
SELECT (body::text)::integer FROM sidemirror.turns;
SELECT 1 / (CASE WHEN tenant_id = '{foreign}' THEN 0 ELSE 1 END) FROM sidemirror.job_envelopes;
SELECT 1 / (CASE WHEN tenant_id = '{foreign}' THEN 0 ELSE 1 END) FROM sidemirror.turns;

-- attempt: verbose errors
\set VERBOSITY verbose
\set SHOW_CONTEXT always
SET client_min_messages = debug5;
SET log_min_messages = debug5;
SET debug_print_plan = on;
UPDATE sidemirror.job_envelopes SET kind = NULL;
UPDATE sidemirror.turns SET standing = 'x';

-- attempt: a domain that refuses
CREATE DOMAIN pg_temp.never AS text CHECK (VALUE IS NULL);
SELECT turn_id::pg_temp.never FROM sidemirror.ended_turn_envelopes;
SELECT session_id::pg_temp.never FROM sidemirror.sessions;

-- family: explain
-- each: table
-- attempt: what a plan says
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
EXPLAIN (ANALYZE, VERBOSE, BUFFERS, SETTINGS, TIMING OFF, SUMMARY OFF) SELECT * FROM sidemirror.{table} WHERE tenant_id = '{foreign}';

-- attempt: what a plan of a change says
EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, SUMMARY OFF) DELETE FROM sidemirror.job_envelopes WHERE tenant_id = '{foreign}';
EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, SUMMARY OFF) UPDATE sidemirror.turns SET body = '' WHERE tenant_id = '{foreign}';

-- attempt: plans of every kind
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
SELECT * FROM sidemirror.turns;
SET enable_seqscan = off; SET enable_tidscan = on;
SELECT * FROM sidemirror.job_envelopes WHERE ctid = '(0,1)';
SELECT * FROM sidemirror.turns WHERE ctid = ANY (ARRAY['(0,1)', '(0,2)', '(0,3)', '(1,1)']::tid[]);
SELECT * FROM sidemirror.turns WHERE ctid > '(0,0)';
SET debug_parallel_query = on; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT * FROM sidemirror.job_envelopes;
SELECT count(*) FROM sidemirror.memory_terms;

-- attempt: samples
SELECT * FROM sidemirror.turns TABLESAMPLE SYSTEM (100);
SELECT * FROM sidemirror.job_envelopes TABLESAMPLE BERNOULLI (100) REPEATABLE (1);
SELECT * FROM ONLY sidemirror.open_turn_envelopes;

-- attempt: hidden columns
SELECT tableoid, ctid, xmin, xmax, cmin, t FROM sidemirror.turns AS t;
SELECT ctid, xmin, xmax, t FROM sidemirror.receipt_envelopes AS t;
SELECT currtid2('sidemirror.turns', '(0,1)');

-- family: large objects
-- attempt: large objects
SELECT lo_get(oid) FROM pg_largeobject_metadata;
SELECT loid, data FROM pg_largeobject;
SELECT lo_export(lo_from_bytea(0, 'x'), '/tmp/x');
SELECT lo_import('/etc/passwd');
SELECT lo_unlink(oid) FROM pg_largeobject_metadata;

-- family: triggers
-- attempt: a trigger that sees what others write
CREATE FUNCTION pg_temp.seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', NEW; RETURN NEW; END $$;
CREATE TRIGGER seen BEFORE INSERT ON sidemirror.turns FOR EACH ROW EXECUTE FUNCTION pg_temp.seen();
CREATE TRIGGER seen BEFORE INSERT ON sidemirror.job_envelopes FOR EACH ROW EXECUTE FUNCTION pg_temp.seen();
CREATE EVENT TRIGGER seen ON ddl_command_start EXECUTE FUNCTION pg_temp.seen();

-- attempt: triggers off
ALTER TABLE sidemirror.jobs DISABLE TRIGGER ALL;
ALTER TABLE sidemirror.jobs DISABLE TRIGGER changed;
DROP TRIGGER changed ON sidemirror.jobs;

-- attempt: a trigger function on a table of one's own
CREATE TEMP TABLE jobs (LIKE sidemirror.jobs);
CREATE TRIGGER kept AFTER INSERT OR UPDATE OR DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_job_envelope();
INSERT INTO pg_temp.jobs VALUES (1, '{foreign}', 'shop', 'planted', 'goal', 'queued', 0, 0, 3, 0, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 'x');
INSERT INTO pg_temp.jobs SELECT 1, '{foreign}', 'shop', 'canary-{foreign}-n' || 1000 + n, 'goal', 'queued', 0, 0, 3, 0, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 'x' FROM generate_series(1, 20) AS n;
DELETE FROM pg_temp.jobs;

-- attempt: the memories' trigger functions on a table of one's own
CREATE TEMP TABLE memories (LIKE sidemirror.memories);
CREATE TRIGGER searched AFTER INSERT OR UPDATE OR DELETE ON memories FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_memory_search();
CREATE TRIGGER dreamt AFTER INSERT OR DELETE ON memories FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_dream_envelopes();
CREATE TRIGGER unlinked AFTER DELETE ON memories FOR EACH ROW EXECUTE FUNCTION sidemirror.unlink_memory();
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
INSERT INTO pg_temp.memories SELECT (jsonb_populate_record(NULL::sidemirror.memories, '{"tenant_id": "{foreign}", "project_id": "shop", "memory_id": "canary-{foreign}-n1001", "kind": "reflection", "content_terms": "a b", "task_terms": "", "created_us": 1, "body": "\\x7b7d"}')).*;
DELETE FROM pg_temp.memories;

-- attempt: policies
DROP POLICY scope ON sidemirror.turns;
ALTER POLICY scope ON sidemirror.turns USING (true);
CREATE POLICY mine ON sidemirror.turns USING (true);
CREATE POLICY mine ON sidemirror.job_envelopes TO {own_role} USING (true);
ALTER TABLE sidemirror.turns DISABLE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.turns OWNER TO {own_role};
TABLE sidemirror.turns;

-- attempt: what the schema's owner does
CREATE INDEX ON sidemirror.turns ((pg_temp.tell(turn_id)));
ALTER TABLE sidemirror.turns ALTER COLUMN turn_id SET DEFAULT 'x';
COMMENT ON TABLE sidemirror.turns IS 'x';
VACUUM FULL sidemirror.turns;
CLUSTER sidemirror.turns USING turns_pkey;
ANALYZE VERBOSE sidemirror.turns;
REINDEX TABLE sidemirror.turns;
ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA sidemirror GRANT ALL ON TABLES TO PUBLIC;

-- attempt: references
CREATE TEMP TABLE refers (t text, p text, i text, FOREIGN KEY (t, p, i) REFERENCES sidemirror.turns);
CREATE TABLE public.refers (t text, p text, i text, FOREIGN KEY (t, p, i) REFERENCES sidemirror.turns ON DELETE CASCADE);
ALTER TABLE sidemirror.turns ADD CONSTRAINT c CHECK (tenant_id <> '{foreign}') NOT VALID;

-- family: documents
-- attempt: tables as XML
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
SELECT table_to_xml('sidemirror.turns', true, false, '');
SELECT query_to_xml('SELECT * FROM sidemirror.job_envelopes', true, false, '');
SELECT schema_to_xml('sidemirror', true, false, '');

-- attempt: tables as words
SELECT * FROM ts_stat('SELECT to_tsvector(''simple'', turn_id) FROM sidemirror.open_turn_envelopes');
SELECT to_jsonb(t) FROM sidemirror.ended_turn_envelopes AS t;
SELECT json_agg(t) FROM sidemirror.dream_unread_envelopes AS t;

-- family: sequences
-- attempt: sequences
SELECT schemaname, sequencename, last_value FROM pg_sequences;
SELECT last_value FROM sidemirror.log_entries_position_seq;
SELECT nextval('sidemirror.jobs_position_seq');
SELECT setval('sidemirror.jobs_position_seq', 1);
SELECT pg_sequence_last_value('sidemirror.jobs_position_seq');
ALTER SEQUENCE sidemirror.jobs_position_seq RESTART;

-- family: server
-- attempt: files
SELECT pg_read_file('global/pg_control');
SELECT pg_read_binary_file('base/1/1259');
SELECT pg_ls_dir('.');
SELECT pg_ls_waldir();
SELECT pg_relation_filepath('sidemirror.turns');

-- attempt: replication
SELECT pg_create_logical_replication_slot('s', 'test_decoding');
SELECT * FROM pg_logical_slot_peek_changes('s', NULL, NULL);
CREATE PUBLICATION p FOR ALL TABLES;
CREATE PUBLICATION p FOR TABLE sidemirror.turns;
CREATE SUBSCRIPTION s CONNECTION 'dbname=postgres' PUBLICATION p;
SELECT pg_switch_wal(), pg_backup_start('x');

-- attempt: snapshots
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_export_snapshot() IS NOT NULL;
TABLE sidemirror.turns;
TABLE sidemirror.job_envelopes;
COMMIT;
BEGIN; PREPARE TRANSACTION 'x';

-- attempt: other databases
SELECT datname FROM pg_database WHERE datname LIKE 'never%';
\c template1
TABLE sidemirror.turns;

-- attempt: what stands in psql's own lists
\dp sidemirror.*
\ddp
\drds
\du
\d+ sidemirror.turns
\d+ sidemirror.job_envelopes
\df+ sidemirror.*

-- family: afterwards
-- each: table
-- attempt: what a plan by an index says
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT set_config('sidemirror.tenant_id', '{own_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, SUMMARY OFF) SELECT * FROM sidemirror.{table} WHERE tenant_id = '{foreign}';
SET enable_bitmapscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off;
EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, SUMMARY OFF) SELECT * FROM sidemirror.{table} WHERE tenant_id = '{foreign}' AND project_id = 'shop';

-- attempt: the bindings
TABLE sidemirror.role_tenants;
INSERT INTO sidemirror.role_tenants VALUES ('{own_role}', '*');
INSERT INTO sidemirror.role_tenants VALUES ('-', '*');
UPDATE sidemirror.role_tenants SET tenant_id = '{foreign}';
UPDATE sidemirror.role_tenants SET tenant_id = '*';
DELETE FROM sidemirror.role_tenants;
MERGE INTO sidemirror.role_tenants AS r USING (VALUES (1)) AS v (n) ON true WHEN MATCHED THEN UPDATE SET tenant_id = '*';
TABLE sidemirror.role_tenants;

-- attempt: the bindings shadowed
CREATE TEMP TABLE role_tenants (role regrole, tenant_id text);
INSERT INTO pg_temp.role_tenants VALUES ('{own_role}', '*'), ('{own_role}', '{foreign}');
CREATE FUNCTION pg_temp.is_owner() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION pg_temp.is_operator() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
SET search_path = pg_temp, sidemirror, pg_catalog;
SELECT set_config('sidemirror.tenant_id', '{foreign_hex}', false), set_config('sidemirror.project_id', '{project_hex}', false);
TABLE sidemirror.turns;
TABLE sidemirror.job_envelopes;

-- attempt: what the policies call
SELECT sidemirror.is_owner();
SELECT sidemirror.is_operator(), sidemirror.tenants_at_hand();
SELECT sidemirror.operators();
SELECT sidemirror.hide_statistics();
SELECT sidemirror.protect_envelopes('sidemirror.turns');
CREATE OR REPLACE FUNCTION sidemirror.is_operator() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
ALTER POLICY operator ON sidemirror.job_envelopes TO PUBLIC;
ALTER POLICY tenant ON sidemirror.job_envelopes USING (true);

-- attempt: the trigger that keeps the operators, on a table of one's own
CREATE TEMP TABLE mine (x int);
CREATE TRIGGER kept AFTER INSERT ON mine FOR EACH STATEMENT EXECUTE FUNCTION sidemirror.keep_operators();
INSERT INTO mine VALUES (1);

-- attempt: the trigger that leaves sums out, on a table of one's own
CREATE TEMP TABLE mine (LIKE sidemirror.ledger_envelopes);
CREATE TRIGGER left_out BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION sidemirror.leave_out_sums();
INSERT INTO mine VALUES ('', 1, '', 1, 1) RETURNING *;
INSERT INTO sidemirror.ledger_envelopes VALUES ('', 7, '', 1, 1) RETURNING *;

-- attempt: what the schema's functions read, with a plan kept from another role
SELECT sidemirror.is_operator(), sidemirror.tenants_at_hand();
SET ROLE {foreign_role};
SELECT sidemirror.is_operator(), sidemirror.tenants_at_hand();

-- attempt: how large tables are
SELECT relname, reltuples, relpages, pg_relation_size(oid) FROM pg_class WHERE relnamespace = 'sidemirror'::regnamespace AND relkind = 'r';
SELECT relname, n_live_tup, n_tup_ins, n_tup_del, seq_tup_read FROM pg_stat_user_tables;
SELECT * FROM pg_statio_user_tables;
SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off;
EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) SELECT * FROM sidemirror.job_envelopes;
