-- compatible: yes
-- What a turn was shown, and what was held back from it (trace/receipts.py).

CREATE INDEX receipts_of_turn ON sidemirror.receipts (tenant_id, project_id, turn_id, time_us, receipt_id)
WHERE turn_id <> '';
