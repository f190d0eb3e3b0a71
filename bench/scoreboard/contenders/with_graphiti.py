"""Graphiti without a language model, on Kuzu, the embedded one of its databases: a user is a group.

What a model would extract is not there, so each text is one fact between two nodes of the user, whose id is the text's
digest. Facts are found by their words and by their vectors, which is its own search. Names of groups are digests too:
it takes letters, digits, dashes and underscores there.
"""

import asyncio
import hashlib
import os
import uuid
import warnings
from datetime import UTC, datetime
from pathlib import Path

os.environ |= {"GRAPHITI_TELEMETRY_ENABLED": "false", "OPENAI_API_KEY": "none", "EMBEDDING_DIM": "384"}

from graphiti_core import Graphiti as Graph
from graphiti_core.driver.kuzu_driver import KuzuDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig
from graphiti_core.errors import EdgeNotFoundError, GroupsEdgesNotFoundError
from graphiti_core.graph_queries import get_fulltext_indices
from graphiti_core.nodes import EntityNode
from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.utils.maintenance.graph_data_operations import clear_data
from serving import Embedding, Texts, serve

_SPACE = uuid.UUID("9c0a9c0e-0f0b-4d0c-8d57-6d5f0c8a3a11")


class Graphiti(Texts):
    def __init__(self, folder: Path, embedding: Embedding) -> None:
        warnings.simplefilter("ignore", DeprecationWarning)
        folder.mkdir(exist_ok=True)
        is_new = not (folder / "graph.kuzu").exists()
        self._run = asyncio.Runner().run
        self._driver = KuzuDriver(str(folder / "graph.kuzu"), max_concurrent_queries=4)
        model = OpenAIEmbedderConfig(embedding_model=embedding.name, base_url=embedding.url, api_key="none")
        self._embedder = OpenAIEmbedder(model)
        self._graph = Graph(graph_driver=self._driver, embedder=self._embedder)
        self._users = set[str]()
        # The driver makes no index for words.
        for query in ("INSTALL FTS", "LOAD FTS", *(get_fulltext_indices(self._driver.provider) if is_new else ())):
            self._run(self._driver.execute_query(query))

    def keep(self, user: str, texts: list[str], outcome: str = "") -> list[str]:
        return list(self._run(self._keep(_group(user), texts, outcome or "LEARNED")))

    async def _keep(self, group: str, texts: list[str], kind: str) -> list[str]:
        now = datetime.now(UTC)
        ends = [str(uuid.uuid5(_SPACE, f"{group} {name}")) for name in ("agent", "work")]
        for node in ends if group not in self._users else ():
            vector = [0.0] * self._embedder.config.embedding_dim
            await EntityNode(uuid=node, name=node, group_id=group, name_embedding=vector).save(self._driver)
        self._users.add(group)
        ids = [str(uuid.uuid5(_SPACE, f"{group} {text}")) for text in texts]
        for one, text, vector in zip(ids, texts, await self._embedder.create_batch(texts), strict=True):
            await EntityEdge(
                uuid=one, group_id=group, source_node_uuid=ends[0], target_node_uuid=ends[1],
                name=kind, fact=text, fact_embedding=vector, created_at=now, valid_at=now,
            ).save(self._driver)  # fmt: skip
        return ids

    def find(self, user: str, text: str, k: int, outcome: str = "") -> list[list[str]]:
        config = EDGE_HYBRID_SEARCH_RRF.model_copy(update={"limit": k}, deep=True)
        if config.edge_config is not None:
            config.edge_config.sim_min_score = 0.0  # its 0.6 leaves out most of what this sentence model finds
        only = SearchFilters(edge_types=[outcome] if outcome else None)
        found = self._run(self._graph.search_(text, config=config, group_ids=[_group(user)], search_filter=only))
        return [[one.uuid, one.fact] for one in found.edges]

    def kept(self, user: str) -> list[str]:
        try:
            return [one.uuid for one in self._run(EntityEdge.get_by_group_ids(self._driver, [_group(user)]))]
        except GroupsEdgesNotFoundError:
            return []

    def read(self, user: str, memory: str) -> str | None:
        try:
            found = self._run(EntityEdge.get_by_uuid(self._driver, memory))  # it takes no group: one has to compare
        except EdgeNotFoundError:
            return None
        return found.fact if found.group_id == _group(user) else None

    def forget(self, user: str) -> None:
        self._run(clear_data(self._driver, [_group(user)]))
        self._users.discard(_group(user))
        self._run(self._driver.execute_query("CHECKPOINT"))

    def close(self) -> None:
        self._run(self._driver.close())


def _group(user: str) -> str:
    return hashlib.sha256(user.encode()).hexdigest()


if __name__ == "__main__":
    serve(Graphiti)
