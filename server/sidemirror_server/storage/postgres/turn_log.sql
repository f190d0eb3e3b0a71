-- The statements of storage/postgres/turn_log.py. $1 and $2 are the tenant and the project.
--
-- An append passes many rows as one array for each column.

-- name: kept
-- For each of these turns that exists: its session, its last sequence, and how often it was rewritten.
SELECT turn_id, session_id, last_sequence, rewritten
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = ANY ($3::text[])

-- name: put
-- Stores one append. It adds missing sessions, inserts or replaces heads (each turn at most once), and adds entries in
-- the order of the arrays. Each part may be empty. Sessions and heads have an order, so that no two appends wait for each
-- other; a head that another append has brought further meanwhile stays.
WITH made_sessions AS (
    INSERT INTO sidemirror.sessions (tenant_id, project_id, session_id, created_us, updated_us, body)
    SELECT $1, $2, session_id, created_us, created_us, body
    FROM unnest($3::text[], $4::bigint[], $5::bytea[]) AS missing (session_id, created_us, body)
    ORDER BY session_id
    ON CONFLICT (tenant_id, project_id, session_id) DO NOTHING
), put_heads AS (
    INSERT INTO sidemirror.turns (tenant_id, project_id, turn_id, session_id, turn_count, standing, last_sequence,
                                  started_us, updated_us, body, outcome)
    SELECT $1, $2, turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, outcome
    FROM unnest($6::text[], $7::text[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[],
                $13::bytea[], $14::text[])
         AS head (turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, outcome)
    ORDER BY turn_id
    ON CONFLICT (tenant_id, project_id, turn_id) DO UPDATE
    SET turn_count = excluded.turn_count, standing = excluded.standing, last_sequence = excluded.last_sequence,
        started_us = excluded.started_us, updated_us = excluded.updated_us, body = excluded.body,
        outcome = excluded.outcome
    WHERE turns.last_sequence <= excluded.last_sequence
)
INSERT INTO sidemirror.log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
SELECT $1, $2, $15, key, group_id, sequence, at_us, body
FROM unnest($16::text[], $17::text[], $18::bigint[], $19::bigint[], $20::bytea[])
     WITH ORDINALITY AS entry (key, group_id, sequence, at_us, body, place)
ORDER BY place

-- name: move_turn
-- Moves a turn ($5) from one session ($3) to another ($4).
UPDATE sidemirror.turns SET session_id = $4
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $5 AND session_id = $3

-- name: move_turn_entries
-- Moves the entries of a turn to the other session.
UPDATE sidemirror.log_entries SET group_id = $4
WHERE tenant_id = $1 AND project_id = $2 AND topic = 'turn' AND key = $5 AND group_id = $3

-- name: move_turn_receipts
-- Moves receipts to the other session: those of the turn, and all when no turn is left in the one before.
UPDATE sidemirror.receipts SET session_id = $4
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3 AND session_id <> ''
      AND (turn_id = $5
           OR NOT EXISTS (SELECT 1 FROM sidemirror.turns
                          WHERE turns.tenant_id = $1 AND turns.project_id = $2 AND turns.session_id = $3))

-- name: move_turn_critiques
-- Moves critiques to the other session, like `move_turn_receipts`.
UPDATE sidemirror.critiques SET session_id = $4
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3 AND session_id <> ''
      AND (turn_id = $5
           OR NOT EXISTS (SELECT 1 FROM sidemirror.turns
                          WHERE turns.tenant_id = $1 AND turns.project_id = $2 AND turns.session_id = $3))

-- name: name_session
-- The session ($3) that has no turns left came of the other one ($4): an erasure of that finds what came of this.
INSERT INTO sidemirror.sources (tenant_id, project_id, source, record)
SELECT $1, $2, 'session:' || $4::text, 'session:' || session_id
FROM sidemirror.sessions
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3
      AND NOT EXISTS (SELECT 1 FROM sidemirror.turns
                      WHERE turns.tenant_id = $1 AND turns.project_id = $2 AND turns.session_id = $3)
ON CONFLICT DO NOTHING

-- name: leave_session
-- Removes a session ($3) that has no turns left.
DELETE FROM sidemirror.sessions
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3
      AND NOT EXISTS (SELECT 1 FROM sidemirror.turns
                      WHERE turns.tenant_id = $1 AND turns.project_id = $2 AND turns.session_id = $3)

-- name: bodies
-- The stored bodies at these keys and sequences, as (key, sequence, body).
SELECT key, sequence, body
FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = $3
      AND (key, sequence) IN (SELECT * FROM unnest($4::text[], $5::bigint[]))

-- name: read
-- The entries of a key after sequence $5, in order: at most $6. The page ends once its bodies add up to $7 bytes.
SELECT position, key, group_id, sequence, at_us, body
FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY sequence) - octet_length(body) AS bytes_before
      FROM (SELECT position, key, group_id, sequence, at_us, body
            FROM sidemirror.log_entries
            WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND key = $4 AND sequence > $5
            ORDER BY sequence
            LIMIT $6) AS page) AS measured
WHERE bytes_before < $7
ORDER BY sequence

-- name: tail
-- The entries of a topic after position $4, in order, as far as the log is settled: at most $5. The page ends once its
-- bodies add up to $6 bytes.
SELECT position, key, group_id, sequence, at_us, body
FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY position) - octet_length(body) AS bytes_before
      FROM (SELECT position, key, group_id, sequence, at_us, body
            FROM sidemirror.log_entries
            WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND position > $4
                  AND position <= current_setting('sidemirror.settled')::bigint
            ORDER BY position
            LIMIT $5) AS page) AS measured
WHERE bytes_before < $6
ORDER BY position

-- name: tail_of_group
-- Like `tail`, for one group ($7).
SELECT position, key, group_id, sequence, at_us, body
FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY position) - octet_length(body) AS bytes_before
      FROM (SELECT position, key, group_id, sequence, at_us, body
            FROM sidemirror.log_entries
            WHERE tenant_id = $1 AND project_id = $2 AND topic = $3 AND group_id = $7 AND position > $4
                  AND position <= current_setting('sidemirror.settled')::bigint
            ORDER BY position
            LIMIT $5) AS page) AS measured
WHERE bytes_before < $6
ORDER BY position

-- name: last_position
-- The highest position of a scope, as far as its log is settled. The query steps from topic to topic and reads the last position of each.
WITH RECURSIVE topics (topic) AS (
    (SELECT topic FROM sidemirror.log_entries WHERE tenant_id = $1 AND project_id = $2 ORDER BY topic LIMIT 1)
    UNION ALL
    SELECT (SELECT entries.topic
            FROM sidemirror.log_entries AS entries
            WHERE tenant_id = $1 AND project_id = $2 AND entries.topic > topics.topic
            ORDER BY entries.topic
            LIMIT 1)
    FROM topics
    WHERE topics.topic IS NOT NULL
)
SELECT coalesce(max((SELECT max(position)
                     FROM sidemirror.log_entries AS entries
                     WHERE tenant_id = $1 AND project_id = $2 AND entries.topic = topics.topic
                           AND position <= current_setting('sidemirror.settled')::bigint)), 0)
FROM topics

-- name: head
-- One head. Columns: the fields of TurnHead, in order.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3

-- name: heads_of
-- The heads of these turns.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = ANY ($3::text[])

-- name: heads
-- The heads of a scope by start time, latest first, after a cursor, and not before a time ($6).
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND (started_us, turn_id) < ($3, $4) AND started_us >= $6
ORDER BY started_us DESC, turn_id DESC
LIMIT $5

-- name: heads_standing
-- Like `heads`, with one standing.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND standing = $7 AND (started_us, turn_id) < ($3, $4) AND started_us >= $6
ORDER BY started_us DESC, turn_id DESC
LIMIT $5

-- name: heads_with_outcome
-- Like `heads`, with one of these pairs of a standing and an outcome.
SELECT head.turn_id, head.session_id, head.turn_count, head.standing, head.last_sequence, head.started_us,
       head.updated_us, head.body, head.rewritten, head.outcome
FROM unnest($7::text[], $8::text[]) AS wanted (standing, outcome)
     CROSS JOIN LATERAL (SELECT *
                         FROM sidemirror.turns
                         WHERE tenant_id = $1 AND project_id = $2 AND turns.standing = wanted.standing
                               AND turns.outcome = wanted.outcome AND (started_us, turn_id) < ($3, $4)
                               AND started_us >= $6
                         ORDER BY started_us DESC, turn_id DESC
                         LIMIT $5) AS head
ORDER BY head.started_us DESC, head.turn_id DESC
LIMIT $5

-- name: heads_of_session
-- Like `heads`, for one session. Standing NULL: any; outcomes NULL: any.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $8 AND (started_us, turn_id) < ($3, $4)
      AND started_us >= $6 AND ($7::text IS NULL OR standing = $7) AND ($9::text[] IS NULL OR outcome = ANY ($9))
ORDER BY started_us DESC, turn_id DESC
LIMIT $5

-- name: newest
-- The head with the highest turn_count of a session; if several have it, the last started.
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3
ORDER BY turn_count DESC, started_us DESC, turn_id DESC
LIMIT 1

-- name: idle
-- Across scopes: open turns that may be without an update since a time, the longest idle first, for one entry of
-- `Serves` ($3, $4; NULL for all). An envelope is up to a minute behind its turn.
SELECT tenant_id, project_id, turn_id
FROM sidemirror.open_turn_envelopes
WHERE updated_us < $1
      AND ($3::text IS NULL OR tenant_id = $3) AND ($4::text IS NULL OR project_id = $4)
ORDER BY updated_us, tenant_id, project_id, turn_id
LIMIT $2

-- name: open_heads
-- The heads of those given turns that are open and without an update since a time ($4).
SELECT turn_id, session_id, turn_count, standing, last_sequence, started_us, updated_us, body, rewritten, outcome
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = ANY ($3::text[]) AND standing = 'open'
      AND updated_us < $4
