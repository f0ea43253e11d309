// DLPack's structs filled from tensors, and tensors over them.
#include "tyto/dlpack.hpp"

#include <cstring>
#include <memory>
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
  throw TypeError("from_dlpack: elements of code " + std::to_string(type.code) + " and " + std::to_string(type.bits) +
                  " bits (" + std::to_string(type.lanes) + " lanes) are not among Tyto's types");
}

/// What one export holds: the tensor, and the numbers that the view points at.
struct Held {
  ManagedTensor managed;
  Tensor<Any> tensor;
  Shape shape;
};

bool is_dense(const TensorView& view) {
  if (view.strides == nullptr) return true;
  std::int64_t step = 1;
  for (std::int32_t i = view.rank; i-- > 0;) {
    if (view.shape[i] == 0) return true;
    if (view.shape[i] != 1 && view.strides[i] != step) return false;
    step *= view.shape[i];
  }
  return true;
}

std::vector<std::byte> dense_copy(const std::byte* from, const TensorView& view, const Shape& shape,
                                  std::size_t width) {
  std::vector<std::byte> copy(static_cast<std::size_t>(element_count(shape)) * width);
  IntList index(shape.size(), 0);
  std::int64_t at = 0;
  for (std::size_t byte = 0; byte < copy.size(); byte += width) {
    std::memcpy(copy.data() + byte, from + at * static_cast<std::int64_t>(width), width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += view.strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= view.strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return copy;
}

void release(ManagedTensor* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

ManagedTensor* exported(const Tensor<Any>& x, const void* data) {
  auto held = std::make_unique<Held>(Held{{}, x, x.shape()});
  TensorView& view = held->managed.tensor;
  view.data = const_cast<void*>(data);  // DLPack has no word for memory that is only read
  view.rank = x.ndim();
  view.type = element_types[static_cast<std::size_t>(x.dtype())];
  view.shape = held->shape.data();
  held->managed.context = held.get();
  held->managed.deleter = [](ManagedTensor* self) { delete static_cast<Held*>(self->context); };
  return &held.release()->managed;
}

Tensor<Any> imported(ManagedTensor* managed) {
  if (managed == nullptr) throw ValueError("from_dlpack: there is no tensor");
  const TensorView& view = managed->tensor;
  if (view.device.type != cpu) {
    throw DeviceError("from_dlpack: the memory is that of device type " + std::to_string(view.device.type) +
                      "; only the CPU's (1) can be read");
  }
  const DType dtype = dtype_from(view.type);
  const Shape shape(std::span<const std::int64_t>(view.shape, static_cast<std::size_t>(view.rank)));
  const auto* data = static_cast<const std::byte*>(view.data) + view.byte_offset;
  if (is_dense(view) && dtype != DType::boolean) {
    return Tensor<Any>::borrow_bytes(data, shape, dtype, [managed] { release(managed); });
  }
  // A bool of another library may be any number.
  std::vector<std::byte> copy;
  if (is_dense(view)) copy.assign(data, data + element_count(shape));
  else copy = dense_copy(data, view, shape, size_of(dtype));
  if (dtype == DType::boolean) {
    for (std::byte& byte : copy) byte = std::byte{byte != std::byte{0}};
  }
  const Tensor<Any> x = Tensor<Any>::from_bytes(copy.data(), element_count(shape), shape, dtype);
  release(managed);
  return x;
}

}  // namespace dlpack::detail
}  // namespace TYTO_API
