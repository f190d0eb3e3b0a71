"""agent-memory-server, by its REST API, with Redis on disk and no language model: a user is a `user_id`.

What would ask a model is switched off by its settings. Texts are found by their vectors, its default. It answers before
a text is indexed, which `settle` waits for. Ids are digests, so that a text that is kept again is no second memory.
Names of users are digests too: it compares them without case, and its search takes `%` for something else.
"""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import redis
from redis_search import free_port, start
from serving import Embedding, Texts, serve

_PAGE, _PATIENCE_S = 100, 120.0
_ASKS_A_MODEL = "ENABLE_TOPIC_EXTRACTION ENABLE_NER ENABLE_DISCRETE_MEMORY_EXTRACTION COMPACT_SEMANTIC_DUPLICATES"


class AgentMemoryServer(Texts):
    def __init__(self, folder: Path, embedding: Embedding, python: str) -> None:
        server, redis_port = start(python, folder / "redis")
        port, url = free_port(), f"redis://127.0.0.1:{redis_port}"
        settings = {
            "REDIS_URL": url, "OPENAI_API_BASE": embedding.url, "OPENAI_API_KEY": "none", "DISABLE_AUTH": "true",
            "EMBEDDING_MODEL": f"openai/{embedding.name}", "REDISVL_VECTOR_DIMENSIONS": str(embedding.dimensions),
            "REDISVL_INDEXING_ALGORITHM": "FLAT", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        } | dict.fromkeys(_ASKS_A_MODEL.split(), "false")  # fmt: skip
        command = [str(Path(sys.executable).with_name("agent-memory")), "api", "--host", "127.0.0.1"]
        api = subprocess.Popen(
            [*command, "--port", str(port), "--task-backend", "asyncio"], env=os.environ | settings, cwd=folder
        )
        self._processes = [api, server]
        self._redis = redis.Redis.from_url(url)
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=_PATIENCE_S, trust_env=False)
        self._sent = dict[str, set[str]]()
        _until(self._is_up)
        # Makes the index: of two requests that would make it, one loses what it was given. Loads the model's client.
        self.find("", "warm", 1)

    def _is_up(self) -> bool:
        try:
            return self._http.get("/v1/health").is_success
        except httpx.TransportError:
            return False

    def _ask(self, method: str, path: str = "", **sent: Any) -> httpx.Response:
        url = f"/v1/long-term-memory{path}"
        try:
            return self._http.request(method, url, **sent)
        except (httpx.ReadError, httpx.RemoteProtocolError):  # it closes what is idle, also while it is busy itself
            return self._http.request(method, url, **sent)

    def keep(self, user: str, texts: list[str], outcome: str = "") -> list[str]:
        owner = _digest(user)
        ids = [_digest(f"{user} {text}") for text in texts]
        memories = [
            {"id": one, "text": text, "user_id": owner, "topics": [outcome] if outcome else [],
             "memory_type": "semantic", "discrete_memory_extracted": "t"} for one, text in zip(ids, texts, strict=True)
        ]  # fmt: skip
        self._ask("POST", "/", json={"memories": memories, "deduplicate": False}).raise_for_status()
        self._sent.setdefault(user, set()).update(ids)
        return ids

    def find(self, user: str, text: str, k: int, outcome: str = "", offset: int = 0) -> list[list[str]]:
        wanted: dict[str, Any] = {"text": text, "user_id": {"eq": _digest(user)}, "limit": k, "offset": offset}
        wanted |= {"recency_boost": False} | ({"topics": {"any": [outcome]}} if outcome else {})
        found = self._ask("POST", "/search", json=wanted).raise_for_status().json()["memories"]
        return [[one["id"], one["text"]] for one in found]

    def kept(self, user: str) -> list[str]:
        ids = list[str]()
        while len(ids) % _PAGE == 0 and (page := self.find(user, "", _PAGE, offset=len(ids))):
            ids += [one for one, _ in page]
        return ids

    def read(self, user: str, memory: str) -> str | None:
        answer = self._ask("GET", f"/{memory}")  # it takes no user: whoever asks has to compare
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        found = answer.raise_for_status().json()
        return str(found["text"]) if found["user_id"] == _digest(user) else None

    def forget(self, user: str) -> None:
        self.settle(user)
        ids = self.kept(user)
        for at in range(0, len(ids), _PAGE):
            self._ask("DELETE", params={"memory_ids": ids[at : at + _PAGE]}).raise_for_status()
        self._sent.pop(user, None)
        self._redis.bgrewriteaof()  # the log of commands has the deleted texts until then
        _until(lambda: not self._redis.info("persistence")["aof_rewrite_in_progress"])

    def settle(self, user: str) -> str:
        _until(lambda: self._sent.get(user, set()) <= set(self.kept(user)))
        return ""

    def close(self) -> None:
        for process in self._processes:
            process.terminate()
            process.wait()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _until(done: Any) -> None:
    """Waits for what the server does behind the answer; not for ever."""
    end = time.monotonic() + _PATIENCE_S
    while not done() and time.monotonic() < end:
        time.sleep(0.02)


if __name__ == "__main__":
    serve(AgentMemoryServer)
