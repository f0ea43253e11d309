// SPDX-License-Identifier: MIT
// Tensors exchanged with other libraries in memory, as DLPack lays them down: without a copy where both sides agree on
// the layout.
#pragma once

#include <cstdint>

#include "tyto/tensor.hpp"

namespace tyto TYTO_API {
namespace dlpack {

// The structs of dlpack.h by names of our own so that both headers may be included: a DLManagedTensorVersioned*
// (version 1) is a dlpack::VersionedTensor* after a reinterpret_cast, a DLManagedTensor* (0.6 on) a
// dlpack::ManagedTensor*.

/// Where memory is: DLDevice.
struct Device {
  std::int32_t type = 1;    ///< 1: the CPU
  std::int32_t number = 0;  ///< which of that kind
};

/// DLDataType.
struct ElementType {
  std::uint8_t code = 2;    ///< 0: signed, 1: unsigned, 2: floating-point, 4: bfloat16, 6: bool
  std::uint8_t bits = 32;   ///< of one element
  std::uint16_t lanes = 1;  ///< elements in a vector, here 1
};

/// DLTensor.
struct TensorView {
  void* data = nullptr;             ///< the memory
  Device device;                    ///< where the memory is
  std::int32_t rank = 0;            ///< how many axes
  ElementType type;                 ///< of the elements
  std::int64_t* shape = nullptr;    ///< `rank` lengths
  std::int64_t* strides = nullptr;  ///< in elements; null: dense and row-major
  std::uint64_t byte_offset = 0;    ///< of the first element from `data`
};

/// DLManagedTensor.
struct ManagedTensor {
  TensorView tensor;                               ///< the tensor
  void* context = nullptr;                         ///< the producer's own
  void (*deleter)(ManagedTensor* self) = nullptr;  ///< called by the consumer when it is done; may be null
};

/// As version 1 lays it down: who reads a version that it does not know must not look further than at `deleter`.
struct VersionedTensor {
  static constexpr std::uint64_t read_only = 1, copied = 2;  ///< flags

  std::uint32_t major = 1;                           ///< a change that older readers cannot follow
  std::uint32_t minor = 0;                           ///< one that they can
  void* context = nullptr;                           ///< the producer's own
  void (*deleter)(VersionedTensor* self) = nullptr;  ///< called by the consumer when it is done; may be null
  std::uint64_t flags = 0;                           ///< bits: see read_only, copied
  TensorView tensor;                                 ///< memory, type and layout of the elements
};

namespace detail {
ManagedTensor* exported(const Value& x);
VersionedTensor* exported_versioned(const Value& x);
Tensor<Any> imported(ManagedTensor* managed);
Tensor<Any> imported(VersionedTensor* managed);
}  // namespace detail

}  // namespace dlpack

/// The tensor's elements for another library, which calls the deleter when it is done. They are evaluated first, and it
/// must not write to them. Those of a variable are the ones that it has now.
///
///     dlpack::ManagedTensor* shared = to_dlpack(x);
template <class M>
dlpack::ManagedTensor* to_dlpack(const Tensor<M>& x) {
  return dlpack::detail::exported(x.value());
}
/// The same as version 1 of DLPack has it, with the flag that says so: the memory is only read.
template <class M>
dlpack::VersionedTensor* to_versioned_dlpack(const Tensor<M>& x) {
  return dlpack::detail::exported_versioned(x.value());
}

/// A tensor over another library's memory, whatever its strides, which stays as it is until the last tensor over it is
/// gone; then the deleter is called. Truths are copied, since another library's may be any number, and the deleter
/// called at once. Throws TypeError and DeviceError for elements and devices that Tyto cannot read, ValueError for a
/// later version; the deleter is not called then.
template <class T = Tensor<Eager>>
T from_dlpack(dlpack::ManagedTensor* managed) {
  const Tensor<Any> x = dlpack::detail::imported(managed);
  return T(x.value());
}
template <class T = Tensor<Eager>>
T from_dlpack(dlpack::VersionedTensor* managed) {
  const Tensor<Any> x = dlpack::detail::imported(managed);
  return T(x.value());
}

}  // namespace TYTO_API
