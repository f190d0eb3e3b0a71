"""Wordings of the causes of failures, for `signature.py`: in lower case, separated by `|`.

The wordings come from POSIX shells and tools, Windows, HTTP, Python, JavaScript, Java, Go, MySQL, PostgreSQL and
SQLite. Signatures store the names and categories of causes, which never change; wordings may be added. The first match
wins, and a match in the telling line goes before one in the whole text.
"""

# cause, category, wordings.
CAUSES = (
    # Precedes `rate_limited`, because disks have quotas too.
    ("disk_full", "resource", "no space left|disk full|enospc|disk quota"),
    ("rate_limited", "rate_limit", "too many requests|rate limit|rate_limit|ratelimit|throttl|quota exceeded"),
    ("context_too_long", "model", "context length|context_length|context window|maximum context|prompt is too long"),
    ("out_of_memory", "resource", "out of memory|outofmemory|memoryerror|cannot allocate memory|oomkilled|heap space"),
    ("timed_out", "timeout", "timed out|timeout|time out|deadline exceeded|deadline_exceeded|took too long"),
    (
        "unresolved_host",
        "network",
        (
            "name or service not known|could not resolve|name resolution|getaddrinfo|no such host|unknown host|"
            "unknownhost|eai_again|getaddrinfo enotfound|err_name_not|nodename nor servname"
        ),
    ),
    ("connection_refused", "network", "connection refused|econnrefused|err_connection_refused|actively refused"),
    (
        "connection_lost",
        "network",
        (
            "connection reset|econnreset|connection aborted|broken pipe|epipe|socket hang up|remote end closed|"
            "connection closed|lost connection|gone away"
        ),
    ),
    ("untrusted_certificate", "network", "certificate verify|sslerror|tls handshake|self-signed|self signed"),
    ("service_unavailable", "network", "service unavailable|bad gateway|temporarily unavailable|http 503|http 502"),
    # Precedes `permission_denied`: Pydantic's words for an argument that a tool does not have.
    ("unknown_argument", "validation", "extra_forbidden|extra inputs are not permitted"),
    (
        "not_authenticated",
        "permission",
        (
            "unauthorized|unauthorised|unauthenticated|invalid api key|incorrect api key|authentication failed|"
            "login required|invalid credentials|http 401"
        ),
    ),
    (
        "permission_denied",
        "permission",
        (
            "permission denied|permission_denied|permissionerror|access denied|access is denied|eacces|forbidden|"
            "operation not permitted|eperm:|http 403"
        ),
    ),
    ("read_only", "permission", "read-only file|erofs"),
    ("missing_command", "not_found", "command not found|is not recognized as an internal|executable file not found"),
    ("missing_module", "not_found", "no module named|cannot find module|module not found|modulenotfounderror"),
    (
        "missing_package",
        "not_found",
        "unable to locate package|no matching distribution|package not found|no such package",
    ),
    ("missing_database", "not_found", "unknown database|no such database"),
    (
        "ambiguous_column",
        "validation",
        "in field list is ambiguous|in where clause is ambiguous|ambiguous column|column reference",
    ),
    (
        "grouping",
        "validation",
        ("without group by|not in group by|isn't in group by|only_full_group_by|must appear in the group by"),
    ),
    (
        "misused_aggregate",
        "validation",
        "invalid use of group function|misuse of aggregate|aggregate functions are not",
    ),
    ("unclosed_quote", "validation", "looking for matching|unterminated quoted|unterminated string|unclosed quot"),
    (
        "unfinished_text",
        "validation",
        (
            "syntax error: unexpected end of file|unexpected eof while|end of file unexpected|"
            "unexpected end of input|unexpected end of json"
        ),
    ),
    (
        "not_json",
        "validation",
        "jsondecodeerror|expecting value: line|is not valid json|invalid json|in json at position",
    ),
    (
        "bad_option",
        "validation",
        (
            "invalid option|unrecognized option|unrecognised option|unknown option|illegal option|unknown predicate|"
            "no such option|unrecognized arguments"
        ),
    ),
    (
        "option_without_value",
        "validation",
        "option requires an argument|requires an argument|lacks argument|missing argument to|expected one argument",
    ),
    (
        "missing_operand",
        "validation",
        "missing operand|missing file operand|missing destination file|too few arguments|not enough arguments",
    ),
    ("too_many_operands", "validation", "too many arguments|extra operand"),
    ("bad_substitution", "validation", "bad substitution"),
    ("not_a_directory", "validation", "is not a directory|not a directory|enotdir|notadirectoryerror"),
    ("is_a_directory", "validation", "is a directory|eisdir|isadirectoryerror"),
    ("exists_already", "validation", "file exists|already exists|eexist|fileexistserror"),
    (
        "missing_file",
        "not_found",
        (
            "no such file|enoent|filenotfound|file not found|path not found|cannot find the path|cannot find the file|"
            "file does not exist|path does not exist|directory does not exist|nosuchkey"
        ),
    ),
    (
        "no_code",
        "validation",
        (
            "no sql code|did not contain sql code|did not contain bash code|did not contain code|"
            "sql command as follows|bash command as follows"
        ),
    ),
    ("tests_failed", "logic", "test case did not pass|tests failed|test failed|tests did not pass"),
)

# Wordings with a name in the middle, as databases use: cause, category, pattern. Only the telling line is searched.
NAMED_CAUSES = (
    ("missing_column", "not_found", r"unknown column|no such column|undefined column|invalid column name"),
    ("missing_column", "not_found", r"\bcolumn [^ ]{1,80} (?:of relation [^ ]{1,80} )?(?:does not|doesn't) exist"),
    ("missing_table", "not_found", r"no such table|unknown table|undefined table|invalid object name"),
    ("missing_table", "not_found", r"\b(?:table|relation) {1,4}[^ ]{1,120} (?:does not|doesn't) exist"),
    ("missing_database", "not_found", r"\bdatabase [^ ]{1,80} (?:does not|doesn't) exist"),
    ("missing_command", "not_found", r"\bsh: (?:line )?\d{1,4}: [^ ]{1,60} not found$|\bspawn [^ ]{1,60} enoent"),
    (
        "sql_syntax",
        "validation",
        r"\bsql syntax\b|\bnear \"[^\"]{0,80}\": syntax error|^(?:error: {1,4})?syntax error at or near \"",
    ),
    ("bad_code", "validation", r"^(?:syntaxerror|indentationerror|taberror): "),
    ("bad_syntax", "validation", r"\bsyntax ?error\b|\bparse ?error\b"),
)

# Synonyms, for texts with none of the causes above: the words that replace a match, the category if the text has none,
# and the pattern.
SAME_WORDINGS = (
    (
        "absent",
        "not_found",
        (
            r"\b(?:was |were |is |are |be )?not found\b|\b(?:does not|doesn't|do not|don't) exist\b|"
            r"\bno longer exists\b|\b(?:cannot|can't|could not|couldn't|unable to|failed to) (?:find|locate)\b|"
            r"\b(?:cannot|could not) be found\b|\bnotfound\b|\bno such\b|\bunknown\b"
        ),
    ),
    ("too little", "validation", r"\b(?:is |are )?(?:not enough|insufficient|too little)\b"),
    ("invalid", "validation", r"\b(?:is |are )?(?:not valid|invalid|not a valid|an invalid)\b"),
    ("required", "validation", r"\b(?:is |are )?(?:required|missing|needed|mandatory)\b"),
    ("refused", "permission", r"\b(?:is |are )?(?:not allowed|not permitted|disallowed|prohibited)\b"),
)
