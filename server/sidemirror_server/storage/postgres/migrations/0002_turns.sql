-- compatible: yes
-- Turns, their log, and their sessions (trace/log.py, thinking/store.py).

CREATE TABLE sidemirror.sessions (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    body       bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, session_id)
);
SELECT sidemirror.protect('sidemirror.sessions');

-- Lists.
CREATE INDEX sessions_newest ON sidemirror.sessions (tenant_id, project_id, created_us, session_id);

-- The heads of turns. `last_sequence` is that of the turn's last entry: what an append is checked against.
CREATE TABLE sidemirror.turns (
    tenant_id     text COLLATE "C" NOT NULL,
    project_id    text COLLATE "C" NOT NULL,
    turn_id       text COLLATE "C" NOT NULL,
    session_id    text COLLATE "C" NOT NULL,
    turn_count    bigint NOT NULL,
    standing      text NOT NULL CHECK (standing IN ('open', 'finished', 'abandoned')),
    last_sequence bigint NOT NULL,
    started_us    bigint NOT NULL,
    updated_us    bigint NOT NULL,
    body          bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, turn_id)
);
SELECT sidemirror.protect('sidemirror.turns');

-- Lists of a scope, in any standing and in one; lists of a session.
CREATE INDEX turns_newest ON sidemirror.turns (tenant_id, project_id, started_us, turn_id);
CREATE INDEX turns_standing ON sidemirror.turns (tenant_id, project_id, standing, started_us, turn_id);
CREATE INDEX turns_of_session ON sidemirror.turns (tenant_id, project_id, session_id, started_us, turn_id);

-- A session's newest turn, and how many it has.
CREATE INDEX turns_counted ON sidemirror.turns (tenant_id, project_id, session_id, turn_count, started_us, turn_id);

-- Which turns are open, and since when nothing was heard of them.
CREATE TABLE sidemirror.open_turn_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    turn_id    text COLLATE "C" NOT NULL,
    updated_us bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, turn_id)
);
CREATE INDEX open_turn_envelopes_idle ON sidemirror.open_turn_envelopes (updated_us, tenant_id, project_id, turn_id);

CREATE FUNCTION sidemirror.keep_open_turn_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.standing <> 'open' THEN
        DELETE FROM sidemirror.open_turn_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.turn_id) = (OLD.tenant_id, OLD.project_id, OLD.turn_id);
    ELSE
        INSERT INTO sidemirror.open_turn_envelopes VALUES (NEW.tenant_id, NEW.project_id, NEW.turn_id, NEW.updated_us)
        ON CONFLICT (tenant_id, project_id, turn_id) DO UPDATE SET updated_us = excluded.updated_us;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER made AFTER INSERT ON sidemirror.turns
FOR EACH ROW WHEN (NEW.standing = 'open') EXECUTE FUNCTION sidemirror.keep_open_turn_envelope();
CREATE TRIGGER changed AFTER UPDATE OR DELETE ON sidemirror.turns
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_open_turn_envelope();

-- Numbered entries of any topic. An append holds the scope's lock from before it takes positions until its commit is
-- durable, so a scope's entries become visible in the order of their positions (clause LG3). A position is never given
-- again, so a cursor never points at another entry than the one it was made for.
CREATE TABLE sidemirror.log_entries (
    position   bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    topic      text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    group_id   text COLLATE "C" NOT NULL,
    sequence   bigint NOT NULL,
    at_us      bigint NOT NULL,
    body       bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, topic, key, sequence)
);
SELECT sidemirror.protect('sidemirror.log_entries');

-- What a watch reads.
CREATE INDEX log_entries_topic ON sidemirror.log_entries (tenant_id, project_id, topic, position);
CREATE INDEX log_entries_group ON sidemirror.log_entries (tenant_id, project_id, topic, group_id, position);
