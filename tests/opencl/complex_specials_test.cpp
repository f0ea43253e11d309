// SPDX-License-Identifier: MIT
// Complex functions on an OpenCL device at the special values of C's annex G and NumPy, and at the ends of their range.
#if defined(TYTO_HAVE_OPENCL)

#include "tests/ops/complex_specials.hpp"

#include "tests/opencl/on_device.hpp"

TEST_CASE("complex functions of zeros, infinities, NaN and at the ends of their range on OpenCL") {
  using T = tyto::Tensor<tyto::Eager>;
  for (tyto::core::Device* device : tyto::opencl::devices()) {
    const tyto::opencl::test::OnDevice on(*device);
    for (const tyto::DType type : {tyto::DType::c64, tyto::DType::c128}) {
      CAPTURE(type);
      complex_specials::check_special_values<T>(type);
      complex_specials::check_ends_of_range<T>(type);
    }
  }
}

#endif
