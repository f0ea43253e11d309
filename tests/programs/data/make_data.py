# SPDX-License-Identifier: MIT
"""Writes what the examples ocr and speech are tried on: lines of text as pictures, and two sentences with silence around.

Run from the root of the repository with the folder of real models as argument; needs NumPy, SciPy and espeak-ng.
The pictures are the inputs whose values by ONNX Runtime lie beside the models. speech.wav (8000 frames a second, 8 bits)
holds speech from 0.6 s to 1.8 s and from 3.0 s to 4.1 s, to within a tenth of a second.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from scipy.io import wavfile
from scipy.signal import resample_poly

here = pathlib.Path(__file__).parent


def write_png(path, pixels):
    height, width, _ = pixels.shape

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) +
                     chunk(b"IEND", b""))


def speech(text, seconds):
    """`text` as spoken at 8000 frames a second, without the silence around it; takes about so many seconds."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["espeak-ng", "-v", "en", "-w", file.name, text], check=True)
        rate, samples = wavfile.read(file.name)
    samples = resample_poly(samples / 2.0**15, 8000, rate)
    loud = np.flatnonzero(np.abs(samples) > 0.01)
    samples = samples[loud[0]:loud[-1] + 1]
    assert abs(len(samples) / 8000 - seconds) < 0.1, len(samples) / 8000
    return samples


for i in (0, 1):
    given = np.load(pathlib.Path(sys.argv[1]) / "ref" / f"ppocrv4_rec_{i}.npz")["in_0"][0]
    # Blue, green, red from -1 to 1, channels first.
    pixels = np.clip(np.round((given + 1) * 127.5), 0, 255).astype(np.uint8)
    write_png(here / f"line_{i}.png", np.ascontiguousarray(pixels[::-1].transpose(1, 2, 0)))

recording = np.zeros(int(4.6 * 8000))
for begin, seconds, text in ((0.6, 1.2, "The owl sees in the dark."), (3.0, 1.1, "It hunts at night.")):
    spoken = speech(text, seconds)
    at = int(begin * 8000)
    recording[at:at + len(spoken)] = spoken
wavfile.write(here / "speech.wav", 8000, np.clip(np.round(recording * 128 + 128), 0, 255).astype(np.uint8))
