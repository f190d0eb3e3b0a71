-- compatible: yes
-- Dreaming and what is removed when it is old (memory/dreams.py, memory/pruning.py).

-- Projects that have memories: how many passes there were, when the last one ended, how many of the last ones in a row
-- changed nothing, and until when each is left alone; when it was last looked through for what is old.
CREATE TABLE sidemirror.memory_project_envelopes (
    tenant_id     text COLLATE "C" NOT NULL,
    project_id    text COLLATE "C" NOT NULL,
    dreams        bigint NOT NULL DEFAULT 0,
    idle_dreams   bigint NOT NULL DEFAULT 0,
    ended_us      bigint NOT NULL DEFAULT 0,
    rest_until_us bigint NOT NULL DEFAULT 0,
    pruned_us     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, project_id)
);
CREATE INDEX memory_project_envelopes_pruned ON sidemirror.memory_project_envelopes (pruned_us);

-- Reflections that no pass has read.
CREATE TABLE sidemirror.dream_unread_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    created_us bigint NOT NULL,
    memory_id  text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, project_id, created_us, memory_id)
);

-- Which turns have ended, and when.
CREATE TABLE sidemirror.ended_turn_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    turn_id    text COLLATE "C" NOT NULL,
    updated_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, turn_id)
);
CREATE INDEX ended_turn_envelopes_old ON sidemirror.ended_turn_envelopes (updated_us);

-- What passes came to. Permanent.
CREATE TABLE sidemirror.dream_log (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    number     bigint NOT NULL,
    dream_id   text COLLATE "C" NOT NULL,
    body       bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, number)
);
SELECT sidemirror.protect('sidemirror.dream_log');

-- What was removed because it was old. Permanent.
CREATE TABLE sidemirror.pruning_log (
    pruning_no       bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id        text COLLATE "C" NOT NULL,
    project_id       text COLLATE "C" NOT NULL,
    kind             text COLLATE "C" NOT NULL CHECK (kind IN ('memories', 'turns')),
    count            bigint NOT NULL,
    pruned_us        bigint NOT NULL,
    before_us        bigint NOT NULL,
    importance_below double precision,
    PRIMARY KEY (tenant_id, project_id, pruning_no)
);
SELECT sidemirror.protect('sidemirror.pruning_log');

-- Which memories may be old and unimportant.
CREATE INDEX memories_unimportant ON sidemirror.memories (tenant_id, project_id, importance, updated_us)
WHERE state <> 'retired';

-- The project is looked for first: an insert that finds its row would hold it until the end of the transaction, and all
-- who learn in one project would wait for each other.
CREATE FUNCTION sidemirror.keep_dream_envelopes() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.dream_unread_envelopes AS unread
        WHERE (unread.tenant_id, unread.project_id, unread.created_us, unread.memory_id)
              = (OLD.tenant_id, OLD.project_id, OLD.created_us, OLD.memory_id);
        RETURN NULL;
    END IF;
    IF NOT EXISTS (SELECT FROM sidemirror.memory_project_envelopes AS project
                   WHERE (project.tenant_id, project.project_id) = (NEW.tenant_id, NEW.project_id)) THEN
        INSERT INTO sidemirror.memory_project_envelopes (tenant_id, project_id)
        VALUES (NEW.tenant_id, NEW.project_id)
        ON CONFLICT DO NOTHING;
    END IF;
    IF NEW.kind = 'reflection' AND convert_from(NEW.body, 'UTF8')::jsonb -> 'derived_from' -> 0 IS NULL THEN
        INSERT INTO sidemirror.dream_unread_envelopes
        VALUES (NEW.tenant_id, NEW.project_id, NEW.created_us, NEW.memory_id)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER dreamt AFTER INSERT OR DELETE ON sidemirror.memories
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_dream_envelopes();

CREATE FUNCTION sidemirror.keep_ended_turn_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.ended_turn_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.turn_id) = (OLD.tenant_id, OLD.project_id, OLD.turn_id);
    ELSE
        INSERT INTO sidemirror.ended_turn_envelopes VALUES (NEW.tenant_id, NEW.project_id, NEW.turn_id, NEW.updated_us)
        ON CONFLICT (tenant_id, project_id, turn_id) DO UPDATE SET updated_us = excluded.updated_us;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER ended AFTER INSERT OR UPDATE ON sidemirror.turns
FOR EACH ROW WHEN (NEW.standing <> 'open') EXECUTE FUNCTION sidemirror.keep_ended_turn_envelope();
CREATE TRIGGER forgotten AFTER DELETE ON sidemirror.turns
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_ended_turn_envelope();

-- What is there already. Row level security holds the owner too, and is lifted for these statements; nobody else reaches
-- the tables until this is committed.
ALTER TABLE sidemirror.memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.turns NO FORCE ROW LEVEL SECURITY;
INSERT INTO sidemirror.memory_project_envelopes (tenant_id, project_id)
SELECT DISTINCT tenant_id, project_id FROM sidemirror.memories;
INSERT INTO sidemirror.dream_unread_envelopes
SELECT tenant_id, project_id, created_us, memory_id FROM sidemirror.memories WHERE kind = 'reflection';
INSERT INTO sidemirror.ended_turn_envelopes
SELECT tenant_id, project_id, turn_id, updated_us FROM sidemirror.turns WHERE standing <> 'open';
ALTER TABLE sidemirror.memories FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.turns FORCE ROW LEVEL SECURITY;
