// SPDX-License-Identifier: MIT
// Models from elsewhere: ONNX files read as functions from named tensors to named tensors, in both modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tyto/graph.hpp"
#include "tyto/host_array.hpp"
#include "tyto/named.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

/// A length along one axis as a file states it: a number, or a name (maybe empty) for what each call decides.
struct ModelLength {
  std::optional<std::int64_t> length = {};  ///< where the file states a number
  std::string symbol = {};                  ///< where the file states a name
};

/// An input or output of a model as its file describes it. The tensors of a sequence `x` go by the names "x[0]", "x[1]"
/// and so on; type and shape are those of each.
struct ModelTensor {
  std::string name;       ///< as the file has it
  bool sequence = false;  ///< of any number of tensors, none included
  bool optional = false;  ///< an input that need not be given, an output that may be missing
  /// None for an output of a type that Tyto does not have. Text is held as numbers that stand for words.
  std::optional<DType> dtype;
  /// None where the file does not even state how many axes there are.
  std::optional<std::vector<ModelLength>> shape;
  /// The file's name of the element type where `dtype` only holds its elements: "float8e4m3fn", "int4", "string" ...
  std::string stored_as = {};
};

/// "image f32 (n,3,224,224)"; lengths without a name are written "?". "x[] f32 (3)" for a sequence, "x? f32 (3)" for an
/// optional.
std::ostream& operator<<(std::ostream& out, const ModelTensor& tensor);

/// How often an operator occurs in a model, graphs inside of nodes included.
struct ModelOperator {
  std::string name;        ///< "Conv", "com.microsoft.FusedConv"
  std::int64_t count = 0;  ///< how often
};

/// A node of a model's graph, as the file writes it. An empty name means an input or output left out.
struct ModelNode {
  std::string name;                  ///< as the file has it
  std::string op;                    ///< "Conv", "com.microsoft.FusedConv"
  std::vector<std::string> inputs;   ///< names of tensors
  std::vector<std::string> outputs;  ///< names of tensors
};

/// Metadata of a model file.
struct ModelInfo {
  std::int64_t ir_version = 0;                                      ///< of the format
  std::string producer;                                             ///< what wrote the file
  std::vector<std::pair<std::string, std::int64_t>> operator_sets;  ///< domain, version
  std::vector<std::pair<std::string, std::string>> metadata;        ///< whatever its writer added
  std::vector<ModelOperator> operators;                             ///< in alphabetical order
  std::vector<ModelNode> nodes;      ///< those of its graph, without graphs inside of nodes
  std::int64_t parameters = 0;       ///< elements of its initialisers
  std::int64_t parameter_bytes = 0;  ///< bytes of its initialisers
};

/// A model asks for more than `max_bytes` or `max_iterations` allow; the message names the node.
class LimitError : public Error {
 public:
  using Error::Error;
};

/// How a model is read.
struct OnnxOptions {
  /// Shapes of inputs that the file leaves open. When they settle those of all inputs, the model is made ready when it
  /// is read (lazy mode), not when it is called first.
  NamedList<Shape> shapes = {};
  /// Values of inputs that are the same in each call, and that are not given then: what depends on them alone is
  /// computed once, and shapes and branches may depend on them.
  NamedList<Tensor<Any>> bind = {};
  /// Values inside of the model, by the names that its file gives them, that it gives behind its own outputs.
  std::vector<std::string> outputs = {};
  /// How its graphs are made ready.
  CompileOptions compile = {};
  /// Whether numbers too small for the full precision of their type are computed with, though weights are among them.
  /// Processors take up to a hundred times as long for such numbers, so that otherwise they count as zeros then
  /// (SubnormalsAsZeros). A model that is recorded into another graph runs as that does.
  bool keep_subnormals = false;
  /// For untrusted models: the bytes that a model may take at a time, its weights and what a call computes (in lazy
  /// mode its plan) together; 0: no limit. LimitError comes before memory is taken.
  std::size_t max_bytes = 0;
  /// The iterations that all loops of a model may do in one call, loops within loops included; 0: no limit. A loop
  /// whose count the data decides is then computed at its place.
  std::int64_t max_iterations = 0;
};

namespace detail {

/// One tensor, or the tensors of a sequence or an optional.
std::vector<HostArray> read_onnx_tensor_file(const std::string& path, bool nested);

/// A model of either mode.
class OnnxCore {
 public:
  static std::shared_ptr<OnnxCore> from_file(const std::string& path, const OnnxOptions& options, bool lazy);
  static std::shared_ptr<OnnxCore> from_bytes(std::span<const std::byte> bytes, const std::string& name,
                                              const OnnxOptions& options, bool lazy);
  virtual ~OnnxCore() = default;

  virtual const std::vector<ModelTensor>& inputs() const = 0;
  virtual const std::vector<ModelTensor>& outputs() const = 0;
  virtual const ModelInfo& info() const = 0;
  virtual NamedList<Tensor<Eager>> call(const NamedList<Tensor<Eager>>& given) = 0;
  virtual NamedList<Tensor<Lazy>> call(const NamedList<Tensor<Lazy>>& given) = 0;
  virtual Graph graph(const NamedList<Shape>& shapes) = 0;
  virtual Graph graph_for(const NamedList<Value>& given) = 0;
  virtual std::vector<std::int64_t> codes_of(std::span<const std::string> words) = 0;
  virtual std::vector<std::string> words_of(std::span<const std::int64_t> codes) = 0;
  virtual std::vector<ModelTensor> values(const NamedList<Shape>& shapes) = 0;
  virtual std::vector<GraphReport> reports() const = 0;
  virtual const MemoryPlan& plan() const = 0;
  virtual std::shared_ptr<OnnxCore> session() = 0;
};

}  // namespace detail

/// A model as a function from its inputs to its outputs. In lazy mode it is recorded, optimised and planned once for
/// each signature of input shapes and types, and then runs without an allocation; what has a shape that depends on
/// elements (NonZero, say) is computed at once, between two such segments. One thread at a time; each other thread
/// takes a session().
template <class T>
class OnnxModel {
 public:
  static constexpr bool lazy = std::is_same_v<T, Tensor<Lazy>>;  ///< its mode
  static_assert(lazy || std::is_same_v<T, Tensor<Eager>>, "a model works in one of the two modes");

  explicit OnnxModel(std::shared_ptr<detail::OnnxCore> core) : core_(std::move(core)) {}

  /// The same model for another thread: it shares the file, weights, plans and words, and has an arena of its own.
  /// Sessions run at the same time, but for what takes turns: steps that are computed at once, eager calls, and models
  /// with limits.
  OnnxModel session() const { return OnnxModel(core_->session()); }

  /// Without inputs that were bound.
  const std::vector<ModelTensor>& inputs() const { return core_->inputs(); }
  /// The model's outputs, and the metadata of its file.
  const std::vector<ModelTensor>& outputs() const { return core_->outputs(); }
  const ModelInfo& info() const { return core_->info(); }

  /// Inputs by name, in any order; outputs in the model's order: `model({{"image", x}})["logits"]`.
  NamedList<T> operator()(const NamedList<T>& given) { return core_->call(given); }

  /// The whole model as one graph, to look at, to profile or to save: inputs and outputs in the model's order. `shapes`
  /// for those that the file leaves open. Throws GraphError where a shape depends on elements.
  Graph graph(const NamedList<Shape>& shapes = {}) { return core_->graph(shapes); }
  /// The same for any model, with these values as its inputs: what must see elements is an operator on the host, and
  /// the graph runs for all values with which its results have the same shapes. Such a graph cannot be saved.
  Graph graph_for(const NamedList<T>& given) {
    NamedList<Value> values;
    for (const Named<T>& input : given) values.push_back({input.name, input.value});
    return core_->graph_for(values);
  }

  /// Words for an input of text, as numbers that stand for them in this model; and the words of an output of text.
  T encode_text(const std::vector<std::string>& words, const Shape& shape) {
    return T::from(core_->codes_of(words), shape);
  }
  std::vector<std::string> decode_text(const T& codes) {
    return core_->words_of(codes.template to_vector<std::int64_t>());
  }

  /// Type and shape of each node's results, as far as they follow from the inputs' shapes.
  std::vector<ModelTensor> values(const NamedList<Shape>& shapes = {}) { return core_->values(shapes); }

  /// For the signature called last, in lazy mode: the plan of its largest segment, and a report for each segment.
  const MemoryPlan& plan() const { return core_->plan(); }
  std::vector<GraphReport> reports() const { return core_->reports(); }

 private:
  std::shared_ptr<detail::OnnxCore> core_;
};

/// A model in an ONNX file: operator sets 7 and newer. The file is mapped, and stays so while the model lives. Throws
/// IoError for what cannot be believed, and for what is unsupported, all of it at once.
///
///     auto model = read_onnx<Tensor>("m.onnx", {.shapes = {{"x", {1, 3, 224, 224}}}});
///     auto out = model({{"x", x}});
template <class T = Tensor<Eager>>
OnnxModel<T> read_onnx(const std::string& path, const OnnxOptions& options = {}) {
  return OnnxModel<T>(detail::OnnxCore::from_file(path, options, OnnxModel<T>::lazy));
}

/// The tensor in a file of its own, such as test_data_set_0/input_0.pb of ONNX's tests; those of a sequence or an
/// optional, as `like` says.
///
///     auto x = read_onnx_tensors<Tensor>("input_0.pb", model.inputs()[0])[0];
template <class T = Tensor<Eager>>
std::vector<T> read_onnx_tensors(const std::string& path, const ModelTensor& like) {
  std::vector<T> tensors;
  for (const HostArray& array : detail::read_onnx_tensor_file(path, like.sequence || like.optional)) {
    tensors.push_back(to_tensor<T>(array));
  }
  return tensors;
}

/// Names of a written model's parts.
struct OnnxNames {
  std::vector<std::string> outputs = {};  ///< one for each output; left out: "output:0", ...
  std::string open_axis = "batch";        ///< the length that a model of several graphs leaves open
};

/// A graph as an ONNX file (operator set 21) with its constants and the values that its states have now; inputs keep
/// their names. Throws GraphError that names all operators for which ONNX has no words, and for a graph that updates
/// states; ValueError where two inputs or outputs have one name.
void write_onnx(const std::string& path, const Graph& graph, const OnnxNames& names = {});
/// The same with one length left open, such as that of the batch: `graph_of` makes the graph of a length, and is called
/// with 2, 3, 5, 67 and 1031. What differs between its graphs must be linear in the length, as lengths and offsets are;
/// otherwise GraphError says what is not. What is so for these five and not for another, such as a limit above 1031 or
/// a branch for a length of 1, cannot be seen: the model then computes for that length what holds for the others.
///
///     const auto graph_of = [&](std::int64_t batch) {
///       const Tensor image = Tensor::placeholder({batch, 28, 28, 1}, DType::f32, "image");
///       return Graph{{.inputs = {image}, .outputs = {network(image)}}};
///     };
///     write_onnx("model.onnx", graph_of, {.outputs = {"logits"}});
void write_onnx(const std::string& path, const std::function<Graph(std::int64_t)>& graph_of,
                const OnnxNames& names = {});

/// A model in memory, which is copied; `name` is what errors call it. Weights in other files are refused.
template <class T = Tensor<Eager>>
OnnxModel<T> read_onnx(std::span<const std::byte> bytes, const std::string& name = "model",
                       const OnnxOptions& options = {}) {
  return OnnxModel<T>(detail::OnnxCore::from_bytes(bytes, name, options, OnnxModel<T>::lazy));
}

}  // namespace TYTO_API
