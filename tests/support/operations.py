"""Every operation of the OpenAPI document as a request that can be sent."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx

DOCUMENT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "openapi" / "openapi.json").read_text("utf-8")
)


class Operation(NamedTuple):
    id: str
    method: str
    path: str
    said: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def url(self, **names: str) -> str:
        """The path and the required query with these names, and the examples of its other parameters."""
        path = self.path
        query = []
        for parameter in self.said.get("parameters", ()):
            name, value = parameter["name"], parameter["example"]
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", names.get(name, str(value)))
            elif parameter["in"] == "query" and (parameter.get("required") or name in names):
                query.append((name, names.get(name, str(value))))
        if self.id == "follow_topics":
            query.append(("topic", names.get("topic", "orders")))
        return path + (f"?{urlencode(query)}" if query else "")

    def body(self) -> tuple[bytes, dict[str, str]]:
        """The first example of its first media type, and the header that names that."""
        for media_type, content in self.said.get("requestBody", {}).get("content", {}).items():
            value = next(iter(content["examples"].values()))["value"]
            return json.dumps(value).encode(), {"Content-Type": media_type}
        return b"", {}

    async def call(
        self, client: httpx.AsyncClient, headers: Mapping[str, str] | None = None, **names: str
    ) -> httpx.Response:
        """The answer; of a stream only how it begins."""
        body, about = self.body()
        sent = client.stream(
            self.method, self.url(**names), content=body, headers={**about, **(headers or {})}
        )
        async with sent as answer:
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                await answer.aread()
            return answer


OPERATIONS = [
    Operation(said["operationId"], method.upper(), path, said)
    for path, methods in DOCUMENT["paths"].items()
    for method, said in methods.items()
]
BY_ID = {operation.id: operation for operation in OPERATIONS}
