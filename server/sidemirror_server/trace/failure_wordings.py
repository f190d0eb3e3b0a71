"""Wordings of failures by category, for `failure.py`: in lower case, separated by `|`."""

# The first match wins: "quota exceeded, permission denied" is a rate limit, "connection timed out" a timeout. LOGIC
# comes twice: its first row has exceptions that are bugs in the code that ran, whatever their message says. RESOURCE
# comes twice: its first row is for disk quotas, where waiting does not help. VALIDATION comes twice: its first row has
# the word `forbidden`.
WORDINGS = (
    ("resource", "disk quota|quota exceeded on disk|edquot"),
    (
        "rate_limit",
        "rate limit|ratelimit|rate_limit|too many requests|throttl|quota exceeded|exceeded your",
    ),
    (
        "model",
        (
            "context length|context_length|context window|maximum context|content filter|content_filter|"
            "model is overloaded|overloaded_error|model refused|invalid finish|token limit"
        ),
    ),
    (
        "resource",
        (
            "out of memory|outofmemory|memoryerror|cannot allocate|no space left|disk full|oomkilled|"
            "too many open files|resource exhausted|resource_exhausted|resource temporarily|stack overflow|"
            "maximum recursion|recursionerror|heap space|heap out of memory|argument list too long|disk quota|"
            "killed process|: killed"
        ),
    ),
    (
        "timeout",
        "timed out|timeout|time out|deadline exceeded|deadline_exceeded|etimedout|took too long",
    ),
    # Pydantic's words for an argument that a tool does not have: `extra_forbidden`.
    ("validation", "extra_forbidden|extra inputs are not permitted"),
    (
        "permission",
        (
            "permission denied|permission_denied|permissionerror|access denied|access is denied|eacces:|"
            "operation not permitted|eperm:|forbidden|unauthorized|unauthorised|unauthenticated|not authorized|"
            "not authorised|not allowed|authentication|invalid api key|read-only file|must be root|"
            "must be superuser|login required|not a member|invalid credentials"
        ),
    ),
    (
        "network",
        (
            "connection refused|connection reset|connection aborted|connection error|connectionerror|econnrefused|"
            "econnreset|getaddrinfo|eai_again|name or service not known|could not resolve|name resolution|"
            "no such host|unreachable|broken pipe|service unavailable|bad gateway|ssl:|sslerror|tls handshake|"
            "certificate verify|network error|networkerror|failed to establish|failed to fetch|socket hang up|"
            "max retries exceeded|remote end closed|err_name_not|err_connection|proxy error|unknown host"
        ),
    ),
    (
        "not_found",
        (
            "not found|notfound|not_found|no such file|enoent|does not exist|doesn't exist|no such table|"
            "no such column|no such module|unknown column|unknown database|unknown table|no module named|"
            "cannot find|could not find|can't find|no such|is not available|no results|no match|nomatch|"
            "unknown language|undefined table|was not there|no longer exists|not recognized as an internal|"
            "cannot stat|not installed|ambiguous redirect"
        ),
    ),
    (
        "logic",
        (
            "assertionerror|nameerror|attributeerror|keyerror|indexerror|zerodivision|unboundlocal|nullpointer|"
            "null pointer|nil pointer|index out of|segmentation fault"
        ),
    ),
    (
        "validation",
        (
            "validation|syntax error|syntaxerror|error in your sql syntax|indentationerror|parse error|"
            "unexpected token|unexpected eof|unexpected end of|unmatched|unterminated|malformed|invalid|"
            "jsondecodeerror|is required|field required|missing required|missing argument|missing operand|"
            "missing 1 required|requires an argument|unrecognized|unrecognised|unknown option|usage:|"
            "illegal option|illegal argument|illegalargument|bad request|unprocessable|too many arguments|"
            "unexpected argument|unexpected keyword|not supported|unsupported|out of range|does not match|"
            "should match|should be|must be|must have|must precede|may not specify|cannot be|can't be|"
            "does not add up|is not enough|not enough|file exists|already exists|duplicate|constraint|ambiguous|"
            "data too long|incorrect|operand should contain|not a directory|is a directory|only full group by|"
            "not in group by|only_full_group_by|expected expression|too few|expected |no sql code|"
            "did not contain|bad substitution|bad interpreter|unknown predicate|unary operator|undefined name|"
            "not a valid|isn't in group by|could not convert|unhashable|extra operand|cannot execute binary|"
            "meaningful only|meaningless when|lacks argument|missing file operand|must specify|compile failed|"
            "mutually exclusive|yet support|is too long|refusing to|missing )|reverse collating|"
            "applies to the result of|command as follows|no properly formatted|same file|unknown date format|"
            "cannot overwrite|are the same|unknown primary"
        ),
    ),
    (
        "logic",
        (
            "assertionerror|assertion failed|test case did not pass|tests failed|test failed|typeerror|valueerror|"
            "division by zero|divide by zero|classcast|referenceerror|rangeerror|is not defined|"
            "is not a function|undefined is not|cannot read prop|index out of|segmentation fault|panic:|"
            "stopiteration|no capture groups|operands could not|unsupported operand|arithmeticexception|"
            "subquery returns more|deadlock|infinite loop"
        ),
    ),
)
# Wordings that say only that something failed; tried when no other wording matches.
TOOL_WORDINGS = (
    "internal server error|internal error|tool error|tool failed|failed to execute|traceback|subprocess|"
    "calledprocesserror|non-zero exit|execution failed|not implemented|crashed|error processing|runtimeerror|"
    "unhandled|exception in|warning: line editing"
)
