# SPDX-License-Identifier: MIT
"""The book a recipe writes its cases into: keeps arrays once, computes outputs and gradients in double precision."""

import hashlib
import io
import zipfile
import zlib

import numpy as np
import torch

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
}
# Types that PyTorch stores and hardly computes with; NumPy computes the expected results.
STORED = {**DTYPES, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64}
TAGS = {dtype: tag for tag, dtype in STORED.items()}
FLOATS = ("f16", "bf16", "f32", "f64")
WIDE_FLOATS = ("f32", "f64")
INTS = ("u8", "i8", "i16", "i32", "i64")

# A flip of the last rounding is at most one unit in the last place: 2^-10 relative in f16, 2^-7 in bf16.
ROUNDING = {"f16": 1e-3, "bf16": 8e-3, "f32": 1.2e-7, "f64": 2.3e-16}
SMALLEST = {"f16": 6e-8, "bf16": 1.2e-38, "f32": 1.2e-38, "f64": 2.3e-308}
# f16 and bf16 are storage types with f32 arithmetic, so their sums err as f32 does before the last rounding.
ARITHMETIC = {"f16": 1.2e-7, "bf16": 1.2e-7, "f32": 1.2e-7, "f64": 2.3e-16}

TOLERANCE_REASONS = {
    "exact": "one correctly rounded operation, or none: there is one right answer",
    "relative": "a library function good to a few units in the last place everywhere, near zero too; results below "
                "the smallest normal number may be flushed",
    "elementary": "a library function whose zeros are not at zero: good to a few units in the last place of one",
    "special": "a function made of series and asymptotic forms: good to some 16 units in the last place of one",
    "composed": "a short chain of element-wise steps, each rounded once, in f32 for the 16-bit types",
    "sum": "a sum of products in any order: 4 eps times the sum of the magnitudes, plus the last rounding",
    "factorised": "a factorisation and what is solved by it: some hundred units in the last place of the largest "
                  "element, times how badly conditioned the cases are",
    "gradient": "a chain of a few roundings against one exact value: relative to the largest gradient",
    "second": "two chained gradients: relative to the largest",
}


def tensor(values, tag):
    """Values rounded to the storage type `tag`."""
    if isinstance(values, torch.Tensor):
        return values.detach().to(STORED[tag]).contiguous()
    values = np.asarray(values)
    return torch.from_numpy(np.ascontiguousarray(values).copy()).reshape(values.shape).to(STORED[tag])


def widen(value):
    """Storage to the type the reference computes in: any float becomes f64, integers and bool keep their type."""
    return value.to(torch.float64) if value.is_floating_point() else value


def to_numpy(value):
    return widen(value).numpy()


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def promote(inputs):
    """PyTorch's promotion of tensors of one or more dimensions (a 0-d tensor counts as any other)."""
    dtype = inputs[0].dtype
    for value in inputs[1:]:
        dtype = torch.promote_types(dtype, value.dtype)
    return TAGS[dtype]


class Book:
    def __init__(self, family):
        self.family = family
        self.cases = []
        self._arrays = {}

    @staticmethod
    def random(identifier):
        """A generator of its own for each case, so that adding a case changes no other."""
        return np.random.default_rng(zlib.crc32(identifier.encode()))

    def store(self, value):
        """Keeps a tensor and returns its key: the type and a digest of the contents; bf16 is kept as uint16."""
        value = value.contiguous()
        tag = TAGS[value.dtype]
        array = value.view(torch.int16).numpy().view(np.uint16) if tag == "bf16" else value.numpy(force=True)
        digest = hashlib.sha256(repr((tag, array.shape)).encode() + array.tobytes()).hexdigest()
        key = f"{tag}_{digest[:12]}"
        self._arrays.setdefault(key, array)
        return key

    def case(self, op, label, inputs, *, args=None, numpy=None, torch_fn=None, source=None, out=None,
             tolerance="exact", scale=None, gradient=False, second=False, gradient_scale=None):
        """Adds one case.

        `numpy` takes NumPy arrays and gives the outputs; `torch_fn` takes tensors and does the same, and is what is
        differentiated. Where both are given the outputs come from `numpy`. `out` is the output type where it is not
        the promotion of the inputs; `scale` is the sum of magnitudes that the "sum" tolerance is relative to.
        """
        tags = [TAGS[value.dtype] for value in inputs]
        name = f"{op}.{label}" + (f".{tags[0]}" if tags else "")
        reference = numpy or torch_fn
        wide = [widen(value) for value in inputs]
        if numpy:
            with np.errstate(all="ignore"):
                raw = as_list(numpy(*[value.numpy() for value in wide]))
        else:
            raw = as_list(reference(*wide))
        raw = [value.detach() if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value, copy=True))
               for value in raw]
        outputs = []
        for index, value in enumerate(raw):
            tag = out[index] if isinstance(out, (list, tuple)) else out
            if tag is None and value.is_floating_point():
                floats = [v for v in inputs if v.is_floating_point()]
                tag = promote(floats) if floats else "f32"
            outputs.append(tensor(value, tag) if tag else value.contiguous())
        dtype = TAGS[outputs[0].dtype]
        entry = {
            "id": name, "op": op, "family": self.family, "args": args or {},
            "inputs": [self.store(value) for value in inputs],
            "outputs": [self.store(value) for value in outputs],
            "dtype": tags[0] if tags else dtype,
            "tolerance": self._tolerance(tolerance, dtype, scale),
            "source": source or ("numpy" if numpy else "torch"),
        }
        if gradient:
            self._differentiate(entry, name, inputs, outputs, torch_fn, second, gradient_scale)
        self.cases.append(entry)

    @staticmethod
    def _tolerance(kind, dtype, scale):
        rounding, arithmetic = ROUNDING.get(dtype, 0), ARITHMETIC.get(dtype, 0)
        small, narrow = SMALLEST.get(dtype, 0), dtype in ("f16", "bf16")
        if kind == "exact" or not rounding:
            absolute, relative, kind = 0, 0, "exact"
        elif kind == "relative":
            absolute, relative = small, rounding if narrow else {"f32": 1e-6, "f64": 2e-15}[dtype]
        elif kind == "elementary":
            absolute, relative = small + arithmetic * 2, rounding if narrow else {"f32": 1e-6, "f64": 4e-15}[dtype]
        elif kind == "special":
            absolute, relative = small + arithmetic * 16, rounding if narrow else arithmetic * 32
        elif kind == "composed":
            absolute, relative = small + arithmetic * 8, rounding * 3 if narrow else arithmetic * 16
        elif kind == "sum":
            absolute, relative = small + arithmetic * 4 * float(scale), rounding
        elif kind == "factorised":
            absolute, relative = small + arithmetic * 128 * float(scale), rounding
        else:
            raise ValueError(f"unknown tolerance {kind}")
        return {"abs": float(f"{absolute:.3g}"), "rel": relative, "why": kind}

    def _differentiate(self, entry, name, inputs, outputs, function, second, scale):
        """Adds the vector-Jacobian product, and its second order, from PyTorch's f64 autograd."""
        leaves = [widen(value).clone().requires_grad_(value.is_floating_point()) for value in inputs]
        results = as_list(function(*leaves))
        random = self.random(name + ":cotangent")
        cotangents, smooth = [], []
        for result, output in zip(results, outputs):
            if not output.is_floating_point():
                continue
            smooth.append(result)
            cotangents.append(tensor(np.round(random.normal(size=tuple(result.shape)), 3), TAGS[output.dtype]))
        active = [index for index, leaf in enumerate(leaves) if leaf.requires_grad]
        wide = [widen(value) for value in cotangents]
        gradients = torch.autograd.grad(smooth, [leaves[i] for i in active], wide, create_graph=second,
                                        allow_unused=True)
        gradients = [torch.zeros_like(leaves[i]) if g is None else g for i, g in zip(active, gradients)]
        tag = "f32" if any(inputs[i].dtype != torch.float64 for i in active) else "f64"  # the coarsest of them
        entry["cotangents"] = [self.store(value) for value in cotangents]
        entry["gradients"] = [None] * len(inputs)
        for i, g in zip(active, gradients):
            entry["gradients"][i] = self.store(tensor(g, TAGS[inputs[i].dtype]))
        entry["gradient_tolerance"] = self._gradient_tolerance(
            "gradient", gradients + ([scale] if scale is not None else []), 2 if tag == "f32" else 20,
            ARITHMETIC[tag])
        if not second:
            return
        total = sum(g.sum() for g in gradients)
        twice = torch.autograd.grad(total, [leaves[i] for i in active], allow_unused=True) if total.requires_grad \
            else [None] * len(active)
        twice = [torch.zeros_like(leaves[i]) if g is None else g for i, g in zip(active, twice)]
        entry["second_gradients"] = [None] * len(inputs)
        for i, g in zip(active, twice):
            entry["second_gradients"][i] = self.store(tensor(g, TAGS[inputs[i].dtype]))
        entry["second_tolerance"] = self._gradient_tolerance("second", twice, 100, ARITHMETIC[tag])

    @staticmethod
    def _gradient_tolerance(kind, values, factor, eps):
        largest = 1.0
        for value in values:
            value = torch.as_tensor(value).detach()
            finite = value[torch.isfinite(value)] if value.dim() else value
            if finite.numel():
                largest = max(largest, float(finite.abs().max()))
        return {"abs": float(f"{8 * factor * eps * largest:.3g}"), "rel": float(f"{40 * factor * eps:.3g}"),
                "why": kind}

    def archive(self):
        """The .npz bytes: deflated, with a fixed date, so that equal arrays make an equal file."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for key, array in sorted(self._arrays.items()):
                member = io.BytesIO()
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), version=(1, 0))
                info = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, member.getvalue())
        return buffer.getvalue()
