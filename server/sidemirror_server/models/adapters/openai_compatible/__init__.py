"""OpenAI, Ollama, vLLM, llama.cpp and other servers with Chat Completions, through OpenAI's official SDK. The SDK is
imported when it is first used."""

from sidemirror_server.models.adapters.openai_compatible.embedder import OpenAICompatibleEmbedder
from sidemirror_server.models.adapters.openai_compatible.model import OpenAICompatibleModel

__all__ = ["OpenAICompatibleEmbedder", "OpenAICompatibleModel"]
