// SPDX-License-Identifier: MIT
// Random element-wise programs and groups over rows, prepared as a compiled graph prepares its fused steps, against
// loops written for them at build time: random_bench [SIZES [THREADS [PROGRAM]]], as in `random_bench 10000,1000000 1`.
//
// A fused step's kernel is launched as an executor launches it, so what it decides at launch is counted: threads,
// rectangles, non-temporal stores. Forming groups and running a plan have benchmarks of their own. Results are
// compared first: bit by bit, or where sums were added in another order, within a tolerance.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/fused/random_loops.hpp"
#include "bench/fused/random_programs.hpp"
#include "bench/measurement.hpp"
#include "core/graph/attributes.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/view.hpp"
#include "devices/cpu/arithmetic/narrow_float.hpp"
#include "devices/cpu/device/device.hpp"
#include "devices/cpu/system/instruction_set.hpp"
#include "devices/cpu/system/memory.hpp"
#include "devices/cpu/system/threads.hpp"

namespace {

using namespace tyto;
using namespace tyto::bench;
using core::OpId;

/// Aligned memory.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : bytes_(bytes), memory_(static_cast<std::byte*>(cpu::allocate_memory(bytes).memory)) {}
  Memory(Memory&& other) noexcept : bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (memory_ != nullptr) cpu::release_memory(memory_, bytes_);
  }
  std::byte* data() const { return memory_; }
  std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

void put(DType type, double number, std::byte* to) {
  const auto store = [to](auto value) { std::memcpy(to, &value, sizeof value); };
  switch (type) {
    case DType::f64: return store(number);
    case DType::f16: return store(Half(static_cast<float>(number)));
    case DType::bf16: return store(BFloat16(static_cast<float>(number)));
    case DType::i32: return store(static_cast<std::int32_t>(number));
    default: return store(static_cast<float>(number));
  }
}

double get(DType type, const std::byte* from) {
  const auto load = [from]<class T>(T value) {
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  switch (type) {
    case DType::f64: return load(double());
    case DType::f16: return static_cast<double>(cpu::widen(load(Half())));
    case DType::bf16: return static_cast<double>(cpu::widen(load(BFloat16())));
    case DType::i32: return load(std::int32_t());
    case DType::i64: return static_cast<double>(load(std::int64_t()));
    default: return static_cast<double>(load(float()));
  }
}

/// Numbers from low to high in no order: a few thousand, over and over.
void fill(const RandomOperand& operand, std::size_t which, const Memory& memory) {
  const std::size_t width = size_of(operand.type), count = memory.size() / width;
  constexpr std::size_t period = 8191;
  for (std::size_t i = 0; i < std::min(count, period); ++i) {
    const auto part = static_cast<double>((i + 1) * (2654435761u + 97 * which) % 65521) / 65521;
    put(operand.type, operand.low + (operand.high - operand.low) * part, memory.data() + i * width);
  }
  for (std::size_t done = period; done < count; done *= 2) {
    std::memcpy(memory.data() + done * width, memory.data(), std::min(done, count - done) * width);
  }
}

/// A program over operands of so many elements, ready to run both ways.
class Contest {
 public:
  Contest(const RandomProgram& random, RandomLoop loop, std::int64_t elements, int threads)
      : random_(random), loop_(loop), threads_(threads) {
    columns_ = random.row_length == 0 ? elements : random.row_length;
    rows_ = random.row_length == 0 ? 1 : std::max<std::int64_t>(elements / columns_, 2);
    arguments_.rows = rows_, arguments_.columns = columns_;
    core::LoopAttributes group{{rows_, columns_}, {}, random.program};
    if (random.reduces()) group.axes = {1};
    std::vector<core::Operand> from, to;
    for (std::size_t i = 0; i < random.operands.size(); ++i) {
      const RandomOperand& operand = random.operands[i];
      const core::View view = view_of(operand.layout);
      from.push_back({operand.type, view});
      inputs_.emplace_back(static_cast<std::size_t>(core::touched(view).past) * size_of(operand.type));
      fill(operand, i, inputs_.back());
      own_.from.push_back({inputs_.back().data(), 0});
      arguments_.inputs[i] = inputs_.back().data();
    }
    for (std::size_t i = 0; i < random.program.outputs.size(); ++i) {
      const DType type = random.values[random.program.outputs[i]].type;
      const core::View view = core::View::dense({rows_, random.is_whole(i) ? columns_ : 1});
      to.push_back({type, view});
      const std::size_t bytes = static_cast<std::size_t>(view.count()) * size_of(type);
      outputs_.emplace_back(bytes);
      expected_.emplace_back(bytes);
      own_.to.push_back({outputs_.back().data(), 0});
      arguments_.outputs[i] = expected_.back().data();
    }
    cpu::set_threads(threads);
    const core::Attributes attributes = group;
    const auto began = std::chrono::steady_clock::now();
    own_.kernel = cpu::device().prepare({OpId::fused, &attributes, from, to});
    preparation_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    workspace_.emplace(own_.kernel->workspace() + 64);
    if (loop != nullptr) {
      for (int i = 0; i < threads; ++i) {
        buffers_.emplace_back(RandomLoopArguments::most_buffers * RandomLoopArguments::buffer_distance);
      }
    }
  }

  double preparation() const { return preparation_; }
  std::int64_t elements() const { return rows_ * columns_; }

  void run_own() const { own_.kernel->launch(own_.from, own_.to, {workspace_->data(), 0}); }

  void run_plain() const {
    const std::int64_t count = random_.is_flat() ? rows_ * columns_ : rows_;
    if (threads_ == 1) return loop_(arguments_, buffers_[0].data(), 0, count);
    const std::int64_t grain = random_.is_flat() ? 64 : 1;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (int part = 0; part < threads_; ++part) {
      const cpu::Range mine = cpu::share(count, part, threads_, grain);
      loop_(arguments_, buffers_[static_cast<std::size_t>(part)].data(), mine.begin, mine.end);
    }
  }

  /// Describes the difference, or returns nothing.
  std::string difference() const {
    run_own();
    run_plain();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const RandomValue& value = random_.values[random_.program.outputs[i]];
      const std::size_t width = size_of(value.type), count = outputs_[i].size() / width;
      if (value.exact && std::memcmp(outputs_[i].data(), expected_[i].data(), outputs_[i].size()) == 0) continue;
      double most = 1;
      for (std::size_t at = 0; at < count; ++at) {
        const double size = std::abs(get(value.type, expected_[i].data() + at * width));
        if (std::isfinite(size)) most = std::max(most, size);
      }
      for (std::size_t at = 0; at < count; ++at) {
        const double own = get(value.type, outputs_[i].data() + at * width);
        const double plain = get(value.type, expected_[i].data() + at * width);
        if (own == plain || (std::isnan(own) && std::isnan(plain))) continue;
        if (!value.exact && std::abs(own - plain) <= tolerance(value.type) * most) continue;
        std::ostringstream text;
        text.precision(17);
        text << "result " << i << ", element " << at << ": " << own << ", plain " << plain;
        return text.str();
      }
    }
    return {};
  }

 private:
  struct Call {
    std::shared_ptr<const core::Kernel> kernel;
    std::vector<core::Address> from, to;
  };

  /// Of the largest element, where sums were added in different orders.
  static double tolerance(DType type) {
    switch (type) {
      case DType::f64: return 1e-11;
      case DType::f16: return 1e-2;
      case DType::bf16: return 5e-2;
      default: return 1e-4;
    }
  }

  core::View view_of(Layout layout) const {
    core::View view = core::View::dense({rows_, columns_});
    switch (layout) {
      case Layout::number: return core::View::dense({1, 1});
      case Layout::by_row: return core::View::dense({rows_, 1});
      case Layout::by_column: return core::View::dense({1, columns_});
      case Layout::pitched: view.strides = {columns_ + 24, 1}; break;
      case Layout::every_second: view.strides = {2 * columns_, 2}; break;
      case Layout::transposed: view.strides = {1, rows_}; break;
      case Layout::dense: break;
    }
    return view;
  }

  const RandomProgram& random_;
  RandomLoop loop_;
  int threads_;
  std::int64_t rows_ = 1, columns_ = 1;
  RandomLoopArguments arguments_{};
  Call own_;
  std::vector<Memory> inputs_, outputs_, expected_, buffers_;
  std::optional<Memory> workspace_;
  double preparation_ = 0;
};

struct Measured {
  int number;
  double ratio;
  DType type;
};

double geometric_mean(const std::vector<Measured>& list) {
  double sum = 0;
  for (const Measured& each : list) sum += std::log(each.ratio);
  return std::exp(sum / static_cast<double>(std::max<std::size_t>(list.size(), 1)));
}

void print_histogram(const std::vector<Measured>& list) {
  constexpr double ends[] = {0.5, 0.8, 0.9, 1.0, 1.05, 1.1, 1.15, 1.3, 1.5, 1e9};
  double low = 0;
  for (const double end : ends) {
    const auto count =
        std::ranges::count_if(list, [&](const Measured& each) { return each.ratio > low && each.ratio <= end; });
    if (end < 1e9) std::printf("  %4.2f to %4.2f  %3d  ", low, end, static_cast<int>(count));
    else std::printf("  above %4.2f    %3d  ", low, static_cast<int>(count));
    std::printf("%s\n", std::string(static_cast<std::size_t>(count), '*').c_str());
    low = end;
  }
}

/// The type that most of the program's results have.
DType type_of(const RandomProgram& program) { return program.values[program.program.outputs[0]].type; }

bool contest(const std::vector<RandomProgram>& programs, std::int64_t elements, int threads, int only) {
  std::vector<Measured> measured;
  bool right = true;
  std::printf("\n%lld elements, %d thread%s: ns an element\n", static_cast<long long>(elements), threads,
              threads == 1 ? "" : "s");
  std::printf("%4s %5s %-10s %5s %5s %7s %9s %9s %6s\n", "", "type", "kind", "steps", "row", "results", "own", "plain",
              "ratio");
  for (int i = 0; i < static_cast<int>(programs.size()); ++i) {
    if (only >= 0 && i != only) continue;
    const RandomProgram& program = programs[static_cast<std::size_t>(i)];
    const Contest both(program, random_loops[i], elements, threads);
    if (const std::string difference = both.difference(); !difference.empty()) {
      right = false;
      std::printf("WRONG %d: %s\n  %s\n", i, difference.c_str(), program.text().c_str());
    }
    const std::vector<double> seconds = compare(threads, {[&] { both.run_own(); }, [&] { both.run_plain(); }}, 0.06);
    const double scale = 1e9 / static_cast<double>(both.elements());
    measured.push_back({i, seconds[0] / seconds[1], type_of(program)});
    std::printf("%4d %5s %-10s %5zu %5lld %7zu %9.4f %9.4f %6.2f\n", i,
                std::string(name_of(measured.back().type)).c_str(), program.kind, program.program.instructions.size(),
                static_cast<long long>(program.row_length), program.program.outputs.size(), seconds[0] * scale,
                seconds[1] * scale, measured.back().ratio);
    std::fflush(stdout);
  }
  if (measured.empty()) return right;
  const Measured worst = *std::ranges::max_element(measured, {}, &Measured::ratio);
  std::printf("== %lld elements, %d threads: geometric mean %.3f, worst %.2f\n", static_cast<long long>(elements),
              threads, geometric_mean(measured), worst.ratio);
  std::map<DType, std::vector<Measured>> by_type;
  for (const Measured& each : measured) by_type[each.type].push_back(each);
  for (const auto& [type, list] : by_type) {
    std::printf("   %s %.3f (%zu)", std::string(name_of(type)).c_str(), geometric_mean(list), list.size());
  }
  std::printf("\n  worst: %d  %s\n", worst.number, programs[static_cast<std::size_t>(worst.number)].text().c_str());
  print_histogram(measured);
  return right;
}

/// First use of kernels of 20 steps, from the step to machine code.
void print_preparation() {
  const std::vector<RandomProgram> programs = draw_programs(random_loops_seed + 1, 41, {20, 20});
  std::vector<double> seconds;
  for (const RandomProgram& program : programs) {
    seconds.push_back(Contest(program, nullptr, 8192, 1).preparation());
  }
  seconds.erase(seconds.begin());  // tables are set up
  std::ranges::sort(seconds);
  std::printf("first use of a kernel of 20 steps: median %.3f ms, slowest %.3f ms\n", seconds[seconds.size() / 2] * 1e3,
              seconds.back() * 1e3);
}

std::vector<std::int64_t> numbers(const char* list) {
  std::vector<std::int64_t> found;
  std::stringstream in(list);
  for (std::string each; std::getline(in, each, ',');) found.push_back(std::strtoll(each.c_str(), nullptr, 10));
  return found;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::int64_t> sizes = numbers(count > 1 ? arguments[1] : "10000,1000000,10000000");
  const std::vector<std::int64_t> threads = numbers(count > 2 ? arguments[2] : "1,2");
  const int only = count > 3 ? std::atoi(arguments[3]) : -1;
  const std::vector<RandomProgram> programs = draw_programs(random_loops_seed, random_loop_count);
  std::printf("seed %llu, %s\n", static_cast<unsigned long long>(random_loops_seed), name_of(cpu::instruction_set()));
  if (only >= 0 && only < random_loop_count)
    std::printf("%s\n", programs[static_cast<std::size_t>(only)].text().c_str());
  print_preparation();
  bool right = true;
  for (const std::int64_t size : sizes) {
    for (const std::int64_t team : threads) right = contest(programs, size, static_cast<int>(team), only) && right;
  }
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
