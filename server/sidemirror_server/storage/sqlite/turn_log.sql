-- The statements of storage/sqlite/turn_log.py.
--
-- An append passes many rows in two parameters. One is a JSON array with an array of plain values for each row. The
-- other is one BLOB of all bodies; a row has the offset of its body (from 1) and its length. So a body is never parsed,
-- and is stored byte for byte.

-- name: kept
-- For each of these turns that exists: its session, its last sequence, the columns that lists are sorted by, and how
-- often it was rewritten. :turn_ids is a JSON array.
SELECT turns.turn_id, turns.session_id, turns.last_sequence, turns.turn_count, turns.standing, turns.started_us,
       turns.rewritten, turns.outcome
FROM json_each(:turn_ids) AS wanted CROSS JOIN turns
WHERE turns.tenant_id = :tenant_id AND turns.project_id = :project_id AND turns.turn_id = wanted.value

-- name: make_sessions
-- Adds missing sessions. A row: session_id, created_us, offset and length of the body.
INSERT INTO sessions (tenant_id, project_id, session_id, created_us, updated_us, body)
SELECT :tenant_id, :project_id, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[1]'),
       substr(:bodies, json_extract(value, '$[2]'), json_extract(value, '$[3]'))
FROM json_each(:rows)
WHERE true
ON CONFLICT (tenant_id, project_id, session_id) DO NOTHING

-- name: put_heads
-- Inserts or replaces heads, each turn at most once. A row: the columns of `turns` from turn_id to updated_us, then
-- offset and length of the body, and the outcome.
INSERT INTO turns (tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence, started_us,
                   updated_us, body, outcome)
SELECT :tenant_id, :project_id, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
       json_extract(value, '$[6]'), substr(:bodies, json_extract(value, '$[7]'), json_extract(value, '$[8]')),
       json_extract(value, '$[9]')
FROM json_each(:rows)
WHERE true
ON CONFLICT (tenant_id, project_id, turn_id) DO UPDATE
SET turn_count = excluded.turn_count, standing = excluded.standing, last_sequence = excluded.last_sequence,
    started_us = excluded.started_us, updated_us = excluded.updated_us, body = excluded.body, outcome = excluded.outcome

-- name: move_heads
-- Updates heads of turns whose sort columns have not changed. SQLite writes every index of a column that is set, even
-- to the same value, so this statement leaves those columns out.
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
-- Adds entries in the order of the rows. A row: key, group, sequence, at_us, offset and length of the body.
INSERT INTO log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
SELECT :tenant_id, :project_id, :topic, json_extract(value, '$[0]'), json_extract(value, '$[1]'),
       json_extract(value, '$[2]'), json_extract(value, '$[3]'),
       substr(:bodies, json_extract(value, '$[4]'), json_extract(value, '$[5]'))
FROM json_each(:rows)

-- name: move_turn
-- Moves a turn from one session to another.
UPDATE turns SET session_id = :session_id
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id AND session_id = :session_was

-- name: move_turn_entries
-- Moves the entries of a turn to the other session.
UPDATE log_entries SET group_id = :session_id
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = 'turn' AND key = :turn_id
      AND group_id = :session_was

-- name: move_turn_receipts
-- Moves receipts to the other session: those of the turn, and all when no turn is left in the one before.
UPDATE receipts INDEXED BY receipts_of_session SET session_id = :session_id
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_was AND session_id <> ''
      AND (turn_id = :turn_id
           OR NOT EXISTS (SELECT 1 FROM turns
                          WHERE turns.tenant_id = :tenant_id AND turns.project_id = :project_id
                                AND turns.session_id = :session_was))

-- name: move_turn_critiques
-- Moves critiques to the other session, like `move_turn_receipts`.
UPDATE critiques INDEXED BY critiques_of_session SET session_id = :session_id
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_was AND session_id <> ''
      AND (turn_id = :turn_id
           OR NOT EXISTS (SELECT 1 FROM turns
                          WHERE turns.tenant_id = :tenant_id AND turns.project_id = :project_id
                                AND turns.session_id = :session_was))

-- name: name_session
-- The session that has no turns left came of the other one: an erasure of that finds what came of this.
INSERT OR IGNORE INTO sources (tenant_id, project_id, source, record)
SELECT :tenant_id, :project_id, 'session:' || :session_id, 'session:' || session_id
FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_was
      AND NOT EXISTS (SELECT 1 FROM turns
                      WHERE turns.tenant_id = :tenant_id AND turns.project_id = :project_id
                            AND turns.session_id = :session_was)

-- name: leave_session
-- Removes a session that has no turns left.
DELETE FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_was
      AND NOT EXISTS (SELECT 1 FROM turns
                      WHERE turns.tenant_id = :tenant_id AND turns.project_id = :project_id
                            AND turns.session_id = :session_was)

-- name: body
-- The body of the entry with this key and sequence.
SELECT body
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND key = :key AND sequence = :sequence

-- name: read
-- The entries of a key after a sequence, in order.
SELECT position, key, group_id, sequence, at_us, body
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND key = :key AND sequence > :after
ORDER BY sequence
LIMIT :limit

-- name: tail
-- The entries of a topic after a position, in order.
SELECT position, key, group_id, sequence, at_us, body
FROM log_entries INDEXED BY log_entries_topic
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND position > :after
ORDER BY position
LIMIT :limit

-- name: tail_of_group
-- The entries of a group after a position, in order.
SELECT position, key, group_id, sequence, at_us, body
FROM log_entries INDEXED BY log_entries_group
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = :topic AND group_id = :group_id
      AND position > :after
ORDER BY position
LIMIT :limit

-- name: last_position
-- The highest position of a scope. The query steps from topic to topic and reads the last position of each.
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
-- One head. Columns: the fields of TurnHead, in order.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: heads_of
-- The heads of these turns. :turn_ids is a JSON array.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id IN (SELECT value FROM json_each(:turn_ids))

-- name: heads
-- The heads of a scope by start time, latest first, after a cursor, and not before a time.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (started_us, turn_id) < (:started_us, :turn_id)
      AND started_us >= :from_us
ORDER BY started_us DESC, turn_id DESC
LIMIT :limit

-- name: heads_standing
-- Like `heads`, with one standing.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND standing = :standing
      AND (started_us, turn_id) < (:started_us, :turn_id) AND started_us >= :from_us
ORDER BY started_us DESC, turn_id DESC
LIMIT :limit

-- name: heads_with_outcome
-- Like `heads`, with one standing and one outcome.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM turns INDEXED BY turns_outcome
WHERE tenant_id = :tenant_id AND project_id = :project_id AND standing = :standing AND outcome = :outcome
      AND (started_us, turn_id) < (:started_us, :turn_id) AND started_us >= :from_us
ORDER BY started_us DESC, turn_id DESC
LIMIT :limit

-- name: heads_of_session
-- Like `heads`, for one session. :standing NULL: any; :outcomes, a JSON array, NULL: any.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM turns INDEXED BY turns_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id
      AND (started_us, turn_id) < (:started_us, :turn_id) AND started_us >= :from_us
      AND (:standing IS NULL OR standing = :standing)
      AND (:outcomes IS NULL OR outcome IN (SELECT value FROM json_each(:outcomes)))
ORDER BY started_us DESC, turn_id DESC
LIMIT :limit

-- name: newest
-- The head with the highest turn_count of a session; if several have it, the last started.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :session_id
ORDER BY turn_count DESC, started_us DESC, turn_id DESC
LIMIT 1

-- name: idle
-- Across scopes: open turns without an update since a time, the longest idle first.
SELECT tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body,
       rewritten, outcome
FROM turns INDEXED BY turns_idle
WHERE standing = 'open' AND updated_us < :before_us
      AND (:tenant_id IS NULL OR tenant_id = :tenant_id) AND (:project_id IS NULL OR project_id = :project_id)
ORDER BY updated_us
LIMIT :limit
