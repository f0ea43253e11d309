// SPDX-License-Identifier: MIT
// Reads tensors of a checkpoint, which a pickle describes as views of stored memory. Everything else is skipped, but
// objects of unknown classes are refused: they may hold tensors, and could only be made by running their code.
#include "io/torch.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "io/layout.hpp"
#include "io/pickle.hpp"
#include "io/refuse.hpp"
#include "io/zip.hpp"

namespace tyto::io {

namespace {

using Kind = PickleValue::Kind;

struct StorageType {
  std::string_view name;
  DType dtype;
};
constexpr StorageType storage_types[] = {
    {"torch.FloatStorage", DType::f32},        {"torch.DoubleStorage", DType::f64},
    {"torch.HalfStorage", DType::f16},         {"torch.BFloat16Storage", DType::bf16},
    {"torch.LongStorage", DType::i64},         {"torch.IntStorage", DType::i32},
    {"torch.ShortStorage", DType::i16},        {"torch.CharStorage", DType::i8},
    {"torch.ByteStorage", DType::u8},          {"torch.BoolStorage", DType::boolean},
    {"torch.ComplexFloatStorage", DType::c64}, {"torch.ComplexDoubleStorage", DType::c128},
};

/// Memory that tensors view. Memory of several tensors is read once and kept; other memory is read with its tensor.
struct Storage {
  DType dtype = DType::f32;
  const ZipMember* member = nullptr;
  int tensors = 0;
  std::vector<std::byte> kept = {};
};

class Checkpoint : public std::enable_shared_from_this<Checkpoint> {
 public:
  explicit Checkpoint(std::shared_ptr<const ByteSource> source) : source_(std::move(source)), file_(source_->name()) {
    for (ZipMember& member : read_zip_directory(*source_)) {
      const std::size_t slash = member.name.find('/');
      if (slash == std::string::npos) continue;
      members_.emplace(member.name.substr(slash + 1), std::move(member));
    }
    if (members_.count("data.pkl") == 0) {
      refuse(file_,
             "is no checkpoint of PyTorch: the archive holds no data.pkl (files of versions before 1.6 are not read)");
    }
    const auto order = members_.find("byteorder");
    if (order != members_.end() && text_of(order->second) != "little")
      refuse(file_, "holds numbers in big-endian order");
    const std::vector<std::byte> pickle = contents(members_.at("data.pkl"));
    pickle_ = read_pickle(file_, pickle);
    // A value that several others hold is visited once for each of them; a few lines could make that billions.
    visits_left_ = 1000 + 16 * pickle_.values.size();
    bytes_left_ = 64 * source_->size();
  }

  StoredArrays tensors() {
    // The list holds references to this object: were it a member, a refused file would never be closed.
    StoredArrays found;
    visit(found, "", pickle_.root, 0);
    return found;
  }

 private:
  static constexpr int deepest = 64;

  std::vector<std::byte> contents(const ZipMember& member) {
    const std::unique_ptr<Stream> stream = open_zip_member(*source_, member);
    std::vector<std::byte> bytes = stream->read_new(member.size, member.name.c_str());
    stream->expect_end(member.name.c_str());
    return bytes;
  }
  std::string text_of(const ZipMember& member) {
    const std::vector<std::byte> bytes = contents(member);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  const PickleValue& item(const PickleValue& of, std::size_t i, Kind kind, const char* what) const {
    if (i >= of.items.size() || pickle_[of.items[i]].kind != kind) refuse(file_, "describes a tensor without ", what);
    return pickle_[of.items[i]];
  }

  static std::string joined(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  void visit(StoredArrays& found, const std::string& path, std::uint32_t at, int depth) {
    if (visits_left_-- == 0 || depth > deepest) refuse(file_, "nests its values too deep, or holds them in each other");
    const PickleValue& value = pickle_[at];
    if (value.kind == Kind::list) {
      for (std::size_t i = 0; i < value.items.size(); ++i)
        visit(found, joined(path, std::to_string(i)), value.items[i], depth + 1);
    } else if (value.kind == Kind::dictionary) {
      for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
        const PickleValue& key = pickle_[value.items[i]];
        visit(found, joined(path, key.kind == Kind::integer ? std::to_string(key.integer) : key.text),
              value.items[i + 1], depth + 1);
      }
    } else if (value.kind == Kind::call) {
      visit_call(found, path, value, depth);
    }
  }

  void visit_call(StoredArrays& found, const std::string& path, const PickleValue& call, int depth) {
    const std::string& function = pickle_[call.items[0]].text;
    const PickleValue& arguments = pickle_[call.items[1]];
    if (function == "torch._utils._rebuild_tensor_v2") {
      found.push_back({path, tensor(path, arguments)});
    } else if (function == "torch._utils._rebuild_parameter") {
      if (!arguments.items.empty()) visit(found, path, arguments.items[0], depth + 1);
    } else if (function != "collections.OrderedDict" && function != "torch.Size" && function != "torch.device") {
      refuse(file_, "'", path, "' is an object of ", function.empty() ? "an unknown class" : function,
             "; only tensors in dictionaries and lists are read, and no code is run: save the model's state_dict()");
    }
  }

  Storage& storage(const PickleValue& reference) {
    const PickleValue& said = item(reference, 0, Kind::list, "its storage");
    const std::string& type = item(said, 1, Kind::global, "the type of its storage").text;
    const std::string& key = item(said, 2, Kind::text, "the name of its storage").text;
    const auto known = std::find_if(std::begin(storage_types), std::end(storage_types),
                                    [&](const StorageType& row) { return row.name == type; });
    if (known == std::end(storage_types)) refuse(file_, "holds elements of ", type, ", which Tyto has not");
    const auto member = members_.find("data/" + key);
    if (member == members_.end()) refuse(file_, "holds no storage '", key, "', which a tensor looks at");
    Storage& place = storages_.try_emplace(key, Storage{known->dtype, &member->second}).first->second;
    if (place.dtype != known->dtype) refuse(file_, "reads storage '", key, "' as two types");
    ++place.tensors;
    return place;
  }

  std::vector<std::byte> bytes_of(const Storage& storage) {
    std::vector<std::byte> bytes = contents(*storage.member);
    if (storage.dtype == DType::boolean) normalise_booleans(bytes);
    return bytes;
  }

  IntList numbers(const PickleValue& of) const {
    IntList list;
    for (const std::uint32_t each : of.items) {
      if (pickle_[each].kind != Kind::integer) refuse(file_, "describes a tensor by what is no number");
      list.push_back(pickle_[each].integer);
    }
    return list;
  }

  // Arguments: storage, offset, lengths, strides, ... as Python's function has them.
  tyto::detail::StoredArray tensor(const std::string& path, const PickleValue& arguments) {
    const std::string where = file_ + ": '" + path + "'";
    Storage& from = storage(item(arguments, 0, Kind::reference, "its storage"));
    const std::int64_t offset = item(arguments, 1, Kind::integer, "an offset").integer;
    const Shape shape = numbers(item(arguments, 2, Kind::list, "a shape"));
    const Strides strides = numbers(item(arguments, 3, Kind::list, "strides"));
    // The seventh argument marks views that PyTorch negates or conjugates when they are read.
    if (arguments.items.size() > 6 && !pickle_[arguments.items[6]].items.empty()) {
      refuse(where, "is a negated or conjugated view; save what resolve_neg() and resolve_conj() make of it");
    }
    const std::uint64_t bytes = byte_count(where, shape, from.dtype);
    const std::size_t width = size_of(from.dtype);
    const auto count = static_cast<std::int64_t>(from.member->size / width);
    std::int64_t last = offset;
    bool inside = shape.size() == strides.size() && offset >= 0 && offset <= count;
    for (std::size_t i = 0; inside && bytes != 0 && i < shape.size(); ++i) {
      std::int64_t reach = 0;
      inside = strides[i] >= 0 && !__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) &&
               !__builtin_add_overflow(last, reach, &last);
    }
    if (!inside || (bytes != 0 && last >= count)) {
      refuse(where, "has shape ", to_string(shape), " and strides ", to_string(strides), " from element ", offset,
             " of a storage of ", count);
    }
    if (bytes > bytes_left_)
      refuse(where, "looks at the same memory as so many others that they would not fit into memory");
    bytes_left_ -= bytes;
    const auto read = [all = shared_from_this(), &from, offset, shape, strides, bytes] {
      HostArray array{from.dtype, shape, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
      if (from.tensors > 1 && from.kept.empty()) from.kept = all->bytes_of(from);
      copy_strided(array, from.tensors > 1 ? from.kept : all->bytes_of(from), offset, strides);
      return array;
    };
    return {from.dtype, shape, read};
  }

  static void copy_strided(HostArray& to, const std::vector<std::byte>& from, std::int64_t offset,
                           const Strides& strides) {
    const std::size_t rank = to.shape.size(), width = size_of(to.dtype);
    IntList index(rank, 0);
    std::int64_t at = offset;
    for (std::size_t byte = 0; byte < to.bytes.size(); byte += width) {
      std::memcpy(to.bytes.data() + byte, from.data() + static_cast<std::size_t>(at) * width, width);
      for (std::size_t axis = rank; axis-- > 0;) {
        at += strides[axis];
        if (++index[axis] < to.shape[axis]) break;
        at -= strides[axis] * to.shape[axis];
        index[axis] = 0;
      }
    }
  }

  std::shared_ptr<const ByteSource> source_;
  std::string file_;
  std::map<std::string, ZipMember> members_;  // without the archive's own name in front
  Pickle pickle_;
  std::map<std::string, Storage> storages_;
  std::uint64_t visits_left_ = 0;
  std::uint64_t bytes_left_ = 0;
};

}  // namespace

StoredArrays list_torch(std::shared_ptr<const ByteSource> source) {
  return std::make_shared<Checkpoint>(std::move(source))->tensors();
}
NamedList<HostArray> read_torch(const ByteSource& source) { return read_all(list_torch(borrowed(source))); }

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

NamedList<StoredArray> open_torch_file(const std::string& path) {
  return io::list_torch(std::make_shared<const io::FileSource>(path));
}
NamedList<HostArray> read_torch_file(const std::string& path) { return io::read_all(open_torch_file(path)); }

}  // namespace detail
}  // namespace TYTO_API
