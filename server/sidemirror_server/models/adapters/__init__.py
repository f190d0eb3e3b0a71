"""Language models: one folder per provider. Only `assembly` imports from here."""
