"""`OpenAICompatibleModel`: the `LanguageModel` behind Chat Completions."""

from sidemirror_server.models.adapters.remote import Connection, RemoteModel, what_is_missing

_OFFICIAL_URL = "https://api.openai.com/v1"


class OpenAICompatibleModel(RemoteModel):
    """A model of OpenAI's, or of a server that speaks as OpenAI does."""

    def __init__(self, model: str, api_key: str | None, base_url: str | None = None) -> None:
        """`base_url`: up to and including `/v1`, of a server that may want no key; None is OpenAI, which wants one."""

        def connect(rehearsal_url: str | None) -> Connection:
            from sidemirror_server.models.adapters.openai_compatible.chat import Chat

            if rehearsal_url is not None:
                return Chat(model, "none", rehearsal_url, direct=True)
            return Chat(model, api_key or "none", base_url or _OFFICIAL_URL)

        super().__init__("openai_compatible", model, what_is_missing("openai", api_key, base_url), connect)
