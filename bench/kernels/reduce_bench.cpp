// SPDX-License-Identifier: MIT
// Times reductions, softmax, scans, moves, indexing and sorting against reading and copying memory in the same run.
//
// Usage: reduce_bench [FILTER] — only rows whose name holds FILTER. Times are the best of several repetitions, so that
// other work on the machine shows little; bytes are those that have to be read and written once.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/measurement.hpp"
#include "core/graph/op_ids.hpp"
#include "devices/cpu/device/kernels.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/memory.hpp"
#include "devices/cpu/system/threads.hpp"

using namespace tyto;
using core::AxesAttributes;
using core::AxisAttributes;
using core::ListAttributes;
using core::NoAttributes;
using core::Operand;
using core::OpId;
using core::TopkAttributes;
using core::VarianceAttributes;
using core::View;

namespace {

double best_seconds(const std::function<void()>& body) { return bench::fastest(cpu::threads(), body); }

/// Aligned memory for one operand.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes), memory_(cpu::allocate_memory(bytes).memory) {}
  Memory(Memory&& other) noexcept : bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}
  ~Memory() {
    if (memory_ != nullptr) cpu::release_memory(memory_, bytes_);
  }
  void* get() const { return memory_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

void fill(DType dtype, void* memory, std::int64_t count, std::int64_t bound) {
  static std::uint64_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 40) * 0x1p-24;
    if (dtype == DType::f32) static_cast<float*>(memory)[i] = static_cast<float>(unit - 0.5);
    if (dtype == DType::f64) static_cast<double*>(memory)[i] = unit - 0.5;
    if (dtype == DType::f16) static_cast<Half*>(memory)[i] = Half(static_cast<float>(unit - 0.5));
    if (dtype == DType::bf16) static_cast<BFloat16*>(memory)[i] = BFloat16(static_cast<float>(unit - 0.5));
    if (dtype == DType::i32)
      static_cast<std::int32_t*>(memory)[i] = static_cast<std::int32_t>(unit * static_cast<double>(bound));
    if (dtype == DType::i64)
      static_cast<std::int64_t*>(memory)[i] = static_cast<std::int64_t>(unit * static_cast<double>(bound));
    if (size_of(dtype) == 1) static_cast<std::uint8_t*>(memory)[i] = static_cast<std::uint8_t>(unit * 2);
  }
}

struct Case {
  std::string name;
  std::span<const cpu::KernelEntry> family;
  OpId op;
  core::Attributes attributes;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::int64_t index_bound = 1;
};

Operand operand(DType dtype, const Shape& shape) { return {dtype, View::dense(shape)}; }

void run(const Case& each, double read_speed, double copy_speed) {
  for (const cpu::KernelEntry& entry : each.family) {
    if (entry.op != each.op) continue;
    std::vector<Memory> memories;
    std::vector<core::Address> inputs, outputs;
    double read = 0, written = 0;
    for (const Operand& input : each.inputs) {
      const core::ElementRange range = core::touched(input.view);
      const auto bytes = static_cast<std::size_t>(range.past) * size_of(input.dtype);
      memories.emplace_back(bytes);
      fill(input.dtype, memories.back().get(), range.past, each.index_bound);
      inputs.push_back({memories.back().get(), 0});
      read += static_cast<double>(bytes);
    }
    for (const Operand& output : each.outputs) {
      const auto bytes = static_cast<std::size_t>(output.view.count()) * size_of(output.dtype);
      memories.emplace_back(bytes);
      outputs.push_back({memories.back().get(), 0});
      written += static_cast<double>(bytes);
    }
    const auto kernel = entry.prepare({each.op, &each.attributes, each.inputs, each.outputs});
    const Memory workspace(kernel->workspace());
    const double seconds = best_seconds([&] { kernel->launch(inputs, outputs, {workspace.get(), 0}); });
    const double ideal = read / read_speed + written * (1 / copy_speed);
    const double elements = static_cast<double>(std::max(each.inputs[0].view.count(), each.outputs[0].view.count()));
    std::printf("%-46s %9.3f ms %7.1f GB/s %7.3f ns/element %5.0f%% of memory's speed\n", each.name.c_str(),
                seconds * 1e3, (read + written) / seconds * 1e-9, seconds / elements * 1e9, 100 * ideal / seconds);
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto reduce = [&](const char* name, OpId op, DType dtype, const Shape& shape, const IntList& axes) {
    const DType out = op == OpId::argmax ? DType::i64 : is_floating(dtype) || op != OpId::sum ? dtype : DType::i64;
    core::Attributes attributes = AxesAttributes{axes, false};
    if (op == OpId::var) attributes = VarianceAttributes{axes, false, 0};
    if (op == OpId::argmax) attributes = core::ArgAttributes{axes[0]};
    list.push_back({std::string(name) + " " + name_of(dtype) + " " + to_string(shape) + " axes " + to_string(axes),
                    cpu::reduce_kernels(),
                    op,
                    attributes,
                    {operand(dtype, shape)},
                    {operand(out, core::reduced_shape(shape, axes, false))}});
  };
  const Shape page{4096, 1024};
  struct Named {
    const char* name;
    OpId op;
  };
  for (const Named& fold : {Named{"sum", OpId::sum},
                            {"max", OpId::max},
                            {"var", OpId::var},
                            {"logsumexp", OpId::logsumexp},
                            {"argmax", OpId::argmax}}) {
    reduce(fold.name, fold.op, DType::f32, page, {1});
    reduce(fold.name, fold.op, DType::f32, page, {0});
  }
  reduce("sum", OpId::sum, DType::f32, page, {0, 1});
  reduce("sum", OpId::sum, DType::f32, {8 << 20}, {0});
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8}) {
    reduce("sum", OpId::sum, dtype, page, {1});
    reduce("sum", OpId::sum, dtype, page, {0});
  }
  reduce("prod", OpId::prod, DType::f32, page, {1});
  reduce("all", OpId::all, DType::boolean, page, {1});
  reduce("sum of images over all but channels", OpId::sum, DType::f32, {16, 56, 56, 64}, {0, 1, 2});
  reduce("var of images over all but channels", OpId::var, DType::f32, {16, 56, 56, 64}, {0, 1, 2});
  reduce("sum over a middle axis", OpId::sum, DType::f32, {64, 128, 512}, {1});
  reduce("sum of short lines", OpId::sum, DType::f32, {1 << 20, 4}, {1});
  reduce("sum of narrow columns", OpId::sum, DType::f32, {1 << 20, 4}, {0});
  reduce("mean of small lines", OpId::mean, DType::f32, {1 << 16, 64}, {1});

  for (const Named& soft : {Named{"softmax", OpId::softmax}, {"log_softmax", OpId::log_softmax}}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
      list.push_back({std::string(soft.name) + " " + name_of(dtype) + " rows of 1000",
                      cpu::loop_kernels(),
                      soft.op,
                      AxisAttributes{1},
                      {operand(dtype, {1000, 1000})},
                      {operand(dtype, {1000, 1000})}});
    }
    list.push_back({std::string(soft.name) + " f32 columns of 1000",
                    cpu::loop_kernels(),
                    soft.op,
                    AxisAttributes{0},
                    {operand(DType::f32, {1000, 1000})},
                    {operand(DType::f32, {1000, 1000})}});
  }
  list.push_back({"cumsum f32 last axis",
                  cpu::scan_kernels(),
                  OpId::cumsum,
                  core::ScanAttributes{1},
                  {operand(DType::f32, page)},
                  {operand(DType::f32, page)}});
  list.push_back({"cumsum f32 first axis",
                  cpu::scan_kernels(),
                  OpId::cumsum,
                  core::ScanAttributes{0},
                  {operand(DType::f32, page)},
                  {operand(DType::f32, page)}});

  list.push_back({"concat f32 of two",
                  cpu::move_kernels(),
                  OpId::concat,
                  AxisAttributes{1},
                  {operand(DType::f32, page), operand(DType::f32, page)},
                  {operand(DType::f32, {4096, 2048})}});
  list.push_back({"roll f32",
                  cpu::move_kernels(),
                  OpId::roll,
                  ListAttributes{{7, 9}},
                  {operand(DType::f32, page)},
                  {operand(DType::f32, page)}});
  list.push_back({"pad f32 images by 1",
                  cpu::move_kernels(),
                  OpId::pad,
                  core::PadAttributes{{0, 1, 1, 0}, {0, 1, 1, 0}, core::PadMode::constant, 0.0},
                  {operand(DType::f32, {16, 56, 56, 64})},
                  {operand(DType::f32, {16, 58, 58, 64})}});
  list.push_back({"tril f32",
                  cpu::move_kernels(),
                  OpId::tril,
                  ListAttributes{{0}},
                  {operand(DType::f32, {2048, 2048})},
                  {operand(DType::f32, {2048, 2048})}});
  list.push_back({"repeat f32 elements twice",
                  cpu::move_kernels(),
                  OpId::repeat,
                  ListAttributes{{2, 1}},
                  {operand(DType::f32, page)},
                  {operand(DType::f32, {4096, 2048})}});

  list.push_back({"take f32 rows of 256",
                  cpu::gather_kernels(),
                  OpId::take,
                  AxisAttributes{0},
                  {operand(DType::f32, {10000, 256}), operand(DType::i64, {8192})},
                  {operand(DType::f32, {8192, 256})},
                  10000});
  list.push_back({"take f32 single elements",
                  cpu::gather_kernels(),
                  OpId::take,
                  AxisAttributes{0},
                  {operand(DType::f32, {1 << 20}), operand(DType::i64, {1 << 20})},
                  {operand(DType::f32, {1 << 20})},
                  1 << 20});
  list.push_back({"take_along_axis f32",
                  cpu::gather_kernels(),
                  OpId::take_along_axis,
                  AxisAttributes{1},
                  {operand(DType::f32, {1024, 1024}), operand(DType::i64, {1024, 1024})},
                  {operand(DType::f32, {1024, 1024})},
                  1024});
  list.push_back({"gather f32 by two tensors",
                  cpu::gather_kernels(),
                  OpId::gather,
                  NoAttributes{},
                  {operand(DType::f32, {1024, 1024}), operand(DType::i64, {1 << 18}), operand(DType::i64, {1 << 18})},
                  {operand(DType::f32, {1 << 18})},
                  1024});
  list.push_back({"scatter_add f32 rows of 256",
                  cpu::scatter_kernels(),
                  OpId::scatter_add,
                  NoAttributes{},
                  {operand(DType::f32, {10000, 256}), operand(DType::f32, {8192, 256}), operand(DType::i64, {8192})},
                  {operand(DType::f32, {10000, 256})},
                  10000});

  for (const DType dtype : {DType::f32, DType::f64, DType::i32}) {
    list.push_back({std::string("sort ") + name_of(dtype) + " line of 1M",
                    cpu::sort_kernels(),
                    OpId::sort,
                    core::SortAttributes{0},
                    {operand(dtype, {1 << 20})},
                    {operand(dtype, {1 << 20})},
                    1 << 30});
  }
  list.push_back({"sort f32 rows of 64",
                  cpu::sort_kernels(),
                  OpId::sort,
                  core::SortAttributes{1},
                  {operand(DType::f32, {16384, 64})},
                  {operand(DType::f32, {16384, 64})}});
  list.push_back({"argsort f32 rows of 1000",
                  cpu::sort_kernels(),
                  OpId::argsort,
                  core::SortAttributes{1},
                  {operand(DType::f32, {1000, 1000})},
                  {operand(DType::i64, {1000, 1000})}});
  list.push_back({"topk f32 10 of 1M",
                  cpu::sort_kernels(),
                  OpId::topk,
                  TopkAttributes{0, 10, true},
                  {operand(DType::f32, {1 << 20})},
                  {operand(DType::f32, {10}), operand(DType::i64, {10})}});
  list.push_back({"topk f32 5 of rows of 1000",
                  cpu::sort_kernels(),
                  OpId::topk,
                  TopkAttributes{1, 5, true},
                  {operand(DType::f32, {1000, 1000})},
                  {operand(DType::f32, {1000, 5}), operand(DType::i64, {1000, 5})}});
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  // The page of most rows: 16 MB, beyond the caches of a core.
  constexpr std::size_t bytes = 16u << 20;
  const Memory from(bytes), to(bytes);
  std::memset(from.get(), 1, bytes);
  std::memset(to.get(), 1, bytes);
  const int team_size = cpu::threads();
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(team_size) * 8);
  const double read = best_seconds([&] {
    cpu::run_team(team_size, [&](cpu::Team team) {
      const cpu::Range mine = cpu::share(bytes / 8, team.member, team.size, 8);
      const auto* words = static_cast<const std::uint64_t*>(from.get());
      std::uint64_t sum = 0;
      for (std::int64_t i = mine.begin; i < mine.end; ++i) sum += words[i];
      sums[static_cast<std::size_t>(team.member) * 8] = sum;
    });
  });
  const double copy = best_seconds([&] {
    cpu::run_team(team_size, [&](cpu::Team team) {
      const cpu::Range mine = cpu::share(bytes, team.member, team.size, 64);
      std::memcpy(static_cast<char*>(to.get()) + mine.begin, static_cast<const char*>(from.get()) + mine.begin,
                  static_cast<std::size_t>(mine.size()));
    });
  });
  const double read_speed = static_cast<double>(bytes) / read, copy_speed = static_cast<double>(bytes) / copy;
  std::printf("%s, %d threads; reading 16 MB: %.1f GB/s, copying: %.1f GB/s each way (checksum %llu)\n",
              cpu::name_of(cpu::instruction_set()), team_size, read_speed * 1e-9, copy_speed * 1e-9,
              static_cast<unsigned long long>(sums[0]));
  for (const Case& each : cases()) {
    if (each.name.find(filter) != std::string::npos) run(each, read_speed, copy_speed);
  }
  return 0;
}
