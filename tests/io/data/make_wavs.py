# SPDX-License-Identifier: MIT
"""Writes the recordings of wavs/ and what they hold (wavs.npz): files by SciPy and by Python's wave, values by SciPy.

Run from the root of the repository; needs NumPy and SciPy.
"""
import pathlib
import wave

import numpy as np
from scipy.io import wavfile

here = pathlib.Path(__file__).parent
folder = here / "wavs"
folder.mkdir(exist_ok=True)
random = np.random.default_rng(7)
rate = 16000

signal = random.uniform(-1, 1, (25, 2))
signal[0], signal[1], signal[2] = -1, 0, 1
integers = {bits: np.clip(np.round(signal * 2.0 ** (bits - 1)), -(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)
            for bits in (8, 16, 24, 32)}

wavfile.write(folder / "mono_u8.wav", 8000, (integers[8][:, 0] + 128).astype(np.uint8))
wavfile.write(folder / "stereo_16.wav", 44100, integers[16].astype(np.int16))
wavfile.write(folder / "stereo_32.wav", rate, integers[32].astype(np.int32))
wavfile.write(folder / "mono_float.wav", rate, signal[:, :1].astype(np.float32))
with wave.open(str(folder / "stereo_24.wav"), "wb") as file:
    file.setnchannels(2)
    file.setsampwidth(3)
    file.setframerate(48000)
    four = integers[24].astype("<i4").tobytes()
    file.writeframes(b"".join(four[i:i + 3] for i in range(0, len(four), 4)))

values = {}
for path in sorted(folder.glob("*.wav")):
    read_rate, samples = wavfile.read(path)
    scale = {"uint8": 128.0, "int16": 2.0**15, "int32": 2.0**31, "float32": 1.0}[samples.dtype.name]
    offset = 128.0 if samples.dtype == np.uint8 else 0.0
    samples = (samples.astype(np.float64) - offset) / scale
    values[path.stem] = samples.reshape(len(samples), -1).astype(np.float32)
    values[path.stem + "_rate"] = np.array(read_rate, np.int64)
np.savez(here / "wavs.npz", **values)
