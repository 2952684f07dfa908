"""A member of a consumer group as a process that can be killed: claims, nacks some events, acks the others.

`python -I member.py PORT TOPIC GROUP NAME SEED LOG`: only the standard library, so that it starts at once.
Each run of offsets that the service says are acked is a line of LOG; what was acked when it was killed may
be missing.
"""

import http.client
import json
import random
import sys
import time
from typing import Any

MAX_EVENTS = 200
LEASE_SECONDS = 2
NACKED_SHARE = 0.05
RETRY_SECONDS = 0.05


def main() -> None:
    port, topic, group, name, seed, path = sys.argv[1:]
    dice = random.Random(int(seed))
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)

    def post(verb: str, body: dict[str, Any]) -> Any:
        connection.request(
            "POST",
            f"/v1/topics/{topic}/subscriptions/{group}/{verb}",
            json.dumps(body),
            {"content-type": "application/json"},
        )
        answer = connection.getresponse()
        text = answer.read()
        if answer.status == 409:
            return None
        if answer.status != 200:
            raise ConnectionError(text)
        return json.loads(text)

    with open(path, "a", buffering=1) as log:
        while True:
            claimed = post(
                "claim", {"member": name, "max_events": MAX_EVENTS, "wait": 1, "lease_seconds": LEASE_SECONDS}
            )
            lease = claimed and claimed["lease"]
            if not lease:
                time.sleep(RETRY_SECONDS)
                continue
            token, partition = lease["token"], lease["partition"]
            offsets = [event["offset"] for event in claimed["events"]]
            if nacked := [offset for offset in offsets if dice.random() < NACKED_SHARE]:
                post(f"leases/{token}/nack", {"offsets": nacked, "delay": 0, "reason": "bad luck"})
            acked = post(f"leases/{token}/ack", {})
            for run in acked["results"] if acked else ():
                if run["status"] == "acked":
                    log.write(f"{partition} {run['first_offset']} {run['last_offset']}\n")


if __name__ == "__main__":
    main()
