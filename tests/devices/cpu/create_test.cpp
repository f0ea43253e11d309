// SPDX-License-Identifier: MIT
// Constants, ranges, diagonals and one-hot rows on every element type.
#include <doctest/doctest.h>

#include <limits>

#include "core/graph/op_ids.hpp"
#include "tests/devices/cpu/elementwise_rig.hpp"

namespace create_test {

namespace {

using namespace tyto;
using namespace tyto::cpu::testing;
using core::OpId;

std::shared_ptr<const core::Kernel> prepare(const core::Step& step) {
  for (const cpu::KernelEntry& entry : cpu::create_kernels()) {
    if (entry.op == step.op) return entry.prepare(step);
  }
  return nullptr;
}

StoredTensor create(OpId op, Shape shape, DType type, Scalar start, Scalar step = 1) {
  StoredTensor result = StoredTensor::dense(type, shape);
  run_step(prepare, op, core::RangeAttributes{shape, type, start, step}, {}, result);
  return result;
}

using Numbers = std::vector<long double>;

TEST_CASE("fill writes one value everywhere, converted to the element type") {
  for (const DType type : all_types) {
    const StoredTensor result = create(OpId::fill, {3, 100}, type, 7);
    CHECK(result.numbers() == Numbers(300, type == DType::boolean ? 1 : 7));
  }
  CHECK(create(OpId::fill, {}, DType::f64, 0.1).numbers() == Numbers{0.1});
  CHECK(create(OpId::fill, {2}, DType::i64, std::numeric_limits<std::int64_t>::min()).get(1) == -0x1p63L);
  CHECK(create(OpId::fill, {2}, DType::u8, -3.7).numbers() == Numbers{0, 0});
  CHECK(create(OpId::fill, {0}, DType::f32, 1).numbers().empty());
  CHECK(std::isnan(create(OpId::fill, {1}, DType::f16, std::nan("")).get(0)));
}

TEST_CASE("arange counts in integers without rounding, in f64 otherwise") {
  CHECK(create(OpId::arange, {4}, DType::i32, 5, -2).numbers() == Numbers{5, 3, 1, -1});
  CHECK(create(OpId::arange, {3}, DType::f32, 0.5, 0.25).numbers() == Numbers{0.5, 0.75, 1});
  CHECK(create(OpId::arange, {3}, DType::i64, std::int64_t{1} << 60, 1).numbers() ==
        Numbers{0x1p60L, 0x1p60L + 1, 0x1p60L + 2});
  CHECK(create(OpId::arange, {300}, DType::u8, 0, 1).get(299) == 43);
  CHECK(create(OpId::arange, {4}, DType::boolean, 0, 1).numbers() == Numbers{0, 1, 1, 1});
  const StoredTensor tenths = create(OpId::arange, {1000}, DType::f64, 0.0, 0.1);
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(tenths.get(i) == static_cast<double>(i) * 0.1);
}

TEST_CASE("eye marks the diagonal asked for") {
  CHECK(create(OpId::eye, {2, 3}, DType::f32, 0).numbers() == Numbers{1, 0, 0, 0, 1, 0});
  CHECK(create(OpId::eye, {2, 3}, DType::i8, 1).numbers() == Numbers{0, 1, 0, 0, 0, 1});
  CHECK(create(OpId::eye, {3, 2}, DType::boolean, -1).numbers() == Numbers{0, 0, 1, 0, 0, 1});
  CHECK(create(OpId::eye, {2, 2}, DType::f64, std::numeric_limits<std::int64_t>::max()).numbers() == Numbers(4, 0));
  CHECK(create(OpId::eye, {2, 2}, DType::f16, std::numeric_limits<std::int64_t>::min()).numbers() == Numbers(4, 0));
}

TEST_CASE("one_hot marks the index of each row and nothing for an index outside") {
  for (const DType index_type : {DType::u8, DType::u16, DType::u32, DType::u64, DType::i16, DType::i32, DType::i64}) {
    for (const DType type : all_types) {
      const StoredTensor indices = StoredTensor::of(index_type, {2, 0, 3, is_unsigned(index_type) ? 255.0L : -1.0L});
      StoredTensor result = StoredTensor::dense(type, {4, 3});
      const core::ListAttributes attributes{{3, static_cast<std::int64_t>(type)}};
      run_step(prepare, OpId::one_hot, attributes, {&indices}, result);
      CHECK(result.numbers() == Numbers{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
    }
  }
}

}  // namespace

}  // namespace create_test
