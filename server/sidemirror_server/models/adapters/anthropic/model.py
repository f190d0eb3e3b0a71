"""`AnthropicModel`: the `LanguageModel` behind the Messages API."""

from sidemirror_server.models.adapters.remote import Connection, RemoteModel, what_is_missing

_OFFICIAL_URL = "https://api.anthropic.com"


class AnthropicModel(RemoteModel):
    """Claude."""

    def __init__(self, model: str, api_key: str | None, base_url: str | None = None) -> None:
        """`base_url`: the address of a proxy, which may need no key. None: Anthropic, which needs a key."""

        address = base_url or _OFFICIAL_URL

        def connect(rehearsal_url: str | None) -> Connection:
            from sidemirror_server.models.adapters.anthropic.messages import Messages

            if rehearsal_url is not None:
                return Messages(model, "none", rehearsal_url, direct=True)
            return Messages(model, api_key or "none", address)

        super().__init__("anthropic", model, address, what_is_missing("anthropic", api_key, base_url), connect)
