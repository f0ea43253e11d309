// SPDX-License-Identifier: MIT
// Files of arrays (npy, npz, text, safetensors, PyTorch, IDX, CIFAR) and of graphs, and with images.hpp and audio.hpp
// those of pictures and recordings. What is read is taken for hostile; what is written appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tyto/audio.hpp"
#include "tyto/graph.hpp"
#include "tyto/host_array.hpp"
#include "tyto/images.hpp"
#include "tyto/named.hpp"

namespace tyto TYTO_API {

/// Whether the members of an archive are compressed (deflate) or stored as they are. Trained weights hardly shrink.
enum class Compression : std::uint8_t { stored, deflated };

/// Options of reading numbers from a text file.
struct TextOptions {
  char delimiter = ' ';                    ///< between numbers; a blank matches any number of blanks and tabs
  char comment = '#';                      ///< from here to the end of a line nothing is read
  std::int64_t skip_lines = 0;             ///< at the beginning, such as a line of names
  std::vector<std::int64_t> columns = {};  ///< which are read; none named: all
  std::optional<std::int64_t> rows = {};   ///< how many are read at most
  std::optional<double> missing = {};      ///< stands for what is no number, such as NAN of <cmath>; none: an error
  DType dtype = DType::f32;                ///< element type; identifiers and times above 2^24 need f64
  int min_axes = 0;                        ///< axes of length one are dropped until so many are left
};
/// What stands between numbers: a character, as in TextOptions, or several.
struct Delimiter : std::string {
  Delimiter() = default;
  Delimiter(char one) : std::string(1, one) {}
  Delimiter(const char* several) : std::string(several) {}
  Delimiter(std::string several) : std::string(std::move(several)) {}
};
/// How numbers are written to a text file.
struct TextLayout {
  Delimiter delimiter = ' ';  ///< between numbers of a line
  std::string header = {};    ///< written before the numbers, behind "# "
};

/// A tensor of either mode and the name that it gets in a file, as `{"x", x}`.
struct NamedTensor : Named<Tensor<Any>> {
  template <class M>
  NamedTensor(std::string called, const Tensor<M>& x) : Named<Tensor<Any>>{std::move(called), Tensor<Any>(x.value())} {}
};

namespace detail {

/// An array in a file that the system maps into memory, as long as `owner` lives.
struct MappedArray {
  HostArrayView array;
  std::shared_ptr<const void> owner;
};

/// An array in a file, which stays open as long as this lives: what it is, and how to read it.
struct StoredArray {
  DType dtype = DType::f32;
  Shape shape;
  std::function<HostArray()> read;
};

NamedList<StoredArray> open_npz_file(const std::string& path);
NamedList<StoredArray> open_safetensors_file(const std::string& path);
NamedList<StoredArray> open_torch_file(const std::string& path);

MappedArray map_npy_file(const std::string& path);
HostArray read_text_file(const std::string& path, const TextOptions& options);
void write_text_file(const std::string& path, const HostArrayView& array, const TextLayout& layout);
HostArray read_npy_file(const std::string& path);
NamedList<HostArray> read_npz_file(const std::string& path);
NamedList<HostArray> read_safetensors_file(const std::string& path);
NamedList<HostArray> read_torch_file(const std::string& path);
HostArray read_idx_file(const std::string& path);
std::pair<HostArray, HostArray> read_cifar10_file(const std::string& path);
void write_npy_file(const std::string& path, const HostArrayView& array);
void write_npz_file(const std::string& path, const NamedList<HostArrayView>& arrays, Compression compression);
void write_safetensors_file(const std::string& path, const NamedList<HostArrayView>& arrays);
void write_safetensors_shards(const std::string& path, const NamedList<HostArrayView>& arrays,
                              std::uint64_t shard_bytes);

template <class M>
NamedList<Tensor<M>> to_read(NamedList<Tensor<M>> arrays) {
  for (Named<Tensor<M>>& array : arrays) array.value = Tensor<M>(to_read(array.value.value()));
  return arrays;
}
template <class M>
NamedList<HostArrayView> views_of(const char* function, const NamedList<Tensor<M>>& arrays) {
  NamedList<HostArrayView> views;
  for (const Named<Tensor<M>>& array : arrays) views.push_back({array.name, view_of(function, array.value)});
  return views;
}
template <class T>
NamedList<T> to_tensors(const NamedList<HostArray>& arrays) {
  NamedList<T> tensors;
  for (const Named<HostArray>& array : arrays) tensors.push_back({array.name, to_tensor<T>(array.value)});
  return tensors;
}

}  // namespace detail

/// An array saved by NumPy (versions 1 to 3, either order of axes and of bytes). `V2` elements are read as bf16.
///
///     auto x = read_npy<Tensor>("x.npy");
template <class T = Tensor<Eager>>
T read_npy(const std::string& path) {
  return to_tensor<T>(detail::read_npy_file(path));
}
/// The array in a file that NumPy saved, not read but mapped into memory: pages are loaded when they are touched. In
/// row-major order and the machine's order of bytes only. The file must stay as it is while tensors hold it.
template <class T = Tensor<Eager>>
T map_npy(const std::string& path) {
  detail::MappedArray mapped = detail::map_npy_file(path);
  const HostArrayView& array = mapped.array;
  return T::borrow_bytes(array.bytes.data(), array.shape, array.dtype, [owner = std::move(mapped.owner)] {});
}
/// Writes what numpy.load reads; bf16 as `<V2`, as the package ml_dtypes does.
template <class M>
void write_npy(const std::string& path, const Tensor<M>& x) {
  detail::write_npy_file(path, detail::view_of("write_npy", Tensor<M>(detail::to_read(x.value()))));
}

/// All arrays of an archive saved by numpy.savez or savez_compressed, in the order of its directory.
template <class T = Tensor<Eager>>
NamedList<T> read_npz(const std::string& path) {
  return detail::to_tensors<T>(detail::read_npz_file(path));
}
/// An archive that numpy.load reads.
template <class M>
void write_npz(const std::string& path, const NamedList<Tensor<M>>& arrays,
               Compression compression = Compression::stored) {
  detail::write_npz_file(path, detail::views_of("write_npz", detail::to_read(arrays)), compression);
}
/// The same of tensors in braces: write_npz("both.npz", {{"x", x}, {"v", v}}).
inline void write_npz(const std::string& path, std::initializer_list<NamedTensor> arrays,
                      Compression compression = Compression::stored) {
  write_npz(path, NamedList<Tensor<Any>>(arrays.begin(), arrays.end()), compression);
}

/// Numbers from a text file, a row a line: NumPy's loadtxt, and with `missing` its genfromtxt. One row or one column
/// gives a vector, as there.
///
///     auto x = read_text<Tensor>("x.csv", {.delimiter = ',', .skip_lines = 1});
template <class T = Tensor<Eager>>
T read_text(const std::string& path, const TextOptions& options = {}) {
  return to_tensor<T>(detail::read_text_file(path, options));
}
/// A number, a vector (a line each) or a matrix as text, each number with as many digits as give it back.
template <class M>
void write_text(const std::string& path, const Tensor<M>& x, const TextLayout& layout = {}) {
  detail::write_text_file(path, detail::view_of("write_text", Tensor<M>(detail::to_read(x.value()))), layout);
}

/// All tensors of a safetensors file, in the order in which they lie in it; of all files that an index
/// (NAME.safetensors.index.json) names, when the path is the index's.
template <class T = Tensor<Eager>>
NamedList<T> read_safetensors(const std::string& path) {
  return detail::to_tensors<T>(detail::read_safetensors_file(path));
}
/// Tensors under their names, as the package safetensors reads them.
template <class M>
void write_safetensors(const std::string& path, const NamedList<Tensor<M>>& arrays) {
  detail::write_safetensors_file(path, detail::views_of("write_safetensors", detail::to_read(arrays)));
}
/// The same of tensors in braces: write_safetensors("both.safetensors", {{"x", x}, {"v", v}}).
inline void write_safetensors(const std::string& path, std::initializer_list<NamedTensor> arrays) {
  write_safetensors(path, NamedList<Tensor<Any>>(arrays.begin(), arrays.end()));
}

/// The same in files of at most `shard_bytes` (a larger tensor has one of its own) and an index, which is called
/// NAME.safetensors.index.json.
template <class M>
void write_safetensors(const std::string& index_path, const NamedList<Tensor<M>>& arrays, std::uint64_t shard_bytes) {
  detail::write_safetensors_shards(index_path, detail::views_of("write_safetensors", detail::to_read(arrays)),
                                   shard_bytes);
}
/// The same of tensors in braces.
inline void write_safetensors(const std::string& index_path, std::initializer_list<NamedTensor> arrays,
                              std::uint64_t shard_bytes) {
  write_safetensors(index_path, NamedList<Tensor<Any>>(arrays.begin(), arrays.end()), shard_bytes);
}

/// All tensors of a checkpoint that torch.save wrote, by the keys that lead to them ("model.conv1.weight"). Nothing in
/// the file is run; objects of other classes than dictionaries, lists and tensors are refused by name.
template <class T = Tensor<Eager>>
NamedList<T> read_torch(const std::string& path) {
  return detail::to_tensors<T>(detail::read_torch_file(path));
}

/// An IDX file, plain or gzipped, such as the four of MNIST.
template <class T = Tensor<Eager>>
T read_idx(const std::string& path) {
  return to_tensor<T>(detail::read_idx_file(path));
}

/// Images and their class labels.
template <class T>
struct LabelledImages {
  T images;  ///< one after the other along the first axis
  T labels;  ///< (count,)
};

/// A binary file of CIFAR-10, plain or gzipped: images (count, 32, 32, 3) and labels (count,), both u8.
template <class T = Tensor<Eager>>
LabelledImages<T> read_cifar10(const std::string& path) {
  const std::pair<HostArray, HostArray> read = detail::read_cifar10_file(path);
  return {to_tensor<T>(read.first), to_tensor<T>(read.second)};
}

/// A graph with its constants and states. Throws GraphError naming a function of this program that it holds.
void save_graph(const std::string& path, const Graph& graph);
/// A graph saved by save_graph, ready to run: its inputs are set by `graph.set(graph.inputs()[0], x)`.
Graph load_graph(const std::string& path, const CompileOptions& options = {});

}  // namespace TYTO_API
