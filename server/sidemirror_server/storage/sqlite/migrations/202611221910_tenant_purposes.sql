-- What a tenant spent for each purpose in all its projects (models/ledger.py): a total that had no row before.

INSERT INTO ledger_totals
SELECT tenant_id, '', day, purpose, sum(calls), sum(settled_tokens), sum(settled_nano_usd), sum(reserved_tokens),
       sum(reserved_nano_usd)
FROM ledger_totals
WHERE tenant_id > '' AND project_id > '' AND purpose > ''
GROUP BY tenant_id, day, purpose;
