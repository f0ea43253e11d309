// SPDX-License-Identifier: MIT
// Statistics of integers on an OpenCL device are those of exact sums, as on the CPU.
#if defined(TYTO_HAVE_OPENCL)

#include "tests/opencl/on_device.hpp"

#include <limits>
#include <vector>

#include "tyto/reduce.hpp"
#include "tyto/statistics.hpp"

TEST_CASE("means and variances of integers on OpenCL are those of exact sums") {
  using T = tyto::Tensor<tyto::Eager>;
  using tyto::DType;
  for (tyto::core::Device* device : tyto::opencl::devices()) {
    const tyto::opencl::test::OnDevice on(*device);
    const T ends = T{1, -2147483648LL, 2147483646LL};
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const DType type : {DType::i32, DType::i64}) {
      CHECK(tyto::mean(ends.astype(type)).item<float>() == -1.0f / 3);
      CHECK(tyto::average(ends.astype(type), T{1, 1, 1}).item<float>() == -1.0f / 3);
      CHECK(tyto::var((T{1073741824, 1073741825, 1073741826, 1073741827}).astype(type)).item<float>() == 1.25f);
    }
    CHECK(tyto::mean(T::from(std::vector<std::int64_t>{most, most, most}, {3})).item<float>() ==
          9223372036854775807.0f);
    CHECK(tyto::mean(T{true, false, true}).item<float>() == 2.0f / 3);
  }
}

#endif
