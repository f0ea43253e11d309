// SPDX-License-Identifier: MIT
// DLPack: tensors shared in memory with another library and back.
#include <doctest/doctest.h>
#include <tyto/dlpack.hpp>
#include <tyto/tyto.hpp>

#include <vector>

#include "tests/support/both_modes.hpp"

namespace tyto::io_tests {
namespace {

/// A tensor that another library exports: its numbers, and a count of the calls of its deleter.
struct Foreign {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  std::vector<std::int64_t> shape{2, 3};
  std::vector<std::int64_t> strides{3, 1};
  int deleted = 0;
  dlpack::ManagedTensor managed;

  Foreign() {
    managed.tensor.data = numbers.data();
    managed.tensor.rank = 2;
    managed.tensor.shape = shape.data();
    managed.tensor.strides = strides.data();
    managed.context = this;
    managed.deleter = [](dlpack::ManagedTensor* self) { ++static_cast<Foreign*>(self->context)->deleted; };
  }
};

}  // namespace

BOTH_MODES("a tensor is handed to another library as it lies in memory, and lives as long as that needs it") {
  using T = Tensor<Mode>;
  T x = T{{1.0, 2.0}, {3.0, 4.0}} * 2.0;
  dlpack::ManagedTensor* shared = to_dlpack(x);
  x = T();
  CHECK(shared->tensor.rank == 2);
  CHECK(shared->tensor.shape[1] == 2);
  CHECK(shared->tensor.type.code == 2);
  CHECK(shared->tensor.type.bits == 32);
  CHECK(static_cast<const float*>(shared->tensor.data)[3] == 8);
  const T back = from_dlpack<T>(shared);  // which calls the deleter when it goes
  CHECK(back.template to_vector<float>() == std::vector<float>{2, 4, 6, 8});
}

BOTH_MODES("unsigned integers are handed over as such") {
  using T = Tensor<Mode>;
  for (const DType type : {DType::u8, DType::u16, DType::u32}) {
    dlpack::ManagedTensor* shared = to_dlpack(T{-1, 7}.astype(type));
    CHECK(shared->tensor.type.code == 1);
    CHECK(shared->tensor.type.bits == 8 * size_of(type));
    const T back = from_dlpack<T>(shared);
    CHECK(back.dtype() == type);
    CHECK(back.template to_vector<std::int64_t>() ==
          std::vector<std::int64_t>{(std::int64_t{1} << (8 * size_of(type))) - 1, 7});
  }
}

BOTH_MODES("all of u64 is handed over") {
  using T = Tensor<Mode>;
  dlpack::ManagedTensor* shared = to_dlpack(T{UINT64_MAX, 7});
  CHECK(shared->tensor.type.code == 1);
  CHECK(shared->tensor.type.bits == 64);
  CHECK(from_dlpack<T>(shared).template to_vector<std::uint64_t>() == std::vector<std::uint64_t>{UINT64_MAX, 7});
}

TEST_CASE("dense memory of another library is used where it lies") {
  Foreign foreign;
  {
    const Tensor<Eager> x = from_dlpack(&foreign.managed);
    CHECK(x.data<float>().data() == foreign.numbers.data());
    CHECK(x.shape() == Shape{2, 3});
    CHECK(foreign.deleted == 0);
  }
  CHECK(foreign.deleted == 1);
}

BOTH_MODES("memory in another order is used where it lies, whatever its strides") {
  using T = Tensor<Mode>;
  Foreign foreign;
  foreign.shape = {3, 2};
  foreign.managed.tensor.shape = foreign.shape.data();
  foreign.managed.tensor.strides = foreign.strides.data();
  foreign.strides = {1, 3};
  {
    const T x = from_dlpack<T>(&foreign.managed);
    foreign.numbers[4] = 40;
    CHECK(x.template to_vector<float>() == std::vector<float>{0, 3, 1, 40, 2, 5});
    CHECK((x + 1.0).template to_vector<float>() == std::vector<float>{1, 4, 2, 41, 3, 6});
    CHECK(foreign.deleted == 0);
  }
  CHECK(foreign.deleted == 1);
  // From the last element backwards, and the first row twice.
  foreign.numbers[4] = 4;
  foreign.strides = {-2, -1};
  foreign.managed.tensor.data = foreign.numbers.data() + 5;
  CHECK(from_dlpack<T>(&foreign.managed).template to_vector<float>() == std::vector<float>{5, 4, 3, 2, 1, 0});
  foreign.strides = {0, 1};
  foreign.managed.tensor.data = foreign.numbers.data();
  CHECK(from_dlpack<T>(&foreign.managed).template to_vector<float>() == std::vector<float>{0, 1, 0, 1, 0, 1});
  CHECK(foreign.deleted == 3);
}

BOTH_MODES("version 1 of DLPack goes out with the flag that it is only read, and comes in") {
  using T = Tensor<Mode>;
  const T x = T{{1.0, 2.0}, {3.0, 4.0}} * 2.0;
  dlpack::VersionedTensor* shared = to_versioned_dlpack(x);
  CHECK(shared->major == 1);
  CHECK(shared->flags == dlpack::VersionedTensor::read_only);
  CHECK(static_cast<const float*>(shared->tensor.data)[3] == 8);
  const T back = from_dlpack<T>(shared);
  CHECK(back.template to_vector<float>() == std::vector<float>{2, 4, 6, 8});
  dlpack::VersionedTensor later;
  later.major = 2;
  CHECK_THROWS_WITH_AS(from_dlpack<T>(&later),
                       "from_dlpack: the tensor is of version 2 of DLPack; versions 0.6 to 1 are known", ValueError);
}

TEST_CASE("truths of another library become 0 and 1, whatever their strides") {
  Foreign foreign;
  std::vector<std::uint8_t> truths{0, 1, 2, 0, 255, 0};
  foreign.shape = {3, 2};
  foreign.strides = {1, 3};
  foreign.managed.tensor.shape = foreign.shape.data();
  foreign.managed.tensor.strides = foreign.strides.data();
  foreign.managed.tensor.data = truths.data();
  foreign.managed.tensor.type = {6, 8, 1};
  const Tensor<Eager> x = from_dlpack(&foreign.managed);
  CHECK(foreign.deleted == 1);
  CHECK(x.to_vector<int>() == std::vector<int>{0, 0, 1, 1, 1, 0});
}

TEST_CASE("memory that cannot be read is refused and stays the other library's") {
  Foreign foreign;
  foreign.managed.tensor.type = {3, 64, 1};
  CHECK_THROWS_WITH_AS(from_dlpack(&foreign.managed),
                       "from_dlpack: elements of code 3 and 64 bits (1 lanes) are not among Tyto's types", TypeError);
  foreign.managed.tensor.device.type = 2;
  CHECK_THROWS_WITH_AS(from_dlpack(&foreign.managed),
                       "from_dlpack: the memory is that of device type 2; only the CPU's (1) can be read", DeviceError);
  CHECK_THROWS_AS(from_dlpack(static_cast<dlpack::ManagedTensor*>(nullptr)), ValueError);
  Foreign damaged;
  damaged.managed.tensor.rank = -1;
  CHECK_THROWS_WITH_AS(from_dlpack(&damaged.managed), "from_dlpack: a tensor of -1 axes has no shape", ValueError);
  damaged.managed.tensor.rank = 2;
  damaged.managed.tensor.type = {6, 8, 1};
  damaged.managed.tensor.data = nullptr;
  CHECK_THROWS_WITH_AS(from_dlpack(&damaged.managed), "from_dlpack: there is no memory", ValueError);
  damaged.shape[0] = -2;
  CHECK_THROWS_WITH_AS(from_dlpack(&damaged.managed), "from_dlpack: an axis has -2 elements", ValueError);
  CHECK(foreign.deleted + damaged.deleted == 0);
}

BOTH_MODES("strides that reach further than memory are refused") {
  using T = Tensor<Mode>;
  const std::vector<double> numbers(4);
  CHECK_THROWS_WITH_AS(T::borrow_strided(numbers.data(), {3}, {INT64_MAX / 2 + 1}),
                       doctest::Contains("borrow_strided: strides"), ShapeError);
  CHECK_THROWS_AS(T::borrow_strided(numbers.data(), {3, 2}, {INT64_MIN, 1}), ShapeError);
  CHECK_THROWS_AS(T::borrow_strided(numbers.data(), {3}, {1, 1}), ShapeError);
}

}  // namespace tyto::io_tests
