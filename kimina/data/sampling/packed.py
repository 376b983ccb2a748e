"""Arrays as JSON: small enough for one number a row of a large training set, in every checkpoint."""

import base64
import zlib

import numpy as np


def packed(array: np.ndarray) -> dict[str, object]:
    """Return ``array`` as a mapping that JSON can hold; a boolean takes one bit before compression."""
    content = np.packbits(array) if array.dtype == bool else np.ascontiguousarray(array)
    text = base64.b64encode(zlib.compress(content.tobytes())).decode("ascii")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "zlib": text}


def unpacked(held: dict[str, object]) -> np.ndarray:
    """Return the array that :func:`packed` was given."""
    content = zlib.decompress(base64.b64decode(str(held["zlib"])))
    shape = tuple(held["shape"])  # type: ignore[arg-type]
    if held["dtype"] == "bool":
        bits = np.unpackbits(np.frombuffer(content, dtype=np.uint8), count=int(np.prod(shape)))
        return bits.astype(bool).reshape(shape)
    return np.frombuffer(content, dtype=str(held["dtype"])).reshape(shape).copy()
