-- The statements of storage/sqlite/turn_log.py.
--
-- An append brings many rows in two parameters: a JSON array with one array of plain values for each row, and one BLOB
-- in which the rows' bodies lie one after the other; a row names where its body begins (from 1) and how long it is. So
-- a body is never parsed, and comes back byte for byte.

-- name: kept
-- Of the turns in a JSON array, those that there are: whose they are, their last sequence, and what lists are ordered
-- by.
SELECT turns.turn_id, turns.session_id, turns.last_sequence, turns.turn_count, turns.standing, turns.started_us
FROM json_each(:turn_ids) AS wanted CROSS JOIN turns
WHERE turns.tenant_id = :tenant_id AND turns.project_id = :project_id AND turns.turn_id = wanted.value

-- name: make_sessions
-- Sessions that are missing. A row: session_id, created_us, body's begin and length.
INSERT INTO sessions (tenant_id, project_id, session_id, created_us, updated_us, body)
SELECT :tenant_id, :project_id, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[1]'),
       substr(:bodies, json_extract(value, '$[2]'), json_extract(value, '$[3]'))
FROM json_each(:rows)
WHERE true
ON CONFLICT (tenant_id, project_id, session_id) DO NOTHING

-- name: put_heads
-- Heads, new or in the place of those that are there, each turn at most once. A row: the columns of `turns` from turn_id to
-- updated_us, body's begin and length.
INSERT INTO turns (tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence, started_us,
                   updated_us, body)
SELECT :tenant_id, :project_id, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
       json_extract(value, '$[6]'), substr(:bodies, json_extract(value, '$[7]'), json_extract(value, '$[8]'))
FROM json_each(:rows)
WHERE true
ON CONFLICT (tenant_id, project_id, turn_id) DO UPDATE
SET turn_count = excluded.turn_count, standing = excluded.standing, last_sequence = excluded.last_sequence,
    started_us = excluded.started_us, updated_us = excluded.updated_us, body = excluded.body

-- name: move_heads
-- The same for turns that are there and in which nothing has changed that lists are ordered by: SQLite writes every
-- index that holds a column which is set, changed or not.
INSERT INTO turns (tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence, started_us,
                   updated_us, body)
SELECT :tenant_id, :project_id, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
       json_extract(value, '$[6]'), substr(:bodies, json_extract(value, '$[7]'), json_extract(value, '$[8]'))
FROM json_each(:rows)
WHERE true
ON CONFLICT (tenant_id, project_id, turn_id) DO UPDATE
SET last_sequence = excluded.last_sequence, updated_us = excluded.updated_us, body = excluded.body

-- name: put_entries
-- New entries, in the order of the rows. A row: key, group, sequence, at_us, body's begin and length.
INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
SELECT :tenant_id, :project_id, :topic, json_extract(value, '$[0]'), json_extract(value, '$[1]'),
       json_extract(value, '$[2]'), json_extract(value, '$[3]'),
       substr(:bodies, json_extract(value, '$[4]'), json_extract(value, '$[5]'))
FROM json_each(:rows)

-- name: body
-- What is kept in one place of a key's numbering.
SELECT body
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND key = :key AND sequence = :sequence

-- name: read
-- A key's entries after a sequence, in order.
SELECT position, key, group_id, sequence, at_us, body
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND key = :key AND sequence > :after
ORDER BY sequence
LIMIT :limit

-- name: tail
-- A topic's entries after a position, in order.
SELECT position, key, group_id, sequence, at_us, body
FROM log_entries INDEXED BY log_entries_topic
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND position > :after
ORDER BY position
LIMIT :limit

-- name: tail_of_group
-- A group's entries after a position, in order.
SELECT position, key, group_id, sequence, at_us, body
FROM log_entries INDEXED BY log_entries_group
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND group_id = :group_id
      AND position > :after
ORDER BY position
LIMIT :limit

-- name: last_position
-- The highest position of a scope: that of each of its topics, which are found by stepping from one to the next.
WITH RECURSIVE topics (topic) AS (
    SELECT min(topic) FROM log_entries WHERE tenant_id = :tenant_id AND project_id = :project_id
    UNION ALL
    SELECT (SELECT min(log_entries.topic)
            FROM log_entries
            WHERE tenant_id = :tenant_id AND project_id = :project_id AND log_entries.topic > topics.topic)
    FROM topics
    WHERE topics.topic IS NOT NULL
)
SELECT coalesce(max((SELECT max(position)
                     FROM log_entries INDEXED BY log_entries_topic
                     WHERE tenant_id = :tenant_id AND project_id = :project_id AND log_entries.topic = topics.topic)), 0)
FROM topics

-- name: head
-- One head, in the order of the fields of TurnHead.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: heads
-- A scope's heads, newest started first, from below a place in that order.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (started_us, turn_id) < (:started_us, :turn_id)
ORDER BY started_us DESC, turn_id DESC
LIMIT :limit

-- name: heads_standing
-- The same, of those in one standing.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND standing = :standing
      AND (started_us, turn_id) < (:started_us, :turn_id)
ORDER BY started_us DESC, turn_id DESC
LIMIT :limit

-- name: heads_of_session
-- The same, of one session; standing NULL: any.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body
FROM turns INDEXED BY turns_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id
      AND (started_us, turn_id) < (:started_us, :turn_id) AND (:standing IS NULL OR standing = :standing)
ORDER BY started_us DESC, turn_id DESC
LIMIT :limit

-- name: newest
-- The head with the highest turn_count of a session; of several the last started.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id
ORDER BY turn_count DESC, started_us DESC, turn_id DESC
LIMIT 1

-- name: idle
-- Open turns of every scope without an update since a time, the longest waiting first.
SELECT tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body
FROM turns INDEXED BY turns_idle
WHERE standing = 'open' AND updated_us < :before_us
ORDER BY updated_us
LIMIT :limit
