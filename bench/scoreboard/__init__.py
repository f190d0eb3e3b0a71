"""Measures that need no language model, for Sidemirror and for peers that keep memories of agents."""
