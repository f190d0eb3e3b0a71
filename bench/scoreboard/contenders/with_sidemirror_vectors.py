"""Sidemirror with the sentence model beside its words. The model costs nothing: an unknown price would count as the
dearest known, and the cap of a day would end its vectors."""

from pathlib import Path

from serving import Embedding, serve
from with_sidemirror import Sidemirror


def with_vectors(folder: Path, embedding: Embedding) -> Sidemirror:
    model = ("--embedding--name", embedding.name, "--embedding--base-url", embedding.url)
    return Sidemirror(folder, None, *model, "--embedding--usd-per-mtok", "0")


if __name__ == "__main__":
    serve(with_vectors)
