// SPDX-License-Identifier: MIT
// An extension module for Python as a user would write it: tensors in and out by DLPack, and saved graphs that run.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <tyto/dlpack.hpp>
#include <tyto/io.hpp>
#include <tyto/tyto.hpp>

namespace py = pybind11;
using Eager = tyto::Tensor<tyto::Eager>;
using Lazy = tyto::Tensor<tyto::Lazy>;

namespace {

// The names that the protocol gives to capsules, before and after their contents are taken out.
template <class Managed>
struct Capsule;
template <>
struct Capsule<tyto::dlpack::ManagedTensor> {
  static constexpr const char *full = "dltensor", *taken = "used_dltensor";
};
template <>
struct Capsule<tyto::dlpack::VersionedTensor> {
  static constexpr const char *full = "dltensor_versioned", *taken = "used_dltensor_versioned";
};

template <class Managed>
py::object to_capsule(Managed* managed) {
  return py::reinterpret_steal<py::object>(PyCapsule_New(managed, Capsule<Managed>::full, [](PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, Capsule<Managed>::full) == 0) return;  // somebody took it
    auto* const left = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Capsule<Managed>::full));
    left->deleter(left);
  }));
}

constexpr std::pair<int, int> processor(1, 0);  // kDLCPU

// Readers that know version 1 say so; what is older is handed the struct that it knows. What cannot be given is refused
// as the protocol wants it: the memory stays where it is, is never copied, and has no streams.
py::object exported(const Eager& x, const py::object& stream, const py::object& max_version,
                    const py::object& dl_device, const py::object& copy) {
  if (!stream.is_none()) throw py::buffer_error("the processor's memory has no streams: stream must be None");
  if (!dl_device.is_none() && dl_device.cast<std::pair<int, int>>() != processor) {
    throw py::buffer_error("the tensor is in the processor's memory: dl_device must be None or (1, 0)");
  }
  if (!copy.is_none() && copy.cast<bool>()) {
    throw py::buffer_error("the tensor is handed over without a copy: copy must be None or False");
  }
  if (!max_version.is_none() && max_version.cast<std::pair<int, int>>().first >= 1) {
    return to_capsule(tyto::to_versioned_dlpack(x));
  }
  return to_capsule(tyto::to_dlpack(x));
}

template <class Tensor, class Managed>
Tensor taken_from(const py::object& capsule) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Capsule<Managed>::full));
  Tensor x = tyto::from_dlpack<Tensor>(managed);
  PyCapsule_SetName(capsule.ptr(), Capsule<Managed>::taken);
  return x;
}

// Anything with __dlpack__: arrays of NumPy, tensors of PyTorch, JAX, CuPy ...
template <class Tensor>
Tensor imported(const py::object& array) {
  const py::object capsule = array.attr("__dlpack__")();
  if (PyCapsule_IsValid(capsule.ptr(), Capsule<tyto::dlpack::VersionedTensor>::full) != 0) {
    return taken_from<Tensor, tyto::dlpack::VersionedTensor>(capsule);
  }
  return taken_from<Tensor, tyto::dlpack::ManagedTensor>(capsule);
}

std::vector<std::int64_t> shape_of(const Eager& x) { return {x.shape().begin(), x.shape().end()}; }

/// A saved graph: called with its inputs in their order, it gives its outputs.
class SavedGraph {
 public:
  explicit SavedGraph(const std::string& path) : graph_(tyto::load_graph(path)), inputs_(graph_.inputs()) {}

  std::vector<Eager> run(const py::args& arrays) {
    if (arrays.size() != inputs_.size()) {
      throw tyto::ValueError("the graph takes " + std::to_string(inputs_.size()) + " inputs, got " +
                             std::to_string(arrays.size()));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      graph_.set(inputs_[i], imported<Lazy>(py::reinterpret_borrow<py::object>(arrays[i])));
    }
    graph_.run();
    std::vector<Eager> outputs;
    for (std::size_t i = 0; i < graph_.output_count(); ++i) {
      outputs.push_back(tyto::from_dlpack(tyto::to_versioned_dlpack(graph_.output(i))));
    }
    return outputs;
  }

 private:
  tyto::Graph graph_;
  std::vector<Lazy> inputs_;
};

// y = tanh(x w), saved as a graph with w inside.
void save_layer(const std::string& path, const py::object& weights) {
  const Lazy w = copy(imported<Lazy>(weights)), x = Lazy::placeholder({2, w.shape()[0]}, w.dtype(), "x");
  tyto::save_graph(path, tyto::Graph({.inputs = {x}, .outputs = {tanh(matmul(x, w))}}));
}

}  // namespace

PYBIND11_MODULE(tyto_bridge, module) {
  py::register_exception<tyto::Error>(module, "TytoError");
  py::class_<Eager>(module, "Tensor")
      .def(py::init(&imported<Eager>), "A tensor over the memory of anything that has __dlpack__.")
      .def("__dlpack__", &exported, py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
           py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const Eager&) { return processor; })
      .def_property_readonly("shape", &shape_of)
      .def_property_readonly("address", [](const Eager& x) { return std::uintptr_t(x.bytes().data()); })
      .def("__repr__", [](const Eager& x) { return (std::ostringstream() << x).str(); })
      .def("__matmul__", [](const Eager& a, const Eager& b) { return matmul(a, b); })
      .def(
          "gradient", [](const Eager& x) { return tyto::grad([](Eager y) { return sum(y * y * y); })(x); },
          "Of the sum of cubes.");
  module.def("save_layer", &save_layer, "Writes tanh(x w) as a graph, for x of two rows.");
  py::class_<SavedGraph>(module, "SavedGraph").def(py::init<std::string>()).def("__call__", &SavedGraph::run);
}
