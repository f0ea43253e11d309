# SPDX-License-Identifier: MIT
"""Tensors of Tyto in NumPy and PyTorch and back, and a saved graph, by the extension module of bridge.cpp."""
import gc
import os
import sys
import tempfile
import unittest
import weakref

sys.path.insert(0, sys.argv.pop(1))

import numpy
import tyto_bridge
from tyto_bridge import Tensor

try:
    import torch
except ImportError:
    torch = None


class Bridge(unittest.TestCase):
    def test_an_array_comes_in_without_a_copy(self):
        a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        x = Tensor(a)
        self.assertEqual(x.shape, [2, 3])
        self.assertEqual(x.address, a.__array_interface__["data"][0])
        self.assertEqual(repr(x), str(a))

    def test_a_tensor_goes_out_without_a_copy(self):
        x = Tensor(numpy.eye(3)) @ Tensor(numpy.full((3, 2), 2.5))
        b = numpy.from_dlpack(x)
        self.assertEqual(b.__array_interface__["data"][0], x.address)
        self.assertEqual(b.tolist(), [[2.5, 2.5]] * 3)

    def test_strides_of_any_sign_are_kept(self):
        a = numpy.arange(24, dtype=numpy.int64).reshape(4, 6)
        for view in a.T, a[::-1, ::2], a[:, 1:1], a[2:3]:
            self.assertEqual(numpy.from_dlpack(Tensor(view)).tolist(), view.tolist())

    def test_memory_lives_as_long_as_its_last_reader(self):
        a = numpy.full(1 << 16, 7.0)
        x = Tensor(a)
        del a
        gc.collect()
        b = numpy.from_dlpack(x)
        del x
        gc.collect()
        self.assertEqual(b.sum(), 7.0 * (1 << 16))

    def test_a_capsule_that_nobody_takes_is_released(self):
        for version in None, (1, 0):
            a = numpy.zeros(1 << 10)
            array = weakref.ref(a)
            capsule = Tensor(a).__dlpack__(max_version=version)
            del a
            gc.collect()
            self.assertIsNotNone(array())
            del capsule
            gc.collect()
            self.assertIsNone(array())

    def test_what_the_protocol_asks_is_done_or_refused(self):
        x = Tensor(numpy.ones(3))
        for asked in {}, {"stream": None, "max_version": (1, 0), "dl_device": (1, 0), "copy": False}:
            self.assertIn("versioned" if asked else '"dltensor"', repr(x.__dlpack__(**asked)))
        for asked in {"copy": True}, {"dl_device": (2, 0)}, {"dl_device": (1, 1)}, {"stream": 1}:
            with self.assertRaisesRegex(BufferError, next(iter(asked))):
                x.__dlpack__(**asked)
        with self.assertRaises(TypeError):
            x.__dlpack__(copies=True)

    @unittest.skipIf(tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 1), "this NumPy does not ask for copies")
    def test_numpy_asks_for_copies(self):
        x = Tensor(numpy.ones(3))
        b = numpy.from_dlpack(x, device="cpu", copy=False)
        self.assertEqual(b.__array_interface__["data"][0], x.address)
        with self.assertRaisesRegex(BufferError, "copy must be None or False"):
            numpy.from_dlpack(x, copy=True)

    def test_gradients_of_arrays(self):
        a = numpy.array([1.0, -2.0, 3.0])
        self.assertEqual(numpy.from_dlpack(Tensor(a).gradient()).tolist(), [3.0, 12.0, 27.0])

    def test_errors_are_exceptions(self):
        with self.assertRaisesRegex(tyto_bridge.TytoError, "matmul"):
            Tensor(numpy.ones((2, 3))) @ Tensor(numpy.ones((2, 3)))

    def test_a_saved_graph_runs(self):
        w = numpy.array([[0.5], [-1.0], [2.0]], dtype=numpy.float32)
        x = numpy.array([[1, 2, 3], [0, 0, 0.25]], dtype=numpy.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layer.tyto")
            tyto_bridge.save_layer(path, w)
            layer = tyto_bridge.SavedGraph(path)
            for scale in 1, 0.125:
                [y] = layer(x * numpy.float32(scale))
                numpy.testing.assert_allclose(numpy.from_dlpack(y), numpy.tanh(scale * (x @ w)), rtol=1e-6)
            with self.assertRaisesRegex(tyto_bridge.TytoError, "takes 1 inputs, got 2"):
                layer(x, x)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_tensors_of_pytorch_come_in_and_go_out(self):
        a = torch.arange(12, dtype=torch.float64).reshape(3, 4)
        self.assertEqual(Tensor(a).address, a.data_ptr())
        b = torch.from_dlpack(Tensor(a.T) @ Tensor(torch.eye(3, dtype=torch.float64)))
        self.assertTrue(torch.equal(b, a.T))
        half = torch.tensor([1.5, -0.25], dtype=torch.bfloat16)
        self.assertTrue(torch.equal(torch.from_dlpack(Tensor(half)), half))


if __name__ == "__main__":
    unittest.main()
