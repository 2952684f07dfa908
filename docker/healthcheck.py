"""Exit code 0 where the service of this container is alive; the image has no curl, and needs none."""

import http.client
import os
import sys

TIMEOUT_SECONDS = 3


def main() -> int:
    given = os.environ.get("GAPLESS_PORT", "8080")
    # Beside a Service called gapless, Kubernetes sets it to that one's address.
    port = 8080 if "://" in given else int(given)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/livez")
        return int(connection.getresponse().status != 200)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
