"""Metrics as Prometheus gets them."""

import json
import urllib.request

from prometheus_client.parser import text_string_to_metric_families


def metrics_address(log: str) -> str:
    """Where a server whose log this is serves them."""
    for line in log.splitlines():
        if '"metrics_served"' in line:
            return str(json.loads(line)["address"])
    raise AssertionError("no metrics are served")


def text_of(address: str) -> str:
    """What a scrape gets."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as answer:
        return str(answer.read().decode())


def scraped(address: str) -> dict[str, float]:
    """Each sample's name with the sum over its labels."""
    values: dict[str, float] = {}
    for family in text_string_to_metric_families(text_of(address)):
        for sample in family.samples:
            values[sample.name] = values.get(sample.name, 0.0) + sample.value
    return values


def labelled(address: str, name: str, **labels: str) -> float:
    """The sum of the samples of this name that have these labels."""
    return sum(
        sample.value
        for family in text_string_to_metric_families(text_of(address))
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
