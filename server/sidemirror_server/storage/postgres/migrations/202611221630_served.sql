-- compatible: yes
-- What a sidecar serves (vocabulary/scope.py): a tenant's envelopes by time, so that a sidecar which serves one tenant
-- reads nothing of the others, however much they have left undone. The project is in the index: it is compared there.

CREATE INDEX job_envelopes_due_of ON sidemirror.job_envelopes (tenant_id, due_us, position, project_id)
WHERE due_us IS NOT NULL;
CREATE INDEX job_envelopes_done_of ON sidemirror.job_envelopes (tenant_id, done_us, project_id)
WHERE done_us IS NOT NULL;
CREATE INDEX job_envelopes_dead_of ON sidemirror.job_envelopes (tenant_id, dead_us, project_id)
WHERE dead_us IS NOT NULL;
CREATE INDEX request_envelopes_expire_of ON sidemirror.request_envelopes (tenant_id, expires_us, project_id);
CREATE INDEX receipt_envelopes_oldest_of ON sidemirror.receipt_envelopes (tenant_id, time_us, project_id);
CREATE INDEX critique_envelopes_old_of ON sidemirror.critique_envelopes (tenant_id, created_us, project_id);
CREATE INDEX lesson_trial_envelopes_oldest_of ON sidemirror.lesson_trial_envelopes (tenant_id, assigned_us, project_id);
CREATE INDEX ended_turn_envelopes_old_of ON sidemirror.ended_turn_envelopes (tenant_id, updated_us, project_id);
CREATE INDEX ledger_day_envelopes_old_of ON sidemirror.ledger_day_envelopes (tenant_id, day, project_id);

-- Those by time alone, for whoever serves everything, get the tenant too. A policy on a tenant (decision 043) is then a
-- condition of the index. As a filter on rows that were found by time, it would tell a tenant how many rows others have
-- within any time that it asks about (EXPLAIN ANALYZE).
DROP INDEX sidemirror.job_envelopes_due, sidemirror.job_envelopes_done, sidemirror.job_envelopes_dead,
           sidemirror.request_envelopes_expire, sidemirror.receipt_envelopes_oldest, sidemirror.critique_envelopes_old,
           sidemirror.lesson_trial_envelopes_oldest, sidemirror.ended_turn_envelopes_old,
           sidemirror.ledger_day_envelopes_old, sidemirror.ledger_envelopes_old,
           sidemirror.memory_project_envelopes_pruned;
CREATE INDEX job_envelopes_due ON sidemirror.job_envelopes (due_us, position, tenant_id) WHERE due_us IS NOT NULL;
CREATE INDEX job_envelopes_done ON sidemirror.job_envelopes (done_us, tenant_id) WHERE done_us IS NOT NULL;
CREATE INDEX job_envelopes_dead ON sidemirror.job_envelopes (dead_us, tenant_id) WHERE dead_us IS NOT NULL;
CREATE INDEX request_envelopes_expire ON sidemirror.request_envelopes (expires_us, tenant_id);
CREATE INDEX receipt_envelopes_oldest ON sidemirror.receipt_envelopes (time_us, tenant_id);
CREATE INDEX critique_envelopes_old ON sidemirror.critique_envelopes (created_us, tenant_id);
CREATE INDEX lesson_trial_envelopes_oldest ON sidemirror.lesson_trial_envelopes (assigned_us, tenant_id);
CREATE INDEX ended_turn_envelopes_old ON sidemirror.ended_turn_envelopes (updated_us, tenant_id);
CREATE INDEX ledger_day_envelopes_old ON sidemirror.ledger_day_envelopes (day, tenant_id);
CREATE INDEX ledger_envelopes_old ON sidemirror.ledger_envelopes (day, tenant_id);
CREATE INDEX memory_project_envelopes_pruned ON sidemirror.memory_project_envelopes (pruned_us, tenant_id);
