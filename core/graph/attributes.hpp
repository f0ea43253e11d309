// SPDX-License-Identifier: MIT
// Attributes of operators, their arguments besides tensors: a closed set of plain structs that list their fields once.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/loop_program.hpp"
#include "core/graph/region.hpp"
#include "core/value/storage.hpp"
#include "tyto/dtype.hpp"
#include "tyto/scalar.hpp"
#include "tyto/shape.hpp"

namespace tyto::core {

class State;
class CustomOperator;

// Every struct has `fields(visit)`, which calls visit("name", member) for each member. Hashing, printing, saving and
// loading are written once over it.
#define TYTO_FIELDS(...)             \
  template <class Visit>             \
  void fields(Visit&& visit) const { \
    __VA_ARGS__                      \
  }                                  \
  template <class Visit>             \
  void fields(Visit&& visit) {       \
    __VA_ARGS__                      \
  }

struct NoAttributes {
  TYTO_FIELDS((void)visit;)
  friend bool operator==(const NoAttributes&, const NoAttributes&) = default;
};

/// Reductions, squeeze, flip: the axes worked on, normalised and ascending.
struct AxesAttributes {
  IntList axes;
  bool keepdims = false;
  TYTO_FIELDS(visit("axes", axes); visit("keepdims", keepdims);)
  friend bool operator==(const AxesAttributes&, const AxesAttributes&) = default;
};

/// Variance and standard deviation: axes and how many degrees of freedom are taken off the count.
struct VarianceAttributes {
  IntList axes;
  bool keepdims = false;
  std::int64_t ddof = 0;
  TYTO_FIELDS(visit("axes", axes); visit("keepdims", keepdims); visit("ddof", ddof);)
  friend bool operator==(const VarianceAttributes&, const VarianceAttributes&) = default;
};

/// One axis: of joining, taking, softmax.
struct AxisAttributes {
  std::int64_t axis = 0;
  TYTO_FIELDS(visit("axis", axis);)
  friend bool operator==(const AxisAttributes&, const AxisAttributes&) = default;
};

/// Running sums, products and extremes along an axis.
struct ScanAttributes {
  std::int64_t axis = 0;
  bool exclusive = false;  // an element does not count in its own result
  bool reverse = false;    // from the last element to the first
  TYTO_FIELDS(visit("axis", axis); visit("exclusive", exclusive); visit("reverse", reverse);)
  friend bool operator==(const ScanAttributes&, const ScanAttributes&) = default;
};

/// The position of an extreme along an axis.
struct ArgAttributes {
  std::int64_t axis = 0;
  bool keepdims = false;
  TYTO_FIELDS(visit("axis", axis); visit("keepdims", keepdims);)
  friend bool operator==(const ArgAttributes&, const ArgAttributes&) = default;
};

/// The order of elements along an axis.
struct SortAttributes {
  std::int64_t axis = 0;
  bool descending = false;
  TYTO_FIELDS(visit("axis", axis); visit("descending", descending);)
  friend bool operator==(const SortAttributes&, const SortAttributes&) = default;
};

/// Places in a sorted line: behind equal elements (right) or before them.
struct SearchAttributes {
  bool right = false;
  TYTO_FIELDS(visit("right", right);)
  friend bool operator==(const SearchAttributes&, const SearchAttributes&) = default;
};

/// A system with a triangular matrix, whose diagonal may count as ones.
struct TriangularAttributes {
  bool upper = false;
  bool unit = false;
  TYTO_FIELDS(visit("upper", upper); visit("unit", unit);)
  friend bool operator==(const TriangularAttributes&, const TriangularAttributes&) = default;
};

/// A system with a factored matrix, or with its transpose.
struct FactoredAttributes {
  bool transposed = false;
  TYTO_FIELDS(visit("transposed", transposed);)
  friend bool operator==(const FactoredAttributes&, const FactoredAttributes&) = default;
};

/// Orthogonal factors: all columns, or as many as the matrix needs.
struct OrthogonalAttributes {
  bool complete = false;
  TYTO_FIELDS(visit("complete", complete);)
  friend bool operator==(const OrthogonalAttributes&, const OrthogonalAttributes&) = default;
};

/// The k first along an axis.
struct TopkAttributes {
  std::int64_t axis = -1;
  std::int64_t k = 1;
  bool largest = true;
  TYTO_FIELDS(visit("axis", axis); visit("k", k); visit("largest", largest);)
  friend bool operator==(const TopkAttributes&, const TopkAttributes&) = default;
};

/// Any list of integers: a target shape, a permutation, repeat counts, roll shifts.
struct ListAttributes {
  IntList list;
  TYTO_FIELDS(visit("list", list);)
  friend bool operator==(const ListAttributes&, const ListAttributes&) = default;
};

/// A slice with everything normalised: along axis i, count[i] elements from start[i] in steps of step[i].
struct SliceAttributes {
  IntList start;
  IntList count;
  IntList step;
  TYTO_FIELDS(visit("start", start); visit("count", count); visit("step", step);)
  friend bool operator==(const SliceAttributes&, const SliceAttributes&) = default;
};

enum class PadMode : std::uint8_t { constant, edge, reflect, symmetric, wrap };
inline constexpr int pad_mode_count = 5;
const char* name_of(PadMode mode);

struct PadAttributes {
  IntList before;
  IntList after;
  PadMode mode = PadMode::constant;
  Scalar value;
  TYTO_FIELDS(visit("before", before); visit("after", after); visit("mode", mode); visit("value", value);)
  friend bool operator==(const PadAttributes& a, const PadAttributes& b) {
    return a.before == b.before && a.after == b.after && a.mode == b.mode && is_same(a.value, b.value);
  }
};

struct CastAttributes {
  DType dtype = DType::f32;
  TYTO_FIELDS(visit("dtype", dtype);)
  friend bool operator==(const CastAttributes&, const CastAttributes&) = default;
};

/// A tensor of one value, or of values in arithmetic progression: element i is start + i * step.
struct RangeAttributes {
  Shape shape;
  DType dtype = DType::f32;
  Scalar start;
  Scalar step;
  TYTO_FIELDS(visit("shape", shape); visit("dtype", dtype); visit("start", start); visit("step", step);)
  friend bool operator==(const RangeAttributes& a, const RangeAttributes& b) {
    return a.shape == b.shape && a.dtype == b.dtype && is_same(a.start, b.start) && is_same(a.step, b.step);
  }
};

/// A draw of random numbers: which distribution parameters, and which draw of its key's stream.
struct RandomAttributes {
  Shape shape;
  DType dtype = DType::f32;
  std::int64_t draw = 0;
  double first = 0;
  double second = 1;
  TYTO_FIELDS(visit("shape", shape); visit("dtype", dtype); visit("draw", draw); visit("first", first);
              visit("second", second);)
  friend bool operator==(const RandomAttributes&, const RandomAttributes&) = default;
};

/// Convolution, pooling and resizing windows over the spatial axes of NHWC tensors. `shape` is the result's shape where
/// the inputs do not determine it (backward operators).
struct WindowAttributes {
  IntList window;
  IntList stride;
  IntList dilation;
  IntList before;
  IntList after;
  std::int64_t groups = 1;
  bool count_padding = false;
  Shape shape;
  TYTO_FIELDS(visit("window", window); visit("stride", stride); visit("dilation", dilation); visit("before", before);
              visit("after", after); visit("groups", groups); visit("count_padding", count_padding);
              visit("shape", shape);)
  friend bool operator==(const WindowAttributes&, const WindowAttributes&) = default;
};

/// A matrix product (no window) or convolution with what is done to its sums before they are stored: adding one number
/// a channel, adding a tensor of the result's shape, and limiting them to [low, high], in this order. Weights laid out
/// for the kernel beforehand are bytes; then `left` and `weights` are the shapes of what the product multiplies.
struct ProductAttributes {
  bool scale = false;  // of a convolution: sums are multiplied by one number a channel before anything is added
  bool bias = false;
  bool residual = false;
  double low = -std::numeric_limits<double>::infinity();  // ReLU is 0 and none above; NaN stays NaN
  double high = std::numeric_limits<double>::infinity();
  bool drops_nan = false;  // what is limited may be low where it was NaN
  bool packed = false;
  Shape left;
  Shape weights;
  std::int64_t bytes = 0;  // of packed weights
  WindowAttributes window;
  TYTO_FIELDS(visit("scale", scale); visit("bias", bias); visit("residual", residual); visit("low", low);
              visit("high", high); visit("drops_nan", drops_nan); visit("packed", packed); visit("left", left);
              visit("weights", weights); visit("bytes", bytes); window.fields(visit);)
  friend bool operator==(const ProductAttributes&, const ProductAttributes&) = default;

  bool is_limited() const {
    constexpr double none = std::numeric_limits<double>::infinity();
    return low > -none || high < none;
  }
};

/// Attention: what scores are multiplied by, and whether query i looks at keys 0 to i only.
struct AttentionAttributes {
  double scale = 1;
  bool causal = false;
  TYTO_FIELDS(visit("scale", scale); visit("causal", causal);)
  friend bool operator==(const AttentionAttributes&, const AttentionAttributes&) = default;
};

/// Weights of few bits: how many each number has.
struct QuantisationAttributes {
  std::int64_t bits = 4;
  TYTO_FIELDS(visit("bits", bits);)
  friend bool operator==(const QuantisationAttributes&, const QuantisationAttributes&) = default;
};

/// Thresholds of non-maximum suppression, and the largest number of boxes that it keeps.
struct NmsAttributes {
  std::int64_t count = 0;
  double overlap = 0.5;
  double score = 0;
  TYTO_FIELDS(visit("count", count); visit("overlap", overlap); visit("score", score);)
  friend bool operator==(const NmsAttributes&, const NmsAttributes&) = default;
};

/// A discrete Fourier transform of `length` points along an axis, with what its results are multiplied by.
struct TransformAttributes {
  std::int64_t axis = 0;
  std::int64_t length = 1;
  bool inverse = false;
  double scale = 1;
  TYTO_FIELDS(visit("axis", axis); visit("length", length); visit("inverse", inverse); visit("scale", scale);)
  friend bool operator==(const TransformAttributes&, const TransformAttributes&) = default;
};

/// Integers that are to lie in [low, high], and the words of the error about one that does not: whose it is, what it is
/// and what the range counts.
struct BoundsAttributes {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::string caller = "check_bounds";
  std::string subject = "value";
  std::string range = "values";
  TYTO_FIELDS(visit("low", low); visit("high", high); visit("caller", caller); visit("subject", subject);
              visit("range", range);)
  friend bool operator==(const BoundsAttributes&, const BoundsAttributes&) = default;
};

/// A call that processes of a group make together: how their elements become one ("sum", "min" or "max", where they
/// do), of how many processes, which of them has what the others are given, or is the other end of a message, and the
/// number of the group (core/device/process_group.hpp).
struct CollectiveAttributes {
  std::string reduction = "sum";
  std::int64_t processes = 1;
  std::int64_t root = 0;
  std::int64_t group = 0;
  TYTO_FIELDS(visit("reduction", reduction); visit("processes", processes); visit("root", root); visit("group", group);)
  friend bool operator==(const CollectiveAttributes&, const CollectiveAttributes&) = default;
};

/// Contents known when the node is made.
struct ConstantAttributes {
  Array array;
  TYTO_FIELDS(visit("array", array);)
  friend bool operator==(const ConstantAttributes& a, const ConstantAttributes& b) {
    return a.array.buffer == b.array.buffer && a.array.dtype == b.array.dtype && a.array.view == b.array.view;
  }
};

/// Storage that outlives a run: a placeholder, a persistent tensor or a variable.
struct StateAttributes {
  std::shared_ptr<State> state;
  TYTO_FIELDS(visit("state", state);)
  friend bool operator==(const StateAttributes&, const StateAttributes&) = default;
};

/// One version of a state. Weak, since the state itself holds its newest version.
struct VersionAttributes {
  std::weak_ptr<State> state;
  TYTO_FIELDS(visit("version_of", state.lock());)
  friend bool operator==(const VersionAttributes& a, const VersionAttributes& b) {
    return a.state.lock() == b.state.lock();
  }
};

/// A function given by the user.
struct CustomAttributes {
  std::shared_ptr<const CustomOperator> op;
  TYTO_FIELDS(visit("op", op);)
  friend bool operator==(const CustomAttributes&, const CustomAttributes&) = default;
};

/// A fused group: the program and the shape whose elements it runs over. Inputs broadcast to the shape; results have
/// it, or, where they are reduced over the group's axes or made of what is, ones for those axes.
struct LoopAttributes {
  Shape shape;
  IntList axes;
  LoopProgram program;
  TYTO_FIELDS(visit("shape", shape); visit("axes", axes); visit("program", program);)
  friend bool operator==(const LoopAttributes&, const LoopAttributes&) = default;
};

/// A branch: the number in the first operand chooses which arm runs; one beyond the ends chooses the first or the last.
/// Operands: the number, the key of the arms' random numbers where `keyed`, and what the arms take. Each arm takes the
/// operands after the number and yields the results.
struct BranchAttributes {
  std::vector<Region> arms;
  bool keyed = false;
  std::int64_t draw = 0;  // which draw of its key's stream the arms' keys are made of
  TYTO_FIELDS(visit("arms", arms); visit("keyed", keyed); visit("draw", draw);)
  friend bool operator==(const BranchAttributes&, const BranchAttributes&) = default;
};

/// A loop. Operands, in this order: how often it runs (where `counted`), whether it runs at all (where `tested`), the
/// key of its random numbers (where `keyed`), initial values of the carries, stacks of rows, captured values.
/// Results: the final carries, the stacks of what iterations yield, and, where `tested`, how often it ran.
/// The body takes the carries, the number of the row (where `numbered`), a key of its own (where `keyed`), a row of
/// each stack, the captured values. It updates each carry; its outputs are whether to go on (where `tested`), then the
/// rows of the resulting stacks.
struct IterationAttributes {
  Region body;
  std::int64_t carries = 0;
  std::int64_t rows = 0;       // stacks that are operands
  std::int64_t stacked = 0;    // stacks that are results
  std::int64_t histories = 0;  // the last of them: what gradients keep of each iteration, such as carries as it began
  std::int64_t trips = -1;  // how often it runs, or at most where `counted` or `tested`; -1: not known before it runs
  bool counted = false;
  bool tested = false;
  bool keyed = false;
  bool numbered = false;
  bool reverse = false;   // from the last row to the first
  std::int64_t draw = 0;  // which draw of its key's stream the iterations' keys are made of
  TYTO_FIELDS(visit("carries", carries); visit("rows", rows); visit("stacked", stacked); visit("histories", histories);
              visit("trips", trips); visit("counted", counted); visit("tested", tested); visit("keyed", keyed);
              visit("numbered", numbered); visit("reverse", reverse); visit("draw", draw); visit("body", body);)
  friend bool operator==(const IterationAttributes&, const IterationAttributes&) = default;
};

using Attributes =
    std::variant<NoAttributes, AxesAttributes, VarianceAttributes, AxisAttributes, TopkAttributes, ListAttributes,
                 SliceAttributes, PadAttributes, CastAttributes, RangeAttributes, RandomAttributes, WindowAttributes,
                 ConstantAttributes, StateAttributes, VersionAttributes, CustomAttributes, LoopAttributes,
                 ProductAttributes, AttentionAttributes, NmsAttributes, TransformAttributes, BranchAttributes,
                 IterationAttributes, QuantisationAttributes, BoundsAttributes, ScanAttributes, ArgAttributes,
                 SortAttributes, SearchAttributes, TriangularAttributes, FactoredAttributes, OrthogonalAttributes,
                 CollectiveAttributes>;

/// The attributes of nodes whose operator has none.
extern const Attributes no_attributes;

/// The axis that they name; null where they name none, or several.
std::int64_t* axis_of(Attributes& attributes);

/// The regions that a node with these attributes holds.
std::span<const Region> regions_of(const Attributes& attributes);

/// Hash equal for equal attributes; constants and states count by identity.
std::size_t hash_of(const Attributes& attributes);

/// "axes=(0,1) keepdims=true", empty when there are none.
std::string to_string(const Attributes& attributes);

}  // namespace tyto::core
