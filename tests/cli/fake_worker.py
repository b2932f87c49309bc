#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An assay-worker between assay and a real one: it passes all messages, but breaks one.

ASSAY_REAL_WORKER is the real one. ASSAY_FAKE is a file with JSON: {"op": OP, "batch": N} says which reply (of the last shape that was bound; the OP "hello" is the first
message, "from_start": N of the Nth worker and all later ones), and one of
"set": [PATH, VALUE], "remove": PATH (of a field: ["ok", "run_ms"]), "bytes": HEX (sent as they are), "silence": true, "close": true.
"""
import json
import os
import socket
import struct
import subprocess
import sys
import time


def receive(connection):
    def exactly(size):
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                sys.exit(0)
            data += part
        return data
    size, = struct.unpack("<I", exactly(4))
    return json.loads(exactly(size))


def framed(message):
    body = json.dumps(message).encode()
    return struct.pack("<I", len(body)) + body


def break_reply(connection, reply, fault):
    if "bytes" in fault:
        return connection.sendall(bytes.fromhex(fault["bytes"]))
    if "silence" in fault or "close" in fault:
        connection.sendall(framed(reply)[:10])
        if "close" in fault:
            connection.close()
            os.close(3)
        return time.sleep(10_000)
    path = fault["remove"] if "remove" in fault else fault["set"][0]
    place = reply
    for key in path[:-1]:
        place = place[key]
    if "remove" in fault:
        del place[path[-1]]
    else:
        place[path[-1]] = fault["set"][1]
    connection.sendall(framed(reply))


def main():
    with open(os.environ["ASSAY_FAKE"], encoding="utf-8") as file:
        fault = json.load(file)
    assay = socket.socket(fileno=os.dup(3))
    ours, theirs = socket.socketpair()
    os.dup2(theirs.fileno(), 3, inheritable=True)
    real = subprocess.Popen([os.environ["ASSAY_REAL_WORKER"], *sys.argv[1:]], pass_fds=[3])
    theirs.close()
    os.close(3)
    os.dup2(assay.fileno(), 3)
    hello = receive(ours)
    with open(os.environ["ASSAY_FAKE"] + ".starts", "a+b") as starts:
        starts.write(b".")
        number = starts.tell()
    if fault["op"] == "hello" and number >= fault.get("from_start", 1):
        break_reply(assay, hello, fault)
    else:
        assay.sendall(framed(hello))
    batch = None
    while True:
        request = receive(assay)
        if request["op"] == "bind":
            batch = request["args"]["inputs"][0]["shape"][0]
        ours.sendall(framed(request))
        reply = receive(ours)
        if request["op"] == fault["op"] and fault.get("batch", batch) == batch:
            break_reply(assay, reply, fault)
        else:
            assay.sendall(framed(reply))


main()
