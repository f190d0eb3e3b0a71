-- compatible: yes
-- What followed failing calls, and the turns from which that is still to be learned
-- (memory/recoveries/observations.py).

-- `turn_id`: where the call failed; `last_turn_id`: where the last call that followed was, usually the same turn.
CREATE TABLE sidemirror.observations (
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    observation_id text COLLATE "C" NOT NULL,
    turn_id        text COLLATE "C" NOT NULL,
    last_turn_id   text COLLATE "C" NOT NULL,
    signature      text COLLATE "C" NOT NULL,
    at_us          bigint NOT NULL,
    body           bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, observation_id)
);
SELECT sidemirror.protect('sidemirror.observations');
CREATE INDEX observations_of_signature
ON sidemirror.observations (tenant_id, project_id, signature, at_us, observation_id);
CREATE INDEX observations_of_turn ON sidemirror.observations (tenant_id, project_id, turn_id);
CREATE INDEX observations_of_last_turn ON sidemirror.observations (tenant_id, project_id, last_turn_id);

-- Turns that have ended.
CREATE TABLE sidemirror.unlearned_turn_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    turn_id    text COLLATE "C" NOT NULL,
    due_us     bigint NOT NULL,
    attempts   bigint NOT NULL DEFAULT 0,
    is_late    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant_id, project_id, turn_id)
);
CREATE INDEX unlearned_turn_envelopes_due ON sidemirror.unlearned_turn_envelopes (due_us, tenant_id);
CREATE INDEX unlearned_turn_envelopes_due_of ON sidemirror.unlearned_turn_envelopes (tenant_id, due_us, project_id);
SELECT sidemirror.protect_envelopes('sidemirror.unlearned_turn_envelopes');

CREATE FUNCTION sidemirror.keep_unlearned_turn() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO sidemirror.unlearned_turn_envelopes (tenant_id, project_id, turn_id, due_us)
        VALUES (NEW.tenant_id, NEW.project_id, NEW.turn_id, NEW.updated_us)
        ON CONFLICT DO NOTHING;
        RETURN NULL;
    END IF;
    DELETE FROM sidemirror.unlearned_turn_envelopes AS unlearned
    WHERE (unlearned.tenant_id, unlearned.project_id, unlearned.turn_id)
          = (OLD.tenant_id, OLD.project_id, OLD.turn_id);
    DELETE FROM sidemirror.observations AS taught
    WHERE (taught.tenant_id, taught.project_id, taught.turn_id) = (OLD.tenant_id, OLD.project_id, OLD.turn_id);
    DELETE FROM sidemirror.observations AS taught
    WHERE (taught.tenant_id, taught.project_id, taught.last_turn_id) = (OLD.tenant_id, OLD.project_id, OLD.turn_id);
    RETURN NULL;
END
$$;
-- Of a short turn the first append has its end already.
CREATE TRIGGER came_ended AFTER INSERT ON sidemirror.turns
FOR EACH ROW WHEN (NEW.standing <> 'open') EXECUTE FUNCTION sidemirror.keep_unlearned_turn();
CREATE TRIGGER has_ended AFTER UPDATE ON sidemirror.turns
FOR EACH ROW WHEN (OLD.standing = 'open' AND NEW.standing <> 'open') EXECUTE FUNCTION sidemirror.keep_unlearned_turn();
CREATE TRIGGER teaches_no_more AFTER DELETE ON sidemirror.turns
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_unlearned_turn();
