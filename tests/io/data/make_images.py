# SPDX-License-Identifier: MIT
# Writes the picture files under images/ and what Pillow and NumPy read of them; needs Pillow.
import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

here = Path(__file__).parent
rows, columns = np.mgrid[0:9, 0:7]
colours = np.stack([rows * 28, columns * 40, (rows * columns * 11) % 256], -1).astype(np.uint8)
grey = colours[:, :, 2]
opacity = (rows * 31).astype(np.uint8)
expected = {}


def save(name, picture, **options):
    picture.save(here / "images" / name, **options)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def interlaced(pixels):
    """Adam7, which Pillow reads but does not write."""
    height, width, _ = pixels.shape
    data = b""
    for top, left, down, right in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]:
        for row in pixels[top::down, left::right]:
            if len(row):
                data += b"\0" + row.tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


(here / "images").mkdir(exist_ok=True)
save("colours.png", Image.fromarray(colours))
save("grey.png", Image.fromarray(grey))
save("bits.png", Image.fromarray(grey > 100))
save("opaque.png", Image.fromarray(np.dstack([colours, opacity])))
save("grey_opaque.png", Image.fromarray(np.dstack([grey, opacity])))
save("palette.png", Image.fromarray(colours).quantize(16))
sixteen = (rows * 7000 + columns * 333).astype(np.uint16)
save("sixteen.png", Image.fromarray(sixteen))
(here / "images" / "interlaced.png").write_bytes(interlaced(colours))
smooth = np.stack([rows * 20, columns * 30, rows * 5 + columns * 9], -1).astype(np.uint8)
save("colours.jpg", Image.fromarray(smooth), quality=90)
save("progressive.jpg", Image.fromarray(smooth), quality=90, progressive=True)
save("grey.jpg", Image.fromarray(smooth[:, :, 2]), quality=90)
save("inks.jpg", Image.fromarray(smooth).convert("CMYK"), quality=90)

for path in sorted((here / "images").glob("*.[pj]*g")):
    if path.name != "sixteen.png":
        expected[path.name] = np.asarray(Image.open(path).convert("RGB"))
expected["sixteen.png"] = np.repeat(((sixteen.astype(np.int64) * 255 + 32767) // 65535).astype(np.uint8)[:, :, None], 3, 2)
expected["opaque.png as 4"] = np.asarray(Image.open(here / "images/opaque.png"))
expected["grey_opaque.png as 4"] = np.asarray(Image.open(here / "images/grey_opaque.png").convert("RGBA"))
expected["colours.png as 4"] = np.asarray(Image.open(here / "images/colours.png").convert("RGBA"))
expected["colours.png as 1"] = np.asarray(Image.open(here / "images/colours.png").convert("L"))[:, :, None]
expected["grey.jpg as 1"] = np.asarray(Image.open(here / "images/grey.jpg"))[:, :, None]
expected["bits.png as 1"] = np.asarray(Image.open(here / "images/bits.png").convert("L"))[:, :, None]
np.savez_compressed(here / "images" / "expected.npz", **expected)
