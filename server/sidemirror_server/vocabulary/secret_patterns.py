"""The shapes of secrets, tried by `redaction.py` where one of its triggers stands.

A pattern is matched at a place, never searched for. The one named group that matched is the secret; its name is the
kind that the reader sees. Repetitions are bounded or possessive, and the left edge of a token excludes the characters
of its body, so that no text can be made to take more than linear time.

Written from the vendors' published token shapes; lengths are the published ones or a little less, because a shape with
a prefix of its own is not met by accident.
"""

import re

_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_RUN = r"[A-Za-z0-9_-]"

SK = re.compile(
    _EDGE + rf"sk-(?:(?:ant-)(?:[a-z]{{2,8}}[0-9]{{2}}-)?(?=[A-Za-z_-]*+[0-9])(?P<anthropic>{_RUN}{{16,}}+)"
    rf"|(?:proj-|svcacct-|admin-|or-v1-)?(?=[A-Za-z_-]*+[0-9])(?P<openai>{_RUN}{{16,}}+))"
)
UNDERSCORED = re.compile(
    _EDGE + r"(?:gh[pousr]_(?P<github>[A-Za-z0-9]{20,}+)|github_pat_(?P<github_pat>\w{20,}+)"
    r"|hf_(?P<huggingface>[A-Za-z0-9]{30,}+)|npm_(?P<npm>[A-Za-z0-9]{30,}+)|gsk_(?P<groq>[A-Za-z0-9]{40,}+)"
    r"|[sr]k_(?:live|test)_(?P<stripe>[A-Za-z0-9]{10,}+)|glsa_(?P<grafana>\w{32,}+)"
    r"|dop_v1_(?P<digitalocean>[a-f0-9]{40,}+)|shpat_(?P<shopify>[a-f0-9]{32,}+))",
    re.ASCII,
)
JWT = re.compile(
    r"(?:(?<![A-Za-z0-9_.-])|(?<=\\[nrt]))"
    rf"eyJ(?P<jwt>{_RUN}{{8,}}+\.(?:eyJ{_RUN}{{4,}}+(?:\.{_RUN}*+)?|{_RUN}{{8,}}+\.{_RUN}{{16,}}+)(?:\.{_RUN}*+){{0,2}})"
)
AWS = re.compile(r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))AKIA(?P<aws>[A-Z0-9]{16})(?![A-Za-z0-9])")
GOOGLE = re.compile(_EDGE + rf"AIza(?P<google>{_RUN}{{30,}}+)")
SLACK = re.compile(_EDGE + r"xox[abeoprs]-(?P<slack>[A-Za-z0-9-]{10,}+)")
GITLAB = re.compile(_EDGE + rf"glpat-(?P<gitlab>{_RUN}{{20,}}+)")

PEM_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
PEM_BODY = re.compile(
    r"(?:[^-]|-(?!----))*+(?=-----END )|(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{20,}+)*+(?:(?:\s|\\[nr])*+[A-Za-z0-9+/]*+=)?"
)

HEADER = re.compile(
    r"(?:proxy-)?authorization\\{0,3}[\"'`]?\s{0,3}[:=]\s{0,3}\\{0,3}[\"'`]?"
    r"(?:(?:basic|bearer|token|apikey|negotiate|digest)\s{1,3}|(?=[A-Za-z._~+/=-]*+[0-9]))"
    r"(?P<authorization>(?!\[redacted:)[^\s\"'`,;\\<${]{8,4096}+)",
    re.IGNORECASE,
)
BEARER = re.compile(
    r"(?<![A-Za-z0-9_])bearer[ \t]{1,3}(?P<bearer>(?=[A-Za-z._~+/=-]*+[0-9])[A-Za-z0-9._~+/=-]{16,}+)", re.IGNORECASE
)
COOKIE = re.compile(
    r"cookie\\{0,3}[\"'`]?\s{0,3}[:=]\s{0,3}\\{0,3}[\"'`]?(?P<cookie>[\w.-]{1,64}+=[^\s;\"'`\\][^\r\n\"'`\\]{0,4096}+)",
    re.IGNORECASE | re.ASCII,
)
URL = re.compile(
    r"://(?:[^\s/?#@:\"'<>]{0,128}+:(?P<url_password>(?![$<{*%]|\[redacted:)[^\s/?#\"'<>]{1,256})"
    r"|(?P<url_token>(?=[A-Za-z_.-]*+[0-9])[A-Za-z0-9_.-]{16,256}+))@"
)
CARD = re.compile(
    r"(?<![\w.-])(?P<card>(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|64[4-9]\d|65\d\d|35[2-8]\d)"
    r"(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{4}"
    r"|3[47]\d\d(?P<amex>[ -]?)\d{6}(?P=amex)\d{5})(?![\w-]|\.\d)",
    re.ASCII,
)

_VALUE = (
    r"(?:(?P<q>\\{0,7}[\"'`])(?P<quoted>(?!\[redacted:)(?:(?!(?P=q))[^\r\n]){3,1024}+)(?P=q)"
    r"|(?P<bare>(?![\"'`=\\]|\[redacted:)[^\s\"'`&;,\\]{4,1024}+))"
)
_SET = r"\\{0,7}[\"'`]?\s{0,3}(?::=|=>|[:=](?!=))\s{0,3}"
_IS = r"(?:\s{1,3}(?:for|of|to)(?:\s{1,3}[^\s:=]{1,64}+){1,4}?)?\s{1,3}(?P<is>is|was|will\sbe|set\sto)\s{0,2}:?\s{1,3}"
PASSWORD = re.compile(rf"passw(?:or)?d(?:{_SET}|{_IS}){_VALUE}", re.IGNORECASE)
SECRET = re.compile(rf"secret(?:[_-]?(?:access[_-]?)?key)?(?:{_SET}|{_IS}){_VALUE}", re.IGNORECASE)
TOKEN = re.compile(
    r"token(?<!page_token)(?<!pagetoken)(?<!page\stoken)(?<!next_token)(?<!nexttoken)(?<!sync_token)"
    rf"(?:{_SET}|{_IS}){_VALUE}",
    re.IGNORECASE,
)
_KEY_NAMES = ("api", "access", "private", "auth", "signing", "encryption", "account", "master")
KEY = re.compile(
    "key(?:" + "|".join(rf"(?<={name}key)|(?<={name}[_ -]key)" for name in _KEY_NAMES) + rf")(?:{_SET}|{_IS}){_VALUE}",
    re.IGNORECASE,
)

NO_VALUE = re.compile(
    r"[*.•x_-]+|your[_ -].*|[<$%{\[(].*|(?:none|null|nil|true|false|undefined|string|str|text|bytes|required|optional|"
    r"incorrect|invalid|wrong|password|passwd|secret|token|hidden|masked|empty|missing|unset|optional\[.*)[,.)}\]]*",
    re.IGNORECASE | re.DOTALL,
)
# Code that names where the value comes from, not the value: os.environ["X"], args.password, get_password(), new_token.
REFERENCE = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]\w*)+$|[A-Za-z_]*(?:pass|pwd|secret|token|key|input|user)[A-Za-z_]*$",
    re.IGNORECASE | re.ASCII,
)
LETTERS = re.compile(r"[^\W\d]+")
SYMBOL_OR_DIGIT = re.compile(r"[0-9!@#$%^&*+=~]|-\w+-\w+-")

SECRET_NAME = re.compile(
    r"(?:^|[\W_]|(?-i:(?<=[a-z])(?=[A-Z])))(?:pass(?:word|wd|phrase|code)|pwd|secret|(?:access|auth|refresh|id|session|"
    r"bearer|api|csrf)[_-]?token|(?:api|access|private|secret|signing|encryption)[_-]?key|authorization|credentials?|cookie|"
    r"cvv|cvc|ssn)(?:$|[\W_]|(?-i:(?=[A-Z0-9])))|^\W?token$",
    re.IGNORECASE,
)

# One of these is in every secret's name. Looking for each in turn takes a tenth of what the pattern takes.
NAME_PARTS = ("pass", "pwd", "secret", "token", "key", "authorization", "credential", "cookie", "cvv", "cvc", "ssn")
MAYBE_NAME = re.compile("|".join(NAME_PARTS), re.IGNORECASE)
