// SPDX-License-Identifier: MIT
// Keeps a list of weak references to buffers; freed ones are removed when the list is read or has doubled.
#include "engine/run/living.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <ostream>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/system/backtrace.hpp"
#include "core/system/environment.hpp"
#include "core/value/text.hpp"
#include "tyto/live_tensors.hpp"

namespace tyto::run {

namespace {

struct Living {
  std::weak_ptr<core::Buffer> buffer;
  DType dtype;
  Shape shape;
  std::string op;
  core::Label label;
  std::vector<void*> frames;
};

struct Register {
  std::mutex mutex;
  std::vector<Living> list;
  std::unordered_map<const core::Buffer*, std::weak_ptr<core::Buffer>> known;  // the buffers of the list
  std::size_t swept = 1024;  // entries after which the freed ones are looked for
};

// Never destroyed: tensors of static lifetime outlive everything else.
Register& living() {
  static Register* const kept = new Register;
  return *kept;
}

void sweep(Register& noted) {
  std::erase_if(noted.list, [](const Living& each) { return each.buffer.expired(); });
  std::erase_if(noted.known, [](const auto& each) { return each.second.expired(); });
}

bool is_of_tyto(std::string_view mangled) {
  constexpr std::string_view beginnings[] = {"_ZN4tyto", "_ZNK4tyto", "_ZZN4tyto", "_ZZNK4tyto"};
  return std::ranges::any_of(beginnings, [&](std::string_view each) { return mangled.starts_with(each); });
}

/// The innermost call that is the program's own: of a function that is not Tyto's.
std::string place_of(std::span<void* const> frames) {
  for (const core::Call& call : core::calls_of(frames)) {
    // A program's own templates may have types of Tyto's as arguments, but do not begin with its namespace.
    if (call.file.find("libtyto") != std::string::npos || is_of_tyto(call.symbol)) continue;
    return core::text(call.file, "(", core::demangled(call.symbol), call.offset, ")");
  }
  return {};
}

}  // namespace

bool notes_living() {
  static const bool noted = core::environment("TYTO_TRACE") == "1";
  return noted;
}

void note_living(const core::Array& array, std::string_view op, const core::Label& label) {
  std::vector<void*> frames = core::backtrace();
  Register& noted = living();
  const std::lock_guard lock(noted.mutex);
  std::weak_ptr<core::Buffer>& known = noted.known[array.buffer.get()];
  if (!known.expired()) return;  // a view
  known = array.buffer;
  if (noted.list.size() >= noted.swept) {
    sweep(noted);
    noted.swept = std::max<std::size_t>(1024, 2 * noted.list.size());
  }
  noted.list.push_back({array.buffer, array.dtype, array.view.shape, std::string(op), label, std::move(frames)});
}

}  // namespace tyto::run

void tyto::core::note_leaf(const Array& array) {
  if (run::notes_living()) run::note_living(array, "data", LabelScope::current());
}

namespace tyto TYTO_API {

std::vector<LiveTensor> live_tensors() {
  if (!run::notes_living())
    throw ValueError(
        "live_tensors: tensors are noted only where the program starts with TYTO_TRACE=1 in the environment");
  run::Register& noted = run::living();
  const std::lock_guard lock(noted.mutex);
  run::sweep(noted);
  std::vector<LiveTensor> tensors;
  for (const run::Living& each : noted.list) {
    const std::shared_ptr<core::Buffer> buffer = each.buffer.lock();
    if (buffer == nullptr) continue;
    tensors.push_back({buffer->bytes(), each.dtype, each.shape, each.op,
                       each.label == nullptr ? std::string() : *each.label, run::place_of(each.frames)});
  }
  std::ranges::stable_sort(tensors, std::ranges::greater(), &LiveTensor::bytes);
  return tensors;
}

std::ostream& operator<<(std::ostream& out, const LiveTensor& tensor) {
  out << core::bytes_in_words(tensor.bytes) << ' ' << name_of(tensor.dtype) << core::text(tensor.shape) << " of "
      << tensor.made_by;
  if (!tensor.label.empty()) out << " in " << tensor.label;
  if (!tensor.where.empty()) out << ", " << tensor.where;
  return out;
}

std::ostream& operator<<(std::ostream& out, const std::vector<LiveTensor>& tensors) {
  for (const LiveTensor& each : tensors) out << each << '\n';
  return out;
}

}  // namespace TYTO_API
