// SPDX-License-Identifier: MIT
// The start of a graph: its kernels are compiled in parallel, and a second start finds them all on disk.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "devices/opencl/device/opencl_device.hpp"
#include "tests/opencl/failing_driver.hpp"
#include "tests/opencl/on_device.hpp"

namespace start_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using L = Tensor<Lazy>;

namespace {

/// A folder of its own, removed in the end.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("tyto-start-" + std::to_string(::getpid()));
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

/// The loss of the first step of the MNIST example's network, made small, on a device opened as a process that starts
/// does.
float first_loss(cl_device_id id, const std::filesystem::path& folder) {
  // Never destroyed: caches of the process hold executables for it.
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, folder);
  const OnDevice scope(*device);
  seed(5);
  const nn::Sequential model{nn::Conv2d({.in = 1, .out = 16, .window = 5, .padding = same}),
                             relu,
                             nn::MaxPool(2),
                             nn::Dropout(0.1),
                             nn::Flatten(),
                             nn::Linear({.in = 5 * 5 * 16, .out = 24}),
                             relu,
                             nn::Linear({.in = 24, .out = 10})};
  nn::Descent descent = nn::adagrad({.rate = 0.005});
  auto step = compile([&](L images, L labels) {
    const auto objective = [&](L x, L t) { return cross_entropy(model(x, nn::training), t); };
    auto [loss, gradients] = value_and_grad(objective, model.parameters())(images, labels);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  const float loss = step(L::uniform({2, 10, 10, 1}), L::from(std::vector<std::int64_t>{3, 8}, {2})).item<float>();
  CHECK(step.report().fallbacks.empty());
  return loss;
}

}  // namespace

TEST_CASE("a second start of MNIST compiles nothing and computes the same") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  const Folder folder;
  begin_count();
  const float cold = first_loss(id, folder.path);
  const auto compiled = calls();
  CHECK(compiled.at("clCreateProgramWithSource") > 0);
  begin_count();
  const float warm = first_loss(id, folder.path);
  const auto loaded = calls();
  CHECK(loaded.count("clCreateProgramWithSource") == 0);
  CHECK(loaded.count("clCompileProgram") == 0);
  CHECK(loaded.at("clBuildProgram") == loaded.at("clCreateProgramWithBinary"));
  CHECK(warm == cold);
}

TEST_CASE("the kernels of a graph are no more programs than there are cores") {
  const cl_device_id id = first_device();
  if (id == nullptr) return;
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  const OnDevice scope(*device);
  auto f = compile([](L x) {
    const L y = cumsum(x, 0), z = sort(y, 1), w = matmul(z, transpose(x)), v = max(w, {0});
    return std::tuple(argsort(v, 0), sum(exp(w), {1}), concat({v, v}, 0), flip(w, {0}));
  });
  begin_count();
  const L x = L::from(std::vector<float>{3, 1, 2, 6, 5, 4}, {2, 3});
  const auto [order, sums, twice, flipped] = f(x);
  CHECK(twice.to_vector<float>().size() == 4);
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t built = calls()["clCreateProgramWithSource"];
  // PoCL compiles one program at a time, whatever threads ask for it.
  const bool is_pocl = device->properties().description.find("Portable Computing Language") != std::string::npos;
  if (is_pocl) {
    CHECK(built == 1);
  } else {
    CHECK(built >= 1);
    CHECK(built <= cores);
  }
}

}  // namespace start_test

#endif
