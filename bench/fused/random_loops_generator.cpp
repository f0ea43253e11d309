// SPDX-License-Identifier: MIT
// Writes the random programs as plain C++: random_loops_generator SEED COUNT PARTS FOLDER gives random_loops_0.cpp to
// random_loops_<PARTS - 1>.cpp with the loops, and random_loops_table.cpp.
//
// A loop goes over rows and, within them, once over the columns for every reduction that has to be known before what
// follows. Sums have partial sums side by side so that the compiler may vectorise them. What a later pass needs is
// kept in a row's buffer unless it is quickly computed again.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>

#include "bench/fused/random_loops.hpp"
#include "bench/fused/random_programs.hpp"
#include "core/graph/cheap_operators.hpp"
#include "core/graph/op_ids.hpp"
#include "core/loop/loop_rows.hpp"
#include "core/value/text.hpp"

namespace {

using namespace tyto;
using namespace tyto::bench;
using core::LoopInstruction;
using core::OpId;
using core::text;

const char* stored_type(DType type) {
  switch (type) {
    case DType::f64: return "f64";
    case DType::f16: return "Half";
    case DType::bf16: return "BFloat16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    default: return "f32";
  }
}

/// The type in which a value is computed.
const char* working_type(DType type) {
  switch (type) {
    case DType::boolean: return "bool";
    case DType::f16:
    case DType::bf16: return "f32";
    default: return stored_type(type);
  }
}

bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

/// Gives one of its operands or its negative, which need no rounding.
bool is_exact(OpId op) {
  constexpr OpId list[] = {OpId::negate,  OpId::abs, OpId::relu, OpId::maximum,
                           OpId::minimum, OpId::max, OpId::clip, OpId::where};
  return std::ranges::find(list, op) != std::end(list);
}

class LoopWriter {
 public:
  explicit LoopWriter(const RandomProgram& random)
      : random_(random), program_(random.program), is_buffered_(random.values.size()), known_(random.values.size()) {}

  std::string write(int number) {
    const bool flat = random_.is_flat();
    line("// ", random_.text());
    line(
        "void loop_", number,
        "(const RandomLoopArguments& at, [[maybe_unused]] std::byte* buffers, std::int64_t begin, std::int64_t end) {");
    if (!flat) line("const std::int64_t columns = at.columns;");
    for (std::size_t v = 0; v < program_.first_instruction(); ++v) known_[v] = v >= program_.inputs;
    for (std::size_t i = 0; i < random_.operands.size(); ++i) {
      const RandomOperand& operand = random_.operands[i];
      const std::string pointer = text("reinterpret_cast<const ", stored_type(operand.type), "*>(at.inputs[", i, "])");
      if (operand.layout == Layout::number) {
        line("const auto v", i, " = load_element(*", pointer, ");");
        known_[i] = true;
      } else {
        line("const ", stored_type(operand.type), "* const __restrict a", i, " = ", pointer, ";");
      }
    }
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const char* const type = stored_type(random_.values[program_.outputs[i]].type);
      line(type, "* const __restrict ", flat ? "y" : "z", i, " = reinterpret_cast<", type, "*>(at.outputs[", i, "]);");
    }
    if (flat) {
      write_row_values(0);
      line("#pragma GCC ivdep");
      line("for (std::int64_t c = begin; c < end; ++c) {");
      write_body(0, kept_by(0), {});
      line("}");
    } else {
      line("for (std::int64_t row = begin; row < end; ++row) {");
      write_rows();
      line("}");
    }
    line("}");
    return std::move(text_);
  }

 private:
  template <class... Parts>
  void line(const Parts&... parts) {
    text_ += text(parts..., "\n");
  }

  const LoopInstruction* instruction_of(std::size_t value) const {
    return value < program_.first_instruction() ? nullptr
                                                : &program_.instructions[value - program_.first_instruction()];
  }
  bool is_fold(std::size_t value) const {
    return instruction_of(value) != nullptr && core::may_fold(instruction_of(value)->op);
  }
  std::span<const std::uint16_t> operands_of(std::size_t value) const {
    const LoopInstruction& step = *instruction_of(value);
    return {step.operands.data(), static_cast<std::size_t>(core::definition(step.op).max_inputs)};
  }
  int result_of(std::size_t value) const {
    const auto found = std::ranges::find(program_.outputs, value);
    return found == program_.outputs.end() ? -1 : static_cast<int>(found - program_.outputs.begin());
  }
  std::string name(std::size_t value) const {
    if (value < program_.inputs || value >= program_.first_instruction()) return text("v", value);
    const core::LoopConstant& constant = program_.constants[value - program_.inputs];
    char number[40];
    std::snprintf(number, sizeof number, "%a", constant.value.as_double());
    return text(working_type(constant.dtype), "(", number, ")");
  }

  std::string expression(std::size_t value) const {
    const LoopInstruction& step = *instruction_of(value);
    const DType from = random_.values[step.operands[0]].type;
    if (step.op == OpId::cast) return text("static_cast<", working_type(step.dtype), ">(", name(step.operands[0]), ")");
    std::string list;
    for (const std::uint16_t operand : operands_of(value)) list += (list.empty() ? "" : ", ") + name(operand);
    // Angles are small.
    if (step.op == OpId::sin || step.op == OpId::cos) return text(core::definition(step.op).name, "_near(", list, ")");
    const char* const type = working_type(step.op == OpId::where ? step.dtype : from);
    return text(core::definition(step.op).name, "_operator::apply<", step.op == OpId::where ? "bool, " : "", type, ">(",
                list, ")");
  }

  /// Defines v<value>, rounded to its type.
  void define(std::size_t value, const std::string& expression, bool exact) {
    const DType type = random_.values[value].type;
    if (is_half(type) && !exact) {
      line("const auto h", value, " = StoreElement<", stored_type(type), ">::from(", expression, ");");
      line("[[maybe_unused]] const f32 v", value, " = widen(h", value, ");");
    } else {
      line("const ", working_type(type), " v", value, " = ", expression, ";");
    }
  }
  std::string stored(std::size_t value) const {
    const DType type = random_.values[value].type;
    if (!is_half(type)) return text("v", value);
    return is_exact(instruction_of(value)->op) ? text("StoreElement<", stored_type(type), ">::from(v", value, ")")
                                               : text("h", value);
  }

  /// Half numbers are stored as their bits: copies of structures would keep the compiler from vectorising.
  std::string assignment(const std::string& to, std::size_t value) const {
    if (!is_half(random_.values[value].type)) return text(to, " = ", stored(value), ";");
    return text(to, ".bits = ", stored(value), ".bits;");
  }

  /// Writes the values that have one element a row and are known after so many reductions.
  void write_row_values(int depth) {
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      const RandomValue& value = random_.values[v];
      if (value.varies_in_row || value.depth != depth || is_fold(v)) continue;
      define(v, expression(v), is_exact(instruction_of(v)->op));
      known_[v] = true;
      write_row_result(v);
    }
  }
  void write_row_result(std::size_t v) {
    if (const int result = result_of(v); result >= 0) line("z", result, "[row] = ", stored(v), ";");
  }

  void write_rows() {
    for (std::size_t i = 0; i < random_.operands.size(); ++i) {
      const auto at = [&](const char* begin) {
        line("const ", stored_type(random_.operands[i].type), "* const __restrict x", i, " = a", i, begin, ";");
      };
      switch (random_.operands[i].layout) {
        case Layout::number: break;
        case Layout::by_row:
          line("const auto v", i, " = load_element(a", i, "[row]);");
          known_[i] = true;
          break;
        case Layout::by_column: at(""); break;
        case Layout::dense: at(" + row * columns"); break;
        case Layout::pitched: at(" + row * (columns + 24)"); break;
        case Layout::every_second: at(" + 2 * row * columns"); break;
        case Layout::transposed: at(" + row"); break;
      }
    }
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      if (!random_.is_whole(i)) continue;
      line(stored_type(random_.values[program_.outputs[i]].type), "* const __restrict y", i, " = z", i,
           " + row * columns;");
    }
    int deepest = 0;
    for (const RandomValue& value : random_.values) deepest = std::max(deepest, value.depth);
    for (int depth = 0; depth <= deepest; ++depth) write_pass(depth);
  }

  void write_pass(int depth) {
    write_row_values(depth);
    const std::vector<std::size_t> kept = kept_by(depth);
    for (const std::size_t v : kept) {
      if (result_of(v) >= 0) continue;
      const char* const type = working_type(random_.values[v].type);
      line(type, "* const __restrict b", v, " = reinterpret_cast<", type, "*>(buffers + ",
           static_cast<std::size_t>(next_buffer_++) * RandomLoopArguments::buffer_distance, ");");
      is_buffered_[v] = true;
    }
    std::vector<std::size_t> folds;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      if (is_fold(v) && random_.values[v].depth == depth + 1) folds.push_back(v);
    }
    if (folds.empty()) {
      if (kept.empty()) return;
      line("#pragma GCC ivdep");
      line("for (std::int64_t c = 0; c < columns; ++c) {");
      write_body(depth, kept, {});
      line("}");
    } else {
      const int lanes = random_.values[operands_of(folds[0])[0]].type == DType::f64 ? 16 : 32;
      for (const std::size_t fold : folds) {
        line(partial_type(fold), " s", fold, "[", lanes, "];");
        line("for (auto& s : s", fold, ") s = ", start(fold), ";");
      }
      line("{");
      line("std::int64_t first = 0;");
      line("for (; first + ", lanes, " <= columns; first += ", lanes, ") {");
      write_lanes(depth, kept, folds, std::to_string(lanes));
      line("}");
      write_lanes(depth, kept, folds, "columns - first");
      line("}");
      for (const std::size_t fold : folds) {
        line(partial_type(fold), " t", fold, " = s", fold, "[0];");
        line("for (int k = 1; k < ", lanes, "; ++k) t", fold, " = ",
             fold_two(fold, text("t", fold), text("s", fold, "[k]")), ";");
        const bool average = instruction_of(fold)->op == OpId::mean;
        define(fold, text("t", fold, average ? text(" / static_cast<", partial_type(fold), ">(columns)") : ""),
               instruction_of(fold)->op == OpId::max);
        known_[fold] = true;
        write_row_result(fold);
      }
    }
  }

  void write_lanes(int depth, const std::vector<std::size_t>& kept, const std::vector<std::size_t>& folds,
                   const std::string& count) {
    line("#pragma GCC ivdep");
    line("for (std::int64_t k = 0; k < ", count, "; ++k) {");
    line("const std::int64_t c = first + k;");
    write_body(depth, kept, folds);
    for (const std::size_t fold : folds) {
      line("s", fold, "[k] = ", fold_two(fold, text("s", fold, "[k]"), name(operands_of(fold)[0])), ";");
    }
    line("}");
  }

  const char* partial_type(std::size_t fold) const { return working_type(random_.values[fold].type); }
  std::string start(std::size_t fold) const {
    if (instruction_of(fold)->op != OpId::max) return "0";
    return random_.values[fold].type == DType::i32 ? "INT32_MIN" : text("-Format<", partial_type(fold), ">::infinity");
  }
  std::string fold_two(std::size_t fold, const std::string& a, const std::string& b) const {
    if (instruction_of(fold)->op != OpId::max) return a + " + " + b;
    return text("maximum_operator::apply<", partial_type(fold), ">(", a, ", ", b, ")");
  }

  /// Steps to compute the value again from what is known or lies in memory.
  int steps_again(std::size_t value) const {
    if (instruction_of(value) == nullptr || known_[value] || is_buffered_[value]) return 0;
    if (!random_.values[value].varies_in_row) return 0;
    int steps = core::is_cheap(instruction_of(value)->op) ? 1 : 3;
    for (const std::uint16_t operand : operands_of(value)) steps += steps_again(operand);
    return steps;
  }

  /// Whole values that the pass stores: results, and what is not quickly computed again.
  std::vector<std::size_t> kept_by(int depth) const {
    std::vector<std::size_t> list;
    for (std::size_t v = program_.first_instruction(); v < program_.values(); ++v) {
      const RandomValue& value = random_.values[v];
      if (!value.varies_in_row || value.depth != depth || is_fold(v)) continue;
      bool later = false;
      for (std::size_t reader = v + 1; reader < program_.values() && !later; ++reader) {
        const bool reads = std::ranges::find(operands_of(reader), v) != operands_of(reader).end();
        later = reads && random_.values[reader].depth - (is_fold(reader) ? 1 : 0) > depth;
      }
      if (result_of(v) >= 0 || (later && value.type != DType::boolean && steps_again(v) > 2)) list.push_back(v);
    }
    return list;
  }

  void write_body(int depth, const std::vector<std::size_t>& kept, const std::vector<std::size_t>& folds) {
    std::vector<bool> here = known_;
    const std::function<void(std::size_t)> need = [&](std::size_t v) {
      if (here[v]) return;
      here[v] = true;
      const RandomValue& value = random_.values[v];
      if (v < program_.inputs) {
        const Layout layout = random_.operands[v].layout;
        const char* const index = layout == Layout::every_second ? "2 * c"
                                  : layout == Layout::transposed ? "c * at.rows"
                                                                 : "c";
        line("const auto v", v, " = load_element(", random_.is_flat() ? "a" : "x", v, "[", index, "]);");
      } else if (value.depth < depth && (result_of(v) >= 0 || is_buffered_[v])) {
        line("const ", working_type(value.type), " v", v, " = load_element(",
             result_of(v) >= 0 ? text("y", result_of(v)) : text("b", v), "[c]);");
      } else {
        for (const std::uint16_t operand : operands_of(v)) need(operand);
        define(v, expression(v), is_exact(instruction_of(v)->op));
      }
    };
    for (const std::size_t v : kept) {
      need(v);
      if (const int result = result_of(v); result >= 0) line(assignment(text("y", result, "[c]"), v));
      else line("b", v, "[c] = v", v, ";");
    }
    for (const std::size_t fold : folds) need(operands_of(fold)[0]);
  }

  const RandomProgram& random_;
  const core::LoopProgram& program_;
  std::vector<bool> is_buffered_;  // by value
  std::vector<bool> known_;        // by value: defined outside the columns' loop
  int next_buffer_ = 0;
  std::string text_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::cerr << "usage: random_loops_generator SEED COUNT PARTS FOLDER\n";
    return EXIT_FAILURE;
  }
  const std::uint64_t seed = std::strtoull(arguments[1], nullptr, 10);
  const int programs = std::atoi(arguments[2]), parts = std::atoi(arguments[3]);
  const std::string folder = arguments[4];
  const std::vector<RandomProgram> drawn = draw_programs(seed, programs);
  const char* const head = "// Written by random_loops_generator.\n";
  for (int part = 0; part < parts; ++part) {
    std::ofstream out(text(folder, "/random_loops_", part, ".cpp"));
    out << head << "#define TYTO_ISA plain\n#include \"devices/cpu/arithmetic/tile_loops/operator_expressions.hpp\"\n"
        << "#include \"bench/fused/random_loops.hpp\"\n#include \"devices/cpu/arithmetic/narrow_float.hpp\"\n"
        << "using tyto::bench::RandomLoopArguments;\nnamespace tyto::cpu::plain {\n";
    for (int i = part; i < programs; i += parts) out << LoopWriter(drawn[static_cast<std::size_t>(i)]).write(i);
    out << "}\n";
  }
  std::ofstream out(folder + "/random_loops_table.cpp");
  out << head
      << "#include \"bench/fused/random_loops.hpp\"\nusing namespace tyto::bench;\nnamespace tyto::cpu::plain {\n";
  for (int i = 0; i < programs; ++i) {
    out << "void loop_" << i << "(const RandomLoopArguments&, std::byte*, std::int64_t, std::int64_t);\n";
  }
  out << "}\nconst std::uint64_t tyto::bench::random_loops_seed = " << seed
      << "u;\nconst int tyto::bench::random_loop_count = " << programs
      << ";\nconst RandomLoop tyto::bench::random_loops[] = {";
  for (int i = 0; i < programs; ++i) out << "tyto::cpu::plain::loop_" << i << ",\n";
  out << "};\n";
}
