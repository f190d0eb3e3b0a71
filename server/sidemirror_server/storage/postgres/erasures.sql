-- The statements of storage/postgres/erasures.py. $1 and $2 are the tenant and the project, $3 mostly the record's id or
-- its key (trace/sources.py).

-- name: begin
-- Notes an erasure. No change if the scope already has the id.
INSERT INTO sidemirror.erasures (tenant_id, project_id, erasure_id, began_us, ended_us, is_again, counts)
VALUES ($1, $2, $3, $4, NULL, false, '{}')
ON CONFLICT DO NOTHING

-- name: forget_ended
-- Removes erasures that ended before $3, the oldest first, at most $4.
DELETE FROM sidemirror.erasures
WHERE tenant_id = $1 AND project_id = $2
      AND erasure_id = ANY (ARRAY (SELECT erasure_id FROM sidemirror.erasures
                                   WHERE tenant_id = $1 AND project_id = $2 AND ended_us < $3
                                   ORDER BY ended_us
                                   LIMIT $4))

-- name: count_tombstones
-- How many tombstones the scope has, counted up to $3.
SELECT count(*)
FROM (SELECT FROM sidemirror.tombstones
      WHERE tenant_id = $1 AND project_id = $2
      ORDER BY kind, digest
      LIMIT $3) AS counted

-- name: is_session
-- One row if the scope has the session.
SELECT 1 FROM sidemirror.sessions WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3

-- name: get
-- One erasure, in the order of the fields of Erasure.
SELECT erasure_id, began_us, ended_us, counts
FROM sidemirror.erasures
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3

-- name: add
-- Adds records ($4) to those of an erasure. No change for those that are it already.
INSERT INTO sidemirror.erasing (tenant_id, project_id, erasure_id, record, is_left)
SELECT $1, $2, $3, unnest($4::text[]), true
ON CONFLICT DO NOTHING

-- name: left
-- The records that an erasure has not removed yet.
SELECT record
FROM sidemirror.erasing
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3 AND is_left
LIMIT $4

-- name: take
-- Marks a record of an erasure as removed.
UPDATE sidemirror.erasing
SET is_left = false
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3 AND record = $4

-- name: put_back
-- Puts all records of an erasure back to those left.
UPDATE sidemirror.erasing
SET is_left = true
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3

-- name: mark_again
-- Marks an erasure whose records were put back. No change if they were before, or if it has ended.
UPDATE sidemirror.erasures
SET is_again = true
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3 AND NOT is_again
      AND ended_us IS NULL

-- name: count
-- Replaces the counts of an erasure.
UPDATE sidemirror.erasures
SET counts = $4
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3

-- name: forget_records
-- Removes the records of an erasure.
DELETE FROM sidemirror.erasing
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3

-- name: finish
-- Ends an erasure.
UPDATE sidemirror.erasures
SET ended_us = $4
WHERE tenant_id = $1 AND project_id = $2 AND erasure_id = $3 AND ended_us IS NULL

-- name: tombstones
-- The tombstones of a scope after one, in the order of the fields of Tombstone.
SELECT kind, digest, erased_us
FROM sidemirror.tombstones
WHERE tenant_id = $1 AND project_id = $2 AND (kind, digest) > ($3, $4)
ORDER BY kind, digest
LIMIT $5

-- name: derived
-- What came from a source.
SELECT record
FROM sidemirror.sources
WHERE tenant_id = $1 AND project_id = $2 AND source = $3

-- name: forget_sources
-- Removes what is noted of a source, and of a record.
DELETE FROM sidemirror.sources
WHERE tenant_id = $1 AND project_id = $2 AND (source = $3 OR record = $3)

-- name: turns_of_session
-- The turns of a session.
SELECT 'turn:' || turn_id
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3

-- name: critiques_of_session
-- The critiques of a session.
SELECT 'critique:' || critique_id
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3 AND session_id <> ''

-- name: receipts_of_session
-- The receipts of a session.
SELECT 'receipt:' || receipt_id
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3 AND session_id <> ''

-- name: forget_session
-- Removes a session.
DELETE FROM sidemirror.sessions
WHERE tenant_id = $1 AND project_id = $2 AND session_id = $3

-- name: later_turns
-- The later turns of a turn's session, as those that may have begun with its state.
SELECT 'carried:' || later.turn_id
FROM sidemirror.turns AS turn JOIN sidemirror.turns AS later
    ON later.tenant_id = $1 AND later.project_id = $2 AND later.session_id = turn.session_id
   AND ((later.started_us, later.turn_id) > (turn.started_us, turn.turn_id) OR later.turn_count > turn.turn_count)
WHERE turn.tenant_id = $1 AND turn.project_id = $2 AND turn.turn_id = $3

-- name: critiques_of_turn
-- The critiques of a turn.
SELECT 'critique:' || critique_id
FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3 AND turn_id <> ''

-- name: receipts_of_turn
-- The receipts of a turn.
SELECT 'receipt:' || receipt_id
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3 AND turn_id <> ''

-- name: forget_emptied_session
-- Removes the session of a turn that is its only one.
DELETE FROM sidemirror.sessions
WHERE tenant_id = $1 AND project_id = $2
      AND session_id = (SELECT session_id FROM sidemirror.turns
                        WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3)
      AND NOT EXISTS (SELECT 1 FROM sidemirror.turns AS other
                      WHERE other.tenant_id = $1 AND other.project_id = $2
                            AND other.session_id = sessions.session_id AND other.turn_id <> $3)

-- name: forget_entries
-- Removes the entries of a turn.
DELETE FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = 'turn' AND key = $3

-- name: forget_observations
-- Removes what was learned of failing calls in a turn.
DELETE FROM sidemirror.observations
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3

-- name: forget_later_observations
-- Removes what was learned of failing calls from what followed in a turn.
DELETE FROM sidemirror.observations
WHERE tenant_id = $1 AND project_id = $2 AND last_turn_id = $3

-- name: forget_observation
-- Removes an imported observation.
DELETE FROM sidemirror.observations
WHERE tenant_id = $1 AND project_id = $2 AND observation_id = $3

-- name: forget_turn
-- Removes the head of a turn.
DELETE FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3

-- name: forget_critique
-- Removes a critique.
DELETE FROM sidemirror.critiques
WHERE tenant_id = $1 AND project_id = $2 AND critique_id = $3

-- name: forget_trials_of_receipt
-- Removes the trials of a receipt.
DELETE FROM sidemirror.lesson_trials
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: forget_outcome
-- Removes the outcome of a receipt's task.
DELETE FROM sidemirror.memory_outcomes
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: forget_receipt_items
-- Removes the items of a receipt.
DELETE FROM sidemirror.receipt_items
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: forget_receipt
-- Removes a receipt.
DELETE FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: receipt
-- One receipt, in the order of the arguments of `trace.receipts.receipt_of`.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: rewrite_receipt
-- Replaces the items of a receipt.
UPDATE sidemirror.receipts
SET body = $4
WHERE tenant_id = $1 AND project_id = $2 AND receipt_id = $3

-- name: forget_receipt_item
-- Removes one item of a receipt.
DELETE FROM sidemirror.receipt_items
WHERE tenant_id = $1 AND project_id = $2 AND text_hash = $4 AND receipt_id = $3

-- name: entries
-- The entries of a turn, as (sequence, body).
SELECT sequence, body
FROM sidemirror.log_entries
WHERE tenant_id = $1 AND project_id = $2 AND topic = 'turn' AND key = $3
ORDER BY sequence

-- name: rewrite_entry
-- Replaces the body of an entry.
UPDATE sidemirror.log_entries
SET body = $5
WHERE tenant_id = $1 AND project_id = $2 AND topic = 'turn' AND key = $3 AND sequence = $4

-- name: head
-- The body of a turn's head.
SELECT body
FROM sidemirror.turns
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3

-- name: rewrite_head
-- Replaces the body of a turn's head, and counts it.
UPDATE sidemirror.turns
SET body = $4, rewritten = rewritten + 1
WHERE tenant_id = $1 AND project_id = $2 AND turn_id = $3

-- name: memory
-- One memory, as (body, content, task_text). Nobody changes it until the transaction ends.
SELECT body, content, task_text
FROM sidemirror.memories
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3
FOR UPDATE

-- name: count_versions
-- How many earlier versions a memory has.
SELECT count(*)
FROM sidemirror.memory_versions
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: forget_trials
-- Removes the trials of a memory.
DELETE FROM sidemirror.lesson_trials
WHERE tenant_id = $1 AND project_id = $2 AND memory_id = $3

-- name: forget_dream_jobs
-- Removes the notes of the scope's dreams: answers about clusters that may hold the memory.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND kind = 'dream'

-- name: report
-- The payload of a goal's report.
SELECT payload
FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND kind = 'goal_report'

-- name: forget_report
-- Removes a goal's report, whatever its state.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND job_id = $3 AND kind = 'goal_report'

-- name: forget_learning
-- Removes the job that learns from a turn, whatever its state.
DELETE FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND kind = 'learn_turn'
      AND CASE WHEN kind = 'learn_turn' THEN convert_from(payload, 'UTF8')::jsonb ->> 'turn_id' END = $3

-- name: forget_answer
-- Removes a stored answer. $3 and $4 are the parts of the record's id.
DELETE FROM sidemirror.requests
WHERE tenant_id = $1 AND project_id = $2 AND method = $3 AND request_id = $4

-- name: stored
-- The keys of what the scope holds, with the time since which it does: an answer since a day before it expires
-- (trace/requests.py). Reads all of it: only for a store that came from a backup.
SELECT 'session:' || session_id, created_us FROM sidemirror.sessions WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'turn:' || turn_id, started_us FROM sidemirror.turns WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'observation:' || observation_id, heard_us FROM sidemirror.imported_observation_envelopes
WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'memory:' || memory_id, created_us FROM sidemirror.memories WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'critique:' || critique_id, created_us FROM sidemirror.critiques WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'receipt:' || receipt_id, time_us FROM sidemirror.receipts WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'request:' || method || '/' || request_id, expires_us - 86400000000 FROM sidemirror.requests
WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'goal_report:' || job_id, created_us FROM sidemirror.jobs
WHERE tenant_id = $1 AND project_id = $2 AND kind = 'goal_report'

-- name: noted
-- What came from what, as (source, record). Reads all of it, too.
SELECT source, record FROM sidemirror.sources WHERE tenant_id = $1 AND project_id = $2
UNION ALL
SELECT 'turn:' || turn_id, 'receipt:' || receipt_id FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND turn_id <> ''
UNION ALL
SELECT 'session:' || session_id, 'receipt:' || receipt_id FROM sidemirror.receipts
WHERE tenant_id = $1 AND project_id = $2 AND session_id <> ''
