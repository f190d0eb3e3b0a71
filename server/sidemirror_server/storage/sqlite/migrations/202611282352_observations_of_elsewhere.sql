-- Which observations came with an import: their turns are not stored, so that they go by their age
-- (memory/recoveries/observations.py).
CREATE TABLE observations_of_elsewhere (
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    observation_id TEXT NOT NULL,
    at_us          INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id, observation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX observations_of_elsewhere_by_age ON observations_of_elsewhere (at_us);

CREATE TRIGGER observation_is_gone AFTER DELETE ON observations
BEGIN
    DELETE FROM observations_of_elsewhere
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND observation_id = old.observation_id;
END;
