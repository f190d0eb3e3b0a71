"""Patterns of secrets without a vendor's prefix (`secret_kinds.py` has those with one). `redaction.py` tries a pattern
at a trigger.

A pattern is matched at one index, never searched for. The named group that matched is the secret; its name is the kind
that the reader sees. Repetitions are bounded or possessive, and the character before a token cannot be one of its body,
so that no text takes more than linear time.

The patterns are written from the vendors' published token formats. Lengths are as published or a little less, because a
format with a prefix of its own rarely occurs by accident.
"""

import re

_RUN = r"[A-Za-z0-9_-]"
# How far ahead a rule looks for a character that its value must have, in code points. Without an end each of many
# beginnings would read the rest of the text. Chosen here: longer than the tokens of the vendors that are named here.
_NEAR = "{0,256}+"

JWT = re.compile(
    r"(?:(?<![A-Za-z0-9_.-])|(?<=\\[nrt])|(?<=%[0-9a-fA-F]{2})|(?<=[0-9]m))"
    rf"eyJ(?P<jwt>{_RUN}{{8,}}+\.(?:eyJ{_RUN}{{4,}}+(?:\.{_RUN}*+)?|{_RUN}{{8,}}+\.{_RUN}{{16,}}+)(?:\.{_RUN}*+){{0,2}})"
)

# The rest of an escape before a token: the n of `\n`, the 3D of `%3D`, the u003d of `\u003d`, the 32m of a colour.
ESCAPE = re.compile(r"(?<=\\)(?:[nrtfb]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|(?<=%)[0-9a-fA-F]{2}|(?<=[\[;])[0-9]{1,3}m")
ESCAPED = re.compile(r"(?:\\[nrtfb]|%[0-9a-fA-F]{2}|[\[;][0-9]{1,3}m)\Z")
# An escape, or a colour of a terminal, before a word.
BEFORE_WORD = re.compile(r"(?:\\(?:[nrtfbav0]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|%[0-9a-fA-F]{2}|\[[0-9;]{0,8}[mK])\Z")
LONGEST_BEFORE_WORD = 10
# A line break within a token, plain or escaped, with the marks of a continued line: a backslash, joined quotes, the
# mark of a quotation or of a diff.
WRAP = re.compile(
    r"(?:\\{0,2}\r?\n|(?:\\{1,3}r)?\\{1,3}n|[\"']\s?[+.]?\s?\\?\r?\n[ \t]{0,16}[\"'])[ \t]{0,16}(?:[>|#*+][ \t]?)?"
)
# The part of a line that can continue a token, or an address that is a secret.
GOES_ON = re.compile(r"[\w.~=%+/:$@?&-]{1,400}", re.ASCII)
# The beginning of a line that continues a token: letters and digits, or letters that change case.
RANDOM = re.compile(r"(?=[^0-9\s]*+[0-9])(?=[^A-Za-z\s]*+[A-Za-z])\S{6,}|[A-Z_-]*+(?:[a-z]++[A-Z_-]++){2}", re.ASCII)

# Tokens recognised by their middle, or by the text before them; tried at the beginning of a long run.
# docs.discord.com/developers/reference
DISCORD = re.compile(
    r"(?:(?<=[MNO][\w-]{23}\.[\w-]{6}\.)|(?<=[MNO][\w-]{25}\.[\w-]{6}\.))(?P<discord>[\w-]{27,}+)", re.ASCII
)
BEHIND_COLON = re.compile(
    # core.telegram.org/bots/features
    r"(?<=[0-9]{8}:)(?P<telegram>AA[\w-]{33,}+)"
    # firebase.google.com/docs/cloud-messaging, legacy server keys
    r"|(?<=[\w-]{11}:)(?P<firebase>APA91b[\w-]{60,}+)"
    # developers.asana.com/docs/personal-access-token
    r"|(?<=/[0-9]{16}:)(?P<asana>[0-9a-f]{32}(?![0-9a-zA-Z]))",
    re.ASCII,
)
ALONE = re.compile(
    # mailchimp.com/developer/marketing/guides/quick-start
    r"(?P<mailchimp>[0-9a-f]{32}-us[0-9]{1,2}(?![\w-]))"
    # support.maxmind.com, license keys
    r"|(?P<maxmind>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![\w-]))"
    # learn.microsoft.com/azure/devops, personal access tokens: AZDO; github.com/microsoft/security-utilities: JQQJ99
    r"|(?P<azure>[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,}+)"
    # docs.x.com/fundamentals/authentication/oauth-2-0/bearer-tokens: base64 data contains no escape
    r"|(?P<twitter>A{19,26}[A-Za-z0-9]{8,}+%[\w%]{16,}+)",
    re.ASCII,
)
# learn.microsoft.com/entra/identity-platform, client secrets: three characters, a digit, `Q~`.
AZURE = re.compile(r"(?P<lead>[0-9]Q~)[\w.~-]{0,40}\Z", re.ASCII)
AZURE_REST = re.compile(r"[\w.~-]*+", re.ASCII)
# A signature that gives access to its URL: SAS and presigned requests. learn.microsoft.com/azure/storage/common/
# storage-sas-overview; docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
SIGNED = re.compile(r"(?<![A-Za-z])(?P<lead>sig(?:nature)?=)[\w%+/=~.-]{0,100}\Z", re.IGNORECASE | re.ASCII)
SIGNATURE_REST = re.compile(rf"(?=[A-Za-z%+/=_~-]{_NEAR}[0-9])[\w%+/=~-]*+", re.ASCII)
# Characters of base64 data.
BASE64 = re.compile(r"[A-Za-z0-9+/_-]*+")
# Webhook addresses, which let anyone post: docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
# docs.discord.com/developers/resources/webhook, learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors
POST_TO = re.compile(
    r"(?P<lead>hooks\.slack\.com/|discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/)(?=[^\s\"'<>]{0,160}\Z)"
)
ADDRESS_REST = re.compile(r"[^\s\"'`<>()\\]*+")
# developer.paypal.com/braintree/docs, access tokens
BRAINTREE = re.compile(r"(?P<lead>access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$)\Z")

# Options of commands that take a secret, by the option's first letter, each with the commands that have it.
# curl.se/docs/manpage.html, dev.mysql.com/doc/refman (connection options), redis.io/docs (redis-cli),
# docs.docker.com/reference/cli/docker/login, and the manual of sshpass. `find` options that begin with -p are excluded.
_QUOTED_VALUE = r"(?:(?!(?P=q))[^\r\n]){1,200}(?=(?P=q))"
_NO_REFERENCE = r"(?![$<{*]|\[redacted:)"
_OPTION_VALUE = (
    rf"(?P<q>\\?[\"'])?(?P<password>{_NO_REFERENCE}"
    rf"(?(q)(?:{_QUOTED_VALUE}|[^\"'\r\n]{{1,200}})|[^\s\"'`|;&]{{3,200}}+))"
)
_USER_OPTION, _USER_NAME = r"-(?:u|U|-user|-proxy-user)[ =]{0,2}", r"[^\s:\"'$]{1,100}"
_OF_HTTP = re.compile(r"\b(?:curl|wget|https?|xh)\b")
_USER = (
    (re.compile(rf"{_USER_OPTION}\\?[\"']?{_USER_NAME}:{_OPTION_VALUE}"), _OF_HTTP),
    # Both in quotation marks, which end with the password.
    (
        re.compile(rf"{_USER_OPTION}(?P<q>\\?[\"']){_USER_NAME}:(?P<password>{_NO_REFERENCE}{_QUOTED_VALUE})"),
        _OF_HTTP,
    ),
)
OPTIONS = {
    "u": _USER,
    "U": _USER,
    "-": _USER,
    "p": (
        (
            re.compile(rf"-p(?! |rint|rune\b|erm\b|ath\b){_OPTION_VALUE}"),
            re.compile(r"\b(?:mysql|mariadb)\w*\b|\bsshpass\b"),
        ),
        (re.compile(rf"-p[ =]{_OPTION_VALUE}"), re.compile(r"\bsshpass\b|\blogin\b")),
        # docs.openssl.org/master/man1/openssl-passphrase-options
        (re.compile(rf"-pass(?:in|out)?[ =]\\?[\"']?pass:{_OPTION_VALUE}"), re.compile(r"\bopenssl\b")),
    ),
    "a": ((re.compile(rf"-a[ =]{_OPTION_VALUE}"), re.compile(r"\bredis-cli\b")),),
}

PEM_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
PEM_BODY = re.compile(
    r"[^-]*+(?:-(?!----)[^-]*+)*(?=-----END )"
    r"|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,}+)*(?:(?:\s|\\[nr])*[A-Za-z0-9+/]*+=)?"
)

# What may stand before the value of an `authorization` header.
SCHEMES = "basic|bearer|token|apikey|negotiate|digest|ssws|key|genie_key|flyv1|bot|oauth|hmac"
HEADER = re.compile(
    r"(?:proxy-)?authorization\\{0,3}[\"'`]?\s{0,3}[:=]\s{0,3}\\{0,3}[\"'`]?"
    rf"(?:(?:{SCHEMES})\s{{1,3}}(?:\\?\r?\n\s{{0,8}})?"
    rf"|(?=[A-Za-z._~+/=-]{_NEAR}[0-9]))"
    r"(?P<authorization>(?!\[redacted:)[^\s\"'`,;\\<${]{8,4096}+)",
    re.IGNORECASE,
)
# Credentials for a registry: docs.docker.com/reference/cli/docker/login, docs.npmjs.com/cli/configuring-npm/npmrc
ACCOUNT = re.compile(
    r"auth\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']?"
    rf"(?=[^A-Z\s]{_NEAR}[A-Z])(?=[^a-z\s]{_NEAR}[a-z])(?=[^0-9\s]{_NEAR}[0-9])"
    r"(?P<authorization>[A-Za-z0-9+/]{16,}+={0,2})"
)
BEARER = re.compile(
    rf"(?<![A-Za-z0-9_])bearer[ \t]{{1,3}}(?P<bearer>(?=[A-Za-z._~+/=-]{_NEAR}[0-9])[A-Za-z0-9._~+/=-]{{16,}}+)",
    re.IGNORECASE,
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

# An escaped quotation mark ends no value, unless no other mark follows. In a text that is escaped as a whole, an
# escaped mark has more backslashes before it than the marks around the value, and a backslash of the value has twice as
# many.
# `run` is matched once and gives nothing back. A possessive quantifier would do that, but before Python 3.11.5 none can
# hold alternatives.
_ESCAPED_MARK = r"(?(escapes)(?:(?:(?P=escapes)\\){2}|\\{1,15}+[\"'`])|\\[^\r\n])"
_VALUE = (
    r"(?:(?P<q>(?P<escapes>\\{1,7})?[\"'`])(?P<quoted>(?!\[redacted:)"
    rf"(?:(?=(?P<run>(?:(?!(?P=q))(?:{_ESCAPED_MARK}|[^\r\n])){{3,1024}}))(?P=run)(?=(?P=q))"
    r"|(?:(?!(?P=q))[^\r\n]){3,1024}))(?P=q)"
    r"|(?P<bare>(?![\"'`=\\&]|\[redacted:)[^\s\"'`;,\\]{4,1024}+))"
)
# Where a `&` ends a value: before the next field of a form or of a query, and before another command. Of a name in
# capitals, as in an environment, it is a character of the value; in a query that has begun before the name, it is none.
NEXT_FIELD = re.compile(r"&(?:[\w.%\[\]-]{1,64}=|\[redacted:|&|(?:amp)?\Z)", re.ASCII)
NEXT_COMMAND = re.compile(r"&(?:&|\Z)")
IN_QUERY = frozenset("?&#")
_SET = r"\\{0,7}[\"'`]?\s{0,3}(?::=|=>|[:=](?!=))(?:\s{0,3}|[ \t][|>][+-]?\r?\n[ \t]{1,16})"
_IS = r"(?:\s{1,3}(?:for|of|to)(?:\s{1,3}[^\s:=]{1,64}+){1,4}?)?\s{1,3}(?P<is>is|was|will\sbe|set\sto)\s{0,2}:?\s{1,3}"
# The blank in `--password x`, or in a netrc's `login me password x`. `secret_names.py` checks that it is one of these.
_OPTION = r"(?P<option>[ \t]{1,4}(?:\\\r?\n[ \t]{0,16})?)"
# What stands between a name and its value that are two members, as `name: DB_PASSWORD` and `value: x` of a container.
_PAIR = r"\\{0,7}[\"'`]?(?:[,;\s]|\\{1,7}[nrt]){1,60}\\{0,7}[\"'`]?value\\{0,7}[\"'`]?\s{0,3}[:=]\s{0,3}"
_HAS = rf"(?:{_SET}|{_PAIR}|{_IS}|{_OPTION}){_VALUE}"
PASS = re.compile(rf"pass{_HAS}", re.IGNORECASE)
PASSWORD = re.compile(rf"pass(?:w(?:or)?d|phrase|code){_HAS}", re.IGNORECASE)
PWD = re.compile(rf"pwd(?:{_SET}|{_PAIR}|{_IS}|{_OPTION})(?![\"']?[/~.]){_VALUE}", re.IGNORECASE)
SECRET = re.compile(rf"secret(?:[_-]?(?:access[_-]?)?key)?{_HAS}", re.IGNORECASE)
NETRC = re.compile(r"(?:login|machine)\s{1,4}\S{1,64}\s{1,4}\Z")
TOKEN = re.compile(
    r"token(?<!page_token)(?<!pagetoken)(?<!page\stoken)(?<!next_token)(?<!nexttoken)(?<!sync_token)"
    rf"{_HAS}",
    re.IGNORECASE,
)
# What begins a line of a Dockerfile and ends in a name, whose value may follow a blank (docs.docker.com/reference).
DOCKER_ENV = re.compile(r"(?:^[ \t+>|\"'`-]{0,8}|(?<=\\n))ENV[ \t]{1,4}[\w.]{0,64}\Z", re.ASCII | re.MULTILINE)
# SQL: a text behind PASSWORD or IDENTIFIED BY in a statement about an account, where Oracle takes a bare word as well.
# postgresql.org/docs/current/sql-createrole.html, dev.mysql.com/doc/refman/8.4/en/create-user.html
_SQL_TEXT = (
    r"[NE]?'(?P<quoted>(?!\[redacted:)(?:[^'\r\n]|''){1,256})'(?!')"
    r"|\\{0,7}\"(?P<name>(?!\[redacted:)[^\"\\\r\n]{1,256}+)"
)
SQL_PASSWORD = re.compile(rf"password(?:\s{{1,8}}for\s{{1,8}}\S{{1,100}})?[\s(=]{{1,8}}(?:{_SQL_TEXT})", re.IGNORECASE)
SQL_IDENTIFIED = re.compile(
    r"identified\s{1,8}(?:with\s{1,8}[\w'\"`]{1,64}\s{1,8})?by\s{1,8}(?:(?:values|password)\s{1,8})?"
    rf"(?:{_SQL_TEXT}|(?!random\b|\[redacted:)(?P<bare>[^\s\"'`;,\\]{{1,256}}+))",
    re.IGNORECASE,
)
SQL_ACCOUNT = re.compile(
    r"\b(?:(?:(?:create|alter)\s{1,8}(?:or\s{1,8}replace\s{1,8})?(?:role|user|login|group|server)\b|grant\s"
    r"|set\s{1,8}password\b)[^;]*|set\s{1,8})\Z",
    re.IGNORECASE,
)
# What the pattern above begins with.
SQL_VERBS = ("create", "alter", "grant", "set")

# Where the words of a name meet.
WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
# Words before `pass` that make it the name of a password; alone it is a verb, and in a program a round.
PASS_NAMES = frozenset(
    (
        *("account", "admin", "amqp", "api", "app", "application", "artifactory", "auth", "backup", "basic", "bind"),
        *("broker", "ca", "cert", "client", "database", "db", "docker", "elastic", "email", "encryption", "ftp"),
        *("git", "grafana", "http", "https", "imap", "jenkins", "kafka", "key", "keystore", "ldap", "login", "mail"),
        *("mariadb", "master", "mongo", "mongodb", "mq", "mssql", "my", "mysql", "nexus", "ora", "oracle", "pem"),
        *("pfx", "pg", "pgsql", "postgres", "postgresql", "proxy", "rabbitmq", "rdp", "redis", "registry", "root"),
        *("server", "service", "sftp", "smtp", "sql", "ssh", "store", "su", "sudo", "svc", "truststore", "user"),
        *("usr", "vault", "vnc", "vpn", "wifi", "wlan", "wordpress", "wp", "zip"),
    )
)
# Words before `key` that make it the name of a secret.
KEY_NAMES = (
    *("api", "access", "private", "auth", "signing", "encryption", "account", "master", "app", "application", "client"),
    *("shared", "service", "storage", "subscription", "webhook", "license", "licence", "deploy", "session", "server"),
    *("consumer", "security", "write", "admin", "function", "host"),
)
KEY = re.compile(rf"key(?:-data)?{_HAS}", re.IGNORECASE)

# Words that say something about a value.
_WORDS = (
    r"none|null|nil|true|false|undefined|string|str|text|bytes|required|optional|incorrect|invalid|wrong|"
    r"password|passwd|secret|token|hidden|masked|empty|missing|unset"
)
# What is no secret wherever it stands: these, and words that a member may have whose name is a secret's.
NO_SECRET = re.compile(rf"x+|{_WORDS}|include|same-origin|omit|default|opaque", re.IGNORECASE)
NO_VALUE = re.compile(
    r"[*.•x_-]+|your[_ -].*|[<$%{\[(].*|(?-i:[A-Z]+(?:_[A-Z]+)+)|"
    rf"(?:{_WORDS}|optional\[.*)[,.)}}\]]*",
    re.IGNORECASE | re.DOTALL,
)
# What names the source of a value, not the value: os.environ["X"], args.password, get_password(), new_token, env:X.
REFERENCE = re.compile(
    r"(?:env|file|fd):|[A-Za-z_][\w.]*[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]\w*)+$|"
    r"[A-Za-z_]*(?:pass|pwd|secret|token|key|input|user)[A-Za-z_]*$",
    re.IGNORECASE | re.ASCII,
)
LETTERS = re.compile(r"[^\W\d]+")
SYMBOL_OR_DIGIT = re.compile(r"[0-9!@#$%^&*+=~]|-\w+-\w+-")

SECRET_NAME = re.compile(
    r"(?:^|[\W_]|(?-i:(?<=[a-z])(?=[A-Z])))(?:pass(?:word|wd|phrase|code)|pwd|"
    rf"(?:{'|'.join(sorted(PASS_NAMES))})[_-]?pass|"
    r"secret|(?:access|auth|refresh|id|session|"
    r"bearer|api|csrf)[_-]?token|(?:api|access|private|secret|signing|encryption)[_-]?key|authorization|credentials?|cookie|"
    r"cvv|cvc|ssn)(?:$|[\W_]|(?-i:(?=[A-Z0-9])))|^\W?token$",
    re.IGNORECASE,
)

# Every secret's name contains one of these. Searching for each in turn takes a tenth of the pattern's time.
NAME_PARTS = ("pass", "pwd", "secret", "token", "key", "authorization", "credential", "cookie", "cvv", "cvc", "ssn")
MAYBE_NAME = re.compile("|".join(NAME_PARTS), re.IGNORECASE)
