"""What an answer says was done, and which calls could have done it."""

import re
from collections.abc import Iterator

import msgspec

from sidemirror_server.models.adapters.rules.pointing.effects import may_do_anything, only_reads
from sidemirror_server.models.adapters.rules.pointing.reading import Reading
from sidemirror_server.models.adapters.rules.pointing.record import ARGUMENT_CHARS, PastCall
from sidemirror_server.models.adapters.rules.pointing.texts import sentences, stem, tokens_of, word_set, words_of

# Past participles, and the words of calls that do it, one action a line. Chosen here, by hand.
_ACTIONS_TEXT = """
sent written emailed mailed messaged notified texted alerted informed told forwarded replied pinged gone-out \
went-out|send sent email mail \
message notify notification sms slack post reply publish alert text chat forward webhook invite share know
sent|transfer pay payment wire
written|save store write export put create update insert
refunded reimbursed credited|refund reimburse credit return cancel void reverse payment
booked reserved|book reserve reservation booking create schedule order add
scheduled rescheduled invited|schedule reschedule event calendar meeting invite create update book cron move add set
cancelled canceled|cancel delete remove void terminate update refund unsubscribe
deleted removed erased purged dropped wiped uninstalled|delete remove rm drop purge destroy clean erase \
uninstall unlink prune trash truncate clear discard
deployed released published shipped launched rolled|deploy deployment release publish rollout apply push ship \
helm kubectl terraform promote rollback launch upgrade
merged|merge pull squash rebase
pushed|push publish upload force
committed|commit push
restarted reloaded rebooted started stopped|restart reload reboot start stop systemctl service \
rollout kill run launch scale docker
uploaded attached|upload put copy write post attach store send cp scp share
installed upgraded|install add pip npm apt yarn brew uv upgrade update cargo
paid charged transferred wired|pay charge transfer payment wire checkout purchase invoice agent human escalate
purchased ordered bought|order purchase buy checkout place create
updated changed modified adjusted edited corrected renamed replaced|update change modify set edit patch write \
put replace rename save apply alter insert sed adjust assign fix exchange move add remove correct configure sql \
execute upgrade str create
fixed patched resolved|fix patch write edit update replace apply sed commit resolve close save put create \
modify change str merge
created opened filed submitted logged raised registered added|create open file submit log add insert new post \
write make register raise put generate mkdir touch issue book init
put|put add create set schedule book insert write save upload move calendar event post
rung rang called|call ring phone dial contact
saved stored exported backed archived copied|save store write export put create backup dump snapshot \
archive copy download commit set update record insert upload
accepted declined|accept decline reply respond confirm send answer approve update set
formatted emptied|format empty trash delete clear
assigned|assign update set reassign add create change
approved rejected|approve reject update set review merge status
dumped|dump backup pg_dump snapshot export copy save
moved relocated|move mv rename relocate update transfer reschedule set modify change rebook patch
scaled raised lowered increased decreased reduced extended renewed|scale raise lower increase decrease reduce \
extend renew set update patch resize change modify replica
labelled labeled tagged flagged marked|label tag flag mark update add set edit patch
posted|post send publish create comment reply message chat
phoned contacted asked consulted|call phone contact ask dial message send email consult
locked unlocked frozen|lock unlock freeze block suspend set update disable patch
set|set create add schedule remind reminder update put configure alarm book calendar event
blocked unblocked muted granted waived applied|block unblock mute grant waive apply update set patch add \
migrate run execute migration
rebased|rebase
signed printed|sign print
closed|close resolve update status merge set
enabled disabled activated deactivated turned|enable disable activate deactivate set toggle update turn flag \
config configure on off patch
reset rotated revoked|reset rotate revoke update set change delete create key invalidate
migrated imported loaded inserted|migrate import load insert copy write upsert create run execute sql apply ingest seed
subscribed unsubscribed|subscribe unsubscribe update set remove add opt
escalated|escalate transfer assign create update ticket human
tested ran executed benchmarked|test run exec execute bash shell pytest python npm command make cargo go check \
verify terminal validate jest benchmark build lint query sql
"""
_ACTIONS: dict[str, tuple[str, frozenset[str]]] = {}
for _line in _ACTIONS_TEXT.strip().splitlines():
    _said, _does = _line.split("|")
    for _participle in (word.replace("-", " ") for word in _said.split()):
        _by = frozenset(map(stem, _does.split())) | {stem(_participle)}
        _ACTIONS[_participle] = _participle, _ACTIONS.get(_participle, ("", frozenset[str]()))[1] | _by
_PARTICIPLES = "|".join(sorted(_ACTIONS, key=len, reverse=True)).replace("emailed", "e-?mailed")
_SAYS_DONE = re.compile(
    r"\b(?:(?P<own>I(?:['’]ve| have)?|we(?:['’]ve| have))(?: (?:just|also|now|already|successfully|then|"
    r"went ahead and|immediately|manually|automatically|both|since|gone ahead and)){0,3}"
    r"|(?P<passive>(?:has|have)(?= gone out)|(?:has|have)(?: (?:just|also|now|successfully|both|all|already))? been|"
    r"was|were|(?:is|are) now|(?:is|are)(?= (?:saved|stored|sent|merged|deployed|committed|pushed|uploaded|exported|"
    r"deleted|attached|posted|dumped|archived)\b)|(?:it|that|this)['’]s(?= (?:saved|merged|deployed|committed|pushed|"
    r"uploaded|posted|published)\b))(?: (?:successfully|also|now|just|fully|automatically|already))?"
    r"|(?P<bare>^|\band|,|[.:;✅-]))[ *]{0,3}(?P<verb>"
    + _PARTICIPLES
    + r")\b(?! (?:to (?:be|find|see|learn)|by\b(?! (?:mail|phone|e-?mail|message|text|post))|from you|"
    r"you\b(?= (?:that|about|what|how|before|earlier))))",
    re.IGNORECASE,
)
# These write an answer as well as a file: they count only before something that lies outside of the answer.
_WRITES = word_set(
    "created added opened filed submitted logged registered updated changed modified adjusted edited "
    "corrected replaced fixed patched resolved saved stored started stopped tested ran executed "
    "loaded inserted turned shipped returned attached ordered closed rolled set locked unlocked put called rang"
)
_THING = re.compile(
    r"\b(?:tickets?|issues?|events?|meetings?|accounts?|orders?|invoices?|users?|branch(?:es)?|pull request|PR|"
    r"files?|records?|reservations?|"
    r"bookings?|calendar|reminders?|tasks?|backups?|alerts?|jobs?|channels?|database|tables?|index(?:es)?|"
    r"repo(?:sitory)?|rows?|"
    r"config(?:uration)?|settings?|address|password|subscription|profile|servers?|services?|instances?|pods?|cluster|"
    r"permissions?|tests?|suite|"
    r"documents?|spreadsheet|page|wiki|card|contacts?|leads?|entry|entries|appointments?|flights?|passengers?|"
    r"items?|payments?|"
    r"claims?|case|request|report|replacements?|columns?|notes?|messages?|reply|comments?|folder|bucket|key|"
    r"certificate|rule|firewall|policy|quota|limit|version|forms?|list|sheet|log|refunds?|phone|numbers?|"
    r"alarms?|cards?|dependency|package|bug|code|function|"
    r"script|migration|deployment|release|[\w./-]{1,60}\.(?:py|js|ts|go|rs|java|md|json|ya?ml|toml|txt|csv|sql|sh|"
    r"html|css))\b",
    re.IGNORECASE,
)
# What makes a deed one that is not claimed.
_UNSURE = re.compile(
    r"\b(?:not|never|because|since|if|once|when|after|before|until|unless|could|would|should|can|(?-i:may)|"
    r"might|must|need|want|will|to be(?! (?:on|safe|sure))|"
    r"like|please|how|whether|that (?:was|were)|which (?:was|were)|previously|earlier|already been|"
    r"as I(?:['’]ve| have)? (?:said|mentioned|told|wrote))\b|n['’]t\b",
    re.IGNORECASE,
)
_SAYS_NOT_DONE = re.compile(
    r"(?:\b(?:not|never)|n['’]t)(?: (?:yet|been)){0,2} (?P<verb>[a-z]{3,15})\b(?P<what>[^.;,\n]{0,60})", re.IGNORECASE
)
_RESTRAINT = re.compile(r"\b(?:any\w{0,5}|else|others?|another|more|further|yourself|back)\b", re.IGNORECASE)
_NONE = re.compile(r"\b(?:no|none|nothing|nobody|neither|nor)\b", re.IGNORECASE)
# Where a clause begins, and where one ends.
_NEW_CLAUSE = re.compile(r"[;:] |,? so (?=I\b|we\b)|,? and (?=I\b|we\b)|,? but (?=I\b|we\b)")
_CLAUSE_END = re.compile(r"[,;.!](?:\s|$)|\n| and (?=I\b|it\b)")
# What systems send by themselves.
_AUTOMATIC = re.compile(r"\b(?:confirmations?|receipts?|e-?tickets?|automatically|instructions)\b", re.IGNORECASE)


class ClaimedDeed(msgspec.Struct, frozen=True):
    """A claim in the answer that something was done. `own`: whether the answer says `I` or `we`. `does`: the
    stems of what calls that do it are called."""

    quote: str
    verb: str
    does: frozenset[str]
    own: bool


def claims(reading: Reading) -> Iterator[ClaimedDeed]:
    """The claims of the answer that something was done, in its own words."""
    for sentence in sentences(reading.own):
        if "?" not in sentence.text:
            yield from _claims_in(sentence.text, reading.answer[sentence.start : sentence.start + len(sentence.text)])


def denials(reading: Reading) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """What the answer says was not done: the stems of what calls that do it are called, and the words of the thing. Not
    its restraint, as in `I have not changed anything else`."""
    for match in _SAYS_NOT_DONE.finditer(reading.own):
        verb = match["verb"].casefold()
        does = _ACTIONS[verb][1] if verb in _ACTIONS else frozenset((stem(verb),))
        if not _RESTRAINT.search(match["what"]):
            yield does, tokens_of(match["what"])


def _claims_in(text: str, whole: str) -> Iterator[ClaimedDeed]:
    """Those of a sentence. `whole`: with what it quotes."""
    passive = False
    for match in _SAYS_DONE.finditer(text):
        verb, own = match["verb"].casefold().replace("-", ""), match["passive"] is None
        if verb not in _ACTIONS:  # a letter that is alike when its case is ignored
            continue
        if _UNSURE.search(text[_clause_begin(text, match.start()) : match.start("verb")]):
            continue
        goes_on = passive and "and " in text[match.start() : match.start("verb")].casefold()
        if match["bare"] is not None and not goes_on and not _own_before(text, match.start()):
            continue
        if re.search(r"\b(?:that|which|who)$", text[: match.start()].rstrip()) or _AUTOMATIC.search(text):
            continue
        if not own and match["passive"].casefold() in {"was", "were"} and "successfully" not in match[0]:
            continue
        things = text[max(0, match.start() - 60) : match.start()] if not own else text[match.end() : match.end() + 60]
        if verb in _WRITES and not _THING.search(things):
            continue
        end = _end(text, match.end())
        if _NONE.search(text[:end]):
            continue
        quote = whole[match.start() if own else 0 : end].strip(" ,.;:-*✅")
        passive = passive or match["passive"] is not None
        yield ClaimedDeed(quote, *_ACTIONS[verb], own)


def could_do(call: PastCall, claim: ClaimedDeed) -> bool:
    """Whether the call may have done what is claimed. A generic call without arguments may have."""
    if only_reads(call):
        return False
    if claim.does & call.name_words:
        return True
    if claim.verb in _WRITES and call.name_words & set(words_of(claim.quote)):
        return True
    words = call.words | frozenset(map(stem, re.findall(r"[A-Za-z]{2,20}", call.arguments[:ARGUMENT_CHARS])))
    if may_do_anything(call):
        return not call.arguments or bool(claim.does & words)
    return False


def _clause_begin(text: str, end: int) -> int:
    """Where the clause begins that says what was done: after the last `so`, `and I` or semicolon."""
    return max((cut.end() for cut in _NEW_CLAUSE.finditer(text, 0, end + 4)), default=0)


def _own_before(text: str, end: int) -> bool:
    return re.search(r"\b(?:I|we)(?:['’]ve| have)?\b", text[:end]) is not None


def _end(text: str, end: int) -> int:
    """Where the clause ends that continues at `end`."""
    found = _CLAUSE_END.search(text, end)
    return found.start() if found else len(text)
