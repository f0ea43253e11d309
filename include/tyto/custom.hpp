// SPDX-License-Identifier: MIT
// Operators of your own: a function on the host or a kernel in OpenCL C, a rule for the results' types, a gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// Element type and shape of an input or a result.
struct ArrayType {
  DType dtype = DType::f32;  ///< element type
  Shape shape = {};          ///< its lengths
  friend bool operator==(const ArrayType&, const ArrayType&) = default;
};

/// An input or a result as a host function sees it: dense and row-major.
class HostOperand {
 public:
  HostOperand(const std::string& owner, std::size_t index, const ArrayType& type, void* data)
      : owner_(&owner), index_(index), type_(&type), data_(data) {}
  /// Element type, shape and number of elements.
  DType dtype() const { return type_->dtype; }
  const Shape& shape() const { return type_->shape; }
  std::size_t size() const { return static_cast<std::size_t>(element_count(shape())); }

 protected:
  /// The elements; TypeError where they are not of this type.
  void* elements(DType asked, const char* role) const;
  std::size_t byte_count() const { return size() * size_of(dtype()); }
  void* data() const { return data_; }

 private:
  const std::string* owner_;
  std::size_t index_;
  const ArrayType* type_;
  void* data_;
};

/// An input: to be read.
class HostInput : public HostOperand {
 public:
  using HostOperand::HostOperand;
  /// The elements; TypeError where they are of another type.
  template <Element T>
  std::span<const T> data() const {
    return {static_cast<const T*>(elements(dtype_of<T>, "input")), size()};
  }
  /// The elements as bytes.
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(HostOperand::data()), byte_count()};
  }
};

/// A result: to be filled, every element of it.
class HostResult : public HostOperand {
 public:
  using HostOperand::HostOperand;
  /// Where the elements go; TypeError where they are of another type.
  template <Element T>
  std::span<T> data() const {
    return {static_cast<T*>(elements(dtype_of<T>, "result")), size()};
  }
  /// Where the elements go, as bytes.
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(HostOperand::data()), byte_count()}; }
};

/// Types and shapes of inputs or results.
using ArrayTypes = std::span<const ArrayType>;
/// The inputs of a host function.
using HostInputs = std::span<const HostInput>;
/// The results of a host function, to be filled.
using HostResults = std::span<const HostResult>;

/// A kernel in OpenCL C. Its arguments are `global const T*` for each input, `global T*` for each result, then a `long`
/// for each of `scalar_arguments`; arrays are dense. T may be written `input0_t`, `result0_t` ... where a kernel serves
/// several element types; bool comes as uchar, f16 and bf16 as the bits in a ushort. The source is a program of its
/// own, kept in the program cache. A kernel of ours calls yours with pointers to where the arrays lie in the device's
/// memory.
struct OpenClKernel {
  std::string source = {};  ///< in OpenCL C
  std::string kernel = {};  ///< which function of the source; left out: the operator's name
  /// Work-items along up to three axes, as clEnqueueNDRangeKernel takes them. Left out: one for each element of the
  /// first result.
  std::function<std::vector<std::size_t>(ArrayTypes inputs, ArrayTypes results)> global_size = {};
  std::vector<std::size_t> local_size = {};  ///< work-items of a work-group; left out: the driver's choice
  /// Numbers that follow the arrays as arguments.
  std::function<std::vector<std::int64_t>(ArrayTypes inputs, ArrayTypes results)> scalar_arguments = {};
};

/// Definition of an operator. Host function, kernel and gradient must depend on their inputs alone.
struct CustomOptions {
  std::string name;        ///< what errors, pages and profiles call the operator
  std::size_t inputs = 1;  ///< how many it takes
  /// Types of the results for inputs of these types; throws what it does not accept.
  std::function<std::vector<ArrayType>(ArrayTypes inputs)> results;
  /// Computes on the host. OpenCL devices use it where there is no kernel for them, with copies that are planned.
  std::function<void(HostInputs inputs, HostResults results)> host = {};
  /// Computes on OpenCL devices.
  OpenClKernel opencl = {};
  /// Whether host function and kernel take f16 and bf16 as they are. Otherwise such inputs come as f32 and the results
  /// are rounded back, as with functions made of operators: under an `Autocast` layers yield halves.
  bool half = false;
  /// The inputs' gradients from the results'; an undefined tensor means zero. Works in either mode, hence `Any`.
  std::function<std::vector<Tensor<Any>>(const std::vector<Tensor<Any>>& inputs,
                                         const std::vector<Tensor<Any>>& results,
                                         const std::vector<Tensor<Any>>& gradients)>
      gradient = {};
};

/// An operator made by custom_op(): called like any other, in both modes, inside compiled functions and graphs.
class CustomOp {
 public:
  explicit CustomOp(CustomOptions options);

  /// The result of an operator that has one; operands after the first may be numbers.
  template <class M, class... Rest>
  Tensor<M> operator()(const Tensor<M>& first, const Rest&... rest) const {
    return call(std::vector<Tensor<M>>{first, Tensor<M>(rest)...}, true)[0];
  }
  /// All results.
  template <class M>
  std::vector<Tensor<M>> apply(const std::vector<Tensor<M>>& inputs) const {
    return call(inputs, false);
  }

 private:
  template <class M>
  std::vector<Tensor<M>> call(const std::vector<Tensor<M>>& inputs, bool one_result) const;

  class Definition;
  std::shared_ptr<Definition> definition_;
};

/// An operator of your own:
///
///     const auto cube = custom_op({
///         .name = "cube",
///         .results = [](ArrayTypes in) { return std::vector{in[0]}; },
///         .host = [](HostInputs in, HostResults out) {
///           const auto x = in[0].data<float>();
///           const auto y = out[0].data<float>();
///           for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i] * x[i];
///         },
///         .opencl = {.source = "kernel void cube(global const float* x, global float* y) {"
///                              "  const size_t i = get_global_id(0);"
///                              "  y[i] = x[i] * x[i] * x[i];"
///                              "}"},
///         .gradient = [](const auto& in, const auto&, const auto& g) {
///           return std::vector{g[0] * 3 * square(in[0])};
///         },
///     });
///     const Tensor y = cube(x);
CustomOp custom_op(CustomOptions options);

}  // namespace TYTO_API
