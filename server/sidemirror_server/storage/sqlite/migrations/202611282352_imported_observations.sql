-- Which observations came with an import: their turns are not stored, so that they go by their age
-- (memory/recoveries/observations.py). heard_us: by which they are old, and which an erasure is compared with.
CREATE TABLE imported_observations (
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    observation_id TEXT NOT NULL,
    heard_us       INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id, observation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_observations_by_age ON imported_observations (heard_us);

CREATE TRIGGER observation_is_gone AFTER DELETE ON observations
BEGIN
    DELETE FROM imported_observations
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND observation_id = old.observation_id;
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND record = 'observation:' || old.observation_id;
END;
