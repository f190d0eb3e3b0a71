-- The statements of storage/sqlite/pruning.py.

-- name: old_memories
-- Across scopes: unimportant memories that nobody changed and that were not updated or strengthened since a time, least
-- recently updated first. Memories with a trial since that time or with an important strategy are left out.
SELECT tenant_id, project_id, memory_id
FROM memories INDEXED BY memories_unimportant
WHERE state <> 'retired' AND importance < :below AND updated_us < :before_us
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
      AND NOT EXISTS (SELECT 1 FROM json_each(:but) AS but
                      WHERE but.value ->> 0 = tenant_id AND coalesce(but.value ->> 1, project_id) = project_id)
      AND coalesce(json_extract(CAST(body AS TEXT), '$.strengthened_us'), 0) < :before_us
      AND coalesce(json_extract(CAST(body AS TEXT), '$.change'), 'learned') = 'learned'
      AND NOT EXISTS (SELECT 1 FROM lesson_trials AS trial
                      WHERE trial.tenant_id = memories.tenant_id AND trial.project_id = memories.project_id
                            AND trial.memory_id = memories.memory_id AND trial.assigned_us >= :before_us)
      AND NOT EXISTS (SELECT 1 FROM memory_links AS link CROSS JOIN memories AS strategy
                          ON strategy.tenant_id = link.tenant_id AND strategy.project_id = link.project_id
                         AND strategy.memory_id = substr(link.source, 3)
                      WHERE link.tenant_id = memories.tenant_id AND link.project_id = memories.project_id
                            AND link.target = 'm:' || memories.memory_id AND link.kind = 'strategy_of'
                            AND strategy.importance >= :below)
ORDER BY updated_us
LIMIT :limit

-- name: crowded
-- Across scopes: projects with more than :most memories, and by how many they exceed it.
WITH counted AS MATERIALIZED (
    SELECT tenant_id, project_id,
           (SELECT count(*) FROM memories INDEXED BY memories_newest
            WHERE memories.tenant_id = project.tenant_id AND memories.project_id = project.project_id) AS total
    FROM memory_projects AS project
    WHERE (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
          AND NOT EXISTS (SELECT 1 FROM json_each(:but) AS but
                          WHERE but.value ->> 0 = tenant_id AND coalesce(but.value ->> 1, project_id) = project_id)
)
SELECT tenant_id, project_id, total - :most
FROM counted
WHERE total > :most

-- name: surplus
-- The memories of a project as (memory_id, importance), least important first, then least recently updated, without
-- retired ones. Uses an index over all scopes, because a crowded project has most rows in it.
SELECT memory_id, importance
FROM memories INDEXED BY memories_unimportant
WHERE tenant_id = :tenant_id AND project_id = :project_id AND state <> 'retired'
ORDER BY importance, updated_us
LIMIT :limit

-- name: old_turns
-- Across scopes: turns that have ended and were not updated since a time, oldest first.
SELECT tenant_id, project_id, turn_id, session_id
FROM turns INDEXED BY turns_ended
WHERE standing <> 'open' AND updated_us < :before_us
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
      AND NOT EXISTS (SELECT 1 FROM json_each(:but) AS but
                      WHERE but.value ->> 0 = tenant_id AND coalesce(but.value ->> 1, project_id) = project_id)
ORDER BY updated_us
LIMIT :limit

-- name: last_entry
-- The position of a turn's last entry.
SELECT max(position)
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = 'turn' AND key = :turn_id

-- name: forget_entries
-- Removes the entries of a turn.
DELETE FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = 'turn' AND key = :turn_id

-- name: forget_turn
-- Removes the head of a turn.
DELETE FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: forget_session
-- Removes the turn's session if it has no turns left and was not updated since a time.
DELETE FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id AND updated_us < :before_us
      AND NOT EXISTS (SELECT 1 FROM turns INDEXED BY turns_counted
                      WHERE turns.tenant_id = :tenant_id AND turns.project_id = :project_id
                            AND turns.session_id = :session_id)

-- name: note
-- Adds an entry to the pruning log.
INSERT INTO pruning_log (tenant_id, project_id, kind, count, pruned_us, before_us, importance_below, last_position)
VALUES (:tenant_id, :project_id, :kind, :count, :now_us, :before_us, :below, :last_position)

-- name: gone_up_to
-- The highest position that was removed from the log of a scope's turns.
SELECT coalesce(max(last_position), 0)
FROM pruning_log INDEXED BY pruning_log_positions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND last_position IS NOT NULL

-- name: list
-- The pruning log of a scope, newest first, below a number. Columns: the fields of Pruned, in order.
SELECT pruning_no, kind, count, pruned_us, before_us, importance_below
FROM pruning_log INDEXED BY pruning_log_newest
WHERE tenant_id = :tenant_id AND project_id = :project_id AND pruning_no < :before
ORDER BY pruning_no DESC
LIMIT :limit
