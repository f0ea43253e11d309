// SPDX-License-Identifier: MIT
// A graph on an OpenCL device: its kernels are compiled before it runs, in a program a core.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "devices/opencl/device/opencl_device.hpp"
#include "engine/run/devices.hpp"
#include "tyto/device.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/graph.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

using namespace tyto;

TEST_CASE("the kernels of a graph are built before it runs, in no more programs than there are cores") {
  if (run::all_devices().size() < 2) return;
  const DeviceScope scope("opencl");
  const auto& device = dynamic_cast<const opencl::OpenClDevice&>(run::find_device("opencl"));
  const auto programs = [&] { return device.cache_counts().compiled + device.cache_counts().from_disk; };
  using T = Tensor<Lazy>;
  const T x = T::placeholder({3, 5}, DType::f32, "x");
  const T y = matmul(exp(x), transpose(tanh(x)));
  Graph graph{{.inputs = {x}, .outputs = {sum(y, {1}), max(y), cast(y * 8.0, DType::i16)}}, {.passes = "none"}};
  const auto before = programs();
  graph.prepare();
  CHECK(graph.report().steps >= 6);
  const auto built = programs() - before;
  CHECK(built >= 1);
  CHECK(built <= std::max(std::thread::hardware_concurrency(), 1U));
  graph.set(x, T::from(std::vector<float>(15, 0.0f), {3, 5}));
  graph.run();
  CHECK(graph.output(1).item<float>() == 0);
  CHECK(programs() == before + built);
}

#endif
