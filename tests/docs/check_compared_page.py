# SPDX-License-Identifier: MIT
"""Evaluates the first column of docs/numpy.md or docs/pytorch.md and compares it with the values that the page states, and
the calls of docs/generate/pytorch_same.inc with theirs; 77 without NumPy, or PyTorch for its page."""
import os
import re
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)
import copy
import functools
import warnings

PLAIN = {"int64": "i64", "int32": "i32", "float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool",
         "complex64": "c64", "complex128": "c128"}


def packed(text):
    text = re.sub(r"\s+", " ", text)
    return text.replace("[ ", "[").replace(" ]", "]").strip()


def names_of(page):
    """What the rows of a page may use."""
    names = {"np": np, "copy": copy, "functools": functools}
    if "| PyTorch |" in page:
        try:
            import torch
        except ImportError:
            sys.exit(77)
        warnings.simplefilter("ignore")
        names.update(torch=torch, nn=torch.nn, F=torch.nn.functional, optim=torch.optim,
                     lr_scheduler=torch.optim.lr_scheduler)
    return names


def shown(value):
    if hasattr(value, "detach"):
        return shown(value.detach().numpy())
    if isinstance(value, np.dtype):
        return PLAIN[value.name]
    if isinstance(value, tuple) and all(type(entry) is int for entry in value):
        return "(" + ",".join(map(str, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, tuple):
        return " ".join(map(shown, value))
    return packed(str(value))


def cells(line):
    parts = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
    return [re.sub(r"^`|`$", "", part).replace("\\|", "|") for part in parts]


NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")


def equal(found, value):
    """Whether two texts agree, numbers with a point to four units in the last place: the functions of NumPy and PyTorch
    differ there between processors, and so does how their numbers are padded. Numbers of f32 have nine digits at most."""
    def parts(text):
        return [re.sub(r" ", "", part) for part in NUMBER.split(text)], NUMBER.findall(text)

    def near(a, b):
        if "." not in a + b:
            return a == b
        digits = max(len(re.sub(r"e.*|^[-+]?0*\.?0*|\.", "", each)) for each in (a, b))
        unit = 2.0**-52 if digits > 9 else 2.0**-23
        return abs(float(a) - float(b)) <= 4 * unit * max(abs(float(a)), abs(float(b)))

    (words, numbers), (other_words, other_numbers) = parts(found), parts(value)
    return found == value or (words == other_words and all(map(near, numbers, other_numbers)))


def main(page, same):
    given = []
    names = names_of(page)
    checked = wrong = 0
    rows = [cells(line) for line in page.split("## Control")[0].splitlines() if line.startswith("| `")]
    for row in rows + same:
        if len(row) == 2:
            if re.match(r"\w+ = ", row[0]):
                given.append(row[0])
            continue
        for assignment in given:
            exec(assignment, names)
        other, _, value = row
        changed = re.match(r"(\w+) is (.*)", value)
        if changed or re.match(r"\w+ = ", other):
            exec(other, names)
            found, value = (shown(names[changed[1]]), changed[2]) if changed else ("", value)
        else:
            found = shown(eval(other, names))
        checked += 1
        if value and not equal(found, packed(value)):
            wrong += 1
            print(f"{other}: the page says {packed(value)}, {found} was found")
    print(f"{checked} rows checked, {wrong} wrong")
    return 1 if wrong or checked < 120 else 0


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
same = []
if "| PyTorch |" in text:
    with open(os.path.join(os.path.dirname(sys.argv[1]), "generate", "pytorch_same.inc"), encoding="utf-8") as file:
        same = [(call, "", value) for call, value in re.findall(r'^SAME\(\w+, "(.*?)", "(.*?)", ', file.read(), re.M)]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    status = main(text, same)
    os.chdir("/")
sys.exit(status)
