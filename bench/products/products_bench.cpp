// SPDX-License-Identifier: MIT
// Speed of matrix products and convolutions against the machine's multiply-add peak, oneDNN and Eigen.
//
// Usage: products_bench [THREADS [products|small|convolutions|endings|joins|training]]
//
// `small`: products of a few elements each. `endings`: what a bias and ReLU cost at the end of a convolution, and what
// packed weights save. `joins`: DenseNet's convolutions written densely and between the channels of others. `training`:
// the three passes over ResNet-18's convolutions on 64 pictures of 32 x 32.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "bench/measurement.hpp"
#include "bench/products/arithmetic_peak.hpp"
#include "bench/products/eigen_product.hpp"
#include "devices/cpu/products/convolution/convolution.hpp"
#include "devices/cpu/products/matmul/matmul.hpp"
#include "devices/cpu/system/threads.hpp"

namespace {

using namespace tyto;

struct Aligned {
  explicit Aligned(std::size_t bytes) : memory(std::aligned_alloc(64, (bytes + 64) / 64 * 64)) {
    auto* values = static_cast<float*>(memory);
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) values[i] = static_cast<float>(i % 17) * 0.125f - 1.0f;
  }
  ~Aligned() { std::free(memory); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  float* floats() const { return static_cast<float*>(memory); }
  void* memory;
};

struct Product {
  const char* name;
  std::int64_t m, n, k;
  bool transposed_a = false, transposed_b = false;
};

constexpr Product products[] = {
    {"square 128", 128, 128, 128},
    {"square 256", 256, 256, 256},
    {"square 512", 512, 512, 512},
    {"square 1024", 1024, 1024, 1024},
    {"a transposed", 1024, 1024, 1024, true, false},
    {"b transposed", 1024, 1024, 1024, false, true},
    {"mlp 100x1024x6272", 100, 1024, 6272},
    {"mlp dW 6272x1024x100", 6272, 1024, 100, true, false},
    {"mlp dX 100x6272x1024", 100, 6272, 1024, false, true},
    {"mlp 64x300x784", 64, 300, 784},
    {"mlp 32x1024x1024", 32, 1024, 1024},
    {"mlp 8x1024x1024", 8, 1024, 1024},
    {"mlp 4x1024x1024", 4, 1024, 1024},
    {"row 1x1000x2048", 1, 1000, 2048},
    {"row, b transposed", 1, 1000, 2048, false, true},
    {"gpt 1024x1024x256", 1024, 1024, 256},
    {"gpt 1024x256x1024", 1024, 256, 1024},
    {"gpt 1024x256x256", 1024, 256, 256},
    {"gpt dW 256x1024x1024", 256, 1024, 1024, true, false},
    {"gpt dW 1024x256x1024", 1024, 256, 1024, true, false},
    {"gpt dW 256x256x1024", 256, 256, 1024, true, false},
    {"gpt dX 1024x256x1024", 1024, 256, 1024, false, true},
    {"gpt dX 1024x1024x256", 1024, 1024, 256, false, true},
    {"conv 3136x64x576", 3136, 64, 576},
    {"conv 49x512x4608", 49, 512, 4608},
};

double time_matmul(const Product& p, const cpu::KernelChoice& choice, bool packed) {
  const int threads = choice.threads;
  cpu::MatmulProblem problem = cpu::dense_matmul(DType::f32, p.m, p.n, p.k);
  if (p.transposed_a) problem.a = {1, p.m, {}};
  if (p.transposed_b) problem.b = {1, p.k, {}};
  problem.packed_b = packed;
  const cpu::Matmul matmul = cpu::prepare_matmul(problem, choice);
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
  Aligned a(bytes(p.m * p.k)), b(bytes(p.k * p.n)), c(bytes(p.m * p.n));
  Aligned workspace(matmul.workspace_bytes()), panels(matmul.packed_bytes());
  if (packed) matmul.pack(b.memory, panels.memory);
  return bench::fastest(threads, [&] {
    matmul.run({a.memory, packed ? panels.memory : b.memory, c.memory, nullptr, workspace.memory});
  });
}

void report_products(int threads, double peak) {
  std::printf("\n%-22s %9s %9s %9s   own/Eigen\n", "product, GF (% peak)", "own", "own pack", "Eigen");
  for (const Product& p : products) {
    const double work = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    const cpu::KernelChoice own{cpu::Implementation::own, {}, threads};
    const auto column = [&](double seconds) {
      std::printf(" %4.0f (%2.0f)", work / seconds * 1e-9, 100 * work / seconds / peak);
      return seconds;
    };
    std::printf("%-22s", p.name);
    const double mine = column(time_matmul(p, own, false));
    column(time_matmul(p, own, true));
    Aligned a(static_cast<std::size_t>(p.m * p.k) * 4), b(static_cast<std::size_t>(p.k * p.n) * 4),
        c(static_cast<std::size_t>(p.m * p.n) * 4);
    const double theirs = column(
        bench::fastest(threads, [&] { bench::eigen_product(a.floats(), b.floats(), c.floats(), p.m, p.n, p.k); }));
    std::printf("   %.2f\n", theirs / mine);
  }
}

// Products of a few elements each, in nanoseconds, of f32 and f64: what automatic choice takes beside the others.
void report_small_products(int threads) {
  const Product shapes[] = {
      {"2x2x2", 2, 2, 2},
      {"3x3x3", 3, 3, 3},
      {"4x4x4", 4, 4, 4},
      {"4x4x4, a transposed", 4, 4, 4, true, false},
      {"4x4x4, b transposed", 4, 4, 4, false, true},
      {"6x6x6", 6, 6, 6},
      {"8x8x8", 8, 8, 8},
      {"8x8x8, b transposed", 8, 8, 8, false, true},
      {"10x10x10", 10, 10, 10},
      {"12x12x12", 12, 12, 12},
      {"16x16x16", 16, 16, 16},
      {"16x16x16, b transposed", 16, 16, 16, false, true},
      {"17x17x17", 17, 17, 17},
      {"20x20x20", 20, 20, 20},
      {"24x24x24", 24, 24, 24},
      {"32x32x32", 32, 32, 32},
      {"33x33x33", 33, 33, 33},
      {"48x48x48", 48, 48, 48},
      {"64x64x64", 64, 64, 64},
      {"96x96x96", 96, 96, 96},
      {"row 1x4x4", 1, 4, 4},
      {"row 1x16x16", 1, 16, 16},
      {"row 1x64x64", 1, 64, 64},
      {"row 1x16x16, b transposed", 1, 16, 16, false, true},
      {"column 4x1x4", 4, 1, 4},
      {"2x32x16", 2, 32, 16},
      {"2x256x64", 2, 256, 64},
      {"4x64x64", 4, 64, 64},
      {"8x32x32", 8, 32, 32},
      {"8x128x64", 8, 128, 64},
      {"100x4x4", 100, 4, 4},
      {"1000x3x3", 1000, 3, 3},
      {"64x10x16", 64, 10, 16},
      {"100x10x128", 100, 10, 128},
      {"4x4x1000", 4, 4, 1000},
      {"16x16x256", 16, 16, 256},
  };
  std::printf("\n%-26s %9s %9s %9s %9s\n", "small products, ns", "f32", "Eigen", "f64", "which");
  const cpu::KernelChoice automatic{cpu::Implementation::automatic, {}, threads};
  for (const Product& p : shapes) {
    const auto matmul_of = [&](DType dtype, const cpu::KernelChoice& choice) {
      cpu::MatmulProblem problem = cpu::dense_matmul(dtype, p.m, p.n, p.k);
      if (p.transposed_a) problem.a = {1, p.m, {}};
      if (p.transposed_b) problem.b = {1, p.k, {}};
      return cpu::prepare_matmul(problem, choice);
    };
    const Aligned a(static_cast<std::size_t>(p.m * p.k) * 8), b(static_cast<std::size_t>(p.k * p.n) * 8),
        c(static_cast<std::size_t>(p.m * p.n) * 8);
    const auto time = [&](DType dtype, const cpu::KernelChoice& choice) {
      if (dtype == DType::f64) {
        std::fill_n(static_cast<double*>(a.memory), p.m * p.k, 0.5);
        std::fill_n(static_cast<double*>(b.memory), p.k * p.n, 0.5);
      }
      const cpu::Matmul matmul = matmul_of(dtype, choice);
      const Aligned workspace(matmul.workspace_bytes());
      return 1e9 * bench::fastest(threads, [&] {
               matmul.run({a.memory, b.memory, c.memory, nullptr, workspace.memory});
             });
    };
    std::printf("%-26s", p.name);
    std::printf(" %9.1f", time(DType::f32, automatic));
    std::printf(" %9.1f", 1e9 * bench::fastest(threads, [&] {
                            bench::eigen_product(a.floats(), b.floats(), c.floats(), p.m, p.n, p.k);
                          }));
    std::printf(" %9.1f", time(DType::f64, automatic));
    std::printf(" %s\n", matmul_of(DType::f32, automatic).implementation());
  }
}

struct Layer {
  const char* name;
  int count;  // times that the network has it
  bench::ImageConvolution shape;
};

constexpr Layer resnet50[] = {
    {"conv1 7x7s2", 1, {224, 3, 64, 7, 2, 3}},
    {"l1 1x1 64-64", 1, {56, 64, 64, 1, 1, 0}},
    {"l1 1x1 256-64", 2, {56, 256, 64, 1, 1, 0}},
    {"l1 3x3 64", 3, {56, 64, 64, 3, 1, 1}},
    {"l1 1x1 64-256", 4, {56, 64, 256, 1, 1, 0}},
    {"l2 1x1 256-128", 1, {56, 256, 128, 1, 1, 0}},
    {"l2 3x3s2 128", 1, {56, 128, 128, 3, 2, 1}},
    {"l2 1x1 512-128", 3, {28, 512, 128, 1, 1, 0}},
    {"l2 3x3 128", 3, {28, 128, 128, 3, 1, 1}},
    {"l2 1x1 128-512", 4, {28, 128, 512, 1, 1, 0}},
    {"l2 1x1s2 256-512", 1, {56, 256, 512, 1, 2, 0}},
    {"l3 1x1 512-256", 1, {28, 512, 256, 1, 1, 0}},
    {"l3 3x3s2 256", 1, {28, 256, 256, 3, 2, 1}},
    {"l3 1x1 1024-256", 5, {14, 1024, 256, 1, 1, 0}},
    {"l3 3x3 256", 5, {14, 256, 256, 3, 1, 1}},
    {"l3 1x1 256-1024", 6, {14, 256, 1024, 1, 1, 0}},
    {"l3 1x1s2 512-1024", 1, {28, 512, 1024, 1, 2, 0}},
    {"l4 1x1 1024-512", 1, {14, 1024, 512, 1, 1, 0}},
    {"l4 3x3s2 512", 1, {14, 512, 512, 3, 2, 1}},
    {"l4 1x1 2048-512", 2, {7, 2048, 512, 1, 1, 0}},
    {"l4 3x3 512", 2, {7, 512, 512, 3, 1, 1}},
    {"l4 1x1 512-2048", 3, {7, 512, 2048, 1, 1, 0}},
    {"l4 1x1s2 1024-2048", 1, {14, 1024, 2048, 1, 2, 0}},
};

constexpr Layer resnet18[] = {
    {"3x3 3-64", 1, {32, 3, 64, 3, 1, 1}},         {"3x3 64", 4, {32, 64, 64, 3, 1, 1}},
    {"3x3s2 64-128", 1, {32, 64, 128, 3, 2, 1}},   {"1x1s2 64-128", 1, {32, 64, 128, 1, 2, 0}},
    {"3x3 128", 3, {16, 128, 128, 3, 1, 1}},       {"3x3s2 128-256", 1, {16, 128, 256, 3, 2, 1}},
    {"1x1s2 128-256", 1, {16, 128, 256, 1, 2, 0}}, {"3x3 256", 3, {8, 256, 256, 3, 1, 1}},
    {"3x3s2 256-512", 1, {8, 256, 512, 3, 2, 1}},  {"1x1s2 256-512", 1, {8, 256, 512, 1, 2, 0}},
    {"3x3 512", 3, {4, 512, 512, 3, 1, 1}},
};

double time_convolution(const bench::ImageConvolution& shape, std::int64_t batch, cpu::ConvolutionPass pass,
                        const cpu::KernelChoice& choice) {
  const int threads = choice.threads;
  cpu::ConvolutionProblem problem;
  problem.pass = pass;
  problem.batch = batch;
  problem.in_channels = shape.channels;
  problem.out_channels = shape.filters;
  problem.axes.assign(2, {shape.size, shape.kernel, shape.stride, 1, shape.padding, shape.padding});
  problem.packed_kernel = problem.bias = pass == cpu::ConvolutionPass::forward;
  if (pass == cpu::ConvolutionPass::forward) problem.limits = cpu::relu_limits;
  const cpu::Convolution convolution = cpu::prepare_convolution(problem, choice);
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
  const std::int64_t kernel = shape.kernel * shape.kernel * shape.channels * shape.filters;
  const std::int64_t in = batch * shape.size * shape.size * shape.channels,
                     out = batch * shape.output() * shape.output() * shape.filters;
  const Aligned input(bytes(in)), weights(bytes(kernel)), gradient(bytes(out)), bias(bytes(shape.filters));
  const Aligned result(bytes(std::max({in, out, kernel}))), workspace(convolution.workspace_bytes());
  const Aligned packed(convolution.packed_bytes());
  cpu::ConvolutionArguments arguments;
  arguments.input = input.memory;
  arguments.kernel = problem.packed_kernel ? packed.memory : weights.memory;
  arguments.output_gradient = gradient.memory;
  arguments.result = result.memory;
  arguments.bias = bias.memory;
  arguments.workspace = workspace.memory;
  if (problem.packed_kernel) convolution.pack(weights.memory, packed.memory);
  return bench::fastest(threads, [&] { convolution.run(arguments); });
}

double time_eigen(const bench::ImageConvolution& shape, int threads) {
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
  const std::int64_t depth = shape.kernel * shape.kernel * shape.channels, pixels = shape.output() * shape.output();
  const Aligned input(bytes(shape.size * shape.size * shape.channels)), weights(bytes(depth * shape.filters));
  const Aligned result(bytes(pixels * shape.filters)), patches(bytes(pixels * depth));
  return bench::fastest(threads, [&] {
    bench::eigen_convolution(shape, input.floats(), weights.floats(), result.floats(), patches.floats());
  });
}

// The convolutions of a network, all passes; Eigen's time is that of a batch of one.
void report_convolutions(const char* network, std::span<const Layer> layers, std::int64_t batch, int threads,
                         double peak) {
  std::printf("\n%-20s %26s %26s %26s\n", network, "forward own oneDNN Eigen", "by input own oneDNN",
              "by kernel own oneDNN");
  const cpu::KernelChoice own{cpu::Implementation::own, {}, threads}, onednn{cpu::Implementation::onednn, {}, threads};
  enum Column {
    forward_own,
    forward_onednn,
    forward_eigen,
    input_own,
    input_onednn,
    kernel_own,
    kernel_onednn,
    columns
  };
  double total[columns] = {}, operations = 0;
  for (const Layer& layer : layers) {
    const bench::ImageConvolution& shape = layer.shape;
    const double work = 2.0 * static_cast<double>(batch * shape.output() * shape.output() * shape.filters) *
                        static_cast<double>(shape.kernel * shape.kernel * shape.channels);
    operations += work * layer.count;
    std::printf("%-20s", layer.name);
    const auto column = [&](Column which, double seconds) {
      total[which] += seconds * layer.count;
      std::printf(" %4.0f (%2.0f)", work / seconds * 1e-9, 100 * work / seconds / peak);
    };
    using cpu::ConvolutionPass;
    column(forward_own, time_convolution(shape, batch, ConvolutionPass::forward, own));
    if (cpu::has_onednn()) column(forward_onednn, time_convolution(shape, batch, ConvolutionPass::forward, onednn));
    column(forward_eigen, time_eigen(shape, threads) * static_cast<double>(batch));
    column(input_own, time_convolution(shape, batch, ConvolutionPass::backward_input, own));
    if (cpu::has_onednn())
      column(input_onednn, time_convolution(shape, batch, ConvolutionPass::backward_input, onednn));
    column(kernel_own, time_convolution(shape, batch, ConvolutionPass::backward_kernel, own));
    if (cpu::has_onednn())
      column(kernel_onednn, time_convolution(shape, batch, ConvolutionPass::backward_kernel, onednn));
    std::printf("\n");
  }
  std::printf("%-20s", "all, ms (% peak)");
  for (const double seconds : total) {
    if (seconds > 0) std::printf(" %4.1f (%2.0f)", seconds * 1e3, 100 * operations / seconds / peak);
  }
  std::printf("\n");
}

struct Epilogue {
  bool bias = true, relu = true, drops_nan = false, packed = true;
  std::int64_t pitch = 0;
};

double time_ending(const bench::ImageConvolution& shape, std::int64_t batch, const Epilogue& epilogue,
                   const cpu::KernelChoice& choice) {
  cpu::ConvolutionProblem problem;
  problem.batch = batch;
  problem.in_channels = shape.channels;
  problem.out_channels = shape.filters;
  problem.axes.assign(2, {shape.size, shape.kernel, shape.stride, 1, shape.padding, shape.padding});
  problem.bias = epilogue.bias;
  if (epilogue.relu) problem.limits = cpu::relu_limits;
  problem.drops_nan = epilogue.drops_nan;
  problem.packed_kernel = epilogue.packed;
  problem.result_pitch = epilogue.pitch;
  const cpu::Convolution convolution = cpu::prepare_convolution(problem, choice);
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
  const Aligned input(bytes(batch * shape.size * shape.size * shape.channels)),
      weights(bytes(shape.kernel * shape.kernel * shape.channels * shape.filters)), bias(bytes(shape.filters));
  const Aligned result(bytes(batch * shape.output() * shape.output() * std::max(shape.filters, epilogue.pitch))),
      workspace(convolution.workspace_bytes()), packed(convolution.packed_bytes());
  if (epilogue.packed) convolution.pack(weights.memory, packed.memory);
  cpu::ConvolutionArguments arguments;
  arguments.input = input.memory;
  arguments.kernel = epilogue.packed ? packed.memory : weights.memory;
  arguments.result = result.memory;
  arguments.bias = bias.memory;
  arguments.workspace = workspace.memory;
  return bench::fastest(choice.threads, [&] { convolution.run(arguments); });
}

void report_endings(int threads) {
  const cpu::KernelChoice own{cpu::Implementation::own, {}, threads}, onednn{cpu::Implementation::onednn, {}, threads};
  for (const std::int64_t batch : {1, 8}) {
    std::printf("\n%-20s batch %2lld, ms: %9s %9s %9s %9s %9s %9s\n", "ResNet-50", static_cast<long long>(batch),
                "bare", "+bias", "+our ReLU", "its ReLU", "plain w", "own");
    double total[6] = {};
    for (const Layer& layer : resnet50) {
      const double seconds[6] = {time_ending(layer.shape, batch, {false, false, false, true}, onednn),
                                 time_ending(layer.shape, batch, {true, false, false, true}, onednn),
                                 time_ending(layer.shape, batch, {true, true, false, true}, onednn),
                                 time_ending(layer.shape, batch, {true, true, true, true}, onednn),
                                 time_ending(layer.shape, batch, {true, false, false, false}, onednn),
                                 time_ending(layer.shape, batch, {true, true, false, true}, own)};
      std::printf("%-20s             ", layer.name);
      for (int i = 0; i < 6; ++i) {
        total[i] += seconds[i] * layer.count;
        std::printf(" %9.3f", seconds[i] * 1e3);
      }
      std::printf("\n");
    }
    std::printf("%-20s             ", "all 53");
    for (const double seconds : total) std::printf(" %9.2f", seconds * 1e3);
    std::printf("\n");
  }
}

void report_joins(int threads) {
  const cpu::KernelChoice own{cpu::Implementation::own, {}, threads}, onednn{cpu::Implementation::onednn, {}, threads};
  const Layer layers[] = {{"3x3 128-32 @ 56", 6, {56, 128, 32, 3, 1, 1}},
                          {"3x3 128-32 @ 28", 12, {28, 128, 32, 3, 1, 1}},
                          {"3x3 128-32 @ 14", 24, {14, 128, 32, 3, 1, 1}},
                          {"3x3 128-32 @ 7", 16, {7, 128, 32, 3, 1, 1}}};
  for (const std::int64_t batch : {1, 8}) {
    std::printf("\n%-20s batch %2lld, ms: %9s %9s %9s %9s\n", "DenseNet-121", static_cast<long long>(batch), "oneDNN",
                "spread", "own", "own apart");
    for (const Layer& layer : layers) {
      const Epilogue dense{false, false, false, true}, apart{false, false, false, true, 512};
      std::printf("%-20s             ", layer.name);
      for (const auto& [epilogue, choice] :
           {std::pair(dense, onednn), std::pair(apart, onednn), std::pair(dense, own), std::pair(apart, own)}) {
        std::printf(" %9.3f", time_ending(layer.shape, batch, epilogue, choice) * 1e3);
      }
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int count, char** values) {
  const int threads = count > 1 ? std::atoi(values[1]) : cpu::threads();
  bench::set_eigen_threads(threads);
  const double peak = bench::fma_peak(threads);
  std::printf("%d threads, %s, multiply-add peak %.0f GF\n", threads, cpu::name_of(cpu::instruction_set()),
              peak * 1e-9);
  const char* what = count > 2 ? values[2] : "all";
  const auto wanted = [&](const char* part) { return std::strcmp(what, "all") == 0 || std::strcmp(what, part) == 0; };
  if (wanted("products")) report_products(threads, peak);
  if (wanted("small")) report_small_products(threads);
  if (wanted("convolutions")) report_convolutions("ResNet-50, GF (% peak)", resnet50, 1, threads, peak);
  if (wanted("training")) report_convolutions("ResNet-18, GF (% peak)", resnet18, 64, threads, peak);
  if (wanted("endings") && cpu::has_onednn()) report_endings(threads);
  if (wanted("joins") && cpu::has_onednn()) report_joins(threads);
  std::printf("\npeak again: %.0f GF\n", bench::fma_peak(threads) * 1e-9);
}
