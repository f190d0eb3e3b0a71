"""The links from memories to each other, and to what they mention. Field names and enum values are part of the stored
format. Pure.

When each kind of link from a memory is made:

- `strategy_of`: from a strategy to its reflection, when it is learned; also to a later reflection that teaches it again
- `derived_from`: to the memories that it was made with (`related_ids`), when it is learned
- `same_error`: from a reflection to the newest others with its error signature, when the reflection is learned
- `mentions`: to its tools, error categories, error signature and the names in its text, when it is learned
- `similar_to`: to older memories with nearly the same words, soon after it is learned (`finding/similarity_links.py`)
- `supersedes`: by LinkReflections or an import
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from sidemirror_server.memory.kin.signature import tool_of
from sidemirror_server.memory.record import LinkKind, MemoryKind, MemoryRecord, NewLink
from sidemirror_server.vocabulary.errors import BadInput
from sidemirror_server.vocabulary.terms import telling_terms

# Limits of one memory: its `same_error` links, the names in its text, and its `similar_to` links. Chosen here: a group
# stays connected without n * n links among n memories.
MOST_SAME_ERROR = 8
MOST_NAMES = 8
MOST_SIMILAR = 5
# The longest name of a node. Contract: GraphPoint.id.
LONGEST_NAME = 256


class NodeKind(StrEnum):
    """The kinds of nodes. A node's key begins with the first letter of its kind."""

    MEMORY = "memory"
    TOOL = "tool"
    CATEGORY = "category"
    SIGNATURE = "signature"
    NAME = "name"


_KINDS = {kind.value[0]: kind for kind in NodeKind}


class Node(msgspec.Struct, frozen=True):
    """A memory, named by its id, or something that memories mention."""

    kind: NodeKind
    name: str

    @property
    def key(self) -> str:
        """The form in which stores keep the node."""
        return f"{self.kind.value[0]}:{self.name}"


class Link(msgspec.Struct, frozen=True):
    """A link between two nodes, by their keys. The source is a memory."""

    source: str
    kind: LinkKind
    target: str
    created_us: int = 0


def in_order(links: Iterable[Link]) -> tuple[Link, ...]:
    """The links without duplicates: the newest first, then by kind, source and target."""
    return tuple(sorted(dict.fromkeys(links), key=lambda one: (-one.created_us, one.kind, one.source, one.target)))


def node_of(key: str) -> Node:
    """The node of a key."""
    return Node(_KINDS[key[0]], key[2:])


def is_key(text: str) -> bool:
    """Whether the text is a node's key."""
    return len(text) > 2 and text[1] == ":" and text[0] in _KINDS


def memory_key(memory_id: str) -> str:
    """The key of a memory's node."""
    return Node(NodeKind.MEMORY, memory_id).key


def check_link(link: Link, place: str) -> None:
    """Raises BadInput if the source is no memory, if both ends are the same, or if the target does not suit the kind:
    `mentions` never leads to a memory, the other kinds always do. `place`: the field of the request."""
    source, target = node_of(link.source), node_of(link.target)
    if source.kind is not NodeKind.MEMORY:
        raise BadInput([(f"{place}.source", "a memory")])
    if (target.kind is NodeKind.MEMORY) == (link.kind is LinkKind.MENTIONS):
        raise BadInput([(f"{place}.target", "a memory, or for LINK_KIND_MENTIONS what is none")])
    if link.source == link.target:
        raise BadInput([(f"{place}.target", "another memory than the source")])


def links_of(memory: MemoryRecord) -> tuple[NewLink, ...]:
    """The links that follow from a memory's fields."""
    found = [NewLink(LinkKind.STRATEGY_OF, memory_key(memory.strategy_of))] if memory.strategy_of else []
    found += [NewLink(LinkKind.DERIVED_FROM, memory_key(one)) for one in memory.related_ids if one != memory.memory_id]
    found += [NewLink(LinkKind.MENTIONS, node.key) for node in _mentioned(memory)]
    return tuple(link for link in dict.fromkeys(found) if len(link.target) <= LONGEST_NAME + 2)


def signature_key(memory: MemoryRecord) -> str:
    """The key of a reflection's error signature, which other reflections on that failure share; empty if none."""
    told = memory.error_signature if memory.kind is MemoryKind.REFLECTION else ""
    return Node(NodeKind.SIGNATURE, told).key if told else ""


def _mentioned(memory: MemoryRecord) -> Iterator[Node]:
    when = memory.applies_when
    failed = tool_of(memory.error_signature) if memory.error_signature else ""
    yield from (Node(NodeKind.TOOL, tool) for tool in (*when.tools, failed) if tool)
    yield from (Node(NodeKind.CATEGORY, one) for one in (memory.error_category, *when.error_categories) if one)
    # A strategy is found through its reflection.
    if memory.error_signature and memory.kind is MemoryKind.REFLECTION:
        yield Node(NodeKind.SIGNATURE, memory.error_signature)
    yield from (Node(NodeKind.NAME, name) for name in names_in(memory.content))


_WORD = re.compile(r"[A-Za-z_][\w]{0,60}(?:[./-][\w]{1,60}){0,6}")
_INNER = re.compile(r"[a-z0-9][A-Z]|_|[a-z]\.[a-z]|/")
# The text before the first word of a sentence, which may be capitalised without being a name.
_SENTENCE = re.compile(r"(?:^|[.!?:;\n\"“(*\-•]\s{0,3})\Z")


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text, in lower case, in the order of their first mention, at most MOST_NAMES: names in code, paths
    and file names, and capitalised words within a sentence."""
    found: dict[str, None] = {}
    for word in _WORD.finditer(text):
        name = word[0]
        if name.islower() and name.isalnum():  # most words
            continue
        in_code = _INNER.search(name) is not None
        begins = name[0].isupper() and not _SENTENCE.search(text, max(0, word.start() - 5), word.start())
        if len(name) > 1 and (in_code or (begins and telling_terms(name))):
            found[name.strip("_").casefold()] = None
            if len(found) == MOST_NAMES:
                break
    return tuple(name for name in found if name)
