// Steps that are launched at once give the bits of steps launched one after the other, wherever their operands lie.
#if defined(TYTO_HAVE_OPENCL)

#include <doctest/doctest.h>

#include <cstring>

#include "core/op_ids.hpp"
#include "tests/devices/opencl_steps.hpp"
#include "tyto/error.hpp"

namespace opencl_joined_test {

using namespace tyto;
using namespace tyto::opencl;
using namespace tyto::opencl::test;
using core::Attributes;
using core::OpId;

namespace {

/// A step on tensors of a chain, by their numbers.
struct Link {
  OpId op;
  Attributes attributes;
  std::vector<std::size_t> inputs;
  std::size_t output;
};

/// Tensors one after the other, and the steps between them. Each tensor has a buffer of its own, or all have one.
class Chain {
 public:
  Chain(OpenClDevice& device, std::vector<core::TensorType> types, std::vector<Link> links)
      : device_(device), types_(std::move(types)), links_(std::move(links)) {
    std::vector<std::vector<core::Operand>> operands;
    std::vector<core::Step> steps;
    operands.reserve(2 * links_.size());
    for (const Link& link : links_) {
      std::vector<core::Operand>& inputs = operands.emplace_back();
      for (const std::size_t input : link.inputs) inputs.push_back(operand(input));
      std::vector<core::Operand>& outputs = operands.emplace_back();
      outputs.push_back(operand(link.output));
      steps.push_back({link.op, &link.attributes, inputs, outputs});
    }
    kernels_ = device.prepare_all(steps);
  }

  std::size_t bytes(std::size_t tensor) const {
    return static_cast<std::size_t>(element_count(types_[tensor].shape)) * size_of(types_[tensor].dtype);
  }

  /// Memory for all, with `gap` bytes before each tensor.
  void lay_out(bool one_buffer, std::size_t gap) {
    buffers_.clear();
    at_.clear();
    const std::size_t alignment = device_.properties().alignment;
    std::size_t height = 0;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      height += gap * alignment;
      at_.push_back(one_buffer ? height : gap * alignment);
      if (!one_buffer) buffers_.push_back(device_.allocate(at_[i] + bytes(i)));
      height += (bytes(i) + alignment - 1) / alignment * alignment;
    }
    if (one_buffer) buffers_.assign(types_.size(), device_.allocate(height));
    workspaces_.clear();
    for (const auto& kernel : kernels_) workspaces_.push_back(device_.allocate(kernel->workspace()));
    addresses_.clear();
    for (const Link& link : links_) {
      std::vector<core::Address>& all = addresses_.emplace_back();
      for (const std::size_t input : link.inputs) all.push_back(address(input));
      all.push_back(address(link.output));
    }
    steps_.clear();
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const std::span<const core::Address> all = addresses_[i];
      steps_.push_back({all.first(all.size() - 1), all.last(1), workspaces_[i]->at(0)});
    }
  }

  /// The steps as the device is told of them; `one_buffer` as they will lie.
  std::vector<core::LaunchedStep> launched(bool one_buffer) const {
    std::vector<core::LaunchedStep> steps;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      core::LaunchedStep& step = steps.emplace_back();
      step.kernel = kernels_[i].get();
      const auto number = [&](std::size_t tensor) { return static_cast<std::uint32_t>(one_buffer ? 0 : tensor); };
      for (const std::size_t input : links_[i].inputs) step.buffers.push_back(number(input));
      step.buffers.push_back(number(links_[i].output));
      step.buffers.push_back(static_cast<std::uint32_t>(1000 + i));
    }
    return steps;
  }

  void write(std::size_t tensor, const HostTensor& values) {
    device_.copy_in(address(tensor), bytes_of(values).data(), bytes(tensor));
  }
  std::vector<std::vector<std::byte>> contents() {
    std::vector<std::vector<std::byte>> all;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      device_.copy_out(all.emplace_back(bytes(i)).data(), address(i), bytes(i));
    }
    return all;
  }

  void launch_each() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      kernels_[i]->launch(steps_[i].inputs, steps_[i].outputs, steps_[i].workspace);
    }
  }
  void launch(std::span<const core::JoinedSteps> joined) {
    std::size_t next = 0;
    for (const core::JoinedSteps& each : joined) {
      for (; next < each.first; ++next) {
        kernels_[next]->launch(steps_[next].inputs, steps_[next].outputs, steps_[next].workspace);
      }
      each.kernel->launch(std::span(steps_).subspan(each.first, each.past - each.first));
      next = each.past;
    }
    for (; next < kernels_.size(); ++next) {
      kernels_[next]->launch(steps_[next].inputs, steps_[next].outputs, steps_[next].workspace);
    }
  }

 private:
  core::Operand operand(std::size_t tensor) const {
    return {types_[tensor].dtype, core::View::dense(types_[tensor].shape)};
  }
  core::Address address(std::size_t tensor) const { return buffers_[tensor]->at(at_[tensor]); }

  OpenClDevice& device_;
  std::vector<core::TensorType> types_;
  std::vector<Link> links_;
  std::vector<std::shared_ptr<const core::Kernel>> kernels_;
  std::vector<core::BufferRef> buffers_, workspaces_;
  std::vector<std::size_t> at_;
  std::vector<std::vector<core::Address>> addresses_;
  std::vector<core::StepAddresses> steps_;
};

/// Products, sums in one launch and in two, a softmax, copies, positions and elements, each of which needs those
/// before.
Chain mixed(OpenClDevice& device) {
  const DType f32 = DType::f32;
  const std::vector<core::TensorType> types = {
      {f32, {96, 70}},     // 0: given
      {f32, {70, 96}},     // 1: given
      {f32, {96, 96}},     // 2: the product
      {f32, {96, 96}},     // 3: its softmax
      {f32, {96}},         // 4: sums along columns
      {f32, {}},           // 5: the sum of all, in parts
      {f32, {400, 400}},   // 6: given, large
      {f32, {}},           // 7: its sum, in parts
      {f32, {96}},         // 8
      {DType::i64, {96}},  // 9: positions of the greatest of each row
      {f32, {96, 96}},     // 10
      {f32, {96, 96}},     // 11
  };
  const core::AxesAttributes all{{0, 1}, false}, columns{{0}, false};
  std::vector<Link> links = {
      {OpId::matmul, {}, {0, 1}, 2},
      {OpId::softmax, core::AxisAttributes{-1, false}, {2}, 3},
      {OpId::sum, columns, {3}, 4},
      {OpId::sum, all, {2}, 5},
      {OpId::sum, all, {6}, 7},
      {OpId::exp, {}, {4}, 8},
      {OpId::argmax, core::AxisAttributes{-1, false}, {3}, 9},
      {OpId::multiply, {}, {3, 2}, 10},
      {OpId::add, {}, {10, 3}, 11},
      {OpId::multiply, {}, {11, 11}, 10},
      {OpId::sum, columns, {10}, 8},
  };
  return {device, types, std::move(links)};
}

void give(Chain& chain, double scale) {
  chain.write(0, spread(DType::f32, {96, 70}, -scale, 2 * scale));
  chain.write(1, spread(DType::f32, {70, 96}, -1, 0.5));
  chain.write(6, spread(DType::f32, {400, 400}, -1, scale));
}

/// x + 1, so many times over.
Chain counting(OpenClDevice& device, std::size_t steps, const Shape& shape) {
  std::vector<core::TensorType> types(steps + 2, {DType::f32, shape});
  std::vector<Link> links;
  for (std::size_t i = 0; i < steps; ++i) links.push_back({OpId::add, {}, {i == 0 ? 1 : i + 1, 0}, i + 2});
  return {device, types, std::move(links)};
}

float first_of(const std::vector<std::byte>& bytes) {
  float value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// The device of a processor, in the style whose launches it joins; null, with a message, where there is none.
OpenClDevice* joining() {
  OpenClDevice* const cpu = cpu_style();
  if (cpu == nullptr || cpu->context().is_processor) return cpu;
  MESSAGE("the OpenCL device is no processor, and joins no launches");
  CHECK(cpu->join(counting(*cpu, 3, {10}).launched(true)).empty());
  return nullptr;
}

}  // namespace

TEST_CASE("OpenCL steps that depend on each other are launched at once, and give the same bits") {
  OpenClDevice* const cl = joining();
  if (cl == nullptr) return;
  for (const bool one_buffer : {false, true}) {
    Chain chain = mixed(*cl);
    const std::vector<core::JoinedSteps> joined = cl->join(chain.launched(one_buffer));
    REQUIRE(joined.size() == 1);
    CHECK(joined[0].first == 0);
    CHECK(joined[0].past == 11);
    // Other numbers, other places in the same buffers, other buffers.
    for (const std::size_t gap : {0, 0, 3, 1}) {
      chain.lay_out(one_buffer, gap);
      give(chain, 0.25 + static_cast<double>(gap));
      chain.launch_each();
      const auto expected = chain.contents();
      chain.lay_out(one_buffer, gap);
      for (int again = 0; again < 3; ++again) {
        give(chain, 0.25 + static_cast<double>(gap));
        chain.launch(joined);
        CHECK(chain.contents() == expected);
      }
    }
  }
}

TEST_CASE("thousands of dependent OpenCL steps in joined launches count to their number") {
  OpenClDevice* const cl = joining();
  if (cl == nullptr) return;
  const std::size_t steps = is_interpreted() ? 50 : 2000;
  // More elements than one item takes, so that every step has several tasks.
  Chain chain = counting(*cl, steps, {5000});
  const std::vector<core::JoinedSteps> joined = cl->join(chain.launched(true));
  REQUIRE(!joined.empty());
  chain.lay_out(true, 0);
  chain.write(0, spread(DType::f32, {5000}, 1, 1));
  chain.write(1, spread(DType::f32, {5000}, 0, 0));
  chain.launch(joined);
  const auto contents = chain.contents();
  for (const std::size_t i : {std::size_t{1}, steps / 2, steps})
    CHECK(first_of(contents[i + 1]) == static_cast<float>(i));
  for (std::size_t k = 0; k < 5000; ++k) {
    REQUIRE(first_of({contents.back().begin() + static_cast<std::ptrdiff_t>(4 * k), contents.back().end()}) ==
            static_cast<float>(steps));
  }
}

TEST_CASE("OpenCL launches are cut where buffers are many, and where a step is not part of every run") {
  OpenClDevice* const cl = joining();
  if (cl == nullptr) return;
  Chain chain = counting(*cl, 150, {10});
  const auto check_count = [&](const std::vector<core::JoinedSteps>& joined) {
    chain.lay_out(false, 1);
    chain.write(0, spread(DType::f32, {10}, 1, 1));
    chain.write(1, spread(DType::f32, {10}, 0, 0));
    chain.launch(joined);
    CHECK(first_of(chain.contents().back()) == 150);
  };
  std::vector<core::LaunchedStep> steps = chain.launched(false);
  const std::vector<core::JoinedSteps> many = cl->join(steps);
  CHECK(many.size() > 1);
  CHECK(many.front().first == 0);
  CHECK(many.back().past == 150);
  for (std::size_t i = 1; i < many.size(); ++i) CHECK(many[i].first == many[i - 1].past);
  check_count(many);
  steps[7].kernel = nullptr;
  const std::vector<core::JoinedSteps> apart = cl->join(steps);
  REQUIRE(apart.size() > 1);
  CHECK(apart[0].past == 7);
  CHECK(apart[1].first == 8);
  check_count(apart);
}

TEST_CASE("a position outside of its axis in a joined OpenCL launch is an error after it") {
  OpenClDevice* const cl = joining();
  if (cl == nullptr) return;
  Chain chain{*cl,
              {{DType::f32, {4}}, {DType::i64, {3}}, {DType::f32, {3}}, {DType::f32, {3}}},
              {{OpId::take, core::AxisAttributes{0, false}, {0, 1}, 2}, {OpId::add, {}, {2, 2}, 3}}};
  const std::vector<core::JoinedSteps> joined = cl->join(chain.launched(true));
  REQUIRE(joined.size() == 1);
  chain.lay_out(true, 0);
  chain.write(0, HostTensor::of(DType::f32, {4}, {1, 2, 3, 4}));
  chain.write(1, HostTensor::of_integers(DType::i64, {3}, {3, 0, 2}));
  chain.launch(joined);
  CHECK(first_of(chain.contents().back()) == 8);
  chain.write(1, HostTensor::of_integers(DType::i64, {3}, {3, 9, 2}));
  chain.launch(joined);
  CHECK_THROWS_AS(cl->synchronise(), IndexError);
  chain.write(1, HostTensor::of_integers(DType::i64, {3}, {1, 1, 1}));
  chain.launch(joined);
  CHECK(first_of(chain.contents().back()) == 4);
}

TEST_CASE("the GPU style of OpenCL joins no launches") {
  OpenClDevice* const cl = device(Style::gpu);
  if (cl == nullptr) return;
  CHECK(cl->join(counting(*cl, 3, {10}).launched(true)).empty());
}

}  // namespace opencl_joined_test

#endif
