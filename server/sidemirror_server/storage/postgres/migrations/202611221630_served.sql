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
