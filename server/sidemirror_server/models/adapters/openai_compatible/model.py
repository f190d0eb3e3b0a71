"""`OpenAICompatibleModel`: the `LanguageModel` behind Chat Completions."""

from sidemirror_server.models.adapters.remote import Connection, RemoteModel, what_is_missing

_OFFICIAL_URL = "https://api.openai.com/v1"


class OpenAICompatibleModel(RemoteModel):
    """A model of OpenAI or of a compatible server."""

    def __init__(self, model: str, api_key: str | None, base_url: str | None = None) -> None:
        """`base_url`: a server's address including `/v1`, which may need no key. None: OpenAI, which needs a key."""

        address = base_url or _OFFICIAL_URL

        def connect(rehearsal_url: str | None) -> Connection:
            from sidemirror_server.models.adapters.openai_compatible.chat import Chat

            if rehearsal_url is not None:
                return Chat(model, "none", rehearsal_url, direct=True)
            return Chat(model, api_key or "none", address)

        super().__init__("openai_compatible", model, address, what_is_missing("openai", api_key, base_url), connect)
