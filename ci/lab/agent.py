"""Runs commands on a node of ci/lab-kernels. As a program: the server on the node, at the address in its argument.

A command is one line of JSON: argv, cwd and environment. Its output comes back in frames: a byte (1 stdout, 2 stderr,
0 the end), a length, and the bytes; those of the end are the exit code. The end of the connection ends the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
from typing import BinaryIO

PORT = 7001
FRAME = struct.Struct('>BI')
END, STDOUT, STDERR = 0, 1, 2


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        wanted = json.loads(self.rfile.readline() or '{"argv": []}')
        if not wanted['argv']:  # the caller only checks that the node answers
            return
        try:
            process = subprocess.Popen(
                wanted['argv'],
                cwd=wanted['cwd'],
                env=wanted['environment'],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            self.tell(STDERR, f'{wanted["argv"][0]}: {error.strerror}\n'.encode())
            self.tell(END, b'127')
            return
        threading.Thread(target=self.end_with_caller, args=(process,), daemon=True).start()
        streams = ((STDOUT, process.stdout), (STDERR, process.stderr))
        threads = [threading.Thread(target=self.forward, args=stream) for stream in streams]
        for thread in threads:
            thread.start()
        code = process.wait()
        for thread in threads:
            thread.join(1)  # processes left in the background may keep the output open
        self.tell(END, str(code if code >= 0 else 128 - code).encode())

    def forward(self, kind: int, stream: BinaryIO) -> None:
        while chunk := stream.read1(1 << 16):  # type: ignore[attr-defined]
            self.tell(kind, chunk)

    def tell(self, kind: int, content: bytes) -> None:
        with contextlib.suppress(OSError):
            self.request.sendall(FRAME.pack(kind, len(content)) + content)

    def end_with_caller(self, process: subprocess.Popen[bytes]) -> None:
        if not self.rfile.read(1) and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def run_on(address: str, argv: list[str], cwd: str, environment: dict[str, str]) -> int:
    """Run a command on the node with this address, with its output and exit code. OSError if the node is gone."""
    with socket.create_connection((address, PORT), 10) as channel:
        channel.settimeout(None)
        channel.sendall(json.dumps({'argv': argv, 'cwd': cwd, 'environment': environment}).encode() + b'\n')
        stream = channel.makefile('rb')
        while header := stream.read(FRAME.size):
            kind, length = FRAME.unpack(header)
            content = stream.read(length)
            if kind == END:
                return int(content)
            out = sys.stdout.buffer if kind == STDOUT else sys.stderr.buffer
            out.write(content)
            out.flush()
    raise OSError('the node has ended')


def answers(address: str) -> bool:
    try:
        with socket.create_connection((address, PORT), 1):
            return True
    except OSError:
        return False


if __name__ == '__main__':
    with Server((sys.argv[1], PORT), Handler) as server:
        server.serve_forever()
