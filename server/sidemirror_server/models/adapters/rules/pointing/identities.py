"""Finds orders, files, addresses and persons that differ from those on record."""

import re
from collections.abc import Iterator

from sidemirror_server.models.adapters.rules.pointing.point import Point
from sidemirror_server.models.adapters.rules.pointing.reading import Reading, is_unreal
from sidemirror_server.models.adapters.rules.pointing.record import DataField
from sidemirror_server.models.adapters.rules.pointing.texts import Spoken, distance_at_most_one, stem

_MAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}")
_PATH = re.compile(
    r"(?<![\w@/])(?:(?:/|\./|~/)(?:[\w.-]{1,60}/){0,12}|(?:[\w.-]{1,60}/){2,12})[\w.-]{1,60}|"
    r"(?<![\w@/])[\w.-]{1,60}/[\w-]{1,60}\.[a-z]{1,5}\b|\b[\w-]{1,60}\.(?:py|js|ts|tsx|go|rs|java|md|json|"
    r"ya?ml|toml|txt|csv|sql|sh|html|css|pdf|xlsx|docx|log|ini|cfg|conf|xml|c|h|cpp|rb|kt)\b"
)
_ID = re.compile(r"#?\b(?=[A-Za-z0-9_-]{0,40}\d)[A-Za-z0-9]{1,40}(?:[_-][A-Za-z0-9]{1,40}){0,6}\b")
_PERSON = re.compile(
    r"\b[A-Z][a-zà-öø-ÿ'’-]{1,20}(?: (?:[A-Z]\.|de|van|von|da|al|bin)){0,2}(?: [A-Z][a-zà-öø-ÿA-Z'’-]{1,20}){0,2}"
)
_LAST_FOUR = re.compile(r"\bending (?:in|with) [*`]{0,2}(\d{2,4})\b", re.IGNORECASE)
_ROLES_TEXT = (
    "assignee assigned owner owned author manager managed approver approved reviewer reviewed customer "
    "name contact reporter reported creator "
    "created sender sent recipient lead maintainer supervisor director ceo president founder doctor "
    "physician host organizer requester manufacturer "
    "city country capital airline carrier vendor supplier branch region seller winner teacher instructor "
    "tenant landlord destination origin"
)
_ROLES = frozenset(map(stem, _ROLES_TEXT.split()))
_ROLE_SAID = re.compile(
    r"\b(?P<role>[a-z]{3,20})(?: [a-z]{2,12}){0,4}? (?:is|are|was|to|by|from|as|named|called|:)[ "
    r"*_`\"]{1,4}(?P<who>[A-Z][\w'’.-]{1,24}(?: [A-Z][\w'’.-]{1,24}){0,3})",
)
_NOT_A_NAME_TEXT = (
    "I The This That Your You We It There Here Please Monday Tuesday Wednesday Thursday Friday Saturday "
    "Sunday January February March April May "
    "June July August September October November December USD EUR UTC AM PM OK Yes No"
)
_NOT_A_NAME = frozenset(_NOT_A_NAME_TEXT.split())
_FIX = "Take it from the record, letter by letter."
_REASON = "The record has another one."


def identities(reading: Reading) -> Iterator[Point]:
    """Finds addresses, paths, ids and names that are not on record, if the record has a nearly equal one, or only one
    of that kind. Finds persons in a role that the record gives to somebody else."""
    for pattern, near in ((_MAIL, _near_mail), (_PATH, _near_path), (_ID, _near_id)):
        recorded = dict.fromkeys(_trimmed(match[0]) for match in pattern.finditer(reading.record.text))
        for sentence in reading.sentences:
            for match in pattern.finditer(sentence.text):
                said = _trimmed(match[0])
                if said.casefold().lstrip("#/.~") in reading.record.folded or _makes(sentence, match.start()):
                    continue
                found = [other for other in recorded if near(said, other)]
                if len(found) == 1 and found[0].casefold() not in reading.folded:
                    yield Point("wrong_fact", said, found[0], _REASON, _FIX)
    yield from _last_four(reading)
    yield from _persons(reading)
    yield from _roles(reading)


def _near_mail(said: str, other: str) -> bool:
    (one, _, at), (two, _, there) = said.casefold().rpartition("@"), other.casefold().rpartition("@")
    return (one == two) != (at == there) or distance_at_most_one(said.casefold(), other.casefold())


def _near_path(said: str, other: str) -> bool:
    one, two = said.split("/"), other.split("/")
    if len(one) == len(two) > 1 and sum(a != b for a, b in zip(one, two, strict=True)) == 1:
        return one[-1].rpartition(".")[2] == two[-1].rpartition(".")[2]
    return len(said) > 5 and distance_at_most_one(said, other)


def _near_id(said: str, other: str) -> bool:
    if len(said.lstrip("#")) < 5 or _shape(said) != _shape(other):
        return False
    said, other = said.lstrip("#").casefold(), other.lstrip("#").casefold()
    if distance_at_most_one(said, other):
        return True
    return len(said) >= 7 and sum(a != b for a, b in zip(said, other, strict=True)) == 2


def _shape(text: str) -> str:
    return re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "0", text.lstrip("#")))


def _last_four(reading: Reading) -> Iterator[Point]:
    recorded = [
        field
        for field in reading.record.fields
        if "last" in field.key.casefold() and re.fullmatch(r"\d{2,4}", str(field.value).removesuffix(".0"))
    ]
    for match in _LAST_FOUR.finditer(reading.answer):
        if recorded and match[1] not in reading.record.text:
            field = recorded[0]
            if len({one.value for one in recorded}) == 1:
                yield Point("wrong_fact", match[0], field.quote, _REASON, _FIX)


def _persons(reading: Reading) -> Iterator[Point]:
    """Finds names of two words that differ from the only such name on record in one word, or in one letter."""
    recorded = {match[0] for match in _PERSON.finditer(reading.record.text) if " " in match[0]}
    for sentence in reading.sentences:
        for match in _PERSON.finditer(sentence.text):
            said = match[0].split()
            if len(said) != 2 or set(said) & _NOT_A_NAME or match[0].casefold() in reading.record.folded:
                continue
            found = [
                other
                for other in recorded
                if len(other.split()) == 2
                and any(
                    distance_at_most_one(one, two) and other.replace(two, one) == match[0]
                    for one, two in zip(said, other.split(), strict=True)
                    if len(one) > 3
                )
            ]
            if len(found) == 1 and found[0].casefold() not in reading.folded:
                yield Point("wrong_fact", match[0], found[0], _REASON, _FIX)


def _roles(reading: Reading) -> Iterator[Point]:
    """Finds a person in a role for which the record names exactly one person, who is another."""
    fields = [field for field in reading.record.fields if isinstance(field.value, str) and set(field.name) & _ROLES]
    for sentence in reading.sentences if fields else ():
        if is_unreal(sentence.text):
            continue
        for match in _ROLE_SAID.finditer(sentence.text):
            role, who = stem(match["role"]), match["who"].rstrip(".'’")
            if role not in _ROLES or who.split()[0] in _NOT_A_NAME or who.casefold() in reading.record.folded:
                continue
            meant = reading.about(sentence, [field for field in fields if _role_of(field, role)])
            found = {str(field.value): field for field in meant if _is_a_name(field)}
            if len(found) == 1:
                ((value, field),) = found.items()
                if not set(value.casefold().split()) & set(reading.folded.split()):
                    yield Point("wrong_fact", match[0], field.quote, _REASON, _FIX)


def _role_of(field: DataField, role: str) -> bool:
    return any(role == word or (len(role) > 4 and word[:5] == role[:5]) for word in field.name)


def _is_a_name(field: DataField) -> bool:
    return re.fullmatch(r"[A-Z][\w'’. -]{1,40}", str(field.value)) is not None


def _makes(sentence: Spoken, start: int) -> bool:
    """Whether what follows is a proposal of the answer's own: `save it as`, `for example`."""
    return (
        re.search(
            r"\b(?:as|e\.g\.|example|like|create|named|called|new|add)[ :*`\"]{1,3}$",
            sentence.text[max(0, start - 14) : start],
        )
        is not None
    )


def _trimmed(text: str) -> str:
    return text.rstrip(".,;:")
