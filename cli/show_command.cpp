// SPDX-License-Identifier: MIT
// tyto show: prints inputs, outputs, operators and parameters of a model, and its memory and arithmetic; or the tensors
// of a file of weights.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <tyto/io.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tyto.hpp>

#include "cli/commands.hpp"
#include "cli/model_inputs.hpp"
#include "cli/suggestion.hpp"

namespace tyto::cli {
namespace {

constexpr OptionRow show_options[] = {
    shape_option,
    bind_option,
    max_memory_option,
    max_iterations_option,
    {"--nodes", "", "list the nodes, with types and shapes of what they give"},
    {"--metadata", "", "print what the file holds beside the network"},
};

void print_file(const ModelInfo& info) {
  std::cout << "written by    " << (info.producer.empty() ? "nobody who says so" : info.producer) << ", format "
            << info.ir_version << "\noperator sets";
  for (const auto& [domain, version] : info.operator_sets) {
    std::cout << " " << (domain.empty() ? "ai.onnx" : domain) << " " << version;
  }
  std::cout << "\nparameters    " << info.parameters << " in " << info.parameter_bytes << " bytes\n";
}

void print_tensors(const char* what, const std::vector<ModelTensor>& tensors) {
  std::cout << what << "\n";
  for (const ModelTensor& tensor : tensors) std::cout << "  " << tensor << "\n";
}

std::int64_t multiply_adds(const GraphProfile& profile) {
  std::int64_t sum = 0;
  for (const StepProfile& step : profile.steps) sum += step.multiply_adds;
  return sum;
}

void print_shapes(const NamedList<Shape>& shapes) {
  std::cout << "with";
  for (const Named<Shape>& shape : shapes) std::cout << " " << shape.name << " " << to_string(shape.value);
  std::cout << "\n";
}

void print_costs(OnnxModel<Tensor<Lazy>>& model, const Arguments& arguments) {
  const std::vector<ModelTensor> inputs = given_inputs(model.inputs(), arguments);
  const NamedList<Shape> shapes = settled_shapes(inputs, shapes_given(arguments));
  print_shapes(shapes);
  try {
    Graph graph = model.graph(shapes);
    const MemoryPlan& plan = graph.plan();
    std::cout << "  planned peak  " << plan.height << " bytes, bound " << plan.bound << ", without reuse " << plan.naive
              << "\n";
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      graph.set(graph.inputs()[i], Tensor<Lazy>::zeros(shapes[i].value, *inputs[i].dtype));
    }
    const GraphProfile profile = graph.profile();
    std::cout << "  steps         " << profile.steps.size() << "\n  multiply-adds " << multiply_adds(profile) << "\n";
  } catch (const LimitError&) {
    throw;
  } catch (const Error& error) {
    std::cout << "  not known: " << error.what() << hint_at_open_lengths(model.inputs(), arguments) << "\n";
  }
}

/// "y f32 (2,3) = MatMul(x, w)  # name", a line a node.
void print_nodes(OnnxModel<Tensor<Lazy>>& model, const Arguments& arguments) {
  const NamedList<Shape> shapes = settled_shapes(given_inputs(model.inputs(), arguments), shapes_given(arguments));
  std::vector<ModelTensor> values;
  std::string fault;
  try {
    values = model.values(shapes);
  } catch (const LimitError&) {
    throw;
  } catch (const Error& error) {
    fault = error.what() + hint_at_open_lengths(model.inputs(), arguments);
  }
  std::cout << "nodes ";
  print_shapes(shapes);
  for (const ModelNode& node : model.info().nodes) {
    std::string separator = "  ";
    for (const std::string& output : node.outputs) {
      if (output.empty()) continue;
      const auto value =
          std::find_if(values.begin(), values.end(), [&](const ModelTensor& x) { return x.name == output; });
      std::cout << separator;
      if (value == values.end()) std::cout << output << " ?";
      else std::cout << *value;
      separator = ", ";
    }
    std::cout << " = " << node.op << "(";
    separator = "";
    for (const std::string& input : node.inputs) {
      std::cout << separator << input;
      separator = ", ";
    }
    std::cout << ")" << (node.name.empty() ? "" : "  # " + node.name) << "\n";
  }
  if (!fault.empty()) std::cout << "  shapes are not known: " << fault << "\n";
}

/// The tensors of a file whose name says that it holds weights.
std::optional<NamedList<Tensor<Eager>>> weights_in(const std::string& path) {
  std::string kind = std::filesystem::path(path).extension().string();
  std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::tolower(c); });
  if (kind == ".npy") return NamedList<Tensor<Eager>>{{"", read_npy(path)}};
  if (kind == ".npz") return read_npz(path);
  if (kind == ".safetensors") return read_safetensors(path);
  if (kind == ".pt" || kind == ".pth") return read_torch(path);
  return std::nullopt;
}

void refuse_options_of_models(const Arguments& arguments) {
  for (const OptionRow& option : show_options) {
    if (arguments.has(option.name)) {
      throw_error<UsageError>("option ", option.name, " is for models; ", arguments.operands()[0], " holds weights");
    }
  }
}

void print_weights(const NamedList<Tensor<Eager>>& tensors) {
  std::int64_t numbers = 0;
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    std::cout << name << (name.empty() ? "" : " ") << tensor.dtype() << ' ' << tensor.shape() << '\n';
    numbers += tensor.size();
    bytes += static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
  }
  std::cout << "tensors " << tensors.size() << ", " << numbers << " numbers in " << bytes << " bytes\n";
}

int show(const Arguments& arguments) {
  const std::string& path = arguments.only_operand("show takes one file");
  require_file(path);
  if (const auto weights = weights_in(path)) {
    refuse_options_of_models(arguments);
    print_weights(*weights);
    return done;
  }
  auto model = read_model(path, arguments);
  print_file(model.info());
  print_tensors("inputs", model.inputs());
  print_tensors("outputs", model.outputs());
  std::cout << "operators\n";
  for (const ModelOperator& each : model.info().operators) std::cout << "  " << each.count << "  " << each.name << "\n";
  if (arguments.has("--nodes")) print_nodes(model, arguments);
  print_costs(model, arguments);
  if (arguments.has("--metadata")) {
    std::cout << "metadata\n";
    for (const auto& [key, value] : model.info().metadata) std::cout << "  " << key << ": " << value << "\n";
  }
  return done;
}

}  // namespace

const Command show_command{
    "show", "FILE", "says what a model is made of and costs; lists the tensors of .npz, .npy, .safetensors, .pt, .pth",
    show_options, show};

}  // namespace tyto::cli
