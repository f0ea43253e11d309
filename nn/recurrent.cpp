// SPDX-License-Identifier: MIT
// Recurrent layers: a scan over the times for each layer and direction.
#include "tyto/nn/recurrent.hpp"

#include "nn/layer_parts.hpp"
#include "nn/running_call.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/flow.hpp"
#include "tyto/indexing.hpp"
#include "tyto/products.hpp"

namespace tyto TYTO_API {
namespace nn {

namespace {

/// Names of states as in PyTorch: "weight_ih_l0", "weight_ih_l0_reverse", "weight_ih_l1", ...
std::string name_of_network(const char* what, std::size_t network, std::size_t directions) {
  return core::text(what, "_l", network / directions, network % directions == 1 ? "_reverse" : "");
}

Tensor<Any> part_of(const Tensor<Any>& states, std::size_t network) {
  return states.get({static_cast<std::int64_t>(network)});
}

}  // namespace

Recurrent::Recurrent(const char* name, std::int64_t gates, bool has_cell, const RecurrentOptions& given)
    : options(given), name_(name), has_cell_(has_cell) {
  if (given.in < 1 || given.hidden < 1 || given.layers < 1) {
    core::throw_error<ValueError>(name, ": in = ", given.in, ", hidden = ", given.hidden,
                                  " and layers = ", given.layers, " must be at least 1");
  }
  if (!(given.dropout >= 0 && given.dropout < 1)) {
    core::throw_error<ValueError>(name, ": the dropout ", given.dropout, " must be in [0, 1)");
  }
  if (given.projection != 0 && (!has_cell || given.projection < 1 || given.projection >= given.hidden)) {
    core::throw_error<ValueError>(
        name, ": the projection ", given.projection, " must be ",
        has_cell ? core::text("0 (none), or from 1 to below hidden = ", given.hidden) : "0; an LSTM has one");
  }
  const std::int64_t directions = given.bidirectional ? 2 : 1;
  const std::int64_t width = gates * given.hidden;
  // All weights of all gates begin within 1 / sqrt(hidden), as PyTorch's do, unless another initialiser is given.
  const Fans fans{static_cast<double>(given.hidden), static_cast<double>(given.hidden)};
  for (std::int64_t network = 0; network < given.layers * directions; ++network) {
    const std::int64_t features = network < directions ? given.in : given_on() * directions;
    weights_in.push_back(weight_parameter("weight_ih", given.initial, {features, width}, fans, given.dtype));
    weights_hidden.push_back(weight_parameter("weight_hh", given.initial, {given_on(), width}, fans, given.dtype));
    if (given.projection > 0) {
      const Shape shape{given.hidden, given.projection};
      projections.push_back(weight_parameter("weight_hr", given.initial, shape, fans, given.dtype));
    }
    if (!given.bias) continue;
    biases_in.push_back(zero_parameter("bias_ih", {width}, given.dtype));
    biases_hidden.push_back(zero_parameter("bias_hh", {width}, given.dtype));
  }
}

Members Recurrent::members() const {
  Members list;
  const std::size_t directions = options.bidirectional ? 2 : 1;
  for (std::size_t i = 0; i < weights_in.size(); ++i) {
    const IntList exchanged{1, 0};
    list.emplace_back(name_of_network("weight_ih", i, directions), weights_in[i], StateKind::parameter, exchanged);
    list.emplace_back(name_of_network("weight_hh", i, directions), weights_hidden[i], StateKind::parameter, exchanged);
    if (options.bias) {
      list.emplace_back(name_of_network("bias_ih", i, directions), biases_in[i]);
      list.emplace_back(name_of_network("bias_hh", i, directions), biases_hidden[i]);
    }
    if (projections.empty()) continue;
    list.emplace_back(name_of_network("weight_hr", i, directions), projections[i], StateKind::parameter, exchanged);
  }
  return list;
}

Tensor<Any> Recurrent::from_hidden(const Tensor<Any>& hidden, std::size_t network) const {
  const Tensor<Any> product = matmul(to_multiply(hidden), to_multiply(weights_hidden[network]));
  return options.bias ? product + to_multiply(biases_hidden[network]) : product;
}

Tensor<Any> Recurrent::initial_part(const char* what, const Tensor<Any>& given, const Tensor<Any>& x,
                                    std::int64_t features) const {
  const Shape shape{static_cast<std::int64_t>(weights_in.size()), x.shape()[0], features};
  if (!given.defined()) return to_multiply(Tensor<Any>::zeros(shape, x.dtype()));
  if (given.shape() != shape) {
    core::throw_error<ShapeError>(name_, ": the initial ", what, " state ", given.shape(), " must be ", shape);
  }
  return to_multiply(given);
}

Recurrence<Any> Recurrent::read(const Tensor<Any>& x, const RecurrentState<Any>& initial, Phase phase) const {
  Recurrence<Any> result;
  LayerCall(*this, phase).run([&] {
    result = run_networks(x, initial, phase);
    return result.output;
  });
  return result;
}

Recurrence<Any> Recurrent::run_networks(const Tensor<Any>& x, const RecurrentState<Any>& initial, Phase phase) const {
  check_floating(name_, x);
  if (x.ndim() != 3 || x.shape()[2] != options.in || x.shape()[1] < 1) {
    core::throw_error<ShapeError>(name_, ": x ", x.shape(), " must be (batch, time, ", options.in,
                                  ") with at least one time step");
  }
  if (!has_cell_ && initial.cell.defined()) {
    core::throw_error<ValueError>(name_, ": it has no cell state; only the hidden state can be given");
  }
  const Tensor<Any> hidden = initial_part("hidden", initial.hidden, x, given_on());
  const Tensor<Any> cell = has_cell_ ? initial_part("cell", initial.cell, x, options.hidden) : Tensor<Any>();
  const std::size_t directions = options.bidirectional ? 2 : 1;
  std::vector<Tensor<Any>> last_hidden, last_cell;
  Tensor<Any> y = swapaxes(x, 0, 1);  // (time, batch, features)
  for (std::size_t network = 0; network < weights_in.size(); network += directions) {
    if (network > 0 && options.dropout > 0 && is_training(name_, phase)) y = y * dropout_mask(y, options.dropout);
    std::vector<Tensor<Any>> results;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::size_t number = network + direction;
      // One product for all times; what depends on the time before is left for the steps.
      Tensor<Any> gates = matmul(to_multiply(y), to_multiply(weights_in[number]));
      if (options.bias) gates = gates + to_multiply(biases_in[number]);
      using States = std::vector<Tensor<Any>>;
      States start{part_of(hidden, number)};
      if (has_cell_) start.push_back(part_of(cell, number));
      const auto [last, outputs] = scan(
          [&](const States& before, const Tensor<Any>& in) {
            const RecurrentState<Any> after = step(in, {before[0], has_cell_ ? before[1] : Tensor<Any>()}, number);
            return std::pair(has_cell_ ? States{after.hidden, after.cell} : States{after.hidden}, after.hidden);
          },
          start, gates, {.reverse = direction == 1});
      results.push_back(outputs);
      last_hidden.push_back(last[0]);
      if (has_cell_) last_cell.push_back(last[1]);
    }
    y = directions == 1 ? results[0] : concat(results, -1);
  }
  return {swapaxes(y, 0, 1), {stack(last_hidden, 0), has_cell_ ? stack(last_cell, 0) : Tensor<Any>()}};
}

Tensor<Any> Recurrent::forward(const Tensor<Any>& x, Phase phase) const { return read(x, {}, phase).output; }

RecurrentState<Any> RNN::step(const Tensor<Any>& in, const RecurrentState<Any>& before, std::size_t network) const {
  const Tensor<Any> sum = in + from_hidden(before.hidden, network);
  return {activation == RecurrentActivation::relu ? relu(sum) : tanh(sum), {}};
}

RecurrentState<Any> LSTM::step(const Tensor<Any>& in, const RecurrentState<Any>& before, std::size_t network) const {
  const std::vector<Tensor<Any>> gates = split(in + from_hidden(before.hidden, network), 4, 1);
  const Tensor<Any> cell = sigmoid(gates[1]) * before.cell + sigmoid(gates[0]) * tanh(gates[2]);
  const Tensor<Any> hidden = sigmoid(gates[3]) * tanh(cell);
  return {projections.empty() ? hidden : matmul(hidden, to_multiply(projections[network])), cell};
}

RecurrentState<Any> GRU::step(const Tensor<Any>& in, const RecurrentState<Any>& before, std::size_t network) const {
  const std::vector<Tensor<Any>> x = split(in, 3, 1);
  const std::vector<Tensor<Any>> h = split(from_hidden(before.hidden, network), 3, 1);
  const Tensor<Any> reset = sigmoid(x[0] + h[0]);
  const Tensor<Any> update = sigmoid(x[1] + h[1]);
  const Tensor<Any> fresh = tanh(x[2] + reset * h[2]);
  return {fresh + update * (before.hidden - fresh), {}};
}

}  // namespace nn
}  // namespace TYTO_API
