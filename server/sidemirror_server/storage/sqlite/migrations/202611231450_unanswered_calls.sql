-- What of a day's settled amount is an estimate, and of how many calls, because no model answered (models/ledger.py).
ALTER TABLE ledger_totals ADD COLUMN unanswered_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger_totals ADD COLUMN estimated_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger_totals ADD COLUMN estimated_nano_usd INTEGER NOT NULL DEFAULT 0;
