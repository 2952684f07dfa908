"""Frames of a group's stream."""

import msgspec

from app.api.group_wire import lease_members
from app.api.sse import data_frame
from app.model import Claimed, Lease


class GroupSseFrames:
    """No frame has an id: where a group is, the server knows."""

    def lease(self, lease: Lease) -> bytes:
        return b"event: lease\ndata: %b\n\n" % msgspec.json.encode(lease_members(lease))

    def item(self, item: bytes) -> bytes:
        return data_frame(item)

    def skipped(self, claimed: Claimed) -> bytes:
        said = msgspec.json.encode({"skipped": claimed.skipped, "lost": claimed.lost})
        return b"event: skipped\ndata: %b\n\n" % said

    def end(self, topic: str, group: str, code: str) -> bytes:
        said = msgspec.json.encode({"topic": topic, "group": group, "code": code})
        return b"event: end\ndata: %b\n\n" % said
