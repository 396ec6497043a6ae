"""Just enough HTTP/2 to say wrong things to a gRPC server: frames by hand, headers as plain literals."""

import socket
import struct

from .processes import SLOWER

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, CONTINUATION = 0, 1, 4, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """A header that goes into no table, uncompressed (RFC 7541, 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def call_headers(path, stream=1, more=None):
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        *(more or {}).items(),
    ]
    return frame(HEADERS, END_HEADERS, stream, b"".join(literal(n, v) for n, v in fields))


def message(payload, claimed=None):
    """A gRPC message; `claimed` is the length that it says it has."""
    return struct.pack(">BI", 0, len(payload) if claimed is None else claimed) + payload


def frames_of(data):
    """[(kind, flags, stream, payload)] of the whole frames in `data`."""
    found = []
    while len(data) >= 9:
        length = int.from_bytes(data[:3], "big")
        if len(data) < 9 + length:
            break
        kind, flags, stream = struct.unpack(">BBI", data[3:9])
        found.append((kind, flags, stream, data[9 : 9 + length]))
        data = data[9 + length :]
    return found


def exchange(host, port, sent, seconds=10):
    """Sends, and returns the frames that come until the server ends stream 1 or the connection."""
    data = b""
    with socket.create_connection((host, port), timeout=seconds * SLOWER) as connection:
        connection.sendall(sent)
        try:
            while not any(s == 1 and f & END_STREAM for _, f, s, _ in frames_of(data)):
                part = connection.recv(65536)
                if not part:
                    break
                data += part
        except ConnectionResetError:
            pass
    return frames_of(data)


def drop(host, port, sent):
    """Sends and hangs up in the middle."""
    with socket.create_connection((host, port), timeout=10 * SLOWER) as connection:
        connection.sendall(sent)
