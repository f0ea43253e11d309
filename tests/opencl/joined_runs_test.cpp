// Runs whose launches were joined give the bits of runs that launch step by step, whatever is held from run to run.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "devices/opencl/opencl_device.hpp"
#include "tests/opencl/on_device.hpp"

namespace joined_runs_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using L = Tensor<Lazy>;

namespace {

/// Null, with a message, where the first device is no processor: others join no launches.
cl_device_id first_processor() {
  const cl_device_id id = first_device();
  if (id == nullptr || static_cast<OpenClDevice*>(opencl::devices()[0])->context().is_processor) return id;
  MESSAGE("the OpenCL device is no processor, and joins no launches: nothing is checked");
  return nullptr;
}

/// A device that joins launches after so many. Never destroyed: caches of the process hold executables for it.
OpenClDevice* joining_after(cl_device_id id, const char* launches) {
  ::setenv("TYTO_OPENCL_JOIN", launches, 1);
  auto* const device = new OpenClDevice("opencl:7", id, Style::cpu, {});
  ::unsetenv("TYTO_OPENCL_JOIN");
  return device;
}

/// Losses of training steps, and what the network says in the end.
struct Training {
  std::vector<float> losses, outputs;
};

Training train(OpenClDevice& device, int steps) {
  const OnDevice scope(device);
  seed(3);
  const nn::Sequential model{nn::Conv2d({.in = 3, .out = 16, .window = 3, .padding = same}),
                             nn::BatchNorm2d({.channels = 16}),
                             relu,
                             nn::Dropout(0.2),
                             nn::Flatten(),
                             nn::Linear({.in = 8 * 8 * 16, .out = 10})};
  nn::Descent descent = nn::sgd({.rate = 0.05, .momentum = 0.9});
  auto step = compile([&](L images, L labels) {
    const auto objective = [&](L x, L t) { return cross_entropy(model(x, nn::training), t); };
    auto [loss, gradients] = value_and_grad(objective, model.parameters())(images, labels);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  Training result;
  std::vector<L> held;
  for (int i = 0; i < steps; ++i) {
    const L loss = step(L::uniform({6, 8, 8, 3}), L::integers({6}, {.low = 0, .high = 10}));
    // Some results are kept, so that the next ones lie elsewhere.
    if (i % 3 == 0) held.push_back(loss);
    result.losses.push_back(loss.item<float>());
  }
  for (std::size_t i = 0; i < held.size(); ++i) CHECK(held[i].item<float>() == result.losses[3 * i]);
  result.outputs = model(L::ones({1, 8, 8, 3})).to_vector<float>();
  return result;
}

}  // namespace

TEST_CASE("training with joined OpenCL launches gives the bits of training without") {
  const cl_device_id id = first_processor();
  if (id == nullptr) return;
  OpenClDevice* const apart = joining_after(id, "1000000000");
  OpenClDevice* const joined = joining_after(id, "100");
  const Training expected = train(*apart, 20), found = train(*joined, 20);
  CHECK(found.losses == expected.losses);
  CHECK(found.outputs == expected.outputs);
  CHECK(expected.losses.front() != expected.losses.back());
  // Joined launches are a program more.
  CHECK(joined->cache_counts().compiled > apart->cache_counts().compiled);
}

TEST_CASE("threads that run with joined OpenCL launches do not disturb each other") {
  const cl_device_id id = first_processor();
  if (id == nullptr) return;
  OpenClDevice* const device = joining_after(id, "0");
  const auto expected = [](float x) { return ((x + 1) * 2 - 3) * 0.5F; };
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const OnDevice scope(*device);
      auto function = compile([](L x) { return sum((relu(x + 1.0) * 2.0 - 3.0) * 0.5, {0}); });
      for (int i = 0; i < 25; ++i) {
        const auto x = static_cast<float>(t * 100 + i);
        const std::vector<float> result = function(L::full({64, 50}, x)).to_vector<float>();
        for (const float value : result) wrong[static_cast<std::size_t>(t)] += value == 64 * expected(x) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("chains of functions and scans give the same bits in joined OpenCL launches") {
  const cl_device_id id = first_processor();
  if (id == nullptr) return;
  const auto results = [id](const char* launches) {
    const OnDevice scope(*joining_after(id, launches));
    seed(5);
    auto function = compile([](L x) {
      for (int i = 0; i < 3; ++i) x = cumsum(tanh(sin(x) + cos(x) * exp(-x)), 1) - mean(x);
      return x;
    });
    const L x = L::uniform({7, 4096});
    std::vector<float> last;
    for (int i = 0; i < 4; ++i) last = function(x).to_vector<float>();
    return last;
  };
  CHECK(results("0") == results("1000000000"));
}

TEST_CASE("steps without elements stand anywhere among joined OpenCL launches") {
  const cl_device_id id = first_processor();
  if (id == nullptr) return;
  const OnDevice scope(*joining_after(id, "0"));
  const auto twice = [](const L& x) { return cumsum(cumsum(x, 0), 1); };
  const auto product = [](const L& x) {
    const L down = cumsum(x, 0), across = cumsum(down, 1);
    return down * across;
  };
  auto first = compile([&](L none, L x) { return std::vector<L>{twice(none), product(x)}; });
  auto last = compile([&](L none, L x) { return std::vector<L>{product(x), twice(none)}; });
  auto alone = compile([&](L none) { return twice(none); });
  const L none = L::ones({0, 2}), x{{1, 2}, {3, 4}};
  for (int i = 0; i < 3; ++i) {
    CHECK(first(none, x)[1].to_vector<float>() == std::vector<float>{1, 6, 16, 60});
    CHECK(last(none, x)[0].to_vector<float>() == std::vector<float>{1, 6, 16, 60});
    CHECK(alone(none).to_vector<float>().empty());
  }
}

TEST_CASE("joined OpenCL launches leave out what a loop or an unchanged weight needs") {
  const cl_device_id id = first_processor();
  if (id == nullptr) return;
  OpenClDevice* const device = joining_after(id, "0");
  const OnDevice scope(*device);
  L w = L::variable(L::full({40, 150}, 0.5));
  auto function = compile([&](L x) {
    const L y = tanh(matmul(x, w)) + 1.0;
    return y * 2.0 - 1.0;
  });
  const auto value = [&] { return function(L::ones({9, 40})).to_vector<float>().back(); };
  for (int i = 0; i < 3; ++i) CHECK(value() == doctest::Approx(3.0));
  assign(w, L::full({40, 150}, 0.0));
  for (int i = 0; i < 3; ++i) CHECK(value() == 1.0F);
}

}  // namespace joined_runs_test

#endif
