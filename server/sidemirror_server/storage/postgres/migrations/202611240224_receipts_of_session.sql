-- compatible: yes
-- A session's receipts in the order of their times: what was asked while one of its turns ran is read alone, however many
-- there are. Earlier servers find them by it too.
DROP INDEX sidemirror.receipts_of_session;
CREATE INDEX receipts_of_session ON sidemirror.receipts (tenant_id, project_id, session_id, time_us, receipt_id)
WHERE session_id <> '';
