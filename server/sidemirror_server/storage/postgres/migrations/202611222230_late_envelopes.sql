-- compatible: yes
-- The envelope of an open turn follows its turn a minute late: a turn that goes on updates its envelope once a minute and
-- not with each append. Its time is never later than the turn's, so that `idle` finds every silent turn, and looks at the
-- turn itself before it takes one. Earlier servers do not, and abandon a turn up to a minute early.

CREATE OR REPLACE FUNCTION sidemirror.keep_open_turn_envelope() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.standing <> 'open' THEN
        DELETE FROM sidemirror.open_turn_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.turn_id) = (OLD.tenant_id, OLD.project_id, OLD.turn_id);
    ELSIF TG_OP = 'INSERT' OR OLD.standing <> 'open' THEN
        INSERT INTO sidemirror.open_turn_envelopes VALUES (NEW.tenant_id, NEW.project_id, NEW.turn_id, NEW.updated_us)
        ON CONFLICT (tenant_id, project_id, turn_id) DO UPDATE SET updated_us = excluded.updated_us;
    ELSE
        UPDATE sidemirror.open_turn_envelopes AS envelope
        SET updated_us = NEW.updated_us
        WHERE (envelope.tenant_id, envelope.project_id, envelope.turn_id) = (NEW.tenant_id, NEW.project_id, NEW.turn_id)
              AND envelope.updated_us NOT BETWEEN NEW.updated_us - 60000000 AND NEW.updated_us;
    END IF;
    RETURN NULL;
END
$$;

-- Rows that every append updates, in no indexed column, are updated within their page where it has room (HOT).
ALTER TABLE sidemirror.turns SET (fillfactor = 80);
