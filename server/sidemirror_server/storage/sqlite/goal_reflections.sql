-- The statements of storage/sqlite/goal_reflections.py. :words is a JSON list.

-- name: refused
-- One row if the goal was deleted recently, at or after the reflection's creation.
SELECT 1
FROM goal_deletions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id
      AND :created_us <= deleted_us AND deleted_us > :refused_since_us

-- name: put
-- Adds a reflection. No change if the goal already has one with this id.
INSERT INTO goal_reflections
    (tenant_id, project_id, goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin)
VALUES (:tenant_id, :project_id, :goal_id, :created_us, :reflection_id, :objective, :insight, :importance, :goal_state,
        :origin)
ON CONFLICT DO NOTHING

-- name: trim
-- Removes all but the :most newest reflections of a goal.
DELETE FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id
      AND (created_us, reflection_id) < (
          SELECT created_us, reflection_id
          FROM goal_reflections
          WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id
          ORDER BY created_us DESC, reflection_id DESC
          LIMIT 1 OFFSET :most - 1
      )

-- name: has
-- One row if the goal has a reflection with this id.
SELECT 1
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id AND reflection_id = :reflection_id

-- name: name_words
-- Adds the words of a goal's objective to the index.
INSERT INTO goal_words (tenant_id, project_id, word, goal_id, newest_us)
SELECT :tenant_id, :project_id, value, :goal_id, :created_us FROM json_each(:words) WHERE TRUE
ON CONFLICT (tenant_id, project_id, word, goal_id) DO UPDATE SET newest_us = max(newest_us, excluded.newest_us)

-- name: of_goal
-- The reflections of a goal that were created after a time, newest first.
SELECT goal_id, created_us, reflection_id, objective, insight, importance, goal_state, origin
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id AND created_us > :since_us
ORDER BY created_us DESC, reflection_id DESC

-- name: newest
-- The goal of each reflection of the scope that was created after a time, newest first. A goal may occur several times.
SELECT goal_id
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND created_us > :since_us
ORDER BY created_us DESC, goal_id DESC
LIMIT :limit

-- name: with_words
-- The goals whose objectives have some of the :words: most words first, then newest first.
SELECT goal_id
FROM goal_words
WHERE tenant_id = :tenant_id AND project_id = :project_id AND word IN (SELECT value FROM json_each(:words))
GROUP BY goal_id
ORDER BY count(*) DESC, max(newest_us) DESC, goal_id DESC
LIMIT :limit

-- name: delete
-- Removes the reflections of a goal.
DELETE FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id

-- name: remove
-- Removes one reflection of a goal.
DELETE FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id AND reflection_id = :reflection_id

-- name: delete_words
-- Removes the words of a goal from the index.
DELETE FROM goal_words
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id

-- name: deleted
-- Records the time at which a goal was deleted.
INSERT INTO goal_deletions (tenant_id, project_id, goal_id, deleted_us)
VALUES (:tenant_id, :project_id, :goal_id, :now_us)
ON CONFLICT (tenant_id, project_id, goal_id) DO UPDATE SET deleted_us = excluded.deleted_us

-- name: oldest
-- Goals of the scope with reflections from before a time.
SELECT DISTINCT goal_id
FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND created_us < :before_us
LIMIT :limit

-- name: forget
-- Removes the reflections of a goal that were created before a time.
DELETE FROM goal_reflections
WHERE tenant_id = :tenant_id AND project_id = :project_id AND goal_id = :goal_id AND created_us < :before_us

-- name: forget_deletions
-- Removes the oldest recorded deletions of the scope from before a time.
DELETE FROM goal_deletions
WHERE tenant_id = :tenant_id AND project_id = :project_id
      AND goal_id IN (
          SELECT goal_id
          FROM goal_deletions
          WHERE tenant_id = :tenant_id AND project_id = :project_id AND deleted_us < :before_us
          ORDER BY deleted_us
          LIMIT :limit
      )

-- name: every
-- The goal and the id of each reflection. Reads all of the scope: only for a store that came from a backup.
SELECT goal_id, reflection_id FROM goal_reflections WHERE tenant_id = :tenant_id AND project_id = :project_id
