-- compatible: yes
-- How often an erasure took a part of a turn away. Whoever has read the turn before then appends nothing to it.
ALTER TABLE sidemirror.turns ADD COLUMN rewritten bigint NOT NULL DEFAULT 0;

-- Which erasures to forget.
CREATE INDEX erasures_ended ON sidemirror.erasures (tenant_id, project_id, ended_us) WHERE ended_us IS NOT NULL;

-- A goal's reflection and its note in the journal stay longer than the report that they came of. What they came of is
-- noted (storage/postgres/journal.py) until both are gone.
CREATE FUNCTION sidemirror.forget_published() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog
AS $$
DECLARE
    id text;
    goal text;
BEGIN
    IF TG_TABLE_NAME = 'log_entries' THEN
        id := OLD.key;
        goal := OLD.group_id;
    ELSE
        id := OLD.reflection_id;
        goal := OLD.goal_id;
    END IF;
    IF NOT EXISTS (SELECT FROM sidemirror.goal_reflections AS kept
                   WHERE (kept.tenant_id, kept.project_id, kept.goal_id, kept.reflection_id)
                         = (OLD.tenant_id, OLD.project_id, goal, id))
       AND NOT EXISTS (SELECT FROM sidemirror.log_entries AS kept
                       WHERE (kept.tenant_id, kept.project_id, kept.topic, kept.key)
                             = (OLD.tenant_id, OLD.project_id, 'goal_reflection', id)) THEN
        DELETE FROM sidemirror.sources AS noted
        WHERE (noted.tenant_id, noted.project_id, noted.record)
              = (OLD.tenant_id, OLD.project_id, 'published:' || id || '/' || goal);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER published AFTER DELETE ON sidemirror.log_entries
FOR EACH ROW WHEN (OLD.topic = 'goal_reflection') EXECUTE FUNCTION sidemirror.forget_published();
CREATE TRIGGER published AFTER DELETE ON sidemirror.goal_reflections
FOR EACH ROW EXECUTE FUNCTION sidemirror.forget_published();
