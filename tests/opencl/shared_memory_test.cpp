// SPDX-License-Identifier: MIT
// A device in the host's memory copies nothing that it can read, or show, as it lies.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cstdint>

#include <tyto/tyto.hpp>

#include "devices/cpu/device/device.hpp"
#include "devices/opencl/device/opencl_device.hpp"
#include "tests/opencl/failing_driver.hpp"
#include "tests/opencl/on_device.hpp"

namespace shared_memory_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using L = Tensor<Lazy>;
using E = Tensor<Eager>;

namespace {

constexpr std::int64_t count = 100'000;
constexpr std::size_t bytes = count * sizeof(float);

/// Never destroyed: caches of the process hold executables for it. Null where there is none in the host's memory.
OpenClDevice* shared_device() {
  const cl_device_id id = first_device();
  if (id == nullptr) return nullptr;
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  if (device->context().shares_host_memory) return device;
  MESSAGE("no OpenCL device here works in the host's memory: nothing is checked");
  return nullptr;
}

L ramp() { return L::arange(0, static_cast<double>(count), 1, DType::f32); }

}  // namespace

TEST_CASE("inputs and outputs of a device in the host's memory are not copied") {
  OpenClDevice* const device = shared_device();
  if (device == nullptr) return;
  const L x = ramp();
  CHECK(x.data<float>()[count - 1] == count - 1);  // computed, on the host
  const OnDevice scope(*device);
  auto twice = compile([](L v) { return v * 2; });
  (void)twice(x);
  begin_count();
  const L y = twice(x);
  CHECK(y.data<float>()[count - 1] == 2 * (count - 1));
  const CopiedBytes copied = copied_bytes();
  CHECK(copied.in + copied.out + copied.within == 0);
}

TEST_CASE("states stay in the device's memory, and are read where they lie") {
  OpenClDevice* const device = shared_device();
  if (device == nullptr) return;
  const OnDevice scope(*device);
  const L w = L::variable(L::ones({count}), "w");
  auto step = compile([&](L x) {
    assign(w, w + x);
    return sum(w);
  });
  const L x = L::full({count}, 2.0f);
  (void)step(x);
  (void)step(x);
  begin_count();
  (void)step(x);
  CHECK(copied_bytes().within < bytes);
  CHECK(w.data<float>()[7] == 7);
  CHECK(copied_bytes().in < bytes);
  CHECK(copied_bytes().out < bytes);
}

TEST_CASE("tensors that were read keep their contents when the state changes, and borrowed memory stays its owner's") {
  OpenClDevice* const device = shared_device();
  if (device == nullptr) return;
  const L initial = ramp();
  const std::span<const float> given = initial.data<float>();
  const OnDevice scope(*device);
  const L w = L::variable(initial, "w");
  auto step = compile([&] {
    assign(w, w + 1);
    return sum(w);
  });
  (void)step();
  const std::span<const float> before = w.data<float>();
  CHECK(before[5] == 6);
  for (int i = 0; i < 3; ++i) (void)step();
  CHECK(before[5] == 6);
  CHECK(given[5] == 5);
  CHECK(w.data<float>()[5] == 9);
}

TEST_CASE("memory of the host is kept until the device has read it, whoever releases it first") {
  OpenClDevice* const device = shared_device();
  if (device == nullptr) return;
  E total;
  {
    const OnDevice scope(*device);
    total = E::zeros({count});
  }
  for (int i = 1; i <= 50; ++i) {
    // The memory of the round before is used again as soon as it is free.
    const E here = E::full({count}, static_cast<float>(i));
    total = total + here;  // where the sum is
  }
  CHECK(total.data<float>()[0] == 50 * 51 / 2);
  CHECK(total.data<float>()[count - 1] == 50 * 51 / 2);
}

TEST_CASE("lent memory is copied, as its owner may change it when the call returns") {
  OpenClDevice* const device = shared_device();
  if (device == nullptr) return;
  std::vector<float> lent(count, 1.0f);
  const OnDevice scope(*device);
  const E ones = E::ones({count});
  begin_count();
  const E doubled = ones + E::borrow(lent.data(), {count});
  std::fill(lent.begin(), lent.end(), 5.0f);
  CHECK(doubled.data<float>()[count / 2] == 2);
  CHECK(copied_bytes().in == bytes);
}

TEST_CASE("a device with memory of its own copies each once") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  pretend_own_memory(true);
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  pretend_own_memory(false);
  CHECK(!device->context().shares_host_memory);
  const L x = ramp();
  (void)x.data<float>();
  const OnDevice scope(*device);
  auto twice = compile([](L v) { return v * 2; });
  (void)twice(x);
  begin_count();
  const L y = twice(x);
  CHECK(y.data<float>()[3] == 6);
  CHECK(copied_bytes().in == bytes);
  CHECK(copied_bytes().out == bytes);
  CHECK(copied_bytes().within == 0);
}

}  // namespace shared_memory_test

#endif
