// SPDX-License-Identifier: MIT
// Products and convolutions on an OpenCL device: ours beside CLBlast's.
//
//   clblast_bench [SECONDS [PART OF A CASE'S NAME]]
//
// A line a case: milliseconds of the median run of each and their ratio, in turns, on the device that
// TYTO_OPENCL_DEVICE chooses and in its style; and the largest difference, as a part of the largest value. Both sides
// have buffers that are there. CLBlast is tuned as it is packaged. Its convolution is `convgemm`, of images whose
// channels come first; ours has them last.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tyto/tyto.hpp>

#include "core/graph/op_ids.hpp"
#include "devices/opencl/device/device.hpp"
#include "devices/opencl/device/opencl_device.hpp"
#include "devices/opencl/products/matrix_product.hpp"
#include "devices/opencl/runtime/families.hpp"

#include <clblast_c.h>

namespace {

using T = tyto::Tensor<tyto::Lazy>;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median_of(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// CLBlast's side: a queue of its own on the device, and buffers.
class Blast {
 public:
  explicit Blast(const tyto::opencl::Context& context) : context_(context.context.get()) {
    cl_int status = CL_SUCCESS;
    queue_ = clCreateCommandQueue(context_, context.id, 0, &status);
    tyto::opencl::check(status, "clCreateCommandQueue", "CLBlast");
  }
  ~Blast() {
    for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue_);
  }
  Blast(const Blast&) = delete;
  Blast& operator=(const Blast&) = delete;

  template <class Number>
  cl_mem buffer(std::vector<Number> contents) {
    cl_int status = CL_SUCCESS;
    const std::size_t bytes = contents.size() * sizeof(Number);
    buffers_.push_back(
        clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, contents.data(), &status));
    tyto::opencl::check(status, "clCreateBuffer", "CLBlast");
    return buffers_.back();
  }
  template <class Number = float>
  std::vector<float> contents(cl_mem buffer, std::size_t count) {
    std::vector<Number> out(count);
    clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, count * sizeof(Number), out.data(), 0, nullptr, nullptr);
    return {out.begin(), out.end()};
  }
  template <class Call>
  void run(const Call& call) {
    const CLBlastStatusCode status = call(&queue_);
    if (status != CLBlastSuccess) {
      std::fprintf(stderr, "CLBlast: status %d\n", static_cast<int>(status));
      std::exit(1);
    }
    clFinish(queue_);
  }

 private:
  cl_context context_;
  cl_command_queue queue_ = nullptr;
  std::vector<cl_mem> buffers_;
};

/// One case on both sides: each `run` ends when the result is there.
struct Case {
  std::string name;
  std::function<void()> ours, theirs;
  std::function<std::vector<float>()> our_result, their_result;
};

/// Kernels of ours, and buffers for them.
struct OwnKernel {
  std::function<void()> run;
  std::function<std::vector<float>()> result;
};

template <class Number = float>
OwnKernel own_kernel(Blast& blast, tyto::opencl::OpenClDevice& device, const tyto::opencl::LaunchPlan& plan, const T& a,
                     const T& b, std::size_t results) {
  namespace core = tyto::core;
  const auto kernel = device.build({&plan, 1}).front();
  const cl_mem left = blast.buffer(a.to_vector<Number>()), right = blast.buffer(b.to_vector<Number>()),
               result = blast.buffer(std::vector<Number>(results)),
               workspace = blast.buffer(std::vector<float>(kernel->workspace() / sizeof(float) + 1));
  const auto run = [=, &device] {
    const core::Address from[] = {{left, 0}, {right, 0}}, to[] = {{result, 0}};
    kernel->launch(from, to, {workspace, 0});
    device.synchronise();
  };
  return {run, [=, &blast] { return blast.contents<Number>(result, results); }};
}

/// A product in row-major buffers, of which `turned` says with letters a and b which hold the transposed matrix.
template <class Number = float>
Case product(Blast& blast, tyto::opencl::OpenClDevice& device, std::int64_t m, std::int64_t k, std::int64_t n,
             std::string_view turned = "") {
  namespace core = tyto::core;
  const auto of = [&](char name, std::int64_t rows, std::int64_t columns) {
    core::View view = core::View::dense({rows, columns});
    if (turned.find(name) != std::string_view::npos) view.strides = {1, rows};
    return core::Operand{tyto::dtype_of<Number>, view};
  };
  const std::vector<core::Operand> inputs = {of('a', m, k), of('b', k, n)};
  const core::Operand output = of('c', m, n);
  const core::Attributes none;
  const T a = T::uniform({m, k}, {.dtype = tyto::dtype_of<Number>}),
          b = T::uniform({k, n}, {.dtype = tyto::dtype_of<Number>});
  const auto size = [](std::int64_t length) { return static_cast<std::size_t>(length); };
  const auto ours = own_kernel<Number>(
      blast, device,
      tyto::opencl::matrix_launch_plan(device.context(),
                                       tyto::opencl::matrix_product({core::OpId::matmul, &none, inputs, {&output, 1}})),
      a, b, size(m * n));
  const cl_mem left = blast.buffer(a.to_vector<Number>()), right = blast.buffer(b.to_vector<Number>()),
               result = blast.buffer(std::vector<Number>(size(m * n)));
  const bool a_is_turned = turned.find('a') != std::string_view::npos, b_is_turned = turned.ends_with('b');
  const auto multiply = [](auto... arguments) {
    if constexpr (std::is_same_v<Number, double>) return CLBlastDgemm(arguments...);
    else return CLBlastSgemm(arguments...);
  };
  const auto theirs = [=, &blast] {
    blast.run([&](cl_command_queue* queue) {
      return multiply(CLBlastLayoutRowMajor, a_is_turned ? CLBlastTransposeYes : CLBlastTransposeNo,
                      b_is_turned ? CLBlastTransposeYes : CLBlastTransposeNo, size(m), size(n), size(k), Number{1},
                      left, 0, size(a_is_turned ? m : k), right, 0, size(b_is_turned ? k : n), Number{0}, result, 0,
                      size(n), queue, nullptr);
    });
  };
  std::string name = (std::is_same_v<Number, double> ? "f64 product " : "product ") + std::to_string(m) + " x " +
                     std::to_string(k) + " x " + std::to_string(n);
  if (!turned.empty()) name += std::string(", turned ").append(turned);
  return {name, ours.run, theirs, ours.result, [=, &blast] { return blast.contents<Number>(result, size(m * n)); }};
}

/// A convolution with zeros around it: of images whose channels come last in ours, first in theirs.
Case convolution(Blast& blast, tyto::opencl::OpenClDevice& device, std::int64_t images, std::int64_t length,
                 std::int64_t channels, std::int64_t kernels, std::int64_t window) {
  namespace core = tyto::core;
  const std::int64_t around = window / 2;
  const T x = T::uniform({images, length, length, channels}), w = T::uniform({window, window, channels, kernels});
  core::WindowAttributes attributes;
  attributes.window = {window, window};
  attributes.stride = attributes.dilation = {1, 1};
  attributes.before = attributes.after = {around, around};
  const core::Attributes windows = attributes;
  const std::vector<core::Operand> inputs = {{tyto::DType::f32, core::View::dense(x.shape())},
                                             {tyto::DType::f32, core::View::dense(w.shape())}};
  const core::Operand output{tyto::DType::f32, core::View::dense({images, length, length, kernels})};
  const std::size_t elements = static_cast<std::size_t>(output.view.count());
  tyto::opencl::LaunchPlan plan;
  for (const tyto::opencl::OperatorPlan& one : tyto::opencl::convolution_plans()) {
    if (one.op != core::OpId::convolution) continue;
    one.append(plan, device.context(), {one.op, &windows, inputs, {&output, 1}});
  }
  const auto ours = own_kernel(blast, device, plan, x, w, elements);
  const cl_mem image = blast.buffer(copy(transpose(x, {0, 3, 1, 2})).to_vector<float>()),
               kernel = blast.buffer(copy(transpose(w, {3, 2, 0, 1})).to_vector<float>()),
               result = blast.buffer(std::vector<float>(elements));
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto theirs = [=, &blast] {
    blast.run([&](cl_command_queue* queue) {
      return CLBlastSconvgemm(CLBlastKernelModeCrossCorrelation, size(channels), size(length), size(length),
                              size(window), size(window), size(around), size(around), 1, 1, 1, 1, size(kernels),
                              size(images), image, 0, kernel, 0, result, 0, queue, nullptr);
    });
  };
  const auto own_result = [=] {
    const T seen = T::from(ours.result(), {images, length, length, kernels});
    return copy(transpose(seen, {0, 3, 1, 2})).to_vector<float>();
  };
  return {"convolution " + std::to_string(images) + " x " + std::to_string(length) + "^2 x " +
              std::to_string(channels) + " -> " + std::to_string(kernels) + ", " + std::to_string(window) + "^2",
          ours.run, theirs, own_result, [=, &blast] { return blast.contents(result, elements); }};
}

void measure(const Case& each, double seconds) {
  each.ours();
  each.theirs();
  const std::vector<float> a = each.our_result(), b = each.their_result();
  double apart = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart = std::max(apart, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  std::vector<double> ours, theirs;
  for (const double start = now(); now() - start < seconds || ours.size() < 3;) {
    for (const auto& [run, times] : {std::pair(&each.ours, &ours), std::pair(&each.theirs, &theirs)}) {
      const double begun = now();
      (*run)();
      times->push_back(now() - begun);
    }
  }
  const double our = median_of(ours) * 1e3, their = median_of(theirs) * 1e3;
  std::printf("| %s | %.3f | %.3f | %.2f | %.1e |\n", each.name.c_str(), our, their, their / our, apart / largest);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 1;
  const auto found = tyto::opencl::devices();
  if (found.empty()) {
    std::puts("no OpenCL device");
    return 1;
  }
  auto& device = *static_cast<tyto::opencl::OpenClDevice*>(found[0]);
  const auto& context = device.context();
  std::printf("%s\n\n| case | ours ms | CLBlast ms | CLBlast / ours | difference |\n|---|---|---|---|---|\n",
              context.description.c_str());
  Blast blast(context);
  std::vector<Case> cases;
  for (const std::int64_t length : {64, 256, 512, 1024, 2048, 4096}) {
    cases.push_back(product(blast, device, length, length, length));
  }
  for (const char* turned : {"a", "b"}) cases.push_back(product(blast, device, 1024, 1024, 1024, turned));
  cases.push_back(product(blast, device, 100, 784, 512));
  cases.push_back(product(blast, device, 100, 6272, 1024));
  cases.push_back(product(blast, device, 6272, 100, 1024, "a"));
  cases.push_back(product(blast, device, 100, 1024, 6272, "b"));
  cases.push_back(product(blast, device, 1, 2048, 1000));
  if (context.has_f64) {
    for (const std::int64_t length : {256, 1024, 2048}) {
      cases.push_back(product<double>(blast, device, length, length, length));
    }
  }
  cases.push_back(convolution(blast, device, 1, 56, 64, 64, 3));
  cases.push_back(convolution(blast, device, 1, 14, 256, 256, 3));
  cases.push_back(convolution(blast, device, 1, 56, 64, 256, 1));
  cases.push_back(convolution(blast, device, 32, 32, 16, 16, 3));
  for (const Case& each : cases) {
    if (count <= 2 || each.name.find(words[2]) != std::string::npos) measure(each, seconds);
  }
  return 0;
}
