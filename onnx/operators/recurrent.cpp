// SPDX-License-Identifier: MIT
// Recurrent networks: RNN, GRU and LSTM, in either direction, each a scan over the moments.
#include <functional>

#include "onnx/operators/activation.hpp"
#include "onnx/operators/quantisation.hpp"
#include "onnx/program/operators.hpp"
#include "tyto/activations.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

using Activation = std::function<Array(const Array&)>;

/// Activations of all directions in a row; alpha and beta are listed for those that take them, in that order.
class Activations {
 public:
  Activations(const OperatorCall& call, std::vector<std::string> each, std::size_t directions) : call_(call) {
    names_ = call.texts("activations");
    if (names_.empty()) {
      for (std::size_t d = 0; d < directions; ++d) names_.insert(names_.end(), each.begin(), each.end());
    }
    // Written out, the standard's own default is that of two directions, of which one takes the first half.
    if (names_.size() == 2 * each.size() && directions == 1) names_.resize(each.size());
    if (names_.size() != each.size() * directions) {
      call.refuse(names_.size(), " activations, expected ", each.size() * directions);
    }
    alpha_ = call.numbers("activation_alpha");
    beta_ = call.numbers("activation_beta");
  }

  /// The `count` activations of the next direction.
  std::vector<Activation> next(std::size_t count) {
    std::vector<Activation> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(named(names_[at_++]));
    return list;
  }

 private:
  double take(std::vector<double>& from, double otherwise) {
    if (from.empty()) return otherwise;
    const double value = from.front();
    from.erase(from.begin());
    return value;
  }

  // Names are written in any case.
  Activation named(std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name == "sigmoid") return [](const Array& x) { return sigmoid(x); };
    if (name == "tanh") return [](const Array& x) { return tanh(x); };
    if (name == "relu") return [](const Array& x) { return relu(x); };
    if (name == "softsign") return [](const Array& x) { return softsign(x); };
    if (name == "softplus") return [](const Array& x) { return softplus(x); };
    if (name == "leakyrelu") return [a = take(alpha_, 0.01)](const Array& x) { return leaky_relu(x, a); };
    if (name == "elu") return [a = take(alpha_, 1)](const Array& x) { return elu(x, a); };
    if (name == "thresholdedrelu") return [a = take(alpha_, 1)](const Array& x) { return thresholded_relu(x, a); };
    const bool affine = name == "affine", scaled = name == "scaledtanh", hard = name == "hardsigmoid";
    if (!affine && !scaled && !hard) call_.refuse("activation '", name, "' is not known");
    const double a = take(alpha_, hard ? 0.2 : 1), b = take(beta_, hard ? 0.5 : affine ? 0 : 1);
    if (affine) return [a, b](const Array& x) { return x * a + b; };
    if (scaled) return [a, b](const Array& x) { return tanh(x * b) * a; };
    return [a, b](const Array& x) { return hard_sigmoid(x, a, b); };
  }

  const OperatorCall& call_;
  std::vector<std::string> names_;
  std::vector<double> alpha_;
  std::vector<double> beta_;
  std::size_t at_ = 0;
};

/// Weights, options and state of a cell in one direction.
struct Cell {
  Array weights;    // (gates * hidden, in)
  Array recurrent;  // (gates * hidden, hidden)
  Array bias;       // (2 * gates * hidden), or nothing
  Array peepholes;  // (3 * hidden), or nothing
  std::int64_t hidden = 0;
  std::vector<Activation> f;
  double limit = 0;      // 0: none
  bool coupled = false;  // what is not let in is kept: the forget gate of an LSTM follows from its input gate
  bool rounds = false;

  // An operand of a product: x itself, or rounded to bytes by its own range.
  Array entering(const Array& x) const { return rounds ? rounded_by_range(x) : x; }

  Array limited(const Array& x) const { return limit > 0 ? clip(x, -limit, limit) : x; }
  Array part(const Array& x, std::int64_t gate) const { return part_of(x, -1, gate * hidden, (gate + 1) * hidden); }
};

struct CellState {
  Array h;
  Array c;
};

// One step: `given` is what the input contributes to all gates, biases included where they may be added beforehand.
using Step = CellState (*)(const Cell&, const Array& given, const CellState&);

CellState simple_step(const Cell& cell, const Array& given, const CellState& state) {
  return {cell.f[0](cell.limited(given + matmul(state.h, transpose(cell.recurrent)))), {}};
}

// Gates in the order input, output, forget, cell.
CellState lstm_step(const Cell& cell, const Array& given, const CellState& state) {
  const Array gates = given + matmul(cell.entering(state.h), transpose(cell.recurrent));
  const auto peep = [&](const Array& gate, std::int64_t which, const Array& c) {
    return cell.peepholes.defined() ? gate + c * cell.part(cell.peepholes, which) : gate;
  };
  const Array in = cell.f[0](cell.limited(peep(cell.part(gates, 0), 0, state.c)));
  const Array forget = cell.coupled ? 1 - in : cell.f[0](cell.limited(peep(cell.part(gates, 2), 2, state.c)));
  const Array candidate = cell.f[1](cell.limited(cell.part(gates, 3)));
  const Array c = forget * state.c + in * candidate;
  const Array out = cell.f[0](cell.limited(peep(cell.part(gates, 1), 1, c)));
  return {out * cell.f[2](c), c};
}

// Gates in the order update, reset, hidden. The reset gate acts before the recurrent product of the hidden one.
CellState gru_step(const Cell& cell, const Array& given, const CellState& state) {
  const Array both = matmul(state.h, transpose(part_of(cell.recurrent, 0, 0, 2 * cell.hidden)));
  const Array z = cell.f[0](cell.limited(cell.part(given, 0) + cell.part(both, 0)));
  const Array r = cell.f[0](cell.limited(cell.part(given, 1) + cell.part(both, 1)));
  const Array own = part_of(cell.recurrent, 0, 2 * cell.hidden, 3 * cell.hidden);
  const Array h = cell.f[1](cell.limited(cell.part(given, 2) + matmul(r * state.h, transpose(own))));
  return {(1 - z) * h + z * state.h, {}};
}

// The same with the reset gate acting on the product and its bias.
CellState gru_step_reset_after(const Cell& cell, const Array& given, const CellState& state) {
  Array products = matmul(state.h, transpose(cell.recurrent));
  if (cell.bias.defined()) products = products + part_of(cell.bias, 0, 3 * cell.hidden, 6 * cell.hidden);
  const Array z = cell.f[0](cell.limited(cell.part(given, 0) + cell.part(products, 0)));
  const Array r = cell.f[0](cell.limited(cell.part(given, 1) + cell.part(products, 1)));
  const Array h = cell.f[1](cell.limited(cell.part(given, 2) + r * cell.part(products, 2)));
  return {(1 - z) * h + z * state.h, {}};
}

struct Architecture {
  std::int64_t gates;
  std::vector<std::string> activations;
  Step step;
  bool has_cell = false;
  bool bias_apart = false;  // whether the recurrent bias is the step's own affair
  bool quantised = false;   // weights are bytes, transposed, with scale and zero point in inputs 8 to 11
};

struct Run {
  Array outputs;  // (time, batch, hidden)
  CellState last;
};

// Sequences that are over keep their state and yield zeros.
Run run_direction(const Cell& cell, const Architecture& how, const Array& x, const CellState& start,
                  const Array& lengths) {
  Array given = matmul(cell.entering(x), transpose(cell.weights));
  if (cell.bias.defined()) {
    const std::int64_t half = how.gates * cell.hidden;
    given = given + part_of(cell.bias, 0, 0, half);
    if (!how.bias_apart) given = given + part_of(cell.bias, 0, half, 2 * half);
  }
  using States = std::vector<Array>;
  States states{start.h}, rows{given};
  if (how.has_cell) states.push_back(start.c);
  if (lengths.defined()) rows.push_back(Array::arange(axis_length(x, 0)));
  const auto moment = [&](const States& before, const States& in) {
    const CellState state{before[0], how.has_cell ? before[1] : Array()};
    CellState next = how.step(cell, in[0], state);
    Array output = next.h;
    if (lengths.defined()) {
      const Array running = greater(reshape(lengths, {-1, 1}), in[1]);
      output = where(running, output, 0.0);
      next.h = where(running, next.h, state.h);
      if (how.has_cell) next.c = where(running, next.c, state.c);
    }
    return std::pair(how.has_cell ? States{next.h, next.c} : States{next.h}, output);
  };
  const auto [last, outputs] = scan(moment, states, rows);
  return {outputs, {last[0], how.has_cell ? last[1] : Array()}};
}

// Along time, each sequence by its own length.
Array reversed(const Array& x, const Array& lengths) {
  if (!lengths.defined()) return flip(x, 0);
  const std::int64_t steps = axis_length(x, 0);
  Shape across(static_cast<std::size_t>(x.ndim()), 1), along = across;
  across[1] = axis_length(x, 1);
  along[0] = steps;
  const Array time = reshape(Array::arange(steps), along), own = reshape(lengths, across);
  return take_along_axis(x, broadcast_to(where(less(time, own), own - 1 - time, time), x.shape()), 0);
}

Outputs recurrent(const OperatorCall& call, const Architecture& how) {
  const std::string_view direction = call.text("direction", "forward");
  const bool backward_only = direction == "reverse", both = direction == "bidirectional";
  if (!both && !backward_only && direction != "forward") call.refuse("direction '", direction, "'");
  const std::size_t directions = both ? 2 : 1;
  const bool batch_first = call.integer("layout", 0) != 0;
  const bool coupled = how.has_cell && call.integer("input_forget", 0) != 0;
  call.ignore("output_sequence");
  const auto weights = [&](std::size_t input, std::size_t scale) {
    if (!how.quantised) return call[input];
    const auto by_direction = [](const Array& x) { return expand_dims(x.ndim() == 1 ? expand_dims(x, 1) : x, 1); };
    return swapaxes(dequantised(call[input], by_direction(call[scale]), by_direction(call[scale + 1])), 1, 2);
  };
  const Array w = weights(1, 8), r = weights(2, 10);
  const std::int64_t hidden = call.integer("hidden_size", axis_length(r, 2));
  const Array x = batch_first ? swapaxes(call[0], 0, 1) : call[0];
  if (x.ndim() != 3 || w.ndim() != 3 || r.ndim() != 3 || axis_length(w, 0) != static_cast<std::int64_t>(directions)) {
    call.refuse("input ", x.shape(), ", weights ", w.shape(), " and ", r.shape(), " for ", directions, " directions");
  }
  if (hidden != axis_length(r, 2)) call.refuse("hidden_size ", hidden, " with recurrent weights ", r.shape());
  const std::int64_t batch = axis_length(x, 1);
  Array lengths;
  if (call.has(4)) {
    lengths = cast(call[4], DType::i64);
    if (lengths.size() != batch) call.refuse(lengths.size(), " lengths for ", batch, " sequences");
    // Sequences that all last to the end need no masks.
    if (call.known(4)) {
      bool whole = true;
      for (const std::int64_t length : call.integers_in(4)) whole = whole && length == axis_length(x, 0);
      if (whole) lengths = Array();
    }
  }
  const auto initial = [&](std::size_t input, std::size_t d) {
    if (!call.has(input)) return broadcast_to(Array::full({}, 0.0, x.dtype()), {batch, hidden});
    const Array all_directions = batch_first ? swapaxes(call[input], 0, 1) : call[input];
    return at_position(all_directions, 0, d);
  };
  const double limit = call.number("clip", 0);
  Activations activations(call, how.activations, directions);
  std::vector<Array> outputs, last_h, last_c;
  for (std::size_t d = 0; d < directions; ++d) {
    Cell cell;
    cell.weights = at_position(w, 0, d);
    cell.recurrent = at_position(r, 0, d);
    if (call.has(3)) cell.bias = at_position(call[3], 0, d);
    if (call.has(7)) cell.peepholes = at_position(call[7], 0, d);
    cell.hidden = hidden;
    cell.f = activations.next(how.activations.size());
    cell.limit = limit;
    cell.coupled = coupled;
    cell.rounds = how.quantised;
    const bool backward = backward_only || d == 1;
    const CellState start{initial(5, d), initial(6, d)};
    const Run run = run_direction(cell, how, backward ? reversed(x, lengths) : x, start, lengths);
    outputs.push_back(backward ? reversed(run.outputs, lengths) : run.outputs);
    last_h.push_back(run.last.h);
    if (run.last.c.defined()) last_c.push_back(run.last.c);
  }
  Array y = stack(outputs, 1), h = stack(last_h, 0);
  Array c = last_c.empty() ? Array() : stack(last_c, 0);
  if (batch_first) {
    y = transpose(y, {2, 0, 1, 3});
    h = swapaxes(h, 0, 1);
    if (c.defined()) c = swapaxes(c, 0, 1);
  }
  return {y, h, c};
}

Outputs simple_recurrent(const OperatorCall& call) { return recurrent(call, {1, {"tanh"}, simple_step}); }
Outputs long_short_term(const OperatorCall& call) {
  return recurrent(call, {4, {"sigmoid", "tanh", "tanh"}, lstm_step, true});
}
Outputs long_short_term_in_bytes(const OperatorCall& call) {
  return recurrent(call, {4, {"sigmoid", "tanh", "tanh"}, lstm_step, true, false, true});
}
Outputs gated(const OperatorCall& call) {
  const bool after = call.integer("linear_before_reset", 0) != 0;
  return recurrent(call, {3, {"sigmoid", "tanh"}, after ? gru_step_reset_after : gru_step, false, after});
}

constexpr OperatorRow recurrent_table[] = {
    {"GRU", 7, gated},
    {"LSTM", 7, long_short_term},
    {"RNN", 7, simple_recurrent},
};

constexpr OperatorRow microsoft_recurrent_table[] = {
    {"DynamicQuantizeLSTM", 1, long_short_term_in_bytes},
};

}  // namespace

std::span<const OperatorRow> recurrent_rows() { return recurrent_table; }
std::span<const OperatorRow> microsoft_recurrent_rows() { return microsoft_recurrent_table; }

}  // namespace tyto::onnx
