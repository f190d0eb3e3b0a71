-- What followed failing calls, and the turns from which that is still to be learned
-- (memory/recoveries/observations.py).

-- `turn_id`: where the call failed; `last_turn_id`: where the last call that followed was, usually the same turn.
CREATE TABLE observations (
    tenant_id      TEXT NOT NULL,
    project_id     TEXT NOT NULL,
    observation_id TEXT NOT NULL,
    turn_id        TEXT NOT NULL,
    last_turn_id   TEXT NOT NULL,
    signature      TEXT NOT NULL,
    at_us          INTEGER NOT NULL,
    body           BLOB NOT NULL,
    UNIQUE (tenant_id, project_id, observation_id)
) STRICT;
CREATE INDEX observations_of_signature ON observations (tenant_id, project_id, signature, at_us, observation_id);
CREATE INDEX observations_of_turn ON observations (tenant_id, project_id, turn_id);
CREATE INDEX observations_of_last_turn ON observations (tenant_id, project_id, last_turn_id);

-- Turns that have ended. Looks across scopes and holds ids, times and marks only.
CREATE TABLE unlearned_turns (
    tenant_id  TEXT NOT NULL,
    project_id TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    due_us     INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    is_late    INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, project_id, turn_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX unlearned_turns_due ON unlearned_turns (due_us);

-- Of a short turn the first append has its end already. The triggers ask first, because the statement that fires one
-- decides what its conflicts come to: OR IGNORE would not hold within an upsert.
CREATE TRIGGER turn_came_ended AFTER INSERT ON turns WHEN new.standing <> 'open'
BEGIN
    INSERT INTO unlearned_turns
    SELECT new.tenant_id, new.project_id, new.turn_id, new.updated_us, 0, 0
    WHERE NOT EXISTS (
        SELECT 1 FROM unlearned_turns
        WHERE tenant_id = new.tenant_id AND project_id = new.project_id AND turn_id = new.turn_id
    );
END;
CREATE TRIGGER turn_has_ended AFTER UPDATE OF standing ON turns WHEN old.standing = 'open' AND new.standing <> 'open'
BEGIN
    INSERT INTO unlearned_turns
    SELECT new.tenant_id, new.project_id, new.turn_id, new.updated_us, 0, 0
    WHERE NOT EXISTS (
        SELECT 1 FROM unlearned_turns
        WHERE tenant_id = new.tenant_id AND project_id = new.project_id AND turn_id = new.turn_id
    );
END;
CREATE TRIGGER turn_teaches_no_more AFTER DELETE ON turns
BEGIN
    DELETE FROM unlearned_turns
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND turn_id = old.turn_id;
    DELETE FROM observations
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND turn_id = old.turn_id;
    DELETE FROM observations
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id AND last_turn_id = old.turn_id;
END;
