-- compatible: yes
-- What of a day's settled amount is an estimate, and of how many calls, because no model answered (models/ledger.py).
-- Earlier servers count such calls at their reservation.
ALTER TABLE sidemirror.ledger_totals
ADD COLUMN unanswered_calls bigint NOT NULL DEFAULT 0,
ADD COLUMN estimated_tokens bigint NOT NULL DEFAULT 0,
ADD COLUMN estimated_nano_usd bigint NOT NULL DEFAULT 0;
