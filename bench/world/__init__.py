"""A world whose conventions an agent can learn from its failures; see bench/README.md."""
