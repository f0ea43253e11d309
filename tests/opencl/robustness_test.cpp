// SPDX-License-Identifier: MIT
// Any failing call of the driver becomes a typed error that names the call, nothing leaks or hangs, and later runs give
// the right numbers.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include <tyto/tyto.hpp>

#include "devices/opencl/device/discovery.hpp"
#include "devices/opencl/device/opencl_device.hpp"
#include "tests/opencl/failing_driver.hpp"
#include "tests/opencl/on_device.hpp"
#include "tests/support/message.hpp"

namespace robustness_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using L = Tensor<Lazy>;
using E = Tensor<Eager>;
using Numbers = std::vector<float>;
using tyto_test::contains;
using tyto_test::message_of;

namespace {

template <class T>
T ramp(const Shape& shape, float step) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i + 1) * step);
  return T::from(values, shape);
}

void append(Numbers& numbers, const auto& tensor) {
  for (const float value : cast(tensor, DType::f32).template to_vector<float>()) numbers.push_back(value);
}

/// Something to compute, again and again, on the device of the innermost scope.
using Work = std::function<Numbers()>;

/// A step of training: products, an update in place, and a kernel that may note a fault. What the weights hold when it
/// throws is the old value or the new one.
Work training_step(bool profiled = false) {
  const L weights = L::variable(ramp<L>({8, 6}, 0.3f), "weights");
  auto step = std::make_shared<Compiled<std::function<L(L, L)>>>(compile(std::function<L(L, L)>([=](L x, L at) {
    const auto loss = [&](const L& w) { return mean(square(tanh(matmul(x, w)))); };
    const L gradient = grad(loss)(weights);
    const L before = take(sum(weights, 1), at);
    assign(weights, weights - 0.5 * gradient);
    return before;
  })));
  return [=] {
    assign(weights, ramp<L>({8, 6}, 0.3f));
    const L x = ramp<L>({4, 8}, 0.7f);
    const L at{std::int64_t{7}, std::int64_t{0}, std::int64_t{3}};
    Numbers numbers;
    if (profiled) (void)step->profile(x, at);
    else append(numbers, (*step)(x, at));
    append(numbers, weights);
    return numbers;
  };
}

/// A loop that reads on the host whether to go on.
Work tested_loop() {
  auto root = std::make_shared<Compiled<std::function<L(L)>>>(compile(std::function<L(L)>([](L x) {
    return while_loop(
        x, [=](const L& y) { return any(abs(y * y - x) > 1e-3); }, [=](const L& y) { return (y + x / y) * 0.5; },
        {.most = 40});
  })));
  return [=] {
    Numbers numbers;
    append(numbers, (*root)(L{2.0f, 9.0f, 100.0f}));
    return numbers;
  };
}

template <class M>
Numbers line_by_line() {
  using T = Tensor<M>;
  Numbers numbers;
  const T x = ramp<T>({5, 7}, 0.4f);
  const T y = exp(x) + matmul(x, x.transpose())(all, slice(0, 1));
  append(numbers, softmax(y, 1));
  append(numbers, sort(y, 0));
  append(numbers, take(y, T{std::int64_t{4}, std::int64_t{1}}, 0));
  append(numbers, cumsum(y.transpose(), 1));
  return numbers;
}

/// Large enough for a device in the host's memory to share it.
template <class M>
Numbers shared_with_host() {
  Numbers numbers;
  append(numbers, exp(ramp<Tensor<M>>({64, 50}, 0.1f)) * 2);
  return numbers;
}

bool close(const Numbers& a, const Numbers& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-5f * (1 + std::abs(b[i])))) return false;
  }
  return true;
}

/// The status that drivers return from such a call.
DriverFault fault_of(const std::string& call, std::size_t at) {
  const cl_int status = call == "clCreateBuffer"                              ? CL_MEM_OBJECT_ALLOCATION_FAILURE
                        : call == "clBuildProgram"                            ? CL_BUILD_PROGRAM_FAILURE
                        : call == "clFinish" || call.starts_with("clEnqueue") ? CL_OUT_OF_RESOURCES
                                                                              : CL_OUT_OF_HOST_MEMORY;
  return {.call = call, .at = at, .status = status};
}

bool can_fail(const std::string& call) { return !call.starts_with("clRelease") && !call.starts_with("clRetain"); }

/// Whether the message tells of the call; CLBlast says only with what status one of its calls ended, or in its own
/// codes.
bool tells_of(const std::string& message, const std::string& call, cl_int status) {
  return contains(message, failure(call, status)) || contains(message, failure("CLBlast", status)) ||
         contains(message, "CLBlast: clblast::StatusCode -10");
}

/// Lets every call that the work makes fail in its turn.
void check_every_call(const char* name, const Work& work) {
  CAPTURE(name);
  const Numbers expected = work();
  (void)work();  // from here on nothing is compiled, and what is kept between runs is there
  begin_count();
  (void)work();
  const std::map<std::string, std::size_t> made = calls();
  const std::map<std::string, long> living = living_objects();
  std::size_t faults = 0;
  for (const auto& [call, times] : made) {
    if (!can_fail(call)) continue;
    for (std::size_t at = 1; at <= times; ++at) {
      CAPTURE(call);
      CAPTURE(at);
      std::string message;
      {
        const FailingDriver driver(fault_of(call, at));
        message = message_of<DeviceError>(work);
        CHECK(driver.failed() == call);
      }
      INFO(message);
      // The last wait of a profiled run only ends the taking of times: all that it computes is there.
      if (call == "clFinish" && at == times && made.contains("clGetEventProfilingInfo")) continue;
      CHECK(message.starts_with("opencl:7: "));
      CHECK(tells_of(message, call, fault_of(call, at).status));
      CHECK(work() == expected);
      CHECK(living_objects() == living);
      ++faults;
    }
  }
  CHECK(faults > 3);
}

/// As a device that is lost with some call and with all after it.
void check_loss(const char* name, const Work& work) {
  CAPTURE(name);
  const Numbers expected = work();
  begin_count();
  (void)work();
  std::size_t most = 0;
  for (const auto& [call, times] : calls()) most += can_fail(call) ? times : 0;
  for (std::size_t at = 1; at <= most; ++at) {
    CAPTURE(at);
    {
      const FailingDriver driver({.call = "", .at = at, .status = CL_DEVICE_NOT_AVAILABLE, .for_good = true});
      for (int again = 0; again < 3; ++again) {
        const std::string message = message_of<DeviceError>(work);
        INFO(message);
        CHECK(message.starts_with("opencl:7: "));
        CHECK(message.find("CL_DEVICE_NOT_AVAILABLE (-2): the device cannot be used now") != message.npos);
      }
    }
    CHECK(work() == expected);
  }
}

struct Named {
  const char* name;
  Work work;
};

std::vector<Named> all_work() {
  return {{"a training step", training_step()},
          {"a training step with its profile", training_step(true)},
          {"a loop", tested_loop()},
          {"line by line in eager mode", line_by_line<Eager>},
          {"line by line in lazy mode", line_by_line<Lazy>},
          {"large tensors in eager mode", shared_with_host<Eager>},
          {"large tensors in lazy mode", shared_with_host<Lazy>}};
}

}  // namespace

TEST_CASE("any call that fails is a DeviceError that names the device, the call and what it means") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  Style style = Style::cpu;
  SUBCASE("kernels of the CPU style") {}
  SUBCASE("kernels of the GPU style") { style = Style::gpu; }
  // Never destroyed: caches of the process hold executables for it.
  auto* const device = new OpenClDevice("opencl:7", id, style, {});
  for (const Named& each : all_work()) {
    const Numbers on_host = each.work();
    const OnDevice scope(*device);
    CHECK(close(each.work(), on_host));
    check_every_call(each.name, each.work);
  }
}

TEST_CASE("a lost device is an error at every use, and no hang") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  const OnDevice scope(*device);
  for (const Named& each : all_work()) check_loss(each.name, each.work);
}

TEST_CASE("weights hold their old or their new value after a step that failed") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  const OnDevice scope(*device);
  const L weights = L::variable(L::full({64}, 1.0f), "weights");
  auto step = compile([&](L x) {
    assign(weights, weights * 2 + x);
    return sum(weights * x);
  });
  const L x = L::full({64}, 0.5f);
  (void)step(x).item<float>();
  const auto value = [&] { return weights.to_vector<float>(); };
  for (std::size_t at = 1; at <= 12; ++at) {
    const Numbers before = value();
    Numbers after(before.size(), before[0] * 2 + 0.5f);
    bool failed = false;
    {
      const FailingDriver driver({.call = "", .at = at});
      try {
        (void)step(x);
      } catch (const DeviceError&) {
        failed = true;
      }
    }
    const Numbers found = value();
    CHECK((found == after || (failed && found == before)));
  }
}

TEST_CASE("a fault on the way to a device's first results leaves nothing behind, whatever call it meets") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tyto-robustness-" + std::to_string(::getpid()));
  // Opens a device, runs a function that nobody has compiled for it, and closes it.
  const auto once = [&] {
    OpenClDevice device("opencl:7", id, Style::cpu, folder);
    const OnDevice scope(device);
    auto f = compile([](L x) { return sum(exp(x) * 3 + sqrt(abs(x))); });
    Numbers numbers{f(ramp<L>({30}, 0.2f)).item<float>()};
    numbers.push_back(static_cast<float>(device.cache_counts().compiled));
    return numbers;
  };
  const auto emptied = [&] { std::filesystem::remove_all(folder); };
  emptied();
  const Numbers cold = once(), warm = once();
  CHECK(cold[1] == 1);
  CHECK(warm[1] == 0);
  // Calls that must succeed; for all others there is another way where they fail.
  const auto may_be_missed = [](const std::string& call, bool is_warm, std::size_t at, std::size_t times) {
    if (call == "clFinish" && at == times) return true;  // of a device that is closed
    return call == "clGetProgramInfo" || call == "clCreateProgramWithBinary" ||
           (call == "clBuildProgram" && is_warm && at == 1);
  };
  for (const bool is_warm : {false, true}) {
    CAPTURE(is_warm);
    const auto prepared = [&] {
      emptied();
      if (is_warm) (void)once();
    };
    prepared();
    begin_count();
    (void)once();
    const auto made = calls();
    const auto living = living_objects();
    for (const auto& [call, times] : made) {
      if (!can_fail(call)) continue;
      for (std::size_t at = 1; at <= times; ++at) {
        CAPTURE(call);
        CAPTURE(at);
        prepared();
        std::string message;
        Numbers found;
        {
          const FailingDriver driver(fault_of(call, at));
          message = message_of<DeviceError>([&] { return found = once(); });
          CHECK(driver.failed() == call);
        }
        if (may_be_missed(call, is_warm, at, times)) {
          CHECK(message.empty());
          const bool compiles = !is_warm || call != "clFinish";
          CHECK(found == Numbers{cold[0], compiles ? 1.0f : 0.0f});
        } else {
          CHECK(message.starts_with("opencl:7: "));
          CHECK(contains(message, failure(call, fault_of(call, at).status)));
        }
        CHECK(living_objects() == living);
        CHECK(once()[0] == cold[0]);
        CHECK(once()[1] == 0);  // what was compiled is on disk now
      }
    }
  }
  emptied();
}

TEST_CASE("an index outside its axis is told though the first attempt to read of it failed") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  const OnDevice scope(*device);
  auto chosen = compile([](L x, L at) { return take(x, at); });
  const L x{1.0f, 2.0f, 3.0f};
  (void)chosen(x, L{std::int64_t{1}}).item<float>();
  const L outside{std::int64_t{5}};
  {
    const FailingDriver driver({.call = "clEnqueueReadBuffer"});
    CHECK_THROWS_AS((void)chosen(x, outside), DeviceError);
    CHECK(driver.failed() == "clEnqueueReadBuffer");
  }
  CHECK_THROWS_AS(device->synchronise(), IndexError);
  CHECK(chosen(x, L{std::int64_t{2}}).item<float>() == 3);
}

TEST_CASE("no platform is no device, and each of many has its number") {
  if (first_device() == nullptr) return;
  pretend_platforms(0);
  const Discovery none = discover("");
  CHECK(none.devices.empty());
  CHECK(none.refused.empty());

  pretend_platforms(3);
  const Discovery three = discover("");
  REQUIRE(three.devices.size() >= 3);
  CHECK(three.refused.empty());
  for (std::size_t i = 0; i < three.devices.size(); ++i) {
    CHECK(three.devices[i]->properties().name == "opencl:" + std::to_string(i));
  }
  CHECK(discover("1").devices.size() == 1);
  CHECK(discover("none").devices.empty());
  CHECK(discover("no such name").devices.empty());
  pretend_platforms(std::nullopt);
}

TEST_CASE("the style of kernels is that of the device's type, unless the environment names one") {
  if (first_device() == nullptr) return;
  const char* const before = std::getenv("TYTO_OPENCL_STYLE");
  const std::string kept = before == nullptr ? "" : before;
  const auto style_of_first = [] {
    const Discovery found = discover("0");
    REQUIRE(found.devices.size() == 1);
    return dynamic_cast<const OpenClDevice&>(*found.devices[0]).context().style;
  };
  ::unsetenv("TYTO_OPENCL_STYLE");
  CHECK(style_of_first() == natural_style(first_device()));
  ::setenv("TYTO_OPENCL_STYLE", "gpu", 1);
  CHECK(style_of_first() == Style::gpu);
  ::setenv("TYTO_OPENCL_STYLE", "cpu", 1);
  CHECK(style_of_first() == Style::cpu);
  before == nullptr ? ::unsetenv("TYTO_OPENCL_STYLE") : ::setenv("TYTO_OPENCL_STYLE", kept.c_str(), 1);
}

TEST_CASE("a device that cannot be opened is left out with its reason, and the others are there") {
  if (first_device() == nullptr) return;
  pretend_platforms(3);
  const std::size_t all = discover("").devices.size();
  for (const char* call : {"clCreateContext", "clCreateCommandQueue", "clCreateBuffer"}) {
    CAPTURE(call);
    const FailingDriver driver({.call = call, .at = 2});
    const Discovery found = discover("");
    CHECK(found.devices.size() == all - 1);
    CHECK(found.devices[1]->properties().name == "opencl:1");
    REQUIRE(found.refused.size() == 1);
    CHECK(contains(found.refused[0], failure(call, CL_OUT_OF_RESOURCES)));
  }
  {
    const FailingDriver driver({.call = "clGetDeviceIDs", .at = 1, .status = CL_OUT_OF_HOST_MEMORY});
    const Discovery found = discover("");
    CHECK(found.devices.size() < all);
    REQUIRE(found.refused.size() == 1);
    CHECK(found.refused[0].starts_with("the devices of "));
    CHECK(found.refused[0].ends_with(failure("clGetDeviceIDs", CL_OUT_OF_HOST_MEMORY)));
  }
  pretend_platforms(std::nullopt);
  const FailingDriver driver({.call = "clGetPlatformIDs", .at = 1, .status = CL_OUT_OF_HOST_MEMORY});
  const Discovery found = discover("");
  CHECK(found.devices.empty());
  REQUIRE(found.refused.size() == 1);
  CHECK(found.refused[0] == "the platforms of OpenCL: " + failure("clGetPlatformIDs", CL_OUT_OF_HOST_MEMORY));
}

TEST_CASE("a program computes on several devices, and tensors go from one to the next") {
  if (first_device() == nullptr) return;
  pretend_platforms(2);
  auto* const two = new Discovery(discover(""));
  pretend_platforms(std::nullopt);
  REQUIRE(two->devices.size() >= 2);
  const auto squared = [](const L& x) { return x * x + 1; };
  auto f = compile(squared);
  L x{1.0f, 2.0f};
  for (int round = 0; round < 2; ++round) {
    for (const auto& device : two->devices) {
      const OnDevice scope(*device);
      x = f(x);
    }
    x = f(x);  // on the CPU
  }
  const auto expected = [](float value) {
    for (std::size_t i = 0; i < 6; ++i) value = value * value + 1;
    return value;
  };
  if (two->devices.size() == 2) CHECK(close(x.to_vector<float>(), {expected(1), expected(2)}));
  const OnDevice scope(*two->devices[1]);
  E y = E{3.0f} * 2;
  {
    const OnDevice other(*two->devices[0]);
    y = y + 1;
  }
  CHECK((y * y).item<float>() == 49);
}

}  // namespace robustness_test

#endif
