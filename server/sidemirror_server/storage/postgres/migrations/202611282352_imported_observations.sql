-- compatible: yes
-- Which observations came with an import: their turns are not stored, so that they go by their age
-- (memory/recoveries/observations.py). heard_us: by which they are old, and which
-- an erasure is compared with. Earlier servers count them, and leave old and erased ones to later servers.
CREATE TABLE sidemirror.imported_observation_envelopes (
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    observation_id text COLLATE "C" NOT NULL,
    heard_us       bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, observation_id)
);
CREATE INDEX imported_observation_envelopes_by_age ON sidemirror.imported_observation_envelopes (heard_us, tenant_id);
CREATE INDEX imported_observation_envelopes_by_age_of ON sidemirror.imported_observation_envelopes (tenant_id, heard_us, project_id);
SELECT sidemirror.protect_envelopes('sidemirror.imported_observation_envelopes');

CREATE FUNCTION sidemirror.forget_imported_observation() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    DELETE FROM sidemirror.imported_observation_envelopes AS envelope
    WHERE (envelope.tenant_id, envelope.project_id, envelope.observation_id)
          = (OLD.tenant_id, OLD.project_id, OLD.observation_id);
    IF FOUND THEN
        -- Those that are locked go with their source: an erasure removes what is noted of it.
        DELETE FROM sidemirror.sources AS noted
        USING (SELECT source FROM sidemirror.sources
               WHERE (tenant_id, project_id, record)
                     = (OLD.tenant_id, OLD.project_id, 'observation:' || OLD.observation_id)
               FOR UPDATE SKIP LOCKED) AS own
        WHERE (noted.tenant_id, noted.project_id, noted.record, noted.source)
              = (OLD.tenant_id, OLD.project_id, 'observation:' || OLD.observation_id, own.source);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER is_gone AFTER DELETE ON sidemirror.observations
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_imported_observation();
