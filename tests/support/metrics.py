"""What a scrape says."""

import httpx
from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._samples = [sample for family in self.families.values() for sample in family.samples]

    def value(self, name: str, **labels: str) -> float:
        """The sum of the series that have these labels, 0 without any; `name` is without `gapless_`."""
        return sum(
            sample.value
            for sample in self._samples
            if sample.name == f"gapless_{name}" and labels.items() <= sample.labels.items()
        )

    def labels(self, name: str, label: str) -> set[str]:
        return {sample.labels[label] for sample in self._samples if sample.name == f"gapless_{name}"}


async def scrape(client: httpx.AsyncClient) -> Scrape:
    answer = await client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert answer.headers["cache-control"] == "no-store"
    return Scrape(answer.text)
