"""Texts that try to run, to be fetched, to hide, or to break a layout."""

_RUNS = (
    "<script>window.ran=1</script>",
    "<img src=x onerror=window.ran=1>",
    "<svg onload=window.ran=1>",
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
    "<a href='javascript:window.ran=1'>here</a>",
    "<details open ontoggle=window.ran=1>",
    "<style>@import 'http://evil.test/a.css'; main {display: none}</style>",
    "<link rel=stylesheet href=http://evil.test/b.css>",
    "<meta http-equiv=refresh content='0; url=http://evil.test/'>",
    "<base href=http://evil.test/>",
    "<form action=http://evil.test/><input autofocus onfocus=window.ran=1></form>",
    "<object data=http://evil.test/c></object>",
    "javascript:window.ran=1",
    "data:text/html,<script>parent.ran=1</script>",
    "![a](http://evil.test/d.png)",
    "[a](javascript:window.ran=1)",
    "{{constructor.constructor('window.ran=1')()}}",
    "${window.ran=1}",
    "__proto__",
    "constructor",
    '{"__proto__": {"ran": 1}, "dangerouslySetInnerHTML": {"__html": "<img src=x onerror=window.ran=1>"}}',
    "</script><script>window.ran=1</script>",
    "--><img src=x onerror=window.ran=1><!--",
    "' onmouseover='window.ran=1",
    "#/turns/x?tenant=evil",
    "http://evil.test/e",
)
_HIDES = (
    "\u202egnirts siht sesrever",
    "\u2066left\u2067right\u2069",
    "a\u200b\u2060\ufeffb",
    "\u061c\u200e\u200f marks",
    "\U000e0041\U000e0042 tags",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.test/\x1b\\link\x1b]8;;\x1b\\",
    "\x08\x08\x08\x7f",
    "\x00nul",
    "a\u2028b\u2029c",
    "\ufff9anchor\ufffb",
    "\ue000\uf8ff private",
    "line\r\nline\rline",
)
_BREAKS = (
    "z" + "\u0300\u0489" * 400,
    "W" * 1_500,
    "\u0645" * 1_500,
    "\n" * 900,
    "\t" * 900,
    " " * 900,
    "\ufdfd" * 200,
    "a \u00a0" * 300,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 100,
    "|---|---|\n" * 100,
)
# The longest that an event's text may be.
LONG = (
    "x" * 262_144,
    "<b>\u202e" * 43_690,
    "\n".join("y" * 1_000 for _ in range(260)),
)
COUNT = 200


def hostile_texts(count: int) -> list[str]:
    """So many texts, at most `COUNT`, each another one; the last ones are as long as a text may be."""
    plain = (*_RUNS, *_HIDES, *_BREAKS)
    carriers = ("{}", "The tool said: {} and ended.", "`{}`", '"{}"', "{}\n{}")
    texts = [carrier.replace("{}", text) for carrier in carriers for text in plain]
    assert len(texts) >= COUNT
    return [*texts[: count - len(LONG)], *LONG]


def printable(text: str, most: int) -> str:
    """What of a text an id or a name may have."""
    kept = "".join(one for one in text if one.isprintable())
    while len(kept.encode()) > most:
        kept = kept[: len(kept) * 3 // 4]
    return kept.strip() or "x"
