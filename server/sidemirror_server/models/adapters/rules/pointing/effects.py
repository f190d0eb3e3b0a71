"""What recorded calls change, and which of them have failed."""

import re

from sidemirror_server.models.adapters.rules.pointing.record import ARGUMENT_CHARS, PastCall, Record, jsons_in
from sidemirror_server.models.adapters.rules.pointing.texts import name_words, stem, stem_set, word_set
from sidemirror_server.vocabulary.refusal import is_refusal

# The first or last word of the name of a call that reads,
_READS = stem_set(
    "get find search list read fetch query lookup check view show describe look status count calculate think "
    "retrieve cat grep ls select inspect browse open_url web stat head tail analyze summarize draft quote preview "
    "simulate estimate compare track extract explain"
)
# of what is looked up by its last word,
_LOOKED_UP = stem_set(
    "history eligibility info information details status activity freebusy options fees tariff rates "
    "availability balance summary profile overview terms metadata results stats statistics events"
)
# and the first word of one that writes.
_WRITING = stem_set(
    "set update change create add delete remove send modify edit put post patch submit clear purge drop cancel "
    "archive rotate flush reset truncate wipe empty"
)
# A call by these may do anything: what it does is in its arguments.
_GENERIC = stem_set(
    "bash shell run exec execute command python sql terminal code http request curl api tool call process script "
    "cmd action perform handle do submit"
)
# What is opened to read it.
_PAGES = stem_set("page url file link site doc document")
_CHECKS_IN = re.compile(r"check[_ -]?(?:in|out)(?![a-z])", re.IGNORECASE)
# Programs and statements that only read, with their first argument where others of them write.
_READING = re.compile(
    r"^\s*(?:sudo )?(?:select|show|describe|desc|explain|with|ls|cat|grep|rg|head|tail|less|df|du|ps|wc|find|stat|"
    r"file|which|"
    r"date|env$|echo|uname|uptime|free|top|jq|sort|uniq|awk|cut|tr|diff|sed -n|"
    r"git (?:log|status|diff|show|blame|rev-parse|rev-list|ls-files|branch --(?:list|show\S*|all)|tag --list|"
    r"shortlog|describe)|"
    r"kubectl (?:[-\w=. ]{0,60} )?(?:get|describe|logs|top)|docker (?:ps|logs|inspect|images|stats)|"
    r"(?:npm|pnpm|yarn) (?:ls|list|view|outdated|audit(?! fix))|pip (?:list|show|freeze)|helm (?:list|history|status|"
    r"get)|"
    r"terraform (?:plan|show|output)|journalctl|systemctl status|curl -s\S* http\S+$|ping|dig|nslookup|openssl|psql "
    r"-\S+ \S?select)\b",
    re.IGNORECASE,
)
# A request of HTTP that reads.
_GET = re.compile(r"[\"']method[\"']\s?:\s?[\"'](?:GET|HEAD|OPTIONS)[\"']", re.IGNORECASE)
_PARTS = re.compile(r"&&|\|\||[;|\n]")
_WRITES = re.compile(
    r">\s?[\w/.~]|\b(?:insert|update|delete|alter|drop|create|truncate) (?:into|table|from|\w+ set)\b|sed -i|"
    r"-delete\b|-exec\b",
    re.IGNORECASE,
)
# Reasons of HTTP, after a status that is an error.
HTTP_REASON = (
    r"(?:Bad|Unauthorized|Payment|Forbidden|Not|Method|Proxy|Request|Conflict|Gone|Length|Precondition|Payload|URI|"
    r"Unsupported|Range|Expectation|Misdirected|Unprocessable|Locked|Failed|Too|Internal|Service|Gateway|Insufficient)"
)
_FAILED = re.compile(
    r"\W{0,3}(?:(?:errors?|failed|failures?|invalid|denied|rejected)\b(?!['\"]? ?[:=] ?(?:0\b|none\b|null\b|\[\]))|"
    r"exception|traceback|permission denied|access denied|forbidden|unauthorized|"
    r"cannot|could not|unable|timed? ?out|fatal|"
    rf"(?:http(?:/[\d.]{{1,3}})? )?[45]\d\d(?: {HTTP_REASON}\b|:? error| - )|http(?:/[\d.]{{1,3}})? [45]\d\d)",
    re.IGNORECASE,
)
_BAD_VALUES = word_set(
    "failed error failure rejected denied declined unauthorized forbidden timeout bounced aborted not_sent unsent"
)


def has_failed(call: PastCall) -> bool:
    """Whether a call failed or was refused: it was reported as failed, or the start of its result or one of its fields
    says so."""
    if call.failed or is_refusal(call.text):
        return True
    text = call.text.strip()
    data = next((part for part in jsons_in(call.text) if isinstance(part, dict)), None)
    if not (text[:1] in {"{", "["} and call.is_json) and _FAILED.match(text[:60]):
        return True
    if not isinstance(data, dict):
        return False
    if any(data.get(key) is False for key in ("success", "ok", "succeeded", "sent", "delivered")):
        return True
    states = (str(data.get(key) or "").casefold() for key in ("status", "state", "result", "outcome"))
    # What was asked for is no failure: `aborted` by abort_build.
    bad = (state for state in states if state in _BAD_VALUES)
    return any(stem(state) not in call.name_words for state in bad) or bool(data.get("error"))


def only_reads(call: PastCall) -> bool:
    """Whether a call, by its name or its command, changes nothing. One of which neither is known may."""
    names = name_words(call.name)
    if _CHECKS_IN.search(call.name):
        return False
    if (names[:1] and names[0] in _WRITING) or "submit" in names[1:]:
        return False
    if call.name.casefold().endswith("logs"):
        return True
    if names[:1] == ("open",) and names[-1] in _PAGES:
        return True
    if not names:
        return False
    if names[-1] in _LOOKED_UP:
        return True
    if names[0] in _READS or (names[-1] in _READS and not set(names) & _GENERIC):
        return True
    if _GET.search(call.arguments[:ARGUMENT_CHARS]):
        return True
    return call.command != "" and _reads_only(call.command)


def last_change(record: Record) -> int:
    """The place of the last call that worked and may have changed what calls before it have read; -1 without one."""
    changed = (call.place for call in reversed(record.calls) if not only_reads(call) and not has_failed(call))
    return next(changed, -1)


def is_out_of_date(call: PastCall, change: int) -> bool:
    """Whether what a call has read may have been changed since. `change`: that of `last_change`."""
    return call.place < change and only_reads(call)


def may_do_anything(call: PastCall) -> bool:
    """Whether a call may do anything, by its name or because it runs a command."""
    return bool(call.name_words & _GENERIC) or not call.name or call.command != ""


def _reads_only(command: str) -> bool:
    """Whether a command or statement changes nothing, as far as its programs tell."""
    if _WRITES.search(command):
        return False
    parts = [part.strip() for part in _PARTS.split(command) if part.strip() and not part.strip().startswith("cd ")]
    return bool(parts) and all(_READING.match(part) for part in parts)
