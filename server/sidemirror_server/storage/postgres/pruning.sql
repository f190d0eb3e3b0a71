-- The statements of storage/postgres/pruning.py. The last two values of a statement across scopes are one entry of
-- `Serves`: a tenant and a project, NULL for all.

-- name: projects
-- Across scopes: the $1 least recently swept projects. Rows that another sidecar has locked are skipped.
SELECT tenant_id, project_id
FROM sidemirror.memory_project_envelopes
WHERE ($2::text IS NULL OR tenant_id = $2) AND ($3::text IS NULL OR project_id = $3)
      AND NOT EXISTS (SELECT FROM unnest($4::text[], $5::text[]) AS but (tenant, project)
                      WHERE but.tenant = tenant_id AND coalesce(but.project, project_id) = project_id)
ORDER BY pruned_us
LIMIT $1
FOR UPDATE SKIP LOCKED

-- name: looked_through
-- Records that a project was swept at $3.
UPDATE sidemirror.memory_project_envelopes
SET pruned_us = $3
WHERE tenant_id = $1 AND project_id = $2

-- name: old_memories
-- Unimportant memories (below $3) that nobody changed and that were not updated or strengthened since $4. The least
-- recently updated come first, at most $5. Memories with a trial since $4 or with an important strategy are left out.
-- Memories that another transaction has locked are skipped.
SELECT memory_id
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND state <> 'retired' AND importance < $3 AND updated_us < $4
      AND coalesce((convert_from(body, 'UTF8')::jsonb ->> 'strengthened_us')::bigint, 0) < $4
      AND coalesce(convert_from(body, 'UTF8')::jsonb ->> 'change', 'learned') = 'learned'
      AND NOT EXISTS (SELECT FROM sidemirror.lesson_trials AS trial
                      WHERE trial.tenant_id = $1 AND trial.project_id = $2 AND trial.memory_id = memories.memory_id
                            AND trial.assigned_us >= $4)
      AND NOT EXISTS (SELECT FROM sidemirror.memory_links AS link
                      JOIN sidemirror.memories AS strategy ON strategy.memory_id = substr(link.source, 3)
                      WHERE link.tenant_id = $1 AND link.project_id = $2 AND link.target = 'm:' || memories.memory_id
                            AND link.kind = 'strategy_of' AND strategy.tenant_id = $1 AND strategy.project_id = $2
                            AND strategy.importance >= $3)
ORDER BY updated_us
LIMIT $5
FOR UPDATE SKIP LOCKED

-- name: projects_after
-- Across scopes: the $3 projects after project ($1, $2). Rows that another sidecar has locked are skipped.
SELECT tenant_id, project_id
FROM sidemirror.memory_project_envelopes
WHERE (tenant_id, project_id) > ($1, $2)
      AND ($4::text IS NULL OR tenant_id = $4) AND ($5::text IS NULL OR project_id = $5)
      AND NOT EXISTS (SELECT FROM unnest($6::text[], $7::text[]) AS but (tenant, project)
                      WHERE but.tenant = tenant_id AND coalesce(but.project, project_id) = project_id)
ORDER BY tenant_id, project_id
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: count
-- The number of memories of a project.
SELECT count(*)
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2

-- name: surplus
-- At most $3 memories of a project as (memory_id, importance), least important first, then least recently updated.
-- Retired ones and those that another transaction has locked are skipped.
SELECT memory_id, importance
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND state <> 'retired'
ORDER BY importance, updated_us
LIMIT $3
FOR UPDATE SKIP LOCKED

-- name: old_turns
-- Across scopes: turns that have ended and were not updated since $1, oldest first, at most $2. Rows that another
-- sidecar has locked are skipped.
SELECT tenant_id, project_id, turn_id
FROM sidemirror.ended_turn_envelopes
WHERE updated_us < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
      AND NOT EXISTS (SELECT FROM unnest($5::text[], $6::text[]) AS but (tenant, project)
                      WHERE but.tenant = tenant_id AND coalesce(but.project, project_id) = project_id)
ORDER BY updated_us
LIMIT $2
FOR UPDATE SKIP LOCKED

-- name: forget_entries
-- Removes the entries of these turns; returns their highest position.
WITH gone AS (
    DELETE FROM sidemirror.log_entries
    WHERE tenant_id = $1 AND project_id = $2 AND topic = 'turn' AND key = ANY ($3::text[])
    RETURNING position
)
SELECT max(position) FROM gone

-- name: forget_turns
-- Removes the heads of these turns; returns their sessions.
DELETE FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = ANY ($3::text[])
RETURNING session_id

-- name: forget_sessions
-- Removes the given sessions that have no turns left and were not updated since $4.
DELETE FROM sidemirror.sessions AS sessions
WHERE tenant_id = $1 AND project_id = $2 AND session_id = ANY ($3::text[]) AND updated_us < $4
      AND NOT EXISTS (SELECT FROM sidemirror.turns AS turns
                      WHERE turns.tenant_id = $1 AND turns.project_id = $2
                            AND turns.session_id = sessions.session_id)

-- name: note
-- Adds an entry to the pruning log.
INSERT INTO sidemirror.pruning_log (tenant_id, project_id, kind, count, pruned_us, before_us, importance_below,
                                    last_position)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: gone_up_to
-- The highest position that was removed from the log of a scope's turns.
SELECT coalesce(max(last_position), 0)
FROM sidemirror.pruning_log
WHERE tenant_id = $1 AND project_id = $2 AND last_position IS NOT NULL

-- name: list
-- The pruning log of a scope, newest first, below a number. Columns: the fields of Pruned, in order.
SELECT pruning_no, kind, count, pruned_us, before_us, importance_below
FROM sidemirror.pruning_log
WHERE tenant_id = $1 AND project_id = $2 AND pruning_no < $3
ORDER BY pruning_no DESC
LIMIT $4
