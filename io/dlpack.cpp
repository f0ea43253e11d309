// SPDX-License-Identifier: MIT
// Converts tensors to DLPack's structs and back.
#include "tyto/dlpack.hpp"
#include "core/value/text.hpp"

#include <span>
#include <string>
#include <vector>

#include "tyto/io.hpp"

namespace tyto TYTO_API {
namespace dlpack::detail {

namespace {

constexpr ElementType element_types[] = {{6, 8, 1},  {1, 8, 1},   {0, 8, 1},  {0, 16, 1}, {0, 32, 1},
                                         {0, 64, 1}, {2, 16, 1},  {4, 16, 1}, {2, 32, 1}, {2, 64, 1},
                                         {5, 64, 1}, {5, 128, 1}, {1, 16, 1}, {1, 32, 1}, {1, 64, 1}};
static_assert(std::size(element_types) == dtype_count);

constexpr std::int32_t cpu = 1;

DType dtype_from(const ElementType& type) {
  for (int i = 0; i < dtype_count; ++i) {
    const ElementType& known = element_types[i];
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return static_cast<DType>(i);
  }
  core::throw_error<TypeError>("from_dlpack: elements of code ", int{type.code}, " and ", int{type.bits}, " bits (",
                               type.lanes, " lanes) are not among Tyto's types");
}

/// The owner of one export: holds the tensor, and the shape and strides that the view points to.
template <class Managed>
struct Held {
  Managed managed;
  Tensor<Any> tensor;
  Shape shape;
};

template <class Managed>
Managed* held_for_export(const Value& given) {
  const Tensor<Any> x = tyto::detail::to_read(given);
  const std::span<const std::byte> elements = x.bytes();
  auto* const held = new Held<Managed>{{}, x, x.shape()};
  TensorView& view = held->managed.tensor;
  view.data = const_cast<std::byte*>(elements.data());
  view.rank = x.ndim();
  view.type = element_types[static_cast<std::size_t>(x.dtype())];
  view.shape = held->shape.data();
  held->managed.context = held;
  held->managed.deleter = [](Managed* self) { delete static_cast<Held<Managed>*>(self->context); };
  return &held->managed;
}

IntList strides_of(const TensorView& view, const Shape& shape) {
  if (view.strides != nullptr) return IntList(std::span<const std::int64_t>(view.strides, shape.size()));
  IntList strides(shape.size(), 1);  // dense and row-major
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

/// Every byte that is not 0 made 1.
std::vector<std::byte> truths(const std::byte* from, const Shape& shape, const IntList& strides) {
  std::vector<std::byte> copy(static_cast<std::size_t>(element_count(shape)));
  IntList index(shape.size(), 0);
  std::int64_t at = 0;
  for (std::byte& truth : copy) {
    truth = std::byte{from[at] != std::byte{0}};
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return copy;
}

template <class Managed>
Tensor<Any> import_from(Managed* managed) {
  const TensorView& view = managed->tensor;
  if (view.device.type != cpu) {
    core::throw_error<DeviceError>("from_dlpack: the memory is that of device type ", view.device.type,
                                   "; only the CPU's (1) can be read");
  }
  const auto release = [managed] {
    if (managed->deleter != nullptr) managed->deleter(managed);
  };
  const DType dtype = dtype_from(view.type);
  if (view.rank < 0 || (view.rank > 0 && view.shape == nullptr)) {
    core::throw_error<ValueError>("from_dlpack: a tensor of ", view.rank, " axes has no shape");
  }
  const Shape shape(std::span<const std::int64_t>(view.shape, static_cast<std::size_t>(view.rank)));
  for (const std::int64_t length : shape) {
    if (length < 0) core::throw_error<ValueError>("from_dlpack: an axis has ", length, " elements");
  }
  if (view.data == nullptr && element_count(shape) != 0) throw ValueError("from_dlpack: there is no memory");
  const IntList strides = strides_of(view, shape);
  const auto* data = static_cast<const std::byte*>(view.data) + view.byte_offset;
  if (dtype != DType::boolean) return Tensor<Any>::borrow_bytes(data, shape, strides, dtype, release);
  const std::vector<std::byte> copy = truths(data, shape, strides);
  const Tensor<Any> x = Tensor<Any>::from_bytes(copy.data(), element_count(shape), shape, dtype);
  release();
  return x;
}

}  // namespace

ManagedTensor* exported(const Value& x) {
  return held_for_export<ManagedTensor>(x);  // it has no word for memory that is only read
}

VersionedTensor* exported_versioned(const Value& x) {
  auto* const managed = held_for_export<VersionedTensor>(x);
  managed->flags = VersionedTensor::read_only;
  return managed;
}

Tensor<Any> imported(ManagedTensor* managed) {
  if (managed == nullptr) throw ValueError("from_dlpack: there is no tensor");
  return import_from(managed);
}

Tensor<Any> imported(VersionedTensor* managed) {
  if (managed == nullptr) throw ValueError("from_dlpack: there is no tensor");
  if (managed->major > 1) {
    core::throw_error<ValueError>("from_dlpack: the tensor is of version ", managed->major,
                                  " of DLPack; versions 0.6 to 1 are known");
  }
  return import_from(managed);
}

}  // namespace dlpack::detail
}  // namespace TYTO_API
