// SPDX-License-Identifier: MIT
// Descriptions of tensors: views not computed yet are followed to contents that are there.
#include "tyto/description.hpp"

#include <exception>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "core/device/array_element.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/operator.hpp"
#include "core/graph/released_versions.hpp"
#include "core/graph/symbol.hpp"
#include "core/value/text.hpp"
#include "ops/define.hpp"

namespace tyto TYTO_API {

namespace {

using core::Array;
using core::Node;
using core::OpId;
using core::State;

TensorKind kind_of(const Node& node) {
  if (node.op() != OpId::state) {
    const bool given = node.op() == OpId::constant || node.mode() == core::Mode::eager;
    return given ? TensorKind::constant : TensorKind::computed;
  }
  switch (std::get<core::StateAttributes>(node.attributes()).state->kind()) {
    case State::Kind::placeholder: return TensorKind::input;
    case State::Kind::persistent: return TensorKind::persistent;
    case State::Kind::variable: return TensorKind::persistent | TensorKind::trainable;
    case State::Kind::parameter: break;  // of a region: computed wherever that is called
  }
  return TensorKind::computed;
}

/// The contents that are there; of a placeholder those that it was given.
Array contents_of(const Value& value) {
  const Node& node = *value.node();
  if (const auto holder = core::holder_of(node)) {
    const Value version = holder->held().version;
    return version && !core::is_released(*version.node()) ? holder->current_with_contents().second : Array();
  }
  if (node.op() != OpId::state) return core::result_of(value).array;
  const State& state = *std::get<core::StateAttributes>(node.attributes()).state;
  if (state.kind() == State::Kind::placeholder) return state.assigned();
  const State::Held held = state.held();
  return held.version ? core::result_of(held.version).array : Array();
}

bool shows_a_part(const Array& array) {
  return !core::is_dense(array.view) ||
         static_cast<std::size_t>(array.view.count()) * size_of(array.dtype) != array.buffer->bytes();
}

/// The contents that the value shows, seen through views that are not computed yet.
Array shown_contents(const Value& value) {
  std::vector<const Node*> views;  // the innermost last
  Value source = value;
  Array contents = contents_of(source);
  while (!contents) {
    const Node& node = *source.node();
    if (core::definition(node).view == nullptr || node.inputs().empty()) return {};
    views.push_back(&node);
    source = node.inputs()[0];
    contents = contents_of(source);
  }
  core::View view = contents.view;
  for (std::size_t i = views.size(); i-- > 0;) {
    const std::optional<core::View> next = core::definition(*views[i]).view(views[i]->attributes(), view);
    if (!next) return {};  // a copy, which a plan places
    view = *next;
  }
  contents.dtype = value.dtype();
  contents.view = view;
  return contents;
}

std::optional<TensorLayout> layout_of(const Value& value) {
  // Packed or not, a held constant is dense for all who read it.
  if (core::holder_of(*value.node())) return TensorLayout{core::View::dense(value.shape()).strides, 0, false};
  const Array contents = shown_contents(value);
  if (!contents) return std::nullopt;
  return TensorLayout{contents.view.strides, contents.view.offset, shows_a_part(contents)};
}

}  // namespace

TensorDescription describe(const Value& x) {
  core::require("describe", x);
  return {x.dtype(), x.shape(), kind_of(*x.node()), layout_of(x)};
}

std::ostream& operator<<(std::ostream& out, const TensorDescription& description) {
  out << name_of(description.dtype) << core::text(description.shape);
  if (is(description.kind, TensorKind::constant)) out << " constant";
  if (is(description.kind, TensorKind::input)) out << " input";
  if (is(description.kind, TensorKind::persistent)) out << " persistent";
  if (is(description.kind, TensorKind::trainable)) out << " trainable";
  if (!description.layout) return out << ", with no contents yet";
  return out << (description.layout->is_view ? ", view" : ",") << " with strides "
             << core::text(description.layout->strides) << " from element " << description.layout->offset;
}

namespace detail {

const char* debugger_text(const Value& x) noexcept {
  static std::string shown;
  try {
    if (!x) return "undefined tensor";
    std::ostringstream out;
    out << describe(x);
    if (const Array contents = shown_contents(x)) out << " = " << core::first_numbers(contents, 8);
    shown = out.str();
  } catch (const std::exception& error) {
    shown = error.what();
  }
  return shown.c_str();
}

}  // namespace detail

}  // namespace TYTO_API
