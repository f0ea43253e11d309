// SPDX-License-Identifier: MIT
// A compiled training step, once warm, allocates no memory: neither from the system nor from the device. clang's
// sanitizers bring an operator new of their own, beside which there can be no other: there is nothing to test then.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TYTO_NEW_IS_TAKEN 1
#endif
#endif
#if !defined(TYTO_NEW_IS_TAKEN)

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "devices/cpu/system/memory.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tyto/nn.hpp"
#include "tyto/onnx.hpp"
#include "tyto/tyto.hpp"

namespace {

// As ctest has it: what threads that wait do is decided. Beside other programs that compute, the device would otherwise
// start threads of its own once (devices/cpu/system/spinning.hpp), whose states are on the heap.
[[maybe_unused]] const int waiting_is_decided = setenv("OMP_WAIT_POLICY", "passive", 0);

/// Under a sanitizer the node of each result is asked for anew, so that a stale one shows.
constexpr std::size_t under_sanitizers([[maybe_unused]] std::size_t nodes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return nodes;
#else
  return 0;
#endif
}

// Who asked for memory while counting, without asking for any.
std::atomic<bool> counting{false};
std::atomic<std::size_t> noted{0};
std::array<void*, 4096> callers;

void note(void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  const std::size_t place = noted.fetch_add(1);
  if (place < callers.size()) callers[place] = caller;
}

void* allocate(std::size_t bytes, std::size_t alignment, void* caller) {
  note(caller);
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* memory = alignment == 0 ? std::malloc(size)
                                : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 0, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 0, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  note(__builtin_return_address(0));
  return std::malloc(std::max<std::size_t>(bytes, 1));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  note(__builtin_return_address(0));
  return std::malloc(std::max<std::size_t>(bytes, 1));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

namespace nn = tyto::nn;
using Tensor = tyto::Tensor<tyto::Lazy>;

/// Allocations by anyone but oneDNN, whose primitives make small lists when they are executed.
std::size_t own_allocations() {
  std::size_t count = 0;
  REQUIRE(noted.load() <= callers.size());
  for (std::size_t i = 0; i < noted.load(); ++i) {
    Dl_info facts{};
    const bool known = dladdr(callers[i], &facts) != 0 && facts.dli_fname != nullptr;
    if (!known || std::strstr(facts.dli_fname, "dnnl") == nullptr) ++count;
  }
  return count;
}

template <class Work>
std::size_t allocations_during(const Work& work) {
  noted = 0;
  counting = true;
  work();
  counting = false;
  return own_allocations();
}

}  // namespace

TEST_CASE("the counter sees what a program allocates") {
  CHECK(allocations_during([] {
          void* volatile memory = ::operator new(64);
          ::operator delete(memory);
        }) == 1);
}

TEST_CASE("a training step that was run before allocates nothing") {
  const nn::Sequential model{nn::Linear({.in = 20, .out = 32}), tyto::relu, nn::Dropout(0.2),
                             nn::Linear({.in = 32, .out = 5})};
  nn::Descent descent = nn::adagrad({.rate = 0.01});
  const auto objective = [&](Tensor x, Tensor t) { return cross_entropy(model(x, nn::training), t); };
  auto step = tyto::compile([&](Tensor x, Tensor t) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(x, t);
    descent.update(model.parameters(), gradients);
    return loss;
  });
  const Tensor x = Tensor::uniform({8, 20});
  const Tensor t = Tensor::integers({8}, {.low = 0, .high = 5});
  const float before = step(x, t).item<float>();
  for (int i = 0; i < 3; ++i) step(x, t);

  const std::size_t blocks = tyto::cpu::allocation_count();
  constexpr std::size_t nodes = under_sanitizers(10);
  CHECK(allocations_during([&] {
          for (int i = 0; i < 10; ++i) step(x, t);
        }) == nodes);
  CHECK(tyto::cpu::allocation_count() == blocks);
  CHECK(step(x, t).item<float>() < before);
}

TEST_CASE("a graph and a compiled function that were run before ask for no heap memory") {
  const nn::Sequential model{nn::Linear({.in = 64, .out = 96}), tyto::relu, nn::Linear({.in = 96, .out = 64})};
  const Tensor x = Tensor::placeholder({32, 64}), y = Tensor::placeholder({32, 64});
  tyto::Graph graph{{.inputs = {x, y}, .outputs = {model(x), exp(y)}}};
  const Tensor first = Tensor::uniform({32, 64}), second = Tensor::uniform({32, 64});
  (void)sum(first + second).item<float>();
  const auto run = [&](const Tensor& a, const Tensor& b) {
    graph.set(x, a);
    graph.run();
    graph.set(y, b);
    graph.run();
    graph.run();
  };
  graph.set(y, first);
  for (int i = 0; i < 3; ++i) run(first, second), run(second, first);
  auto function = tyto::compile([&](Tensor a, Tensor b) { return model(a) + b; });
  for (int i = 0; i < 3; ++i) function(first, second);
  auto sum_of_list = tyto::compile([](std::vector<Tensor> list, Tensor scale) { return (list[0] + list[1]) * scale; });
  const std::vector<Tensor> list{first, second};
  for (int i = 0; i < 3; ++i) sum_of_list(list, first);
  constexpr std::size_t nodes = under_sanitizers(10);
  CHECK(allocations_during([&] {
          for (int i = 0; i < 10; ++i) run(first, second), run(second, first);
        }) == 0);
  CHECK(allocations_during([&] {
          for (int i = 0; i < 10; ++i) function(first, second);
        }) == nodes);
  CHECK(allocations_during([&] {
          for (int i = 0; i < 10; ++i) sum_of_list(list, first);
        }) == nodes);
  // Each result is held while the next one is computed.
  Tensor held = function(first, second), output;
  const auto hold = [&] {
    held = function(first, second);
    graph.set(x, held);
    graph.run();
    output = graph.output(0);
  };
  for (int i = 0; i < 3; ++i) hold();
  const std::size_t made = allocations_during([&] {
    for (int i = 0; i < 10; ++i) hold();
  });
  if (nodes == 0) CHECK(made == 0);
}

TEST_CASE("a model from a file that was run before asks for memory for the list of its results alone") {
  const tyto::testing::TemporaryFolder folder;
  const nn::Sequential network{nn::Linear({.in = 64, .out = 96}), tyto::relu, nn::Linear({.in = 96, .out = 64})};
  const Tensor in = Tensor::placeholder({32, 64}, tyto::DType::f32, "x");
  const Tensor scores = network(in);
  const tyto::GraphSpec spec{.inputs = {in}, .outputs = {scores, 2 * in, exp(scores)}};
  write_onnx(folder / "m.onnx", tyto::Graph{spec}, {.outputs = {"scores", "twice", "odds"}});
  tyto::OnnxModel<Tensor> model = tyto::read_onnx<Tensor>(folder / "m.onnx");
  tyto::OnnxModel<Tensor> session = model.session();
  const tyto::NamedList<Tensor> ones{{"x", Tensor::ones({32, 64})}}, twos{{"x", Tensor::full({32, 64}, 2.0)}};
  for (int i = 0; i < 3; ++i) model(ones), session(twos);
  const std::size_t blocks = tyto::cpu::allocation_count();
  constexpr std::size_t calls = 10, nodes = under_sanitizers(3 * calls);
  for (tyto::OnnxModel<Tensor>* each : {&model, &session}) {
    CHECK(allocations_during([&] {
            for (std::size_t i = 0; i < calls; ++i) (*each)(i % 2 == 0 ? ones : twos);
          }) == calls + nodes);
  }
  CHECK(tyto::cpu::allocation_count() == blocks);
  const tyto::NamedList<Tensor> held = model(ones);
  CHECK(model(twos)["twice"](0, 0).item<float>() == 4);
  CHECK(held["twice"](0, 0).item<float>() == 2);

  // Between calls it holds none of its inputs.
  std::array<float, 64 * 32> numbers{};
  bool released = false;
  {
    const Tensor x = Tensor::borrow(numbers.data(), {32, 64}, [&] { released = true; });
    CHECK(model({{"x", x}})["twice"](31, 63).item<float>() == 0);
    CHECK_FALSE(released);
  }
  CHECK(released);
}

namespace {

/// Of a function and its gradient.
template <class F>
void check_allocates_nothing(const F& function, const Tensor& x) {
  auto step = tyto::compile([&](Tensor given) {
    auto [value, gradient] = tyto::value_and_grad(function)(given);
    return value + sum(gradient[0]);
  });
  for (int i = 0; i < 4; ++i) step(x);
  const std::size_t blocks = tyto::cpu::allocation_count();
  CHECK(allocations_during([&] {
          for (int i = 0; i < 3; ++i) step(x);
        }) == under_sanitizers(3));
  CHECK(tyto::cpu::allocation_count() == blocks);
}

}  // namespace

TEST_CASE("linear algebra that was run before allocates nothing") {
  namespace linalg = tyto::linalg;
  const auto each = [](Tensor x) {
    const Tensor definite = matmul(x, matrix_transpose(x)) + Tensor::eye(40);
    const auto [p, l, u] = linalg::lu(x);
    const auto [values, vectors] = linalg::eigh(definite);
    const auto [left, sizes, right] = linalg::svd(x);
    const Tensor solved = linalg::solve(definite, x) + linalg::inv(definite) + linalg::cholesky(definite);
    const Tensor others = linalg::qr(x).r + linalg::pinv(x) + linalg::expm(0.01 * x) + vectors + matmul(left, right);
    return sum(solved + others + matmul(p, matmul(l, u))) + sum(values + sizes) + sum(linalg::det(definite)) +
           sum(linalg::svdvals(x) + linalg::eigvalsh(definite));
  };
  check_allocates_nothing(each, Tensor::uniform({3, 40, 40}));
}

TEST_CASE("complex numbers, transforms and eigenvalues that were run before allocate nothing") {
  namespace fft = tyto::fft;
  const auto each = [](Tensor x) {
    const Tensor z = fft::fft(x) + tyto::exp(tyto::complex(x, -x) * 0.1);
    const Tensor back = fft::irfft(fft::rfft(x), {.n = 37}) + tyto::real(fft::ifft(z, {.axis = 0}));
    const auto [values, vectors] = tyto::linalg::eig(matmul(x, matrix_transpose(x)));
    return sum(back) + sum(tyto::abs(z)) + sum(tyto::abs(values)) + sum(tyto::square(tyto::abs(vectors)));
  };
  check_allocates_nothing(each, Tensor::uniform({20, 37}));
}

TEST_CASE("a result that is kept costs one new output, and holds its value") {
  const Tensor x = Tensor::full({4}, 1.0);
  auto twice = tyto::compile([](Tensor a) { return a + a; });
  const Tensor first = twice(x);
  const std::size_t blocks = tyto::cpu::allocation_count();
  const Tensor second = twice(first);
  CHECK(tyto::cpu::allocation_count() == blocks + 1);
  CHECK(first.to_vector<float>() == std::vector<float>{2, 2, 2, 2});
  CHECK(second.to_vector<float>() == std::vector<float>{4, 4, 4, 4});
}

TEST_CASE("a compiled function refuses an undefined tensor by number") {
  auto sum = tyto::compile([](Tensor a, Tensor b) { return a + b; });
  CHECK_THROWS_WITH_AS((void)sum(Tensor(1.0), Tensor()), "compile: argument 2 is an undefined tensor",
                       tyto::GraphError);
}

#endif
