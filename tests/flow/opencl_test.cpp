// SPDX-License-Identifier: MIT
// Loops and branches on an OpenCL device: what runs there, and what the host runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"
#include "tests/support/scaled_on_host.hpp"

using tyto::DType;
using tyto::Lazy;
using tyto_test::Numbers;
using tyto_test::numbers;

TEST_CASE("an OpenCL device runs loops and branches, and leaves to the host those that hold what it lacks") {
  using Tensor = tyto::Tensor<Lazy>;
  const std::vector<tyto::DeviceInfo> known = tyto::devices();
  const bool there = std::any_of(known.begin(), known.end(), [](const auto& each) { return each.name == "opencl:0"; });
  if (!there) {
    MESSAGE("no OpenCL device: nothing to compare");
    return;
  }
  const auto computed = [](auto lacking) {
    auto f = tyto::compile([&](Tensor x) {
      const Tensor doubled = x * 2;
      const auto [last, rows] = scan(
          [&](const Tensor& c, const Tensor& r) {
            const Tensor next = cond(
                r > 1.5, [&] { return c + doubled; }, [&] { return lacking(c * r); });
            return std::pair(next, next);
          },
          doubled, x);
      return last + rows.sum();
    });
    const Numbers values = numbers(f(Tensor{1.0, 2.0, 3.0}));
    return std::pair(values, f.report().fallbacks);
  };
  const auto nothing = [](const Tensor& x) { return x; };
  const auto doubled = scaled_on_host("doubled", 2);
  const auto on_the_host = [&](const Tensor& x) { return doubled(x); };
  const auto host = computed(nothing), host_lacking = computed(on_the_host);
  const tyto::DeviceScope scope("opencl");
  const auto device = computed(nothing), device_lacking = computed(on_the_host);
  CHECK(device.first == host.first);
  CHECK(device.second.empty());
  CHECK(device_lacking.first == host_lacking.first);
  CHECK(device_lacking.second == std::vector<std::string>{"loop"});
}

TEST_CASE("nodes hoisted out of loops and branches are lowered on an OpenCL device like those outside") {
  using Tensor = tyto::Tensor<Lazy>;
  const std::vector<tyto::DeviceInfo> known = tyto::devices();
  if (std::none_of(known.begin(), known.end(), [](const auto& each) { return each.name == "opencl:0"; })) {
    MESSAGE("no OpenCL device: nothing to compute on it");
    return;
  }
  // No device but the CPU has a kernel for a partition. Three are least below the fourth of {5, 1, 4, 2, 3}: 1, 2, 3.
  const tyto::DeviceScope scope("opencl");
  auto hoisted = tyto::compile([](Tensor x) {
    return fori_loop(0, 4, Tensor::zeros({}, DType::f32), [&](Tensor, Tensor sum_so_far) {
      return sum_so_far + tyto::sum(tyto::partition(x, 2).get({tyto::slice(0, 3)}));
    });
  });
  CHECK(hoisted(Tensor{5.0f, 1.0f, 4.0f, 2.0f, 3.0f}).item<float>() == 24);
  CHECK(hoisted.report().fallbacks.empty());
  auto chosen = tyto::compile([](Tensor x) {
    return cond(
        Tensor::ones({}, DType::boolean), [&] { return tyto::partition(x, 2).get({2}); }, [&] { return tyto::sum(x); });
  });
  CHECK(chosen(Tensor{5.0f, 1.0f, 4.0f, 2.0f, 3.0f}).item<float>() == 3);
  CHECK(chosen.report().fallbacks.empty());
}
