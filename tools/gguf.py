"""A reader of GGUF files (version 3), as far as the starter model needs it. Plain Python."""
import struct
from typing import NamedTuple


class BlockType(NamedTuple):
    weights_per_block: int
    bytes_per_block: int


TYPES = {"F32": BlockType(1, 4), "Q4_1": BlockType(32, 20), "Q8_0": BlockType(32, 34)}
TYPE_IDS = {0: "F32", 3: "Q4_1", 8: "Q8_0"}
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Gguf:
    """meta: the file's metadata. Tensors are asked for by name; shapes have rows outermost."""

    def __init__(self, data):
        self._data, self._at = data, 4
        if data[:4] != b"GGUF":
            raise SystemExit("not a GGUF file: the magic bytes are missing")
        version, tensors, values = self._number("I"), self._number("Q"), self._number("Q")
        if version != 3:
            raise SystemExit(f"GGUF version {version}, expected 3")
        self.meta = {}
        for _ in range(values):
            key = self._string()
            self.meta[key] = self._value(self._number("I"))
        self._infos = dict(self._info() for _ in range(tensors))
        alignment = self.meta.get("general.alignment", 32)
        self._base = -(-self._at // alignment) * alignment

    def kind(self, name):
        return self._infos[name][1]

    def shape(self, name):
        return self._infos[name][0]

    def bytes(self, name):
        """The tensor's blocks as stored."""
        shape, kind, offset = self._infos[name]
        weights = 1
        for n in shape:
            weights *= n
        size = weights // TYPES[kind].weights_per_block * TYPES[kind].bytes_per_block
        return self._data[self._base + offset:self._base + offset + size]

    def _number(self, code):
        [value] = struct.unpack_from(f"<{code}", self._data, self._at)
        self._at += struct.calcsize(code)
        return value

    def _string(self):
        size = self._number("Q")
        self._at += size
        return self._data[self._at - size:self._at].decode("utf-8")

    def _value(self, kind):
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._number(SCALARS[kind])
        element, count = self._number("I"), self._number("Q")
        if element == STRING:
            return [self._string() for _ in range(count)]
        code = f"<{count}{SCALARS[element]}"
        self._at += struct.calcsize(code)
        return list(struct.unpack_from(code, self._data, self._at - struct.calcsize(code)))

    def _info(self):
        name = self._string()
        shape = [self._number("Q") for _ in range(self._number("I"))][::-1]
        kind, offset = self._number("I"), self._number("Q")
        return name, (shape, TYPE_IDS.get(kind, f"type {kind}"), offset)
