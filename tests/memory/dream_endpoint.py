"""A provider on loopback that dreams: of each cluster it says what its memories have in common, by a script."""

import json
import re
from collections.abc import Mapping
from hashlib import blake2b

from tests.models.endpoint import Call, Endpoint

# A memory of the prompt begins its line with its id.
_ID = re.compile(r"^\[([0-9a-f]{8}-[0-9a-f-]{27})\]", re.MULTILINE)


class DreamEndpoint(Endpoint):
    """Every third answer cites one memory alone, which supports nothing."""

    answers = 0

    def _made(self, call: Call) -> tuple[int, Mapping[str, str], bytes]:
        told = json.dumps(call.body)
        if "supporting_memory_ids" in told:
            ids = _ID.findall("\n".join(str(message["content"]) for message in call.body["messages"]))
            named = blake2b("".join(sorted(ids)).encode(), digest_size=6).hexdigest()
            self.answers += 1
            self.answer = {
                "lesson": f"These {len(ids)} cases went wrong for one reason, which has the number {named}.",
                "strategy": f"Look at what the failure says before the next call, as in {named}.",
                "importance": 0.7,
                "confidence": 0.6,
                "tags": ["again"],
                "supporting_memory_ids": ids[:1] if self.answers % 3 == 0 else ids,
            }
        return super()._made(call)
