"""Texts that would steer whoever reads them, and lessons that an agent learns on any day. Written for this project.

`steering_texts.jsonl`: family, language, text; `unseen` were written before their author had read the detector and are
never changed to suit it. `ordinary_lessons.txt`: one a line, also written beforehand. The last 100 texts
and the last 600 lessons are of others, who never saw the project. The lessons came in three sets of 200. Of the first
11 were quarantined at first, of the second 5, and the rules were mended on both. Of the third it is 1, and nothing was
changed after it.
"""

import json
from pathlib import Path

import msgspec

_FOLDER = Path(__file__).parent


class SteeringText(msgspec.Struct, frozen=True):
    """One of them."""

    family: str
    language: str
    text: str
    unseen: bool


STEERING_TEXTS = tuple(
    msgspec.convert(json.loads(line), SteeringText)
    for line in (_FOLDER / "steering_texts.jsonl").read_text(encoding="utf-8").splitlines()
)
ORDINARY_LESSONS = tuple((_FOLDER / "ordinary_lessons.txt").read_text(encoding="utf-8").splitlines())
