// SPDX-License-Identifier: MIT
// Open-ended fuzzing of what stands behind the ONNX reader: models whose numbers, names, types, shapes and operators
// are damaged are read and run. Each ends with results or a tyto::Error; anything else is a fault, and its file is
// kept.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

#include <tyto/io.hpp>

#include "tests/onnx/data.hpp"
#include "tests/onnx/drawn_run.hpp"
#include "tests/onnx/structured_mutation.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tyto;
using onnx_tests::FieldTree;
using onnx_tests::ModelRun;

constexpr char usage[] =
    "usage: onnx_model_fuzz SEEDS FAULTS [MODELS [SEED [FIRST [compare]]]]\n"
    "SEEDS holds .onnx files, at any depth, and .npz files of models as tests/onnx/models.npz; FAULTS is a folder for\n"
    "the files of models that end otherwise than they should. Models are numbered, and FIRST is where to begin.\n"
    "With `compare` a result that is not that of eager mode counts as a fault, too; operators that draw numbers have "
    "such.\n";
constexpr std::size_t largest_seed = 65'536;     // larger models are mostly weights
constexpr int seconds_a_model = 5;               // of the processor, in all ways together
constexpr std::uint64_t models_a_process = 500;  // what a process keeps for later runs stays small
constexpr rlim_t memory = rlim_t{1} << 30;       // so that what asks for more fails at once

/// Counters of a process, in memory shared with its parent.
struct Counts {
  std::uint64_t model = 0;
  std::uint64_t refused = 0, large = 0, ran = 0, failed = 0, faults = 0;
  ModelRun way = ModelRun::eager;
};

// A seed, and if ONNX's test data lie beside it the same with the inputs behind the first as initialisers, so that
// damage reaches them.
void add_seeds(const fs::path& path, const std::vector<std::byte>& bytes, std::vector<FieldTree>& seeds) {
  FieldTree tree;
  try {
    tree = onnx_tests::decoded(path.string(), bytes);
  } catch (const IoError&) {
    return;
  }
  FieldTree* graph = tree.find(7);
  if (graph == nullptr) return;
  seeds.push_back(tree);
  std::vector<std::string> names;
  for (const FieldTree& each : graph->fields) {
    if (each.number == 11 && each.find(1) != nullptr) names.push_back(each.find(1)->text);
  }
  bool more = false;
  for (std::size_t i = 1; i < names.size(); ++i) {
    const fs::path data = path.parent_path() / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(data) || fs::file_size(data) > largest_seed) continue;
    FieldTree tensor;
    try {
      tensor = onnx_tests::decoded(data.string(), onnx_tests::bytes_of(data), onnx_tests::MessageKind::tensor);
    } catch (const IoError&) {
      continue;  // a sequence or an optional
    }
    std::erase_if(tensor.fields, [](const FieldTree& each) { return each.number == 8; });
    tensor.fields.push_back(onnx_tests::text_field(8, names[i]));
    tensor.number = 5;
    graph->fields.push_back(std::move(tensor));
    more = true;
  }
  if (more) seeds.push_back(std::move(tree));
}

std::vector<FieldTree> seeds_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const bool model = entry.path().extension() == ".onnx" && entry.file_size() <= largest_seed;
    if (model || entry.path().extension() == ".npz") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<FieldTree> seeds;
  for (const fs::path& path : paths) {
    if (path.extension() == ".onnx") {
      add_seeds(path, onnx_tests::bytes_of(path), seeds);
      continue;
    }
    for (const auto& [name, value] : read_npz<Tensor<Eager>>(path.string())) {
      if (!name.ends_with("|model") || static_cast<std::size_t>(value.size()) > largest_seed) continue;
      const std::span<const std::byte> bytes = value.bytes();
      add_seeds(name, {bytes.begin(), bytes.end()}, seeds);
    }
  }
  return seeds;
}

void keep(const fs::path& folder, std::uint64_t model, const std::string& bytes) {
  std::ofstream out(folder / (std::to_string(model) + ".onnx"), std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

const char* name_of(ModelRun way) {
  constexpr const char* names[] = {"eager", "lazy", "compiled", "bound"};
  return names[static_cast<int>(way)];
}

// Compares the results of two ways of running, beyond the rounding of sums: describes a difference, or returns nothing.
std::string difference(const NamedList<Tensor<Any>>& a, const NamedList<Tensor<Any>>& b) {
  if (a.size() != b.size()) return std::to_string(b.size()) + " outputs, not " + std::to_string(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Tensor<Any>&x = a[i].value, &y = b[i].value;
    double largest = 0;
    for (const double each : cast(x, DType::f64).to_vector<double>()) {
      if (!(std::abs(each) < 1e4)) return "";
      largest = std::max(largest, std::abs(each));
    }
    const std::string found = onnx_tests::difference(y, x, 0, is_floating(x.dtype()) ? 0.02 * largest + 1e-3 : 0);
    if (!found.empty()) return a[i].name + ": " + found;
  }
  return "";
}

void run(const std::string& bytes, std::uint64_t seed, bool compares, Counts& counts, const fs::path& faults) {
  const auto fault = [&](const char* what) {
    std::printf("model %llu (%s): %s\n", static_cast<unsigned long long>(counts.model), name_of(counts.way), what);
    keep(faults, counts.model, bytes);
    ++counts.faults;
  };
  try {
    onnx_tests::read<Tensor<Lazy>>(bytes);
  } catch (const Error&) {
    ++counts.refused;
    return;
  } catch (const std::exception& error) {
    return fault((std::string(typeid(error).name()) + " while it is read: " + error.what()).c_str());
  }
  std::optional<NamedList<Tensor<Any>>> eager;
  std::string eager_error;
  for (const ModelRun way : {ModelRun::eager, ModelRun::lazy, ModelRun::compiled, ModelRun::bound}) {
    counts.way = way;
    std::mt19937_64 draw(seed);
    try {
      const std::optional<NamedList<Tensor<Any>>> outputs = onnx_tests::run_drawn(bytes, way, draw);
      ++(outputs ? counts.ran : counts.large);
      if (way == ModelRun::eager) eager = outputs;
      if (!compares || way == ModelRun::eager || way == ModelRun::compiled || !outputs) continue;
      const std::string found = eager ? difference(*eager, *outputs) : "results where eager mode says " + eager_error;
      if (!found.empty()) fault(found.c_str());
    } catch (const Error& error) {
      ++counts.failed;
      if (way == ModelRun::eager) eager_error = error.what();
      else if (compares && eager && way != ModelRun::compiled) fault(error.what());
    } catch (const std::exception& error) {
      fault((std::string(typeid(error).name()) + ": " + error.what()).c_str());
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3 || count > 7) {
    std::fputs(usage, stderr);
    return 2;
  }
  std::error_code none;
  if (!fs::is_directory(arguments[1], none) || !fs::is_directory(arguments[2], none)) {
    std::fprintf(stderr, "onnx_model_fuzz: %s or %s is no folder\n", arguments[1], arguments[2]);
    return 2;
  }
  const auto number = [&](int i, std::uint64_t otherwise) {
    return count > i ? std::strtoull(arguments[i], nullptr, 10) : otherwise;
  };
  const bool compares = count > 6 && std::string(arguments[6]) == "compare";
  const std::uint64_t models = number(3, 10'000), seed = number(4, 1), first = number(5, 0);
  threads(1);
  const std::vector<FieldTree> seeds = seeds_below(arguments[1]);
  if (seeds.empty()) {
    std::fprintf(stderr, "onnx_model_fuzz: no models of at most %zu bytes below %s\n", largest_seed, arguments[1]);
    return 2;
  }
  const onnx_tests::StructuredMutation mutation(seeds);
  void* shared = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  Counts& counts = *new (shared) Counts;
  counts.model = first;
  const auto drawn = [&](std::uint64_t model, std::mt19937_64& draw) {
    draw.seed(seed * 1'000'000'007 + model);
    return onnx_tests::encoded(mutation.mutated(seeds[draw() % seeds.size()], draw));
  };
  while (counts.model < first + models) {
    std::fflush(stdout);
    const pid_t process = fork();
    if (process == 0) {
#if !defined(__SANITIZE_ADDRESS__)
      const rlimit limit{memory, memory};
      setrlimit(RLIMIT_AS, &limit);
#endif
      std::mt19937_64 draw;
      for (std::uint64_t i = 0; i < models_a_process && counts.model < first + models; ++i, ++counts.model) {
        const std::string bytes = drawn(counts.model, draw);
        const itimerval time{{0, 0}, {seconds_a_model, 0}};
        setitimer(ITIMER_PROF, &time, nullptr);
        run(bytes, draw(), compares, counts, arguments[2]);
      }
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (process < 0 || waitpid(process, &status, 0) != process) return 2;
    if (status == 0) continue;
    std::mt19937_64 draw;
    const std::string bytes = drawn(counts.model, draw);
    std::printf("model %llu (%s): ends its process with %s %d\n", static_cast<unsigned long long>(counts.model),
                name_of(counts.way), WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    keep(arguments[2], counts.model, bytes);
    ++counts.faults;
    ++counts.model;
  }
  std::printf(
      "%llu models of %zu seeds: %llu refused when read; of the others' runs %llu gave results, %llu an error, "
      "%llu had too large inputs; %llu faults\n",
      static_cast<unsigned long long>(models), seeds.size(), static_cast<unsigned long long>(counts.refused),
      static_cast<unsigned long long>(counts.ran), static_cast<unsigned long long>(counts.failed),
      static_cast<unsigned long long>(counts.large), static_cast<unsigned long long>(counts.faults));
  return counts.faults == 0 ? 0 : 1;
}
