"""Exit code 0 where the service of this container is alive; the image has no curl, and needs none."""

import http.client
import os
import sys

TIMEOUT_SECONDS = 3


def main() -> int:
    port = int(os.environ.get("GAPLESS_PORT", "8080"))
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
