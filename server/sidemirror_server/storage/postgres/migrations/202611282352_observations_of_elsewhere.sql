-- compatible: yes
-- Which observations came with an import: their turns are not stored, so that they go by their age
-- (memory/recoveries/observations.py). Earlier servers count and erase them, and leave old ones to later servers.
CREATE TABLE sidemirror.observation_envelopes (
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    observation_id text COLLATE "C" NOT NULL,
    at_us          bigint NOT NULL,
    PRIMARY KEY (tenant_id, project_id, observation_id)
);
CREATE INDEX observation_envelopes_by_age ON sidemirror.observation_envelopes (at_us, tenant_id);
CREATE INDEX observation_envelopes_by_age_of ON sidemirror.observation_envelopes (tenant_id, at_us, project_id);
SELECT sidemirror.protect_envelopes('sidemirror.observation_envelopes');

CREATE FUNCTION sidemirror.forget_observation_envelope() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
BEGIN
    DELETE FROM sidemirror.observation_envelopes AS envelope
    WHERE (envelope.tenant_id, envelope.project_id, envelope.observation_id)
          = (OLD.tenant_id, OLD.project_id, OLD.observation_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER is_gone AFTER DELETE ON sidemirror.observations
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_observation_envelope();
