-- What is forgotten when it is old (models/ledger.py, critique/store.py): the envelopes, which look across scopes and hold
-- days and times only.

-- Entries of a scope, as they are counted.
CREATE INDEX ledger_totals_days ON ledger_totals (day) WHERE project_id > '' AND purpose > '';
-- Sums over several of them.
CREATE INDEX ledger_totals_sums ON ledger_totals (day) WHERE project_id = '' OR purpose = '';
CREATE INDEX ledger_reservations_days ON ledger_reservations (day);
CREATE INDEX critiques_made ON critiques (created_us);
