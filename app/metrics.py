"""What the parts of a process tell of what they do. Nothing here counts: `main` passes down what does.

They tell it once per transaction, chunk or request, never once per event. Counts are of what this process
did, so the sum over all replicas is right; what the database knows is measured there (`gapless.measure`).
"""


class Metrics:
    """Forgets all it is told."""

    def published(self, topic: str, events: int) -> None:
        """A transaction stored so many events of a topic."""

    def publish_took(self, seconds: float) -> None:
        """A batch waited so long for its transaction and that for its end."""

    def claimed(self, events: int) -> None:
        """So many events were handed out, by a claim or over a group's stream."""

    def settled(self, outcome: str, events: int) -> None:
        """acked, failed, rejected, released, expired: how a delivery of so many events ended."""

    def leases_expired(self, leases: int) -> None:
        """A call of this process found so many leases expired and ended them."""

    def died(self, reason: str, events: int) -> None:
        """So many events became dead letters, being failed, rejected or expired."""

    def redriven(self, events: int) -> None: ...

    def trimmed(self, events: int, *, forced: bool) -> None:
        """Retention run by this process removed so many events; forced: a group still needed them."""

    def sent(self, events: int) -> None:
        """So many events went into the sockets of streams."""

    def gap(self, reason: str, streams: int = 1) -> None:
        """So many streams were told that something is missing."""

    def slow_closed(self) -> None:
        """A stream was closed, as its client took nothing."""

    def coalesced(self, notifications: int) -> None:
        """So many notifications told of what was to be read already."""

    def reconnected(self) -> None:
        """The connection for notifications was lost and is back."""

    def waited_for_connection(self, seconds: float) -> None: ...

    def no_connection(self) -> None:
        """A call was given up as no connection became free in time."""

    def loop_lagged(self, seconds: float) -> None:
        """The event loop came so much later than it was asked to."""

    def requested(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is the template of its path, empty where none fits."""


NOBODY = Metrics()
