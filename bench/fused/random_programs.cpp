// SPDX-License-Identifier: MIT
// Steps are drawn one by one. Every value's interval is known, so that no operator leaves its domain, no choice is
// decided before it is made (a compiler that tracks ranges would leave it out), and what is measured is arithmetic on
// ordinary numbers.
#include "bench/fused/random_programs.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/fused/drawn_operators.hpp"
#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "core/value/text.hpp"

namespace tyto::bench {

namespace {

using core::OpId;

/// Results that jump where operands differ in their last bits: a sum's rounding would show.
bool is_smooth(OpId op) { return op != OpId::floor && op != OpId::round && op != OpId::where && op != OpId::sign; }

class Drawer {
 public:
  Drawer(std::uint64_t seed, Limits limits) : random_(seed), limits_(limits) {}

  RandomProgram draw() {
    made_ = {};
    values_.clear();
    type_ = weighted<DType>({{DType::f32, 7}, {DType::f64, 4}, {DType::f16, 3}, {DType::bf16, 3}, {DType::i32, 3}});
    kind_ = weighted<Kind>({{Kind::elements, 11}, {Kind::reduced, 3}, {Kind::over_rows, 3}, {Kind::softmax, 3}});
    if (type_ == DType::i32 && kind_ > Kind::reduced) kind_ = Kind::reduced;
    steps_left_ = limits_.fewest_steps + below(limits_.most_steps - limits_.fewest_steps + 1);
    constexpr std::int64_t lengths[] = {24, 100, 256, 1000, 1024, 4096};
    made_.row_length = lengths[below(6)];
    if (kind_ == Kind::elements && one_in(3)) made_.row_length = 0;
    add_operands();
    switch (kind_) {
      case Kind::elements:
        made_.kind = "elements";
        add_steps(steps_left_, 1 + below(4));
        break;
      case Kind::reduced: {
        made_.kind = "reduced";
        const int reductions = std::min(1 + below(2), steps_left_ / 2);
        add_steps(steps_left_ - reductions, reductions);
        for (const int value : unread()) reduce(value);
        break;
      }
      case Kind::over_rows: {
        made_.kind = "over rows";
        const int before = steps_left_ / 3;
        add_steps(before, 1);
        const int whole = apply(OpId::clip, {latest(), constant({-4, -4}), constant({4, 4})}, {-4, 4});
        const int mean = reduce(whole, OpId::mean);
        const int centred = apply(OpId::subtract, {whole, mean}, at(whole).interval);
        if (one_in(2)) normalise(centred);
        add_steps(std::max(steps_left_, 1), 1 + below(2));
        break;
      }
      case Kind::softmax: {
        made_.kind = "softmax";
        add_steps(std::max(steps_left_ - 5, 0) / 2, 1);
        const int logits = apply(OpId::tanh, {latest()}, {-1, 1});
        const int most = reduce(logits, OpId::max);
        const int powers = apply(OpId::exp, {apply(OpId::subtract, {logits, most}, {-2, 0})}, {0, 1});
        const int sum = reduce(powers, OpId::sum);
        apply(OpId::divide, {powers, sum}, {0, 1});
        if (steps_left_ > 0) add_steps(steps_left_, 1 + below(2));
        break;
      }
    }
    finish();
    return std::move(made_);
  }

 private:
  enum class Kind { elements, reduced, over_rows, softmax };
  enum class Source { operand, constant, step };

  struct Value {
    Source source;
    DType type;
    Interval interval;
    bool varies;
    int depth = 0;
    bool exact = true;
    bool read = false;
    OpId op = {};
    std::vector<int> operands = {};
    double number = 0;
  };

  int below(int count) { return static_cast<int>(random_() % static_cast<std::uint64_t>(count)); }
  bool one_in(int count) { return below(count) == 0; }
  template <class T>
  T weighted(std::initializer_list<std::pair<T, int>> choices) {
    int sum = 0;
    for (const auto& choice : choices) sum += choice.second;
    int at = below(sum);
    for (const auto& choice : choices) {
      if (at < choice.second) return choice.first;
      at -= choice.second;
    }
    return choices.begin()->first;
  }
  int add(Value value) {
    values_.push_back(std::move(value));
    return static_cast<int>(values_.size()) - 1;
  }
  Value& at(int value) { return values_[static_cast<std::size_t>(value)]; }

  void add_operands() {
    const int count = 1 + below(5);
    for (int i = 0; i < count; ++i) {
      RandomOperand operand{type_, Layout::dense, -2, 2};
      if (made_.row_length == 0) {
        if (i > 0 && one_in(5)) operand.layout = Layout::number;
      } else {
        operand.layout = weighted<Layout>({{Layout::dense, 12},
                                           {Layout::number, i == 0 ? 0 : 1},
                                           {Layout::by_row, i == 0 ? 0 : 2},
                                           {Layout::by_column, i == 0 ? 0 : 3},
                                           {Layout::pitched, 2},
                                           {Layout::every_second, 1},
                                           {Layout::transposed, 1}});
      }
      if (type_ == DType::i32) {
        operand.low = -1000, operand.high = 1000;
      } else if (one_in(2)) {
        operand.low = 0.25, operand.high = 4;
      }
      const bool varies = operand.layout != Layout::number && operand.layout != Layout::by_row;
      if (varies && one_in(12)) operand.type = other_type();
      made_.operands.push_back(operand);
      add({Source::operand, operand.type, {operand.low, operand.high}, varies});
    }
    const int operands = static_cast<int>(values_.size());
    for (int i = 0; i < operands; ++i) {
      if (at(i).type != type_) cast(i, type_);
    }
  }

  /// A type from which and to which the program's own converts without leaving the range of either.
  DType other_type() {
    switch (type_) {
      case DType::f32: return weighted<DType>({{DType::f64, 1}, {DType::f16, 1}, {DType::bf16, 1}});
      case DType::f64: return DType::f32;
      case DType::i32: return DType::i32;
      default: return DType::f32;
    }
  }

  int cast(int value, DType type) {
    const int made = apply(OpId::cast, {value}, at(value).interval);
    at(made).type = type;
    return made;
  }

  int constant(Interval interval) {
    double number = interval.low + (interval.high - interval.low) * below(17) / 16;
    if (type_ == DType::i32) number = std::trunc(number);
    if (number == 0 || number == 1) number += 2;
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      if (at(i).source == Source::constant && at(i).number == number) return i;
    }
    const int made = add({Source::constant, type_, {number, number}, false});
    at(made).number = number;
    return made;
  }

  int apply(OpId op, std::vector<int> operands, Interval interval) {
    Value value{Source::step, type_, interval, false};
    for (const int operand : operands) {
      at(operand).read = true;
      value.varies = value.varies || at(operand).varies;
      value.depth = std::max(value.depth, at(operand).depth);
      value.exact = value.exact && at(operand).exact;
    }
    value.op = op;
    value.operands = std::move(operands);
    --steps_left_;
    return add(std::move(value));
  }

  int reduce(int value, OpId op) {
    const Interval of = at(value).interval;
    const double length = op == OpId::sum ? static_cast<double>(made_.row_length) : 1;
    const int made = apply(op, {value}, {of.low * length, of.high * length});
    at(made).varies = false;
    ++at(made).depth;
    if (op == OpId::sum && type_ == DType::i32) {
      at(made).type = DType::i64;
    } else if (op == OpId::sum || op == OpId::mean) {
      at(made).exact = false;
    }
    return made;
  }
  void reduce(int value) {
    const bool average = type_ == DType::f16 || type_ == DType::bf16;
    reduce(value, one_in(4) ? OpId::max : average ? OpId::mean : OpId::sum);
  }

  /// Divides by the square root of the mean square, as a layer norm does.
  void normalise(int centred) {
    const int variance = reduce(apply(OpId::square, {centred}, {0, 64}), OpId::mean);
    const int scale = apply(OpId::rsqrt, {apply(OpId::add, {variance, constant({0.5, 0.5})}, {0.4, 65})}, {0.1, 1.6});
    apply(OpId::multiply, {centred, scale}, {-13, 13});
  }

  /// Values that nobody has read, but for what is no result of its own.
  std::vector<int> unread() {
    std::vector<int> list;
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      const Value& value = at(i);
      if (value.source == Source::step && !value.read && value.varies && value.type == type_) list.push_back(i);
    }
    return list;
  }

  /// The last whole step, or the first operand.
  int latest() {
    for (int i = static_cast<int>(values_.size()); i-- > 0;) {
      if (at(i).source != Source::constant && at(i).varies && at(i).type == type_) return i;
    }
    return cast(0, type_);
  }

  int any(bool varying) {
    std::vector<int> list;
    for (int i = 0; i < static_cast<int>(values_.size()); ++i) {
      const Value& value = at(i);
      if (value.source == Source::constant || value.type != type_ || (varying && !value.varies)) continue;
      list.push_back(i);
      if (!value.read) list.push_back(i), list.push_back(i);  // what waits for a reader is drawn three times as often
    }
    return list.empty() ? latest() : list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

  bool bounded(Interval interval, DType type) const {
    if (!(interval.low <= interval.high)) return false;
    return type == DType::i32 || interval.size() <= (type == DType::f16 ? 4000 : 1e6);
  }

  /// Draws so many steps; about `results` of their values are left unread.
  void add_steps(int count, int results) {
    const int stop = steps_left_ - count;
    while (steps_left_ > stop) {
      const int room = steps_left_ - stop;
      std::vector<int> waiting = unread();
      const bool joins = static_cast<int>(waiting.size()) - results >= room - 1 && waiting.size() > 1;
      if (joins) {
        const int a = waiting[waiting.size() - 2], b = waiting.back();
        add_step(one_in(2) ? OpId::maximum : OpId::add, a, b);
        continue;
      }
      const bool goes_on = !waiting.empty() && !one_in(3);
      const int a = goes_on ? waiting.back() : any(true);
      add_drawn_step(a, room);
    }
  }

  void add_step(OpId op, int a, int b) {
    const Interval x = at(a).interval, y = at(b).interval;
    const Interval sum{x.low + y.low, x.high + y.high};
    if (op == OpId::add && bounded(sum, type_)) {
      apply(op, {a, b}, sum);
    } else {
      apply(OpId::maximum, {a, b}, {std::max(x.low, y.low), std::max(x.high, y.high)});
    }
  }

  void add_drawn_step(int a, int room) {
    const bool whole = type_ == DType::i32;
    const std::span<const Choice> choices = whole ? integer_choices() : floating_choices();
    int sum = 0;
    for (const Choice& choice : choices) sum += choice.weight;
    for (int attempt = 0; attempt < 50; ++attempt) {
      int place = below(sum);
      const Choice* choice = choices.data();
      while (place >= choice->weight) place -= choice++->weight;
      if (choice->op == OpId::where && room < 2) continue;
      const Interval x = at(a).interval;
      int b = any(kind_ == Kind::elements && one_in(2));
      if (whole ? one_in(3) : one_in(5)) b = constant(whole ? Interval{2, 60} : Interval{0.25, 2.5});
      if (choice->op == OpId::left_shift || choice->op == OpId::right_shift) b = constant({1, 7});
      if (b == a && core::definition(choice->op).max_inputs > 1) continue;
      const bool smooth_enough = is_smooth(choice->op) || (at(a).exact && at(b).exact);
      Interval interval = choice->result(x, at(b).interval);
      if (!smooth_enough || !bounded(interval, type_)) continue;
      if (choice->op == OpId::clip) {
        const int low = constant(whole ? Interval{-50, -2} : Interval{-2, -1});
        const int high = constant(whole ? Interval{2, 300} : Interval{1.25, 4});
        if (!x.overlaps({at(low).number, at(low).number}) && !x.overlaps({at(high).number, at(high).number})) continue;
        apply(OpId::clip, {a, low, high}, {std::max(x.low, at(low).number), std::min(x.high, at(high).number)});
      } else if (choice->op == OpId::where) {
        const OpId comparisons[] = {OpId::less, OpId::less_equal, OpId::greater, OpId::equal};
        const int left = any(true),
                  right = one_in(2) ? constant(whole ? Interval{2, 40} : Interval{0.25, 2}) : any(false);
        if (left == right || !at(left).exact || !at(right).exact) continue;
        if (!at(left).interval.overlaps(at(right).interval)) continue;
        const int condition = apply(comparisons[below(4)], {left, right}, {0, 1});
        at(condition).type = DType::boolean;
        apply(OpId::where, {condition, a, b}, interval);
      } else if (choice->op == OpId::fma) {
        const int c = any(false);
        const double size = whole ? whole_bound : x.size() * at(b).interval.size() + at(c).interval.size();
        if (!bounded({-size, size}, type_)) continue;
        apply(OpId::fma, {a, b, c}, {-size, size});
      } else {
        std::vector<int> operands{a};
        if (core::definition(choice->op).max_inputs > 1) operands.push_back(b);
        apply(choice->op, std::move(operands), widened(interval));
      }
      return;
    }
    apply(whole ? OpId::bitwise_not : OpId::tanh, {a}, {-1, 1});
  }

  /// With room for rounding; a positive interval stays positive.
  Interval widened(Interval x) const {
    if (type_ == DType::i32) return x;
    const double more = 0.02;
    return {x.low > 0 ? x.low * (1 - more) : x.low * (1 + more) - 1e-3 * (x.low != 0),
            x.high < 0 ? x.high * (1 - more) : x.high * (1 + more) + 1e-3};
  }

  /// Numbers the values as a fused program does, and takes for results what nobody reads.
  void finish() {
    if (kind_ == Kind::elements && one_in(8)) {
      if (const DType other = other_type(); other != type_) cast(latest(), other);
    }
    std::vector<RandomOperand> read;
    for (std::size_t i = 0; i < made_.operands.size(); ++i) {
      if (values_[i].read) read.push_back(made_.operands[i]);
    }
    made_.operands = std::move(read);
    core::LoopProgram& program = made_.program;
    std::vector<std::uint16_t> number(values_.size());
    std::uint16_t next = 0;
    for (const Source source : {Source::operand, Source::constant, Source::step}) {
      for (std::size_t i = 0; i < values_.size(); ++i) {
        const Value& value = values_[i];
        if (value.source != source || (source != Source::step && !value.read)) continue;
        number[i] = next++;
        made_.values.push_back({value.type, value.varies, value.depth, value.exact});
        if (source == Source::operand) ++program.inputs;
        if (source == Source::constant) program.constants.push_back({constant_of(value.number), value.type});
        if (source != Source::step) continue;
        core::LoopInstruction step{value.op, value.type, {}};
        for (std::size_t k = 0; k < value.operands.size(); ++k) {
          step.operands[k] = number[static_cast<std::size_t>(value.operands[k])];
        }
        program.instructions.push_back(step);
      }
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      if (value.source == Source::step && !value.read && value.type != DType::boolean)
        program.outputs.push_back(number[i]);
    }
  }

  Scalar constant_of(double number) const {
    return type_ == DType::i32 ? Scalar(static_cast<std::int64_t>(number)) : Scalar(number);
  }

  std::mt19937_64 random_;
  Limits limits_;
  RandomProgram made_;
  std::vector<Value> values_;
  DType type_ = DType::f32;
  Kind kind_ = Kind::elements;
  int steps_left_ = 0;
};

std::string_view name_of(Layout layout) {
  constexpr std::string_view names[] = {"",         " a number",     " by row",    " by column",
                                        " pitched", " every second", " transposed"};
  return names[static_cast<std::size_t>(layout)];
}

}  // namespace

bool RandomProgram::reduces() const {
  return std::ranges::any_of(program.instructions,
                             [](const core::LoopInstruction& step) { return core::may_fold(step.op); });
}

bool RandomProgram::is_flat() const {
  return !reduces() && std::ranges::all_of(operands, [](const RandomOperand& operand) {
    return operand.layout == Layout::dense || operand.layout == Layout::number;
  });
}

bool RandomProgram::is_whole(std::size_t result) const {
  return !reduces() || values[program.outputs[result]].varies_in_row;
}

std::string RandomProgram::text() const {
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    text += core::text(i == 0 ? "" : ", ", "x", i, " ", operands[i].type, name_of(operands[i].layout));
  }
  if (row_length != 0) text += core::text("; rows of ", row_length);
  return text + ": " + to_string(program);
}

std::vector<RandomProgram> draw_programs(std::uint64_t seed, int count, Limits limits) {
  Drawer drawer(seed, limits);
  std::vector<RandomProgram> programs;
  while (static_cast<int>(programs.size()) < count) {
    RandomProgram program = drawer.draw();
    const std::size_t results = program.program.outputs.size();
    const auto steps = static_cast<int>(program.program.instructions.size());
    const bool fits = steps >= limits.fewest_steps && steps <= limits.most_steps;
    if (fits && results >= 1 && results <= 4) programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace tyto::bench
