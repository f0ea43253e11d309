// Tensors of a checkpoint: the pickle says how they look at stored memory. Everything else in it is passed over, but
// for objects of unknown classes, which may hold tensors and could only be made by running their code.
#include "io/torch.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

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
    {"torch.FloatStorage", DType::f32},     {"torch.DoubleStorage", DType::f64}, {"torch.HalfStorage", DType::f16},
    {"torch.BFloat16Storage", DType::bf16}, {"torch.LongStorage", DType::i64},   {"torch.IntStorage", DType::i32},
    {"torch.ShortStorage", DType::i16},     {"torch.CharStorage", DType::i8},    {"torch.ByteStorage", DType::u8},
    {"torch.BoolStorage", DType::boolean},
};

/// Memory that tensors look at.
struct Storage {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;
};

class Checkpoint {
 public:
  explicit Checkpoint(const ByteSource& source) : source_(source), file_(source.name()) {
    for (ZipMember& member : read_zip_directory(source)) {
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
    bytes_left_ = 64 * source.size();
  }

  NamedList<HostArray> tensors() {
    visit("", pickle_.root, 0);
    return std::move(found_);
  }

 private:
  static constexpr int deepest = 64;

  std::vector<std::byte> contents(const ZipMember& member) {
    const std::unique_ptr<Stream> stream = open_zip_member(source_, member);
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

  void visit(const std::string& path, std::uint32_t at, int depth) {
    if (visits_left_-- == 0 || depth > deepest) refuse(file_, "nests its values too deep, or holds them in each other");
    const PickleValue& value = pickle_[at];
    if (value.kind == Kind::list) {
      for (std::size_t i = 0; i < value.items.size(); ++i)
        visit(joined(path, std::to_string(i)), value.items[i], depth + 1);
    } else if (value.kind == Kind::dictionary) {
      for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
        const PickleValue& key = pickle_[value.items[i]];
        visit(joined(path, key.kind == Kind::integer ? std::to_string(key.integer) : key.text), value.items[i + 1],
              depth + 1);
      }
    } else if (value.kind == Kind::call) {
      visit_call(path, value, depth);
    }
  }

  void visit_call(const std::string& path, const PickleValue& call, int depth) {
    const std::string& function = pickle_[call.items[0]].text;
    const PickleValue& arguments = pickle_[call.items[1]];
    if (function == "torch._utils._rebuild_tensor_v2") {
      found_.push_back({path, tensor(path, arguments)});
    } else if (function == "torch._utils._rebuild_parameter") {
      if (!arguments.items.empty()) visit(path, arguments.items[0], depth + 1);
    } else if (function != "collections.OrderedDict" && function != "torch.Size" && function != "torch.device") {
      refuse(file_, "'", path, "' is an object of ", function.empty() ? "an unknown class" : function,
             "; only tensors in dictionaries and lists are read, and no code is run: save the model's state_dict()");
    }
  }

  const Storage& storage(const PickleValue& reference) {
    const PickleValue& said = item(reference, 0, Kind::list, "its storage");
    const std::string& type = item(said, 1, Kind::global, "the type of its storage").text;
    const std::string& key = item(said, 2, Kind::text, "the name of its storage").text;
    const auto known = std::find_if(std::begin(storage_types), std::end(storage_types),
                                    [&](const StorageType& row) { return row.name == type; });
    if (known == std::end(storage_types)) refuse(file_, "holds elements of ", type, ", which Tyto has not");
    const auto [place, is_new] = storages_.try_emplace(key);
    if (!is_new) {
      if (place->second.dtype != known->dtype) refuse(file_, "reads storage '", key, "' as two types");
      return place->second;
    }
    const auto member = members_.find("data/" + key);
    if (member == members_.end()) refuse(file_, "holds no storage '", key, "', which a tensor looks at");
    place->second = {known->dtype, contents(member->second)};
    if (known->dtype == DType::boolean) normalise_booleans(place->second.bytes);
    return place->second;
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
  HostArray tensor(const std::string& path, const PickleValue& arguments) {
    const std::string where = file_ + ": '" + path + "'";
    const Storage& from = storage(item(arguments, 0, Kind::reference, "its storage"));
    const std::int64_t offset = item(arguments, 1, Kind::integer, "an offset").integer;
    const Shape shape = numbers(item(arguments, 2, Kind::list, "a shape"));
    const Strides strides = numbers(item(arguments, 3, Kind::list, "strides"));
    const std::uint64_t bytes = byte_count(where, shape, from.dtype);
    const std::size_t width = size_of(from.dtype);
    const auto count = static_cast<std::int64_t>(from.bytes.size() / width);
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
    HostArray array{from.dtype, shape, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
    copy_strided(array, from, offset, strides, width);
    return array;
  }

  static void copy_strided(HostArray& to, const Storage& from, std::int64_t offset, const Strides& strides,
                           std::size_t width) {
    const std::size_t rank = to.shape.size();
    IntList index(rank, 0);
    std::int64_t at = offset;
    for (std::size_t byte = 0; byte < to.bytes.size(); byte += width) {
      std::memcpy(to.bytes.data() + byte, from.bytes.data() + static_cast<std::size_t>(at) * width, width);
      for (std::size_t axis = rank; axis-- > 0;) {
        at += strides[axis];
        if (++index[axis] < to.shape[axis]) break;
        at -= strides[axis] * to.shape[axis];
        index[axis] = 0;
      }
    }
  }

  const ByteSource& source_;
  std::string file_;
  std::map<std::string, ZipMember> members_;  // without the archive's own name in front
  Pickle pickle_;
  std::map<std::string, Storage> storages_;
  NamedList<HostArray> found_;
  std::uint64_t visits_left_ = 0;
  std::uint64_t bytes_left_ = 0;
};

}  // namespace

NamedList<HostArray> read_torch(const ByteSource& source) { return Checkpoint(source).tensors(); }

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

NamedList<HostArray> read_torch_file(const std::string& path) { return io::read_torch(io::FileSource(path)); }

}  // namespace detail
}  // namespace TYTO_API
