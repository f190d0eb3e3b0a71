-- compatible: yes
-- What was shown to whom (trace/receipts.py): what lists go by, and the items as JSON.

CREATE TABLE sidemirror.receipts (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    receipt_id text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    time_us    bigint NOT NULL,
    turn_id    text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    goal_id    text COLLATE "C" NOT NULL,
    body       bytea NOT NULL,
    PRIMARY KEY (tenant_id, project_id, receipt_id)
);
SELECT sidemirror.protect('sidemirror.receipts');

-- Lists: of a scope, and of one kind.
CREATE INDEX receipts_newest ON sidemirror.receipts (tenant_id, project_id, time_us, receipt_id);
CREATE INDEX receipts_of_kind ON sidemirror.receipts (tenant_id, project_id, kind, time_us, receipt_id);

-- Which texts were shown, by their hash; they go with their receipt.
CREATE TABLE sidemirror.receipt_items (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    text_hash  bytea NOT NULL,
    receipt_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, project_id, text_hash, receipt_id)
);
SELECT sidemirror.protect('sidemirror.receipt_items');
CREATE INDEX receipt_items_of ON sidemirror.receipt_items (tenant_id, project_id, receipt_id);

-- What to forget, and when.
CREATE TABLE sidemirror.receipt_envelopes (
    tenant_id  text COLLATE "C" NOT NULL,
    project_id text COLLATE "C" NOT NULL,
    receipt_id text COLLATE "C" NOT NULL,
    time_us    bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, receipt_id)
);
CREATE INDEX receipt_envelopes_oldest ON sidemirror.receipt_envelopes (time_us);

CREATE FUNCTION sidemirror.keep_receipt_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM sidemirror.receipt_envelopes AS envelope
        WHERE (envelope.tenant_id, envelope.project_id, envelope.receipt_id)
              = (OLD.tenant_id, OLD.project_id, OLD.receipt_id);
    ELSE
        INSERT INTO sidemirror.receipt_envelopes VALUES (NEW.tenant_id, NEW.project_id, NEW.receipt_id, NEW.time_us)
        ON CONFLICT (tenant_id, project_id, receipt_id) DO UPDATE SET time_us = excluded.time_us;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON sidemirror.receipts
FOR EACH ROW EXECUTE FUNCTION sidemirror.keep_receipt_envelope();
