-- A session's receipts in the order of their times: what was asked while one of its turns ran is read alone, however many
-- there are.
DROP INDEX receipts_of_session;
CREATE INDEX receipts_of_session ON receipts (tenant_id, project_id, session_id, time_us, receipt_id)
WHERE session_id <> '';
