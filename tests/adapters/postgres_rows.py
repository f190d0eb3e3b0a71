"""Rows of many scopes in every table of Postgres that grows, to look at plans and at costs with."""

SCOPES, ROWS = 10, 2_000

# Everything that grows: as many rows in each scope, one session for each 20 turns, everything one apart in time.
FILL = f"""
CREATE TEMPORARY TABLE n AS
SELECT 't' || s AS tenant_id, 'p' AS project_id, lpad(r::text, 6, '0') AS id, r, s
FROM generate_series(1, {SCOPES}) AS s, generate_series(1, {ROWS}) AS r;
INSERT INTO sidemirror.sessions SELECT tenant_id, project_id, 's' || id, r, r, 'x' FROM n;
INSERT INTO sidemirror.turns
SELECT tenant_id, project_id, id, 's' || lpad((r / 20)::text, 6, '0'), r % 20,
       CASE WHEN r % 10 = 0 THEN 'open' ELSE 'finished' END, 1, r, r, 'x'
FROM n;
INSERT INTO sidemirror.log_entries (tenant_id, project_id, topic, key, group_id, sequence, at_us, body)
SELECT tenant_id, project_id, CASE WHEN r % 10 = 0 THEN 'goal' ELSE 'turn' END, 'k' || r / 20,
       's' || lpad((r / 20)::text, 6, '0'), r, r, 'x'
FROM n ORDER BY r, s;
INSERT INTO sidemirror.requests SELECT tenant_id, project_id, 'm', id, r, 'd', 'a' FROM n;
INSERT INTO sidemirror.sources SELECT tenant_id, project_id, 'turn:' || r / 20, 'memory:' || id FROM n;
INSERT INTO sidemirror.sources SELECT tenant_id, project_id, 'subject:' || id, 'session:s' || id FROM n;
INSERT INTO sidemirror.erasures SELECT tenant_id, project_id, id, r, r, false, '{{}}' FROM n;
INSERT INTO sidemirror.erasing SELECT tenant_id, project_id, 'e' || r / 20, 'turn:' || id, r % 2 = 0 FROM n;
INSERT INTO sidemirror.tombstones SELECT tenant_id, project_id, 'turn', id::bytea, r FROM n;
INSERT INTO sidemirror.jobs (tenant_id, project_id, job_id, kind, state, due_us, attempts, max_attempts, run_at_us,
                             token, created_us, updated_us, payload)
SELECT tenant_id, project_id, id, CASE WHEN r % 2 = 0 THEN 'goal' ELSE 'dream' END,
       (ARRAY['queued', 'running', 'running', 'done', 'dead'])[1 + r % 5], CASE WHEN r % 5 < 3 THEN r END,
       CASE WHEN r % 5 = 2 AND r % 50 = 2 THEN 3 ELSE 1 END, 3, r, 1, r, r, 'x'
FROM n;
INSERT INTO sidemirror.ledger_totals SELECT tenant_id, project_id, r, 'reflect', 1, 1, 1, 1, 1 FROM n;
INSERT INTO sidemirror.ledger_envelopes SELECT tenant_id, r, '', 1, 1 FROM n;
INSERT INTO sidemirror.ledger_reservations SELECT tenant_id, project_id, id, r / 20, 'reflect', 1, 1, r FROM n;
INSERT INTO sidemirror.critiques
SELECT tenant_id, project_id, id, r, 'rules', r, r % 2 = 0, 'k' || r / 20, 's' || r / 20, 'x', 'success', NULL, r, 'm',
       NULL, NULL FROM n;
INSERT INTO sidemirror.memories
SELECT tenant_id, project_id, id, CASE WHEN r % 2 = 0 THEN 'strategy' ELSE 'reflection' END,
       CASE WHEN r % 10 = 0 THEN 'retired' ELSE 'active' END, 'x', 'rm', 0.5, NULL, 10, '', ARRAY['t' || r % 100], 2,
       1, r, r, 'x', '', 'w' || r % 100, '', '{{}}'
FROM n;
INSERT INTO sidemirror.memory_vectors SELECT tenant_id, project_id, id, 'm', ARRAY[1, 0, 0, 0]::real[] FROM n;
INSERT INTO sidemirror.memory_versions SELECT tenant_id, project_id, id, 1, 'x', '', 'x' FROM n;
INSERT INTO sidemirror.memory_keys
SELECT tenant_id, project_id, CASE WHEN r % 2 = 0 THEN 'strategy' ELSE 'reflection' END, 't:' || id, id FROM n;
INSERT INTO sidemirror.memory_lessons SELECT tenant_id, project_id, id, id, id, r FROM n;
INSERT INTO sidemirror.memory_links
SELECT tenant_id, project_id, 'm:' || id, 'similar_to', 'm:' || lpad((r % 100)::text, 6, '0'), r FROM n;
INSERT INTO sidemirror.memory_links SELECT tenant_id, project_id, 'm:' || id, 'mentions', 't:x', r FROM n;
INSERT INTO sidemirror.memory_outcomes SELECT tenant_id, project_id, id, 'success', r, NULL, '' FROM n;
INSERT INTO sidemirror.memory_project_envelopes (tenant_id, project_id, pruned_us)
SELECT 'u' || r, 'p', r FROM generate_series(1, 20000) AS r;
INSERT INTO sidemirror.dream_log SELECT tenant_id, project_id, r, id, 'x' FROM n;
INSERT INTO sidemirror.pruning_log (tenant_id, project_id, kind, count, pruned_us, before_us)
SELECT tenant_id, project_id, 'turns', 1, r, r FROM n;
INSERT INTO sidemirror.memory_embedders SELECT tenant_id, project_id, id, id, r FROM n;
INSERT INTO sidemirror.goal_reflections
SELECT tenant_id, project_id, 'g' || r / 20, r, id, 'o', 'i', 0.5, 'failed', 1 FROM n;
INSERT INTO sidemirror.goal_words SELECT tenant_id, project_id, 'w' || r % 100, id, r FROM n;
INSERT INTO sidemirror.goal_deletions SELECT tenant_id, project_id, id, r FROM n;
INSERT INTO sidemirror.policies
SELECT tenant_id, 'q' || id, 1,
       CASE WHEN r % 100 = 0 THEN '{{"policy":{{"retention":{{"trace_days":1}}}}}}' ELSE '{{}}' END::bytea
FROM n;
INSERT INTO sidemirror.policies
SELECT DISTINCT tenant_id, of, 1, '{{"policy":{{"retention":{{"trace_days":1}}}}}}'::bytea
FROM n, LATERAL (VALUES (''), (project_id)) AS own (of);
INSERT INTO sidemirror.receipts
SELECT tenant_id, project_id, id, CASE WHEN r % 2 = 0 THEN 'goal' ELSE 'turn' END, r, 'k' || r / 20, 's' || r / 20, '',
       ('{{"held_back":["l' || r / 20 || '"]}}')::bytea
FROM n;
INSERT INTO sidemirror.receipt_items SELECT tenant_id, project_id, id::bytea, id FROM n;
INSERT INTO sidemirror.lesson_trials
SELECT tenant_id, project_id, 'r' || r / 10, 'm' || r % 10, 1,
       CASE WHEN r % 4 = 0 THEN 'held_back' ELSE 'shown' END, 0.25, r, r % 3 = 0, NULL
FROM n;
INSERT INTO sidemirror.observations
SELECT tenant_id, project_id, id, lpad((r / 20)::text, 6, '0'), lpad((r / 10)::text, 6, '0'), 's' || r % 100, r, 'x'
FROM n;
INSERT INTO sidemirror.imported_observation_envelopes SELECT tenant_id, project_id, id, r FROM n;
ANALYZE;
"""
