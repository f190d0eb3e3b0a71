"""Sidemirror with the sentence model beside its words."""

from pathlib import Path

from serving import Embedding, serve
from with_sidemirror import Sidemirror


def with_vectors(folder: Path, embedding: Embedding) -> Sidemirror:
    return Sidemirror(folder, None, "--embedding--name", embedding.name, "--embedding--base-url", embedding.url)


if __name__ == "__main__":
    serve(with_vectors)
