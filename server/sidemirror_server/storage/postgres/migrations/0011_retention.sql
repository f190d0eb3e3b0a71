-- compatible: yes
-- What is forgotten when it is old (models/ledger.py, critique/store.py).

-- Entries of every scope's spending, by day.
CREATE TABLE sidemirror.ledger_day_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    day        bigint NOT NULL,
    purpose    text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, project_id, day, purpose)
);
CREATE INDEX ledger_day_envelopes_old ON sidemirror.ledger_day_envelopes (day);

CREATE FUNCTION sidemirror.keep_ledger_day_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.ledger_day_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.day, envelope.purpose)
              = (OLD.tenant_id, OLD.project_id, OLD.day, OLD.purpose);
    ELSE
        INSERT INTO sidemirror.ledger_day_envelopes VALUES (NEW.tenant_id, NEW.project_id, NEW.day, NEW.purpose);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER kept AFTER INSERT OR DELETE ON sidemirror.ledger_totals
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_ledger_day_envelope();

-- Sums over several entries.
CREATE INDEX ledger_envelopes_old ON sidemirror.ledger_envelopes (day);

-- When critiques were made.
CREATE TABLE sidemirror.critique_envelopes (
    tenant_id   text COLLATE "C" NOT NULL,
    project_id  text COLLATE "C" NOT NULL,
    critique_id text COLLATE "C" NOT NULL,
    created_us  bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, critique_id)
);
CREATE INDEX critique_envelopes_old ON sidemirror.critique_envelopes (created_us);

CREATE FUNCTION sidemirror.keep_critique_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.critique_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.critique_id)
              = (OLD.tenant_id, OLD.project_id, OLD.critique_id);
    ELSE
        INSERT INTO sidemirror.critique_envelopes
        VALUES (NEW.tenant_id, NEW.project_id, NEW.critique_id, NEW.created_us);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER kept AFTER INSERT OR DELETE ON sidemirror.critiques
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_critique_envelope();

-- What is there already. Row level security holds the owner too, and is lifted for these two statements; nobody else
-- reaches the tables until this is committed.
ALTER TABLE sidemirror.ledger_totals NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.critiques NO FORCE ROW LEVEL SECURITY;
INSERT INTO sidemirror.ledger_day_envelopes SELECT tenant_id, project_id, day, purpose FROM sidemirror.ledger_totals;
INSERT INTO sidemirror.critique_envelopes SELECT tenant_id, project_id, critique_id, created_us FROM sidemirror.critiques;
ALTER TABLE sidemirror.ledger_totals FORCE ROW LEVEL SECURITY;
ALTER TABLE sidemirror.critiques FORCE ROW LEVEL SECURITY;
