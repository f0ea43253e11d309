// SPDX-License-Identifier: MIT
// Operators of collective calls: reduce, gather, scatter, broadcast, send and receive, each with its gradient.
#include <string>
#include <tuple>

#include "core/device/process_group.hpp"
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"
#include "ops/samples.hpp"
#include "tyto/choosing.hpp"
#include "tyto/distributed.hpp"
#include "tyto/shaping.hpp"

namespace tyto::core {

namespace {

using T = AnyTensor;

const CollectiveAttributes& checked(std::string_view op, const Attributes& attributes) {
  const auto& collective = get<CollectiveAttributes>(attributes);
  (void)reduction_named(op, collective.reduction);
  if (collective.processes < 1) throw_error<ValueError>(op, ": ", collective.processes, " processes are no group");
  // Rules remove it, whatever group there is when it runs; the graph may be from a file.
  if (collective.processes == 1) {
    (void)processes_of_call(op);
    require_group_of(1, op, collective.group);
  }
  if (collective.root < 0 || collective.root >= collective.processes) {
    throw_error<IndexError>(op, ": there is no process ", collective.root, "; there are ", collective.processes,
                            ", from 0 on");
  }
  return collective;
}

// Throws for types that transports do not add and compare.
void check_numbers(std::string_view op, DType dtype) {
  if (is_integer(dtype) || dtype == DType::f32 || dtype == DType::f64) return;
  throw_error<TypeError>(op, ": elements are integers, f32 or f64, not ", dtype);
}

template <OpId id>
std::vector<TensorType> infer_each(const Attributes& attributes, std::span<const TensorType> inputs) {
  (void)checked(definition(id).name, attributes);
  if (id == OpId::all_reduce) check_numbers(definition(id).name, inputs[0].dtype);
  return infer_same(attributes, inputs);
}

std::vector<TensorType> infer_gathered(const Attributes& attributes, std::span<const TensorType> inputs) {
  Shape shape = inputs[0].shape;
  shape.insert(0, checked("all_gather", attributes).processes);
  return one(inputs[0].dtype, std::move(shape));
}

std::vector<TensorType> infer_scattered(const Attributes& attributes, std::span<const TensorType> inputs) {
  const CollectiveAttributes& collective = checked("reduce_scatter", attributes);
  check_numbers("reduce_scatter", inputs[0].dtype);
  const Shape& shape = inputs[0].shape;
  if (collective.reduction != "sum") {
    throw_error<ValueError>("reduce_scatter: '", collective.reduction, "' is not offered; sum is");
  }
  if (shape.empty() || shape[0] != collective.processes) {
    throw_error<ShapeError>("reduce_scatter: ", shape, " has no part for each of ", collective.processes, " processes");
  }
  return one(inputs[0].dtype, Shape(std::span<const std::int64_t>(shape.data() + 1, shape.size() - 1)));
}

/// The operator on numbers that transports add: halves are f32 meanwhile, complex ones their parts.
template <class Call>
Value on_numbers(const Value& x, const Call& call) {
  const DType dtype = x.dtype();
  if (is_complex(dtype)) return of_parts(call(as_parts(x)));
  if (dtype == DType::f16 || dtype == DType::bf16) return cast_to(call(cast_to(x, DType::f32)), dtype);
  return call(x);
}

Value same_group(OpId op, const Attributes& attributes, const Value& x) {
  const auto& collective = get<CollectiveAttributes>(attributes);
  return emit(op, CollectiveAttributes{.processes = collective.processes, .group = collective.group}, {x});
}

// A sum hands its gradient, which all processes have a part of, to every operand. Equal extremes share it evenly.
std::vector<Value> all_reduce_gradient(const GradientContext& c) {
  const T total = same_group(OpId::all_reduce, c.attributes, c.gradients[0]);
  if (get<CollectiveAttributes>(c.attributes).reduction == "sum") return {total};
  const T x = c.inputs[0];
  const T chosen = cast(equal(x, T(c.results[0])), x.dtype());
  return {total * chosen / T(same_group(OpId::all_reduce, c.attributes, chosen))};
}

std::vector<Value> all_gather_gradient(const GradientContext& c) {
  return {on_numbers(c.gradients[0],
                     [&](const Value& each) { return same_group(OpId::reduce_scatter, c.attributes, each); })};
}

std::vector<Value> reduce_scatter_gradient(const GradientContext& c) {
  return {same_group(OpId::all_gather, c.attributes, c.gradients[0])};
}

// The value of `root` alone had consumers everywhere: it gets the sum, the others zeros. All processes record the same
// graph for that, whatever their rank, so that passes do the same to each.
std::vector<Value> broadcast_gradient(const GradientContext& c) {
  const auto& collective = get<CollectiveAttributes>(c.attributes);
  return {on_numbers(c.gradients[0], [&](const Value& gradient) -> Value {
    const T own = expand_dims(T(gradient), {0});
    const T zeros = zeros_like(own);
    std::vector<T> parts(static_cast<std::size_t>(collective.processes), zeros);
    parts[static_cast<std::size_t>(collective.root)] = own;
    return same_group(OpId::reduce_scatter, c.attributes, concat(parts));
  })};
}

std::vector<Value> barrier_gradient(const GradientContext& c) { return {c.gradients[0]}; }

// A process alone has no messages: both operators are nothing there.
bool is_alone(const GradientContext& c) { return get<CollectiveAttributes>(c.attributes).processes == 1; }

std::vector<Value> send_gradient(const GradientContext& c) {
  const T own = c.gradients[0];
  if (is_alone(c)) return {own};
  return {own + T(emit(OpId::recv, get<CollectiveAttributes>(c.attributes), {own}))};
}

// Zeros that depend on the message: outside of compiled functions lazy mode runs what is read.
std::vector<Value> recv_gradient(const GradientContext& c) {
  if (is_alone(c)) return {c.gradients[0]};
  const T sent = emit(OpId::send, get<CollectiveAttributes>(c.attributes), {c.gradients[0]});
  return {where(T(full_like(sent, {}, 0.0, DType::boolean)), sent, zeros_like(sent))};
}

}  // namespace

std::span<const OpDef> collective_operators() {
  static const OpDef rows[] = {
      {.id = OpId::all_reduce,
       .doc = "The elements of all processes combined.",
       .traits = traits(Traits::effect),
       .in_place = InPlace::same_index,
       .infer = infer_each<OpId::all_reduce>,
       .gradient = all_reduce_gradient,
       .sample = [](DType t) -> Value { return distributed::all_reduce(samples::line(t)); }},
      {.id = OpId::all_gather,
       .doc = "The tensors of all processes, stacked.",
       .traits = traits(Traits::effect),
       .infer = infer_gathered,
       .gradient = all_gather_gradient,
       .sample = [](DType t) -> Value { return distributed::all_gather(samples::line(t)); }},
      {.id = OpId::reduce_scatter,
       .doc = "The sum over all processes, of which each keeps a part.",
       .traits = traits(Traits::effect),
       .infer = infer_scattered,
       .gradient = reduce_scatter_gradient,
       .sample = [](DType t) -> Value { return distributed::reduce_scatter(samples::line(t)); }},
      {.id = OpId::broadcast,
       .doc = "The tensor of one process, on all of them.",
       .traits = traits(Traits::effect),
       .in_place = InPlace::same_index,
       .infer = infer_each<OpId::broadcast>,
       .gradient = broadcast_gradient,
       .sample = [](DType t) -> Value { return distributed::broadcast(samples::line(t)); }},
      {.id = OpId::barrier,
       .doc = "The tensor as it is, once all processes are there.",
       .traits = traits(Traits::effect),
       .in_place = InPlace::same_index,
       .infer = infer_each<OpId::barrier>,
       .gradient = barrier_gradient,
       .sample = [](DType t) -> Value { return distributed::barrier(samples::line(t)); }},
      {.id = OpId::send,
       .doc = "The tensor as it is, which another process receives.",
       .traits = traits(Traits::effect),
       .in_place = InPlace::same_index,
       .infer = infer_each<OpId::send>,
       .gradient = send_gradient,
       .sample = [](DType t) -> Value { return distributed::send(samples::line(t), 0); }},
      {.id = OpId::recv,
       .doc = "What another process sends, of the operand's type and shape.",
       .traits = traits(Traits::effect),
       .in_place = InPlace::same_index,
       .infer = infer_each<OpId::recv>,
       .gradient = recv_gradient,
       .sample = [](DType t) -> Value { return distributed::recv(samples::line(t), 0); }},
  };
  return rows;
}

namespace {

Value call(OpId op, CollectiveAttributes attributes, const Value& x) {
  attributes.processes = processes_of_call(definition(op).name);
  attributes.group = process_group_number();
  return emit(op, std::move(attributes), {x});
}

/// As it is to be sent: a number takes its type.
Value sent(std::string_view op, const Value& x) {
  const Value known = given(op, x);
  return cast_to(known, known.dtype());
}

/// Bytes are what they are, whatever they stand for.
template <class Call>
Value on_bytes(const Value& x, const Call& call) {
  return is_complex(x.dtype()) ? of_parts(call(as_parts(x))) : call(x);
}

/// A message to or from the process `peer`.
Value message(OpId op, const Value& x, int peer) {
  const std::string_view name = definition(op).name;
  const Value known = sent(name, x);
  const ProcessGroup& group = process_group();
  if (group.size() > 1 && peer == group.rank()) {
    throw_error<IndexError>(name, ": process ", peer, " has no messages for itself");
  }
  return on_bytes(known, [&](const Value& each) { return call(op, {.root = peer}, each); });
}

const char* name_of(distributed::Reduce how) {
  return how == distributed::Reduce::min ? "min" : how == distributed::Reduce::max ? "max" : "sum";
}

Value reduced(const Value& x, distributed::Reduce how) {
  const bool adds = how == distributed::Reduce::sum || how == distributed::Reduce::mean;
  if (!adds && is_complex(x.dtype())) {
    throw_error<TypeError>("all_reduce: complex numbers have no ", name_of(how), "; reduce their parts or magnitudes");
  }
  if (how == distributed::Reduce::mean) {
    const T total = reduced(as_floating(x), distributed::Reduce::sum);
    return total / static_cast<double>(process_group().size());
  }
  if (x.dtype() == DType::boolean) {
    if (adds) throw TypeError("all_reduce: truths are not added; cast them to integers, or ask for min or max");
    return cast_to(reduced(cast_to(x, DType::u8), how), DType::boolean);
  }
  return on_numbers(x, [&](const Value& each) { return call(OpId::all_reduce, {.reduction = name_of(how)}, each); });
}

/// The shape with the first two axes as one.
Shape with_first_axes_joined(const Shape& shape) {
  Shape out{shape[0] * (shape.size() > 1 ? shape[1] : 1)};
  for (std::size_t i = 2; i < shape.size(); ++i) out.push_back(shape[i]);
  return out;
}

}  // namespace

}  // namespace tyto::core

namespace tyto {
namespace distributed TYTO_API {

template <class M>
Tensor<M> all_reduce(const Tensor<M>& x, Reduce how) {
  return core::reduced(core::sent("all_reduce", x), how);
}

template <class M>
Tensor<M> all_gather(const Tensor<M>& x) {
  const core::AnyTensor stacked = core::on_bytes(
      core::sent("all_gather", x), [](const Value& each) { return core::call(core::OpId::all_gather, {}, each); });
  return Value(reshape(stacked, core::with_first_axes_joined(stacked.shape())));
}

template <class M>
Tensor<M> reduce_scatter(const Tensor<M>& x) {
  const core::AnyTensor whole = core::sent("reduce_scatter", x);
  const std::int64_t processes = core::process_group().size();
  if (whole.shape().empty() || whole.shape()[0] % processes != 0) {
    core::throw_error<ShapeError>("reduce_scatter: axis 0 of ", whole.shape(), " has no equal parts for ", processes,
                                  " processes");
  }
  if (whole.dtype() == DType::boolean) throw TypeError("reduce_scatter: truths are not added; cast them to integers");
  Shape parts = whole.shape();
  parts[0] /= processes;
  parts.insert(0, processes);
  return core::on_numbers(reshape(whole, parts),
                          [](const Value& each) { return core::call(core::OpId::reduce_scatter, {}, each); });
}

template <class M>
Tensor<M> broadcast(const Tensor<M>& x, int root) {
  return core::on_bytes(core::sent("broadcast", x),
                        [root](const Value& each) { return core::call(core::OpId::broadcast, {.root = root}, each); });
}

template <class M>
Tensor<M> barrier(const Tensor<M>& x) {
  return core::on_bytes(core::sent("barrier", x),
                        [](const Value& each) { return core::call(core::OpId::barrier, {}, each); });
}

template <class M>
Tensor<M> send(const Tensor<M>& x, int to) {
  return core::message(core::OpId::send, x, to);
}

template <class M>
Tensor<M> recv(const Tensor<M>& like, int from) {
  return core::message(core::OpId::recv, like, from);
}

namespace {

// This process's share of all samples, exchanged once for all tensors; undefined for a process alone.
core::AnyTensor share_of(const std::vector<core::AnyTensor>& own, std::int64_t samples) {
  if (samples < 0) core::throw_error<ValueError>("average: ", samples, " samples are none");
  for (const core::AnyTensor& each : own) {
    if (is_floating(each.dtype()) || is_complex(each.dtype())) continue;
    core::throw_error<TypeError>("average: the mean of ", each.dtype(), " is no ", each.dtype(),
                                 "; cast it to f32 or f64");
  }
  if (core::processes_of_call("average") == 1 || own.empty()) return {};
  const core::AnyTensor count = core::full_like(own[0], {}, static_cast<double>(samples), DType::f64);
  return count / core::AnyTensor(core::reduced(count, Reduce::sum));
}

// Halves are weighted, and summed, in f32.
core::AnyTensor weighted_by(const core::AnyTensor& own, const core::AnyTensor& share) {
  const DType dtype = own.dtype();
  const DType wide = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
  return cast(own, wide) * cast(share, wide);
}

std::vector<core::AnyTensor> averages_of(std::vector<core::AnyTensor> own, std::int64_t samples,
                                         bool are_summed = true) {
  const core::AnyTensor share = share_of(own, samples);
  for (std::size_t i = share.defined() ? own.size() : 0; i-- > 0;) {
    const core::AnyTensor part = weighted_by(own[i], share);
    own[i] = are_summed ? cast(core::AnyTensor(core::reduced(part, Reduce::sum)), own[i].dtype()) : part;
  }
  return own;
}

template <class M>
std::vector<core::AnyTensor> all_sent(const std::vector<Tensor<M>>& gradients) {
  std::vector<core::AnyTensor> own;
  for (const Tensor<M>& gradient : gradients) own.emplace_back(core::sent("average", gradient));
  return own;
}

template <class M>
std::vector<Tensor<M>> in_mode(const std::vector<core::AnyTensor>& tensors) {
  std::vector<Tensor<M>> out;
  for (const core::AnyTensor& each : tensors) out.emplace_back(Value(each));
  return out;
}

}  // namespace

template <class M>
Tensor<M> average(const Tensor<M>& x, std::int64_t samples) {
  return Value(averages_of({core::sent("average", x)}, samples)[0]);
}

template <class M>
std::vector<Tensor<M>> average(const std::vector<Tensor<M>>& gradients, std::int64_t samples) {
  return in_mode<M>(averages_of(all_sent(gradients), samples));
}

template <class M>
Weighted<M> weighted(const std::vector<Tensor<M>>& gradients, std::int64_t samples) {
  return {in_mode<M>(averages_of(all_sent(gradients), samples, false))};
}

#define TYTO_KEEP(name, ...)                                                                                \
  [[gnu::used]] static constexpr auto tyto_keep_##name =                                                    \
      std::tuple<Tensor<Eager> (*)(const Tensor<Eager>& __VA_OPT__(, ) __VA_ARGS__),                        \
                 Tensor<Lazy> (*)(const Tensor<Lazy>& __VA_OPT__(, ) __VA_ARGS__),                          \
                 Tensor<Any> (*)(const Tensor<Any>& __VA_OPT__(, ) __VA_ARGS__)>(&name<Eager>, &name<Lazy>, \
                                                                                 &name<Any>);
TYTO_KEEP(all_reduce, Reduce)
TYTO_KEEP(all_gather)
TYTO_KEEP(reduce_scatter)
TYTO_KEEP(broadcast, int)
TYTO_KEEP(barrier)
TYTO_KEEP(send, int)
TYTO_KEEP(recv, int)
TYTO_KEEP(average, std::int64_t)
template std::vector<Tensor<Eager>> average(const std::vector<Tensor<Eager>>&, std::int64_t);
template Weighted<Eager> weighted(const std::vector<Tensor<Eager>>&, std::int64_t);
template std::vector<Tensor<Lazy>> average(const std::vector<Tensor<Lazy>>&, std::int64_t);
template Weighted<Lazy> weighted(const std::vector<Tensor<Lazy>>&, std::int64_t);
template std::vector<Tensor<Any>> average(const std::vector<Tensor<Any>>&, std::int64_t);
template Weighted<Any> weighted(const std::vector<Tensor<Any>>&, std::int64_t);
#undef TYTO_KEEP

}  // namespace TYTO_API
}  // namespace tyto
