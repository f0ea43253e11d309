// SPDX-License-Identifier: MIT
// Complex functions at the special values of C's annex G and NumPy, and at the ends of their range.
#include "tests/ops/complex_specials.hpp"

#include "tests/support/both_modes.hpp"

namespace complex_specials {

BOTH_MODES("complex functions of zeros, infinities and NaN are C's and NumPy's") {
  for (const DType type : {DType::c64, DType::c128}) {
    CAPTURE(type);
    check_special_values<Tensor<Mode>>(type);
  }
}

BOTH_MODES("complex functions of the smallest and the largest numbers are right to the last digits") {
  for (const DType type : {DType::c64, DType::c128}) {
    CAPTURE(type);
    check_ends_of_range<Tensor<Mode>>(type);
  }
}

BOTH_MODES("logarithms of small complex numbers go through scaling without a step") {
  using T = Tensor<Mode>;
  // About where numbers are scaled into the neighbourhood of one.
  for (const DType type : {DType::c64, DType::c128}) {
    CAPTURE(type);
    std::vector<C128> z;
    std::vector<double> sizes;
    for (int step = 0; step < 400; ++step) {
      const double size = (type == DType::c64 ? 1e-21 : 1e-156) * std::pow(10.0, step / 100.0), angle = 0.1 * step;
      z.push_back(std::polar(size, angle));
      sizes.push_back(std::log(size));
    }
    const T operand = T::from(z, {400}).astype(type);
    const std::vector<C128> natural = log(operand).astype(DType::c128).template to_vector<C128>();
    const std::vector<C128> binary = log2(operand).astype(DType::c128).template to_vector<C128>();
    const std::vector<C128> decimal = log10(operand).astype(DType::c128).template to_vector<C128>();
    const double close = type == DType::c64 ? 2e-7 : 1e-15;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      CAPTURE(z[i]);
      CHECK(natural[i].real() == doctest::Approx(sizes[i]).epsilon(close));
      CHECK(binary[i].real() == doctest::Approx(sizes[i] / std::log(2.0)).epsilon(close));
      CHECK(decimal[i].real() == doctest::Approx(sizes[i] / std::log(10.0)).epsilon(close));
    }
  }
}

}  // namespace complex_specials
