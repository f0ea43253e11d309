// SPDX-License-Identifier: MIT
// Models as users see them: a file's graph made a program, run at once in eager mode and in planned segments in lazy
// mode.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <ostream>

#include "core/system/mapped_file.hpp"
#include "onnx/file/element_types.hpp"
#include "onnx/file/model_file.hpp"
#include "onnx/file/small_floats.hpp"
#include "onnx/program/inspection.hpp"
#include "onnx/program/program.hpp"
#include "onnx/program/recording.hpp"
#include "onnx/program/segments.hpp"
#include "tyto/onnx.hpp"
#include "tyto/shaping.hpp"
#include "tyto/subnormals.hpp"

namespace tyto::onnx {

namespace {

ModelTensor described(const ValueMessage& value) {
  ModelTensor tensor{.name = std::string(value.name),
                     .sequence = value.is_sequence && value.holds_tensors,
                     .optional = value.is_optional,
                     .dtype = dtype_from(value.element_type),
                     .shape = {},
                     .stored_as = {}};
  if (is_storage_type(value.element_type)) tensor.stored_as = element_type_name(value.element_type);
  if (!value.dimensions) return tensor;
  tensor.shape.emplace();
  for (const DimensionMessage& dimension : *value.dimensions) {
    // Exporters write -1, and 0, for a length that they do not know.
    const bool stated = dimension.length && *dimension.length > 0;
    tensor.shape->push_back({stated ? dimension.length : std::nullopt, std::string(dimension.symbol)});
  }
  return tensor;
}

void count_operators(const std::vector<NodeMessage>& nodes, std::map<std::string, std::int64_t>& counts) {
  for (const NodeMessage& node : nodes) {
    const std::string_view domain = canonical_domain(node.domain);
    ++counts[domain.empty() ? std::string(node.operator_name) : core::text(domain, ".", node.operator_name)];
    for (const AttributeMessage& attribute : node.attributes) {
      if (attribute.graph) count_operators(attribute.graph->nodes, counts);
    }
  }
}

ModelInfo info_of(const ModelMessage& model) {
  ModelInfo info;
  info.ir_version = model.ir_version;
  info.producer = std::string(model.producer);
  if (!model.producer_version.empty()) info.producer = core::text(model.producer, " ", model.producer_version);
  for (const OperatorSet& set : model.operator_sets) info.operator_sets.emplace_back(set.domain, set.version);
  for (const auto& [key, value] : model.metadata) info.metadata.emplace_back(key, value);
  std::map<std::string, std::int64_t> counts;
  count_operators(model.graph->nodes, counts);
  for (const auto& [name, count] : counts) info.operators.push_back({name, count});
  info.nodes = nodes_of(*model.graph);
  return info;
}

ModelMessage with_outputs(const std::string& file, ModelMessage model, const std::vector<std::string>& names) {
  add_outputs(file, *model.graph, names);
  return model;
}

OperatorScope scope_of(const std::string& file, const ModelMessage& model, Limits& limits, std::int64_t& budget) {
  OperatorScope scope;
  for (const OperatorSet& set : model.operator_sets) {
    const std::string_view domain = canonical_domain(set.domain);
    if (!scope.versions.emplace(domain, set.version).second && scope.versions[domain] != set.version) {
      refuse(file, "imports two versions of the operator set '", domain, "'");
    }
  }
  // Operators of ONNX Runtime's own are used without saying so by some exporters.
  scope.versions.emplace("com.microsoft", 1);
  scope.functions = &model.functions;
  scope.limits = &limits;
  scope.budget = &budget;
  const auto version = scope.versions.find("");
  if (version != scope.versions.end() && version->second > newest_operator_set) {
    refuse(file, "imports operator set ", version->second, "; the newest known is ", newest_operator_set);
  }
  return scope;
}

class Model final : public detail::OnnxCore, public std::enable_shared_from_this<Model> {
 public:
  Model(const std::string& file, std::shared_ptr<const core::MappedFile> mapping, std::vector<std::byte> copy,
        const std::string& folder, const OnnxOptions& options, bool lazy)
      : mapping_(std::move(mapping)),
        copy_(std::move(copy)),
        weights_(file, mapping_, folder, lazy),
        message_(with_outputs(file, read_model(file, mapping_ ? mapping_->bytes() : std::span<const std::byte>(copy_)),
                              options.outputs)),
        limits_(options),
        budget_(static_cast<std::int64_t>((mapping_ ? mapping_->bytes().size() : copy_.size()))),
        program_(*message_.graph, scope_of(file, message_, limits_, budget_), weights_),
        info_(info_of(message_)),
        lazy_(lazy),
        options_(options),
        segments_(program_, options.compile, limits_, recording_) {
    program_.check_supported();
    if (!options.keep_subnormals) drops_subnormals_ = holds_subnormals();
    for (const Operand& operand : program_.start()) {
      if (operand.stored != nullptr) {
        info_.parameters += element_count(Shape(std::span(operand.stored->lengths)));
        info_.parameter_bytes += std::ssize(operand.stored->raw);
      }
      if (!operand.known || !operand.tensor.defined()) continue;
      info_.parameters += operand.tensor.size();
      info_.parameter_bytes += operand.tensor.size() * static_cast<std::int64_t>(size_of(operand.tensor.dtype()));
    }
    list_inputs();
    for (const ValueMessage& output : message_.graph->outputs) outputs_.push_back(described(output));
    prepare();
  }

  const std::vector<ModelTensor>& inputs() const override { return inputs_; }
  const std::vector<ModelTensor>& outputs() const override { return outputs_; }
  const ModelInfo& info() const override { return info_; }
  const MemoryPlan& plan() const override { return own_.plan(); }
  std::vector<GraphReport> reports() const override { return own_.reports(); }
  std::shared_ptr<OnnxCore> session() override;

  NamedList<Tensor<Eager>> call(const NamedList<Tensor<Eager>>& given) override { return call(given, own_); }
  NamedList<Tensor<Lazy>> call(const NamedList<Tensor<Lazy>>& given) override { return call(given, own_); }

  template <class T>
  NamedList<T> call(const NamedList<T>& given, SegmentSession& session) {
    // Eager calls run the program itself, and what counts against limits counts for all: they take turns.
    std::unique_lock lock(recording_, std::defer_lock);
    if (!lazy_ || limits_.counts()) lock.lock();
    return limits_.within(weights_.file(), [&] { return called(given, session); });
  }
  Segments& segments() { return segments_; }

  Graph graph(const NamedList<Shape>& shapes) override {
    const std::lock_guard lock(recording_);
    return limits_.within(weights_.file(), [&] {
      Graph whole = recorded(shapes, nullptr);
      if (limits_.bounds_bytes()) whole.prepare();
      return whole;
    });
  }

  Graph graph_for(const NamedList<Value>& given) override {
    const std::lock_guard lock(recording_);
    NamedList<Shape> shapes;
    for (const Named<Value>& each : given) shapes.push_back({each.name, each.value.shape()});
    return limits_.within(weights_.file(), [&] {
      Graph whole = recorded(shapes, &given);
      std::vector<Tensor<Lazy>> inputs = whole.inputs();
      std::size_t next = 0;
      for (const ModelTensor& input : inputs_) {
        for (const Named<std::optional<Shape>>& each : settled(input, shapes)) {
          whole.set(inputs[next++], Tensor<Lazy>(checked(input, Array(*given.find(each.name))).value()));
        }
      }
      return whole;
    });
  }

  std::vector<std::int64_t> codes_of(std::span<const std::string> words) override {
    const std::lock_guard lock(recording_);
    std::vector<std::int64_t> codes;
    for (const std::string& word : words) codes.push_back(weights_.vocabulary().code_of(word));
    return codes;
  }
  std::vector<std::string> words_of(std::span<const std::int64_t> codes) override {
    const std::lock_guard lock(recording_);
    std::vector<std::string> words;
    for (const std::int64_t code : codes) words.push_back(weights_.vocabulary().word_of(code));
    return words;
  }

  // A program of its own, since folding drops steps.
  std::vector<ModelTensor> values(const NamedList<Shape>& shapes) override {
    const std::lock_guard lock(recording_);
    return limits_.within(weights_.file(), [&] {
      std::int64_t budget = static_cast<std::int64_t>((mapping_ ? mapping_->bytes().size() : copy_.size()));
      Program whole(*message_.graph, scope_of(weights_.file(), message_, limits_, budget), weights_);
      for (const auto& [slot, value] : bound_) whole.bind(slot, value);
      return values_of(whole, started(whole.start(), placeholders_of("values", shapes), false));
    });
  }

 private:
  template <class T>
  NamedList<T> called(const NamedList<T>& given, SegmentSession& session) {
    std::optional<SubnormalsAsZeros> scope;
    if (drops_subnormals_) scope.emplace();
    fold();
    const auto has_no_value = [](const Named<T>& input) { return !detail::missing_input(input.value.value()).empty(); };
    const auto start = [&](Slots slots) { return started(std::move(slots), given, !lazy_); };
    NamedList<T> results;
    const auto finish = [&](const Slots& slots) { results = results_of<T>(slots); };
    if (lazy_ && !detail::inlined() && std::none_of(given.begin(), given.end(), has_no_value)) {
      const std::size_t before = session.recordings();
      session.run(std::cref(start), std::cref(finish));
      // Weights were packed, and are read from there.
      if (session.recordings() != before) weights_.discard_pages();
    } else {
      Slots slots = start(program_.start());
      const std::lock_guard lock(recording_);
      program_.run(slots, 0, program_.steps().size(), lazy_);
      finish(slots);
    }
    return results;
  }

  Graph recorded(const NamedList<Shape>& shapes, const NamedList<Value>* given) {
    fold();
    const NamedList<Tensor<Lazy>> placeholders = placeholders_of("graph", shapes);
    GraphSpec spec;
    for (const Named<Tensor<Lazy>>& placeholder : placeholders) spec.inputs.push_back(placeholder.value);
    Slots slots = started(program_.start(), placeholders, false);
    if (given == nullptr) program_.run(slots, 0, program_.steps().size(), true);
    else
      record_for_values(program_, slots, started(program_.start(), computed(*given), true),
                        {limits_, weights_.file(), shared_from_this()});
    for (const Named<Tensor<Lazy>>& result : results_of<Tensor<Lazy>>(slots)) spec.outputs.push_back(result.value);
    return Graph(spec, options_.compile);
  }

  /// Placeholders for all inputs, whose shapes must be settled.
  NamedList<Tensor<Lazy>> placeholders_of(const char* function, const NamedList<Shape>& shapes) const {
    NamedList<Tensor<Lazy>> placeholders;
    for (const ModelTensor& input : inputs_) {
      for (const Named<std::optional<Shape>>& each : settled(input, shapes)) {
        if (!each.value) {
          core::throw_error<ShapeError>(weights_.file(), ": ", function, ": the file leaves lengths of ", input,
                                        " open; say them in `shapes`");
        }
        placeholders.push_back({each.name, Tensor<Lazy>::placeholder(*each.value, *input.dtype, each.name)});
      }
    }
    return placeholders;
  }

  /// Values whose elements can be read, on the host.
  static NamedList<Value> computed(const NamedList<Value>& given) {
    NamedList<Value> values;
    for (const auto& [name, value] : given) {
      const Tensor<Lazy> x(value);
      values.push_back({name, Array::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype()).value()});
    }
    return values;
  }

  bool holds_subnormals() {
    bool found = false;
    const auto look = [&](std::span<const std::byte> numbers) {
      if (found) return;
      found = has_subnormals(numbers);
      weights_.discard_pages(numbers);
    };
    for (const Operand& operand : program_.start()) {
      if (operand.stored != nullptr && dtype_from(operand.stored->element_type) == DType::f32)
        look(operand.stored->raw);
      if (operand.known && operand.tensor.defined() && operand.tensor.dtype() == DType::f32)
        look(operand.tensor.bytes());
    }
    look_in_nodes(message_.graph->nodes, look);
    for (const FunctionMessage& function : message_.functions) look_in_nodes(function.nodes, look);
    return found;
  }

  /// The f32 that attributes of nodes hold, in bodies of loops and branches and in other files too. How deep these go
  /// the reader limits.
  template <class Look>
  void look_in_nodes(const std::vector<NodeMessage>& nodes, const Look& look) {
    const auto look_in = [&](const TensorMessage& tensor) {
      if (dtype_from(tensor.element_type) != DType::f32) return;
      look(tensor.raw);
      look(std::as_bytes(std::span(tensor.floats)));
      look(weights_.external_bytes(tensor));
    };
    for (const NodeMessage& node : nodes) {
      for (const AttributeMessage& attribute : node.attributes) {
        if (attribute.name == "value_float") look(std::as_bytes(std::span(&attribute.number, 1)));
        if (attribute.name == "value_floats") look(std::as_bytes(std::span(attribute.numbers)));
        if (attribute.tensor) look_in(*attribute.tensor);
        if (attribute.graph == nullptr) continue;
        for (const TensorMessage& tensor : attribute.graph->initialisers) look_in(tensor);
        look_in_nodes(attribute.graph->nodes, look);
      }
    }
  }

  void list_inputs() {
    const std::vector<std::int32_t>& slots = program_.input_slots();
    std::size_t at = 0;
    std::vector<bool> used(options_.bind.size(), false);
    for (const ValueMessage& input : message_.graph->inputs) {
      const bool initialised = std::any_of(message_.graph->initialisers.begin(), message_.graph->initialisers.end(),
                                           [&](const TensorMessage& tensor) { return tensor.name == input.name; });
      if (initialised) continue;
      const std::int32_t slot = slots[at++];
      ModelTensor tensor = described(input);
      std::vector<Operand> bound;
      for (bool more = true; more;) {
        more = false;
        const std::string name = tensor.sequence ? name_of_element(tensor.name, bound.size()) : tensor.name;
        for (std::size_t i = 0; i < used.size(); ++i) {
          if (used[i] || options_.bind[i].name != name) continue;
          used[i] = true;
          bound.push_back(taken(tensor, input.element_type, options_.bind[i].value, true));
          more = tensor.sequence;
          break;
        }
      }
      if (!bound.empty()) {
        bound_.emplace_back(slot, tensor.sequence ? Operand::of_sequence(std::move(bound)) : bound.front());
        program_.bind(slot, bound_.back().second);
      } else {
        inputs_.push_back(std::move(tensor));
        slots_.push_back(slot);
        types_.push_back(input.element_type);
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) refuse_name(options_.bind[i].name);
    }
    for (const Named<Shape>& shape : options_.shapes) place_of(shape.name);
  }

  static std::string name_of_element(const std::string& sequence, std::size_t i) {
    return core::text(sequence, "[", i, "]");
  }

  /// Slots that hold what is known from the start, with these inputs.
  template <class T>
  Slots started(Slots slots, const NamedList<T>& given, bool known) const {
    std::map<std::size_t, std::map<std::size_t, Operand>> sequences;  // of inputs that are one, by element
    for (const Named<T>& each : given) {
      const auto [input, element] = place_of(each.name);
      Operand operand = taken(inputs_[input], types_[input], Array(each.value), known);
      Operand& tensor = slots[static_cast<std::size_t>(slots_[input])];
      const bool is_sequence = inputs_[input].sequence;
      if (is_sequence ? !sequences[input].try_emplace(element, std::move(operand)).second : tensor.there()) {
        core::throw_error<GraphError>(weights_.file(), ": input '", each.name, "' is given twice");
      }
      if (!is_sequence) tensor = std::move(operand);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Operand& operand = slots[static_cast<std::size_t>(slots_[i])];
      if (operand.there()) continue;
      if (inputs_[i].optional && !sequences.contains(i)) {
        operand = Operand::of_nothing();
      } else if (inputs_[i].sequence) {
        std::vector<Operand> elements;
        for (auto& [number, element] : sequences[i]) {
          if (number != elements.size()) {
            core::throw_error<GraphError>(weights_.file(), ": input '", name_of_element(inputs_[i].name, number),
                                          "' is given without '", name_of_element(inputs_[i].name, elements.size()),
                                          "'");
          }
          elements.push_back(std::move(element));
        }
        operand = Operand::of_sequence(std::move(elements));
      } else {
        core::throw_error<GraphError>(weights_.file(), ": no value is given for ", inputs_[i]);
      }
    }
    return slots;
  }

  template <class T>
  NamedList<T> results_of(const Slots& slots) {
    const std::lock_guard lock(recording_);
    NamedList<T> results;
    results.reserve(outputs_.size());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Operand output = weights_.loaded(slots[static_cast<std::size_t>(program_.output_slots()[i])]);
      if (output.tensor.defined()) results.push_back({outputs_[i].name, T(output.tensor)});
      if (output.sequence == nullptr) continue;
      for (std::size_t k = 0; k < output.sequence->size(); ++k) {
        results.push_back({name_of_element(outputs_[i].name, k), T((*output.sequence)[k].tensor)});
      }
    }
    return results;
  }

  // The shapes of all inputs where they are settled: as they are wanted, or as the file says.
  void prepare() {
    if (!lazy_ || options_.shapes.empty()) return;
    NamedList<Tensor<Lazy>> zeros;
    for (const ModelTensor& input : inputs_) {
      for (const Named<std::optional<Shape>>& each : settled(input, options_.shapes)) {
        if (!each.value) return;
        zeros.push_back({each.name, Tensor<Lazy>::zeros(*each.value, *input.dtype)});
      }
    }
    call(zeros);
  }

  /// An input, and of a sequence the number of a tensor.
  struct Place {
    std::size_t input = 0;
    std::size_t element = 0;
  };

  Place place_of(std::string_view name) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::string& own = inputs_[i].name;
      if (!inputs_[i].sequence && own == name) return {i, 0};
      if (!inputs_[i].sequence || !name.starts_with(own + "[") || !name.ends_with("]")) continue;
      const std::string_view digits = name.substr(own.size() + 1, name.size() - own.size() - 2);
      Place place{i, 0};
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place.element);
      if (error == std::errc{} && stop == digits.data() + digits.size()) return place;
    }
    refuse_name(name);
  }

  [[noreturn]] void refuse_name(std::string_view name) const {
    std::string names;
    for (const ModelTensor& input : inputs_) {
      names += (names.empty() ? "'" : ", '") + (input.sequence ? input.name + "[0]', ..." : input.name + "'");
    }
    core::throw_error<IndexError>(weights_.file(), ": there is no input '", name, "'; there are ", names);
  }

  /// Names and shapes of an input's tensors: as they are wanted, or as the file says, or open.
  NamedList<std::optional<Shape>> settled(const ModelTensor& input, const NamedList<Shape>& shapes) const {
    const auto wanted = [&](const std::string& name) -> std::optional<Shape> {
      for (const NamedList<Shape>* list : {&shapes, &options_.shapes}) {
        if (const Shape* shape = list->find(name)) return *shape;
      }
      return std::nullopt;
    };
    if (input.sequence) {
      NamedList<std::optional<Shape>> elements;
      for (;;) {
        const std::string name = name_of_element(input.name, elements.size());
        const std::optional<Shape> shape = wanted(name);
        if (!shape) return elements;
        elements.push_back({name, shape});
      }
    }
    if (const std::optional<Shape> shape = wanted(input.name)) return {{input.name, shape}};
    if (input.optional) return {};
    if (!input.shape) return {{input.name, std::nullopt}};
    Shape shape;
    for (const ModelLength& length : *input.shape) {
      if (!length.length) return {{input.name, std::nullopt}};
      shape.push_back(*length.length);
    }
    return {{input.name, shape}};
  }

  // A value as the input takes it: in a shape that the file admits, and of numbers that its element type has.
  Array fitted(const ModelTensor& input, Array value) const {
    if (!value.defined()) {
      core::throw_error<GraphError>(weights_.file(), ": the value given for ", input, " is an undefined tensor");
    }
    // A number is accepted for an input of one element, however many axes it has.
    const auto is_one = [](const ModelLength& length) { return length.length.value_or(1) == 1; };
    if (value.ndim() == 0 && input.shape && std::all_of(input.shape->begin(), input.shape->end(), is_one)) {
      value = reshape(value, Shape(input.shape->size(), 1));
    }
    bool fits = !input.shape || input.shape->size() == value.shape().size();
    for (std::size_t i = 0; fits && input.shape && i < input.shape->size(); ++i) {
      const std::optional<std::int64_t>& length = (*input.shape)[i].length;
      fits = !length || *length == value.shape()[i];
    }
    if (!fits)
      core::throw_error<ShapeError>(weights_.file(), ": the value given for ", input, " has shape ", value.shape());
    const bool same_kind = is_floating(*input.dtype) == is_floating(value.dtype());
    if (value.dtype() != *input.dtype && !same_kind && value.size() != 1) {
      core::throw_error<TypeError>(weights_.file(), ": the value given for ", input, " has elements of type ",
                                   name_of(value.dtype()));
    }
    return value;
  }

  Array checked(const ModelTensor& input, const Array& value) const { return cast(fitted(input, value), *input.dtype); }

  // Numbers of 8 bits and fewer are rounded to what the input has, as Cast does it.
  Operand taken(const ModelTensor& input, std::int64_t type, Array value, bool known) const {
    const SmallFloat* const format = small_float(type);
    if (format != nullptr) value = rounded_to(*format, fitted(input, value), *input.dtype, true);
    else value = checked(input, value);
    Operand operand(std::move(value), known);
    if (is_storage_type(type)) operand.element_type = type;
    return operand;
  }

  void fold() {
    const std::lock_guard lock(recording_);
    if (folded_) return;
    program_.fold();
    folded_ = true;
    weights_.discard_pages();
  }

  std::shared_ptr<const core::MappedFile> mapping_;
  std::vector<std::byte> copy_;
  Weights weights_;
  ModelMessage message_;
  Limits limits_;
  std::int64_t budget_;
  Program program_;
  ModelInfo info_;
  bool lazy_;
  OnnxOptions options_;
  std::recursive_mutex recording_;  // of the program and its weights, beside segments that were compiled
  Segments segments_;
  SegmentSession own_{segments_};
  bool folded_ = false;  // not when the file is read: what a file computes of its constants may be as large as it likes
  std::vector<ModelTensor> inputs_;
  std::vector<std::int32_t> slots_;                      // of inputs_
  std::vector<std::int64_t> types_;                      // of their elements, as the file says
  std::vector<std::pair<std::int32_t, Operand>> bound_;  // slots and what they hold in each call
  std::vector<ModelTensor> outputs_;
  bool drops_subnormals_ = false;
};

/// A model for another thread.
class ModelSession final : public detail::OnnxCore {
 public:
  explicit ModelSession(std::shared_ptr<Model> model) : model_(std::move(model)), own_(model_->segments()) {}

  const std::vector<ModelTensor>& inputs() const override { return model_->inputs(); }
  const std::vector<ModelTensor>& outputs() const override { return model_->outputs(); }
  const ModelInfo& info() const override { return model_->info(); }
  NamedList<Tensor<Eager>> call(const NamedList<Tensor<Eager>>& given) override { return model_->call(given, own_); }
  NamedList<Tensor<Lazy>> call(const NamedList<Tensor<Lazy>>& given) override { return model_->call(given, own_); }
  Graph graph(const NamedList<Shape>& shapes) override { return model_->graph(shapes); }
  Graph graph_for(const NamedList<Value>& given) override { return model_->graph_for(given); }
  std::vector<std::int64_t> codes_of(std::span<const std::string> words) override { return model_->codes_of(words); }
  std::vector<std::string> words_of(std::span<const std::int64_t> codes) override { return model_->words_of(codes); }
  std::vector<ModelTensor> values(const NamedList<Shape>& shapes) override { return model_->values(shapes); }
  std::vector<GraphReport> reports() const override { return own_.reports(); }
  const MemoryPlan& plan() const override { return own_.plan(); }
  std::shared_ptr<OnnxCore> session() override { return model_->session(); }

 private:
  std::shared_ptr<Model> model_;
  SegmentSession own_;
};

std::shared_ptr<detail::OnnxCore> Model::session() { return std::make_shared<ModelSession>(shared_from_this()); }

}  // namespace
}  // namespace tyto::onnx

namespace tyto TYTO_API {

std::ostream& operator<<(std::ostream& out, const ModelTensor& tensor) {
  out << tensor.name << (tensor.sequence ? "[]" : "") << (tensor.optional ? "?" : "") << ' ';
  if (!tensor.stored_as.empty()) out << tensor.stored_as;
  else out << (tensor.dtype ? name_of(*tensor.dtype) : "?");
  if (!tensor.shape) return out << " (...)";
  out << " (";
  for (std::size_t i = 0; i < tensor.shape->size(); ++i) {
    const ModelLength& length = (*tensor.shape)[i];
    out << (i == 0 ? "" : ",");
    if (length.length) out << *length.length;
    else out << (length.symbol.empty() ? "?" : length.symbol);
  }
  return out << ")";
}

namespace detail {

std::shared_ptr<OnnxCore> OnnxCore::from_file(const std::string& path, const OnnxOptions& options, bool lazy) {
  auto mapping = std::make_shared<const core::MappedFile>(path);
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  return std::make_shared<onnx::Model>(path, std::move(mapping), std::vector<std::byte>(), folder.string(), options,
                                       lazy);
}

std::shared_ptr<OnnxCore> OnnxCore::from_bytes(std::span<const std::byte> bytes, const std::string& name,
                                               const OnnxOptions& options, bool lazy) {
  return std::make_shared<onnx::Model>(name, nullptr, std::vector<std::byte>(bytes.begin(), bytes.end()), "", options,
                                       lazy);
}

}  // namespace detail
}  // namespace TYTO_API
