-- The statements of storage/sqlite/erasures.py. :key names a source or a record (trace/sources.py), :id is the id in it.

-- name: begin
-- Notes an erasure. No change if the scope already has the id.
INSERT INTO erasures (tenant_id, project_id, erasure_id, began_us, ended_us, is_again, counts)
VALUES (:tenant_id, :project_id, :erasure_id, :now_us, NULL, 0, '{}')
ON CONFLICT DO NOTHING

-- name: forget_ended
-- Removes erasures that ended before a time, the oldest first, at most :limit.
DELETE FROM erasures
WHERE tenant_id = :tenant_id AND project_id = :project_id
      AND erasure_id IN (SELECT erasure_id FROM erasures INDEXED BY erasures_ended
                         WHERE tenant_id = :tenant_id AND project_id = :project_id AND ended_us < :before_us
                         ORDER BY ended_us
                         LIMIT :limit)

-- name: count_tombstones
-- How many tombstones the scope has, counted up to :most.
SELECT count(*)
FROM (SELECT 1 FROM tombstones WHERE tenant_id = :tenant_id AND project_id = :project_id LIMIT :most)

-- name: is_session
-- One row if the scope has the session.
SELECT 1 FROM sessions WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :id

-- name: get
-- One erasure, in the order of the fields of Erasure.
SELECT erasure_id, began_us, ended_us, counts
FROM erasures
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id

-- name: add
-- Adds a record to those of an erasure. No change if it is one already.
INSERT INTO erasing (tenant_id, project_id, erasure_id, record, is_left)
VALUES (:tenant_id, :project_id, :erasure_id, :key, 1)
ON CONFLICT DO NOTHING

-- name: left
-- The records that an erasure has not removed yet.
SELECT record
FROM erasing INDEXED BY erasing_left
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id AND is_left = 1
LIMIT :limit

-- name: take
-- Marks a record of an erasure as removed.
UPDATE erasing
SET is_left = 0
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id AND record = :key

-- name: put_back
-- Puts all records of an erasure back to those left.
UPDATE erasing
SET is_left = 1
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id

-- name: mark_again
-- Marks an erasure whose records were put back. No change if they were before, or if it has ended.
UPDATE erasures
SET is_again = 1
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id AND is_again = 0
      AND ended_us IS NULL

-- name: count
-- Replaces the counts of an erasure.
UPDATE erasures
SET counts = :counts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id

-- name: forget_records
-- Removes the records of an erasure.
DELETE FROM erasing
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id

-- name: finish
-- Ends an erasure.
UPDATE erasures
SET ended_us = :now_us
WHERE tenant_id = :tenant_id AND project_id = :project_id AND erasure_id = :erasure_id AND ended_us IS NULL

-- name: tombstones
-- The tombstones of a scope after one, in the order of the fields of Tombstone.
SELECT kind, digest, erased_us
FROM tombstones
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (kind, digest) > (:kind, :digest)
ORDER BY kind, digest
LIMIT :limit

-- name: derived
-- What came from a source.
SELECT record
FROM sources
WHERE tenant_id = :tenant_id AND project_id = :project_id AND source = :key

-- name: forget_sources
-- Removes what is noted of a source, and of a record.
DELETE FROM sources
WHERE tenant_id = :tenant_id AND project_id = :project_id AND (source = :key OR record = :key)

-- name: turns_of_session
-- The turns of a session.
SELECT 'turn:' || turn_id
FROM turns INDEXED BY turns_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :id

-- name: critiques_of_session
-- The critiques of a session.
SELECT 'critique:' || critique_id
FROM critiques INDEXED BY critiques_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :id AND session_id <> ''

-- name: receipts_of_session
-- The receipts of a session.
SELECT 'receipt:' || receipt_id
FROM receipts INDEXED BY receipts_of_session
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :id AND session_id <> ''

-- name: forget_session
-- Removes a session.
DELETE FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id = :id

-- name: later_turns
-- The later turns of a turn's session, as those that may have begun with its state.
SELECT 'carried:' || later.turn_id
FROM turns AS turn CROSS JOIN turns AS later INDEXED BY turns_of_session
    ON later.tenant_id = :tenant_id AND later.project_id = :project_id AND later.session_id = turn.session_id
   AND ((later.started_us, later.turn_id) > (turn.started_us, turn.turn_id) OR later.turn_count > turn.turn_count)
WHERE turn.tenant_id = :tenant_id AND turn.project_id = :project_id AND turn.turn_id = :id

-- name: critiques_of_turn
-- The critiques of a turn.
SELECT 'critique:' || critique_id
FROM critiques INDEXED BY critiques_of_turn
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :id AND turn_id <> ''

-- name: receipts_of_turn
-- The receipts of a turn.
SELECT 'receipt:' || receipt_id
FROM receipts INDEXED BY receipts_of_turn
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :id AND turn_id <> ''

-- name: forget_emptied_session
-- Removes the session of a turn that is its only one.
DELETE FROM sessions
WHERE tenant_id = :tenant_id AND project_id = :project_id
      AND session_id = (SELECT session_id FROM turns
                        WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :id)
      AND NOT EXISTS (SELECT 1 FROM turns AS other INDEXED BY turns_of_session
                      WHERE other.tenant_id = :tenant_id AND other.project_id = :project_id
                            AND other.session_id = sessions.session_id AND other.turn_id <> :id)

-- name: forget_entries
-- Removes the entries of a turn.
DELETE FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = 'turn' AND key = :id

-- name: forget_observations
-- Removes what was learned of failing calls in a turn.
DELETE FROM observations
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :id

-- name: forget_later_observations
-- Removes what was learned of failing calls from what followed in a turn.
DELETE FROM observations
WHERE tenant_id = :tenant_id AND project_id = :project_id AND last_turn_id = :id

-- name: forget_observation
-- Removes an imported observation.
DELETE FROM observations
WHERE tenant_id = :tenant_id AND project_id = :project_id AND observation_id = :id

-- name: forget_turn
-- Removes the head of a turn.
DELETE FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :id

-- name: forget_critique
-- Removes a critique.
DELETE FROM critiques
WHERE tenant_id = :tenant_id AND project_id = :project_id AND critique_id = :id

-- name: forget_trials_of_receipt
-- Removes the trials of a receipt.
DELETE FROM lesson_trials
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :id

-- name: forget_outcome
-- Removes the outcome of a receipt's task.
DELETE FROM memory_outcomes
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :id

-- name: forget_receipt_items
-- Removes the items of a receipt.
DELETE FROM receipt_items
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :id

-- name: forget_receipt
-- Removes a receipt.
DELETE FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :id

-- name: receipt
-- One receipt, in the order of the arguments of `trace.receipts.receipt_of`.
SELECT receipt_id, kind, time_us, turn_id, session_id, goal_id, body
FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :id

-- name: rewrite_receipt
-- Replaces the items of a receipt.
UPDATE receipts
SET body = :body
WHERE tenant_id = :tenant_id AND project_id = :project_id AND receipt_id = :id

-- name: forget_receipt_item
-- Removes one item of a receipt.
DELETE FROM receipt_items
WHERE tenant_id = :tenant_id AND project_id = :project_id AND text_hash = :text_hash AND receipt_id = :id

-- name: entries
-- The entries of a turn, as (sequence, body).
SELECT sequence, body
FROM log_entries
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = 'turn' AND key = :turn_id
ORDER BY sequence

-- name: rewrite_entry
-- Replaces the body of an entry.
UPDATE log_entries
SET body = :body
WHERE tenant_id = :tenant_id AND project_id = :project_id AND topic = 'turn' AND key = :turn_id AND sequence = :sequence

-- name: head
-- The body of a turn's head.
SELECT body
FROM turns
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: rewrite_head
-- Replaces the body of a turn's head, and counts it.
UPDATE turns
SET body = :body, rewritten = rewritten + 1
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id = :turn_id

-- name: memory
-- One memory, as (body, content, task_text).
SELECT body, content, task_text
FROM memories
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :id

-- name: count_versions
-- How many earlier versions a memory has.
SELECT count(*)
FROM memory_versions
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :id

-- name: forget_trials
-- Removes the trials of a memory.
DELETE FROM lesson_trials
WHERE tenant_id = :tenant_id AND project_id = :project_id AND memory_id = :id

-- name: forget_dream_jobs
-- Removes the notes of the scope's dreams: answers about clusters that may hold the memory.
DELETE FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = 'dream'

-- name: report
-- The payload of a goal's report.
SELECT payload
FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :id AND kind = 'goal_report'

-- name: forget_report
-- Removes a goal's report, whatever its state.
DELETE FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND job_id = :id AND kind = 'goal_report'

-- name: forget_learning
-- Removes the job that learns from a turn, whatever its state.
DELETE FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = 'learn_turn'
      AND json_extract(CAST(payload AS TEXT), '$.turn_id') = :id

-- name: forget_answer
-- Removes a stored answer. :method and :request_id are the parts of the record's id.
DELETE FROM requests
WHERE tenant_id = :tenant_id AND project_id = :project_id AND method = :method AND request_id = :request_id

-- name: stored
-- The keys of what the scope holds, with the time since which it does: an answer since a day before it expires
-- (trace/requests.py). Reads all of it: only for a store that came from a backup.
SELECT 'session:' || session_id, created_us FROM sessions WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'turn:' || turn_id, started_us FROM turns WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'observation:' || observation_id, heard_us FROM imported_observations
WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'memory:' || memory_id, created_us FROM memories WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'critique:' || critique_id, created_us FROM critiques WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'receipt:' || receipt_id, time_us FROM receipts WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'request:' || method || '/' || request_id, expires_us - 86400000000 FROM requests
WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'goal_report:' || job_id, created_us FROM jobs
WHERE tenant_id = :tenant_id AND project_id = :project_id AND kind = 'goal_report'

-- name: noted
-- What came from what, as (source, record). Reads all of it, too.
SELECT source, record FROM sources WHERE tenant_id = :tenant_id AND project_id = :project_id
UNION ALL
SELECT 'turn:' || turn_id, 'receipt:' || receipt_id FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND turn_id <> ''
UNION ALL
SELECT 'session:' || session_id, 'receipt:' || receipt_id FROM receipts
WHERE tenant_id = :tenant_id AND project_id = :project_id AND session_id <> ''

-- name: optimize_words
-- Merges the full text index, which drops the terms of removed memories.
INSERT INTO memory_words (memory_words) VALUES ('optimize')

-- name: has_tombstones
-- One row if the file has tombstones.
SELECT 1 FROM sqlite_schema WHERE name = 'tombstones'

-- name: all_tombstones
-- Across scopes: every tombstone, of a file that nobody serves.
SELECT tenant_id, project_id, kind, digest, erased_us FROM tombstones
