"""The model that needs no key and no network. It reads typed evidence instead of a prompt (decision 025)."""

from sidemirror_server.models.adapters.rules.model import RulesModel

__all__ = ["RulesModel"]
