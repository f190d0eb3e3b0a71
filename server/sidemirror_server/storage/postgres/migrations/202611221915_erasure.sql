-- compatible: yes
-- Erasure (trace/erasure.py): what every record came from, what is being erased, and what was.

-- Which record came from which source; both are keys (trace/sources.py). `is_gone`: the record was removed, but it is the
-- source of others, which an erasure of its own sources has to find.
CREATE TABLE sidemirror.sources (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    record     text COLLATE "C" NOT NULL,
    is_gone    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, project_id, source, record)
);
SELECT sidemirror.protect('sidemirror.sources');
-- A record's sources.
CREATE INDEX sources_of ON sidemirror.sources (tenant_id, project_id, record);

-- Erasures, without what they erased. `is_again`: all records were put back once.
CREATE TABLE sidemirror.erasures (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    erasure_id text COLLATE "C" NOT NULL,
    began_us   bigint NOT NULL,
    ended_us   bigint,
    is_again   boolean NOT NULL,
    counts     text COLLATE "C" NOT NULL, -- a JSON object
    PRIMARY KEY (tenant_id, project_id, erasure_id)
);
SELECT sidemirror.protect('sidemirror.erasures');

-- The records of an erasure that has not ended.
CREATE TABLE sidemirror.erasing (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    erasure_id text COLLATE "C" NOT NULL,
    record     text COLLATE "C" NOT NULL,
    is_left    boolean NOT NULL,
    PRIMARY KEY (tenant_id, project_id, erasure_id, record)
);
SELECT sidemirror.protect('sidemirror.erasing');
CREATE INDEX erasing_left ON sidemirror.erasing (tenant_id, project_id, erasure_id) WHERE is_left;

-- What is left of erased records. Permanent.
CREATE TABLE sidemirror.tombstones (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    digest     bytea NOT NULL,
    erased_us  bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, kind, digest)
);
SELECT sidemirror.protect('sidemirror.tombstones');

-- A session's receipts.
CREATE INDEX receipts_of_session ON sidemirror.receipts (tenant_id, project_id, session_id, receipt_id)
WHERE session_id <> '';

-- What is noted of a removed record stays as long as it is the source of another one: a path from a subject to what came
-- of it must not end at what was removed between. Turns, critiques and receipts name their session or turn in a column of
-- their own, and may stay longer than it: they are noted as its records from then on.
CREATE FUNCTION sidemirror.forget_sources() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    removed text;
BEGIN
    CASE TG_TABLE_NAME
        WHEN 'sessions' THEN removed := 'session:' || OLD.session_id;
        WHEN 'turns' THEN removed := 'turn:' || OLD.turn_id;
        WHEN 'critiques' THEN removed := 'critique:' || OLD.critique_id;
        WHEN 'receipts' THEN removed := 'receipt:' || OLD.receipt_id;
        WHEN 'memories' THEN removed := 'memory:' || OLD.memory_id;
        WHEN 'jobs' THEN removed := 'goal_report:' || OLD.job_id;
        WHEN 'requests' THEN removed := 'request:' || OLD.method || '/' || OLD.request_id;
    END CASE;
    IF TG_TABLE_NAME = 'sessions' THEN
        INSERT INTO sidemirror.sources
        SELECT tenant_id, project_id, removed, 'turn:' || turn_id
        FROM sidemirror.turns
        WHERE (tenant_id, project_id, session_id) = (OLD.tenant_id, OLD.project_id, OLD.session_id)
        ON CONFLICT DO NOTHING;
        INSERT INTO sidemirror.sources
        SELECT tenant_id, project_id, removed, 'critique:' || critique_id
        FROM sidemirror.critiques
        WHERE (tenant_id, project_id, session_id) = (OLD.tenant_id, OLD.project_id, OLD.session_id) AND session_id <> ''
        ON CONFLICT DO NOTHING;
        INSERT INTO sidemirror.sources
        SELECT tenant_id, project_id, removed, 'receipt:' || receipt_id
        FROM sidemirror.receipts
        WHERE (tenant_id, project_id, session_id) = (OLD.tenant_id, OLD.project_id, OLD.session_id) AND session_id <> ''
        ON CONFLICT DO NOTHING;
    ELSIF TG_TABLE_NAME = 'turns' THEN
        INSERT INTO sidemirror.sources
        SELECT tenant_id, project_id, removed, 'critique:' || critique_id
        FROM sidemirror.critiques
        WHERE (tenant_id, project_id, turn_id) = (OLD.tenant_id, OLD.project_id, OLD.turn_id) AND turn_id <> ''
        ON CONFLICT DO NOTHING;
        INSERT INTO sidemirror.sources
        SELECT tenant_id, project_id, removed, 'receipt:' || receipt_id
        FROM sidemirror.receipts
        WHERE (tenant_id, project_id, turn_id) = (OLD.tenant_id, OLD.project_id, OLD.turn_id) AND turn_id <> ''
        ON CONFLICT DO NOTHING;
        INSERT INTO sidemirror.sources
        VALUES (OLD.tenant_id, OLD.project_id, 'session:' || OLD.session_id, removed)
        ON CONFLICT DO NOTHING;
    ELSIF TG_TABLE_NAME = 'receipts' THEN
        DELETE FROM sidemirror.sources AS noted
        WHERE (noted.tenant_id, noted.project_id, noted.record)
              = (OLD.tenant_id, OLD.project_id, 'shown:' || OLD.receipt_id);
    END IF;
    IF EXISTS (SELECT 1 FROM sidemirror.sources AS named
               WHERE (named.tenant_id, named.project_id, named.source) = (OLD.tenant_id, OLD.project_id, removed)) THEN
        UPDATE sidemirror.sources AS noted SET is_gone = true
        WHERE (noted.tenant_id, noted.project_id, noted.record) = (OLD.tenant_id, OLD.project_id, removed);
    ELSE
        DELETE FROM sidemirror.sources AS noted
        WHERE (noted.tenant_id, noted.project_id, noted.record) = (OLD.tenant_id, OLD.project_id, removed);
    END IF;
    RETURN NULL;
END
$$;
-- Forgets a path from its end.
CREATE FUNCTION sidemirror.forget_source_of_nothing() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    DELETE FROM sidemirror.sources AS noted
    WHERE (noted.tenant_id, noted.project_id, noted.record) = (OLD.tenant_id, OLD.project_id, OLD.source)
          AND noted.is_gone
          AND NOT EXISTS (SELECT 1 FROM sidemirror.sources AS named
                          WHERE (named.tenant_id, named.project_id, named.source)
                                = (OLD.tenant_id, OLD.project_id, OLD.source));
    RETURN NULL;
END
$$;
CREATE TRIGGER of_nothing AFTER DELETE ON sidemirror.sources
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_source_of_nothing();
CREATE TRIGGER sourced AFTER DELETE ON sidemirror.sessions
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_sources();
CREATE TRIGGER sourced AFTER DELETE ON sidemirror.turns
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_sources();
CREATE TRIGGER sourced AFTER DELETE ON sidemirror.critiques
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_sources();
CREATE TRIGGER sourced AFTER DELETE ON sidemirror.receipts
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_sources();
CREATE TRIGGER sourced AFTER DELETE ON sidemirror.memories
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_sources();
CREATE TRIGGER sourced AFTER DELETE ON sidemirror.jobs
FOR EACH ROW WHEN (OLD.kind = 'goal_report') EXECUTE FUNCTION sidemirror.forget_sources();
CREATE TRIGGER sourced AFTER DELETE ON sidemirror.requests
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_sources();

-- What is known of the records that are there already: the session that a memory was learned in, the memories that a
-- dreamt one rests on, and the lessons that a receipt names. Row level security holds the owner too, and is lifted for
-- these statements; nobody else reaches the tables until this is committed.
ALTER TABLE sidemirror.memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.receipts NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.sources NO FORCE ROW LEVEL SECURITY;
INSERT INTO sidemirror.sources
SELECT tenant_id, project_id, 'session:' || (convert_from(body, 'UTF8')::json #>> '{metadata,session_id}'),
       'memory:' || memory_id
FROM sidemirror.memories
WHERE coalesce(convert_from(body, 'UTF8')::json #>> '{metadata,session_id}', '') <> ''
ON CONFLICT DO NOTHING;
INSERT INTO sidemirror.sources
SELECT tenant_id, project_id, 'memory:' || rests_on, 'memory:' || memory_id
FROM sidemirror.memories CROSS JOIN json_array_elements_text(
         coalesce(convert_from(body, 'UTF8')::json -> 'derived_from', '[]')) AS rests_on
ON CONFLICT DO NOTHING;
INSERT INTO sidemirror.sources
SELECT tenant_id, project_id,
       CASE item ->> 'kind' WHEN 'goal_reflection' THEN 'goal_reflection:' ELSE 'memory:' END || (item ->> 'id'),
       'shown:' || receipt_id
FROM sidemirror.receipts CROSS JOIN json_array_elements(
         coalesce(convert_from(body, 'UTF8')::json -> 'items', '[]')) AS item
ON CONFLICT DO NOTHING;
ALTER TABLE sidemirror.memories FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.receipts FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.sources FORCE ROW LEVEL SECURITY;
