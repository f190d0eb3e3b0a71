-- How often an erasure took a part of a turn away. Whoever has read the turn before then appends nothing to it.
ALTER TABLE turns ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0;

-- Which erasures to forget.
CREATE INDEX erasures_ended ON erasures (tenant_id, project_id, ended_us) WHERE ended_us IS NOT NULL;

-- A goal's reflection and its note in the journal stay longer than the report that they came of. What they came of is
-- noted (storage/sqlite/journal.py) until both are gone.
CREATE TRIGGER note_is_gone AFTER DELETE ON log_entries WHEN old.topic = 'goal_reflection'
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id
          AND record = 'published:' || old.key || '/' || old.group_id
          AND NOT EXISTS (SELECT 1 FROM goal_reflections AS kept
                          WHERE kept.tenant_id = old.tenant_id AND kept.project_id = old.project_id
                                AND kept.goal_id = old.group_id AND kept.reflection_id = old.key);
END;
CREATE TRIGGER reflection_is_gone AFTER DELETE ON goal_reflections
BEGIN
    DELETE FROM sources
    WHERE tenant_id = old.tenant_id AND project_id = old.project_id
          AND record = 'published:' || old.reflection_id || '/' || old.goal_id
          AND NOT EXISTS (SELECT 1 FROM log_entries AS kept
                          WHERE kept.tenant_id = old.tenant_id AND kept.project_id = old.project_id
                                AND kept.topic = 'goal_reflection' AND kept.key = old.reflection_id);
END;
