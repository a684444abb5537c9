"""The one reader of files that others may have made: it waits for no pipe, and bounds sizes, nesting and numbers."""

import json
import math
import os
import re
import stat
import zlib
from typing import IO, Any, Iterator

LARGEST = 32 << 20  # bytes of a file that is read whole, and of one line of a record
MAX_RATIO = 32  # bytes that a byte of packed output may stand for, where they are more than LARGEST
CHUNK = 1 << 16
MAX_VALUES = 1 << 20  # values of a JSON text, where one of three characters can take 70 bytes of memory
MAX_DEPTH = 64
MAX_DIGITS = 20  # digits of an integer: 64 bits
MAX_NUMBER, MIN_NUMBER = 1e30, 1e-30  # nothing measured lies beyond; its square and reciprocal stay finite

_LONE_SURROGATE = re.compile(r'\\u[dD][89a-fA-F]')
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}'))


class NotReadable(ValueError):
    """A file or a text cannot be read; the message names the file, if there is one, and the reason."""


class Impossible(NotReadable):
    """Valid JSON that no Seatrial program writes."""


def open_regular(path: Any) -> IO[bytes]:
    """Open a regular file for reading. Raises NotReadable for a pipe or a device, which may have no end; OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotReadable(f'{path} is not a regular file')
    return open(descriptor, 'rb')


def read_bytes(path: Any, limit: int = LARGEST) -> bytes:
    """The content of a file. Raises NotReadable where it has more than `limit` bytes, OSError."""
    with open_regular(path) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise NotReadable(f'{path} has more than {limit >> 20} MiB')
    return content


def read_text(path: Any) -> str:
    """The UTF-8 text of a file. Raises NotReadable, OSError."""
    try:
        return read_bytes(path).decode('utf-8')
    except UnicodeDecodeError as error:
        raise NotReadable(f'{path} is no UTF-8: {error.reason} at byte {error.start}') from None


def read_json(path: Any) -> Any:
    """The value of a JSON file. Raises NotReadable, OSError."""
    content = read_bytes(path)
    try:
        return parsed(content)
    except ValueError as error:
        raise NotReadable(f'{path} is no JSON of Seatrial: {error}') from None


def lines_in(stream: IO[bytes]) -> Iterator[str]:
    """The lines of a file. A line of more than LARGEST bytes comes in parts, none of which is JSON."""
    while True:
        line = stream.readline(LARGEST)
        if not line:
            return
        yield line.decode('utf-8', 'replace')


def unpacked(packed: bytes) -> bytes:
    """The content of one gzip member. Raises NotReadable."""
    limit = max(LARGEST, MAX_RATIO * len(packed))
    try:
        if sum(map(len, _pieces(packed))) > limit:  # nothing of it is in memory yet
            raise NotReadable(f'it unpacks to more than {limit >> 20} MiB')
        return b''.join(_pieces(packed))
    except (zlib.error, EOFError) as error:
        raise NotReadable(f'it is damaged: {error}') from None


def _pieces(packed: bytes) -> Iterator[bytes]:
    """The content of a gzip member, CHUNK bytes at a time. Raises zlib.error, EOFError."""
    inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
    for at in range(0, len(packed), CHUNK):
        left = packed[at : at + CHUNK]
        while left and not inflate.eof:
            yield inflate.decompress(left, CHUNK)
            left = inflate.unconsumed_tail
    if not inflate.eof:
        raise EOFError('it ends too early')


def parsed(content: Any) -> Any:
    """The value of a JSON text (bytes or str). Raises ValueError, and Impossible beyond the limits above."""
    _check_shape(content)
    text = content if isinstance(content, str) else content.decode('utf-8')
    value = _DECODER.decode(text)
    if '\\u' in text and _LONE_SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode('utf-8')
        except UnicodeEncodeError:
            raise Impossible('a text has half a character') from None
    return value


def _check_shape(content: Any) -> None:
    """Raises Impossible for text with more values or deeper nesting than memory or the stack can hold."""
    brackets = _count(content, '[{')
    if brackets <= MAX_DEPTH and brackets + _count(content, ',') <= MAX_VALUES:
        return
    raw = content.encode('utf-8', 'replace') if isinstance(content, str) else content
    raw = raw.replace(b'\\\\', b'').replace(b'\\"', b'')
    if raw.count(b'"') > 2 * MAX_VALUES:
        raise Impossible(f'it has more than {MAX_VALUES} texts')
    bare = b''.join(raw.split(b'"')[::2])
    if _count(bare, ',[{') > MAX_VALUES:
        raise Impossible(f'it has more than {MAX_VALUES} values')
    depth = 0
    for bracket in bare.translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b'[{' else -1
        if depth > MAX_DEPTH:
            raise Impossible(f'it is nested more than {MAX_DEPTH} deep')


def _count(content: Any, characters: str) -> int:
    sought = characters if isinstance(content, str) else map(str.encode, characters)
    return sum(map(content.count, sought))


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise Impossible(f'the number {text[:MAX_DIGITS]}... has more than {MAX_DIGITS} digits')
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if value and not MIN_NUMBER <= math.fabs(value) <= MAX_NUMBER:
        raise Impossible(f'the number {text[:MAX_DIGITS]} is none that anything can be')
    return value


def _no_number(text: str) -> Any:
    raise Impossible(f'{text} is no number')


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_integer, parse_constant=_no_number)
