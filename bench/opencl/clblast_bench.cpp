// Products and convolutions on an OpenCL device: ours beside CLBlast's.
//
//   clblast_bench [SECONDS]
//
// A line a case: milliseconds of the median run of each and their ratio, in turns, on the device that
// TYTO_OPENCL_DEVICE chooses and in its style; and the largest difference, as a part of the largest value. Ours run as
// compiled functions; CLBlast is called with buffers that are there, tuned as it is packaged. Its convolution is
// `convgemm`, of images whose channels come first; ours has them last.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tyto/tyto.hpp>

#include "devices/opencl/device.hpp"
#include "devices/opencl/opencl_device.hpp"

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

  cl_mem buffer(std::vector<float> contents) {
    cl_int status = CL_SUCCESS;
    const std::size_t bytes = contents.size() * sizeof(float);
    buffers_.push_back(
        clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, contents.data(), &status));
    tyto::opencl::check(status, "clCreateBuffer", "CLBlast");
    return buffers_.back();
  }
  std::vector<float> contents(cl_mem buffer, std::size_t count) {
    std::vector<float> out(count);
    clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, count * sizeof(float), out.data(), 0, nullptr, nullptr);
    return out;
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

template <class Function>
std::shared_ptr<Function> shared(Function function) {
  return std::make_shared<Function>(std::move(function));
}

Case product(Blast& blast, std::int64_t m, std::int64_t k, std::int64_t n) {
  const T a = T::uniform({m, k}), b = T::uniform({k, n});
  const auto multiply = shared(tyto::compile([](T x, T y) { return matmul(x, y); }));
  auto last = std::make_shared<T>();
  const auto ours = [=] {
    *last = (*multiply)(a, b);
    (void)last->data<float>();
  };
  const cl_mem left = blast.buffer(a.to_vector<float>()), right = blast.buffer(b.to_vector<float>()),
               result = blast.buffer(std::vector<float>(static_cast<std::size_t>(m * n)));
  const auto [rows, inner, columns] =
      std::array{static_cast<std::size_t>(m), static_cast<std::size_t>(k), static_cast<std::size_t>(n)};
  const auto theirs = [=, &blast] {
    blast.run([&](cl_command_queue* queue) {
      return CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, rows, columns, inner, 1, left,
                          0, inner, right, 0, columns, 0, result, 0, columns, queue, nullptr);
    });
  };
  return {"product " + std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n), ours, theirs,
          [=] { return last->to_vector<float>(); }, [=, &blast] { return blast.contents(result, rows * columns); }};
}

Case convolution(Blast& blast, std::int64_t images, std::int64_t length, std::int64_t channels, std::int64_t kernels,
                 std::int64_t window) {
  const T x = T::uniform({images, length, length, channels}), w = T::uniform({window, window, channels, kernels});
  const std::int64_t around = window / 2;
  const auto convolve =
      shared(tyto::compile([](T each, T weights) { return conv2d(each, weights, {.padding = tyto::same}); }));
  auto last = std::make_shared<T>();
  const auto ours = [=] {
    *last = (*convolve)(x, w);
    (void)last->data<float>();
  };
  const cl_mem image = blast.buffer(copy(transpose(x, {0, 3, 1, 2})).to_vector<float>()),
               kernel = blast.buffer(copy(transpose(w, {3, 2, 0, 1})).to_vector<float>());
  const std::int64_t elements = images * length * length * kernels;
  const cl_mem result = blast.buffer(std::vector<float>(static_cast<std::size_t>(elements)));
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const auto theirs = [=, &blast] {
    blast.run([&](cl_command_queue* queue) {
      return CLBlastSconvgemm(CLBlastKernelModeCrossCorrelation, size(channels), size(length), size(length),
                              size(window), size(window), size(around), size(around), 1, 1, 1, 1, size(kernels),
                              size(images), image, 0, kernel, 0, result, 0, queue, nullptr);
    });
  };
  return {"convolution " + std::to_string(images) + " x " + std::to_string(length) + "^2 x " +
              std::to_string(channels) + " -> " + std::to_string(kernels) + ", " + std::to_string(window) + "^2",
          ours, theirs,
          [=] {
            return copy(transpose(*last, {0, 3, 1, 2})).to_vector<float>();
          },
          [=, &blast] { return blast.contents(result, size(elements)); }};
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
  const auto& context = static_cast<tyto::opencl::OpenClDevice*>(found[0])->context();
  const tyto::DeviceScope scope("opencl");
  std::printf("%s\n\n| case | ours ms | CLBlast ms | CLBlast / ours | difference |\n|---|---|---|---|---|\n",
              context.description.c_str());
  Blast blast(context);
  for (const std::int64_t length : {64, 256, 512, 1024}) measure(product(blast, length, length, length), seconds);
  measure(product(blast, 100, 784, 512), seconds);
  measure(product(blast, 1, 2048, 1000), seconds);
  measure(convolution(blast, 1, 56, 64, 64, 3), seconds);
  measure(convolution(blast, 1, 14, 256, 256, 3), seconds);
  measure(convolution(blast, 1, 56, 64, 256, 1), seconds);
  measure(convolution(blast, 32, 32, 16, 16, 3), seconds);
  return 0;
}
