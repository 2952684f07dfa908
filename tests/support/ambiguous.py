"""Requests that can be read in two ways, as heads without their last line end, and bodies."""

POST = "POST /v1/topics/t/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
ONE = b'{"events":[{"data":1}]}'
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(ONE), ONE)
AMBIGUOUS = {
    "both lengths": (f"{POST}Content-Length: {len(CHUNKED)}\r\nTransfer-Encoding: chunked\r\n", CHUNKED),
    "both, the other way": (f"{POST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", CHUNKED),
    "a length with a sign": (f"{POST}Content-Length: +{len(ONE)}\r\n", ONE),
    "a negative length": (f"{POST}Content-Length: -1\r\n", ONE),
    "a hexadecimal length": (f"{POST}Content-Length: 0x17\r\n", ONE),
    "two lengths": (f"{POST}Content-Length: {len(ONE)}\r\nContent-Length: 1\r\n", ONE),
    "twice the same length": (f"{POST}Content-Length: {len(ONE)}\r\nContent-Length: {len(ONE)}\r\n", ONE),
    "a list of lengths": (f"{POST}Content-Length: {len(ONE)}, {len(ONE)}\r\n", ONE),
    "a length with a space": (f"{POST}Content-Length: 2 3\r\n", ONE),
    "a length beyond all": (f"{POST}Content-Length: {2**64 + len(ONE)}\r\n", ONE),
    "chunked is not last": (f"{POST}Transfer-Encoding: chunked, gzip\r\n", CHUNKED),
    "an unknown coding": (f"{POST}Transfer-Encoding: xchunked\r\n", CHUNKED),
    "a space before the colon": (f"{POST}Transfer-Encoding : chunked\r\n", CHUNKED),
    "a folded header": (f"{POST}X: a\r\n Content-Length: 5\r\nContent-Length: {len(ONE)}\r\n", ONE),
    "no chunk size": (f"{POST}Transfer-Encoding: chunked\r\n", b"\r\n" + ONE),
    "a chunk size that is no number": (f"{POST}Transfer-Encoding: chunked\r\n", b"zz\r\n" + ONE),
    "a chunk size with a sign": (
        f"{POST}Transfer-Encoding: chunked\r\n",
        b"+17\r\n" + ONE + b"\r\n0\r\n\r\n",
    ),
    "a chunk size beyond all": (f"{POST}Transfer-Encoding: chunked\r\n", b"f" * 17 + b"\r\n" + ONE),
    "a bare line feed after a chunk size": (
        f"{POST}Transfer-Encoding: chunked\r\n",
        b"17\n" + ONE + b"\r\n0\r\n\r\n",
    ),
    "a chunk that is longer than its size": (
        f"{POST}Transfer-Encoding: chunked\r\n",
        b"2\r\n" + ONE + b"\r\n0\r\n\r\n",
    ),
    "a bare carriage return in a value": (f"{POST}X: a\rb\r\nContent-Length: {len(ONE)}\r\n", ONE),
    "a null in a value": (f"{POST}X: a\0b\r\nContent-Length: {len(ONE)}\r\n", ONE),
    "no version": (f"{POST.replace(' HTTP/1.1', '')}Content-Length: {len(ONE)}\r\n", ONE),
    "version 3": (f"{POST.replace('1.1', '3.0')}Content-Length: {len(ONE)}\r\n", ONE),
}
