// SPDX-License-Identifier: MIT
// Reads and writes NumPy's .npz, a zip archive of .npy members.
#include <set>

#include "io/npy.hpp"
#include "io/npz.hpp"
#include "io/refuse.hpp"
#include "io/zip.hpp"

namespace tyto::io {

namespace {
constexpr std::string_view suffix = ".npy";
constexpr std::size_t longest_name = 0xffff;
}  // namespace

StoredArrays list_npz(std::shared_ptr<const ByteSource> source) {
  StoredArrays arrays;
  std::set<std::string> names;
  for (const ZipMember& member : read_zip_directory(*source)) {
    if (!member.name.ends_with(suffix)) {
      refuse(source->name(), "holds member '", member.name, "', expected only arrays (names that end in .npy)");
    }
    if (!names.insert(member.name).second) refuse(source->name(), "holds two members named '", member.name, "'");
    const NpyHeader header = read_npy_header(*open_zip_member(*source, member));
    const auto read = [source, member] {
      const std::unique_ptr<Stream> stream = open_zip_member(*source, member);
      HostArray array = read_npy(*stream);
      stream->expect_end("the array");
      return array;
    };
    arrays.push_back({member.name.substr(0, member.name.size() - suffix.size()), {header.dtype, header.shape, read}});
  }
  return arrays;
}

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

NamedList<StoredArray> open_npz_file(const std::string& path) {
  return io::list_npz(std::make_shared<const io::FileSource>(path));
}
NamedList<HostArray> read_npz_file(const std::string& path) { return io::read_all(open_npz_file(path)); }

void write_npz_file(const std::string& path, const NamedList<HostArrayView>& arrays, Compression compression) {
  std::set<std::string> names;
  for (const Named<HostArrayView>& array : arrays) {
    io::check_array(path + ": " + array.name, array.value);
    if (array.name.size() + io::suffix.size() > io::longest_name)
      io::refuse(path, "a name of ", array.name.size(), " bytes is too long for npz");
    if (!names.insert(array.name).second) io::refuse(path, "two arrays are named '", array.name, "'");
  }
  io::AtomicFile file(path);
  io::ZipWriter zip(file);
  for (const Named<HostArrayView>& array : arrays) {
    zip.add(array.name + std::string(io::suffix), io::npy_header(array.value), array.value.bytes, compression);
  }
  zip.finish();
  file.commit();
}

}  // namespace detail
}  // namespace TYTO_API
