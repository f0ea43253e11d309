// SPDX-License-Identifier: MIT
// A device without f64: arithmetic in f64 runs on the CPU, operators that only move elements run on the device.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>
#include <complex>

#include <tyto/tyto.hpp>

#include "devices/opencl/device/opencl_device.hpp"
#include "tests/opencl/failing_driver.hpp"
#include "tests/opencl/on_device.hpp"

namespace narrow_device_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using L = Tensor<Lazy>;
using E = Tensor<Eager>;

namespace {

/// Never destroyed: caches of the process hold executables for it. Null where there is none.
OpenClDevice* narrow_device() {
  const cl_device_id id = first_device();
  if (id == nullptr) return nullptr;
  pretend_narrow(true);
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  pretend_narrow(false);
  CHECK_FALSE(device->context().has_f64);
  return device;
}

}  // namespace

TEST_CASE("states in f64 live on a device without f64, and are computed on the CPU") {
  OpenClDevice* const device = narrow_device();
  if (device == nullptr) return;
  const OnDevice scope(*device);
  const L w = L::variable(L::from(std::vector<double>{1, 2, 3}, {3}), "w");
  auto step = compile([&](L x) {
    const L before = copy(w);
    assign(w, w * 2.0 + x);
    return std::tuple(before, sum(w));
  });
  const L x = L::from(std::vector<double>{0.1, 0.2, 0.3}, {3});
  for (int i = 0; i < 2; ++i) (void)step(x);
  CHECK_FALSE(step.report().fallbacks.empty());
  const auto [before, total] = step(x);
  const std::vector<double> after = w.to_vector<double>();
  for (std::size_t k = 0; k < 3; ++k) {
    const double start = static_cast<double>(k + 1), given = 0.1 * static_cast<double>(k + 1);
    CHECK(before.to_vector<double>()[k] == doctest::Approx(4 * start + 3 * given).epsilon(1e-15));
    CHECK(after[k] == doctest::Approx(8 * start + 7 * given).epsilon(1e-15));
  }
  CHECK(total.item<double>() == doctest::Approx(8 * 6 + 7 * 0.6).epsilon(1e-15));
}

TEST_CASE("elements of f64 and c128 are moved on a device without f64") {
  OpenClDevice* const device = narrow_device();
  if (device == nullptr) return;
  const OnDevice scope(*device);
  const E x = E::from(std::vector<double>{1.25, -0.0, 1e300}, {3});
  const std::vector<double> twice = concat({x, flip(x, {0})}, 0).to_vector<double>();
  CHECK(twice == std::vector<double>{1.25, -0.0, 1e300, 1e300, -0.0, 1.25});
  CHECK(std::signbit(twice[1]));
  CHECK(roll(x, {1}, {0}).to_vector<double>() == std::vector<double>{1e300, 1.25, -0.0});
  const E z = E::from(std::vector<std::complex<double>>{{1, 2}, {3, 4}}, {2});
  CHECK(concat({z, z}, 0).to_vector<std::complex<double>>()[3] == std::complex<double>(3, 4));
}

}  // namespace narrow_device_test

#endif
