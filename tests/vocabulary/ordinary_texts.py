"""Texts of an agent's day in which nothing is a secret: code, logs, hashes, ids, base64 data and prose."""

import base64
import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# What we wrote ourselves: code in six languages, none of which holds a secret, nor what looks like one.
_CODE = ("server/sidemirror_server/**/*.py", "clients/*/src/**/*.*", "clients/go/**/*.go", "bench/*.py")
_BUT = ("secret_", "redaction")
_PIECE_CHARS = 1_500


def ordinary_texts(seed: int, count: int) -> list[str]:
    """So many texts, a fifth of each sort."""
    draw = random.Random(seed)
    sorts = [_code(draw), _logs(draw), _ids(draw), _data(draw), _prose(draw)]
    return [next(sorts[number % len(sorts)]) for number in range(count)]


def _code(draw: random.Random) -> Iterator[str]:
    files = [path for pattern in _CODE for path in sorted(ROOT.glob(pattern)) if path.is_file()]
    texts = [path.read_text(errors="replace") for path in files if not any(part in path.name for part in _BUT)]
    while True:
        text = draw.choice(texts)
        at = draw.randrange(max(1, len(text) - _PIECE_CHARS))
        yield text[at : at + _PIECE_CHARS]


def _logs(draw: random.Random) -> Iterator[str]:
    while True:
        yield "\n".join(_line(draw) for _ in range(12))


def _line(draw: random.Random) -> str:
    hexes, number = f"{draw.getrandbits(128):032x}", draw.randrange(10**6)
    at = f"2026-11-{draw.randrange(1, 29):02}T{draw.randrange(24):02}:{draw.randrange(60):02}:07.{number:06}Z"
    return draw.choice(
        [
            f"{at} INFO [worker-{number}] request_id={hexes} path=/api/v1/orders/{number} status=200 took=12ms",
            f'10.0.3.{number % 255} - - [{at}] "GET /static/app.{hexes[:16]}.js HTTP/1.1" 304 0 "-" "curl/8.5.0"',
            json.dumps(
                {"ts": at, "trace_id": hexes, "span_id": hexes[:16], "msg": "token refreshed", "expires_in": 3600}
            ),
            f"kernel: [{number}.{number}] eth0: link up; ino {number} dev 8:1 audit({number}:{number % 99})",
            f"Successfully built image sha256:{hexes}{hexes} in {number}ms, pushed app:{hexes[:12]}",
            f'  File "/srv/app/handlers_{number}/authentication_middleware.py", line {number % 900}, in check_password',
            f"pod/orders-api-{hexes[:10]}-{hexes[:5]} deployed to sk-learn-eu-west-1-{number}, secret-name: orders-db",
            f"session {uuid.UUID(hex=hexes)} closed, key=orders:{number}:{hexes[:24]} hit=false auth=none",
        ]
    )


def _ids(draw: random.Random) -> Iterator[str]:
    while True:
        many = range(20)
        yield draw.choice(
            [
                "\n".join(f"{draw.randbytes(20).hex()} refs/heads/topic-{n}" for n in many),
                "\n".join(f"{draw.randbytes(32).hex()}  release_{n}.tar.gz" for n in many),
                "\n".join(f"order-{uuid.UUID(int=draw.getrandbits(128))}" for _ in many),
                "\n".join(f'"integrity": "sha512-{base64.b64encode(draw.randbytes(64)).decode()}",' for _ in many),
                " ".join(f"W{draw.randrange(10**7):07}" for _ in many) + f" isbn 978-3-16-{draw.randrange(10**6)}-0",
                "\n".join(
                    f"arn:aws:iam::{draw.randrange(10**12):012}:role/app-{draw.randbytes(8).hex()}" for _ in many
                ),
                "\n".join(f"projects/acme-{n}/secrets/db/versions/{n} etag {draw.randbytes(12).hex()}" for n in many),
            ]
        )


def _data(draw: random.Random) -> Iterator[str]:
    while True:
        data = draw.choice([draw.randbytes(3_000), bytes(draw.choice((0, 0, 0, 255, 17)) for _ in range(3_000))])
        yield draw.choice(
            [
                f"data:image/png;base64,{base64.b64encode(data).decode()}",
                f'<img src="data:image/jpeg;base64,/9j/{base64.b64encode(data).decode()}" alt="a chart">',
                base64.encodebytes(data).decode(),
                json.dumps({"screenshot": base64.urlsafe_b64encode(data).decode(), "width": 1280}),
                f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(data).decode()}-----END CERTIFICATE-----",
            ]
        )


_SENTENCES = [
    "The password was wrong, so I asked the customer to reset it.",
    "Your API key goes into the environment, never into the code.",
    "The token limit is 128000 and the answer took 4096 tokens.",
    "Please enter the six-digit code that we sent to your phone.",
    "Call +49 30 901820 or write to orders@example.com about order #W2378156.",
    "Secret ingredients make the sauce: thyme, mustard and a little sugar.",
    "The key to the garden is under the third stone, as always.",
    "He signed the letter and the bearer took it to Sk-Holm by the evening train.",
    "Authorization: the manager has to approve what costs more than 500 dollars.",
    "The cookie banner hides the button; scroll down to 2.4 and accept.",
    "Use --password-file instead of --password, and docker login with --password-stdin.",
    "curl -u needs a name; run curl --user-agent test/1.0 https://example.com/a:b instead.",
    "mysql -h db -P 3306 -u app shop lists the tables; the prompt asks for the rest.",
    "In the netrc, login comes before password, and machine before both.",
    "The pwd command printed /home/agent/work, OLDPWD=/home/agent and PWD=/srv/app.",
]


def _prose(draw: random.Random) -> Iterator[str]:
    while True:
        yield draw.choice([" ", "\n"]).join(draw.sample(_SENTENCES, 8))
