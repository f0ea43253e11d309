// Weights that stay are packed once for register tiles, and again when they were assigned; products of packed weights
// are those of the weights.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <tyto/tyto.hpp>

#include "devices/opencl/opencl_device.hpp"
#include "tests/opencl/on_device.hpp"
#include "tests/support/scaled_on_host.hpp"

namespace packed_weights_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using L = Tensor<Lazy>;
using Numbers = std::vector<float>;

namespace {

L counted(const Shape& shape, double step) {
  return sin(reshape(L::arange(0, static_cast<double>(element_count(shape)), 1, DType::f32), shape) * step);
}

/// Of a function of x: its result with all passes and without packing, bytes packed in the first run and in the second.
struct Outcome {
  Numbers packed, plain;
  std::int64_t first = 0, second = 0;
};

template <class Function>
Outcome outcome_of(const Function& function, const L& x) {
  Outcome outcome;
  auto packed = compile(function), plain = compile(function, {.passes = "all,-packing"});
  const auto bytes = [&] {
    std::int64_t sum = 0;
    for (const StepProfile& step : packed.profile(x).steps) sum += step.name == "pack_weights" ? step.bytes : 0;
    return sum;
  };
  outcome.first = bytes();
  outcome.second = bytes();
  outcome.packed = packed(x).template to_vector<float>();
  outcome.plain = plain(x).template to_vector<float>();
  CHECK(packed.report().fallbacks.empty());
  return outcome;
}

/// A device of the CPU style. Never destroyed: caches of the process hold executables for it.
OpenClDevice* cpu_style() {
  static OpenClDevice* const device = [] {
    const cl_device_id id = first_device();
    return id == nullptr ? nullptr : new OpenClDevice("opencl:7", id, Style::cpu, {});
  }();
  return device;
}

}  // namespace

TEST_CASE("OpenCL products with variables and constants pack them once, and give the same bits as without") {
  if (cpu_style() == nullptr) return;
  const OnDevice scope(*cpu_style());
  const L x = counted({9, 40}, 0.7);
  SUBCASE("a variable, whose last panel is not full") {
    const L w = L::variable(counted({40, 150}, 0.3)), b = L::variable(counted({150}, 0.2));
    const auto layer = [&](L input) { return relu(matmul(input, w) + b); };
    const Outcome outcome = outcome_of(layer, x);
    CHECK(outcome.packed == outcome.plain);
    // Three panels of 64 columns are written, and 150 columns read.
    CHECK(outcome.first == 40 * (3 * 64 + 150) * 4);
    CHECK(outcome.second == 0);
    // Element (0, 0) by the definition, in f64.
    double sum = std::sin(0.0);
    for (int k = 0; k < 40; ++k) sum += std::sin(0.7 * k) * std::sin(0.3 * 150 * k);
    CHECK(outcome.packed[0] == doctest::Approx(std::max(sum, 0.0)).epsilon(1e-4));
  }
  SUBCASE("a constant, through a transposed view") {
    const L w = L::from(counted({150, 40}, 0.3).to_vector<float>(), {150, 40});
    const Outcome outcome = outcome_of([&](L input) { return matmul(input, transpose(w)); }, x);
    CHECK(outcome.packed == outcome.plain);
    CHECK(outcome.first > 0);
    CHECK(outcome.second == 0);
  }
  SUBCASE("one panel is read as it lies") {
    const L w = L::variable(counted({40, 64}, 0.3));
    const Outcome outcome = outcome_of([&](L input) { return matmul(input, w); }, x);
    CHECK(outcome.packed == outcome.plain);
    CHECK(outcome.first == 0);
  }
}

TEST_CASE("OpenCL convolutions read packed kernels in every kind, and give the same bits as without") {
  if (cpu_style() == nullptr) return;
  const OnDevice scope(*cpu_style());
  const auto check = [](const Shape& picture, const Shape& kernel, const ConvolutionOptions& options) {
    CAPTURE(kernel);
    const L w = L::variable(counted(kernel, 0.3)), b = L::variable(counted({kernel.back()}, 0.2));
    const Outcome outcome =
        outcome_of([&](L input) { return relu(conv2d(input, w, options) + b); }, counted(picture, 0.05));
    CHECK(outcome.packed == outcome.plain);
    CHECK(outcome.first > 0);
    CHECK(outcome.second == 0);
  };
  check({2, 9, 8, 5}, {3, 3, 5, 100}, {});
  check({1, 9, 8, 600}, {1, 1, 600, 72}, {.stride = 2});
  check({2, 9, 8, 6}, {3, 2, 3, 160}, {.groups = 2});
}

TEST_CASE("OpenCL packs assigned weights again") {
  if (cpu_style() == nullptr) return;
  const OnDevice scope(*cpu_style());
  const L w = L::variable(L::ones({40, 100}));
  auto layer = compile([&](L input) { return matmul(input, w); });
  const L x = L::ones({4, 40});
  CHECK(layer(x).to_vector<float>() == Numbers(400, 40.0f));
  assign(w, L::ones({40, 100}) * 2.0);
  CHECK(layer(x).to_vector<float>() == Numbers(400, 80.0f));
  CHECK(w.to_vector<float>() == Numbers(4000, 2.0f));
}

TEST_CASE("what a loop that the host runs captures is packed for the host alone") {
  if (cpu_style() == nullptr) return;
  const OnDevice scope(*cpu_style());
  const auto same = scaled_on_host("same", 1);
  const L w = L::variable(L::ones({40, 40}) * 0.5);
  auto looped = compile([&](L x) { return fori_loop(0, 3, x, [&](L, L carry) { return same(matmul(carry, w)); }); });
  // Each product multiplies by 40 halves.
  CHECK(looped(L::ones({4, 40})).to_vector<float>() == Numbers(160, 8000.0f));
  CHECK(looped.report().fallbacks == std::vector<std::string>{"loop"});
}

}  // namespace packed_weights_test

#endif
