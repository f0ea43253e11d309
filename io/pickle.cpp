// SPDX-License-Identifier: MIT
// The pickle machine: a stack, a memo, and one row an operation.
#include "io/pickle.hpp"

#include <bit>
#include <unordered_map>

#include "io/refuse.hpp"

namespace tyto::io {

namespace {

using Kind = PickleValue::Kind;

class PickleMachine {
 public:
  PickleMachine(const std::string& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {}

  Pickle run() {
    while (step()) continue;
    pickle_.root = pop();
    return std::move(pickle_);
  }

 private:
  // Names of operations are those of Python's module pickle.
  bool step() {
    const auto code = static_cast<char>(fixed(1));
    switch (code) {
      case '\x80': fixed(1); return true;                                                              // PROTO
      case '\x95': fixed(8); return true;                                                              // FRAME
      case '.': return false;                                                                          // STOP
      case 'N': return push({Kind::none});                                                             // NONE
      case '\x88': return push_integer(1);                                                             // NEWTRUE
      case '\x89': return push_integer(0);                                                             // NEWFALSE
      case 'K': return push_integer(static_cast<std::int64_t>(fixed(1)));                              // BININT1
      case 'M': return push_integer(static_cast<std::int64_t>(fixed(2)));                              // BININT2
      case 'J': return push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(fixed(4))));  // BININT
      case '\x8a': return push_long();                                                                 // LONG1
      case 'G': return push_number();                                                                  // BINFLOAT
      case 'X': return push_text(fixed(4));                                                            // BINUNICODE
      case '\x8c': return push_text(fixed(1));  // SHORT_BINUNICODE
      case 'U': return push_text(fixed(1));     // SHORT_BINSTRING
      case ')':
      case ']': return push({Kind::list});        // EMPTY_TUPLE, EMPTY_LIST
      case '}': return push({Kind::dictionary});  // EMPTY_DICT
      case '(': return push({Kind::mark});        // MARK
      case 't':
      case 'l': return push_list(to_mark());                 // TUPLE, LIST
      case '\x85': return push_list(top(1));                 // TUPLE1
      case '\x86': return push_list(top(2));                 // TUPLE2
      case '\x87': return push_list(top(3));                 // TUPLE3
      case 'a': return extend(Kind::list, top(1));           // APPEND
      case 'e': return extend(Kind::list, to_mark());        // APPENDS
      case 's': return extend(Kind::dictionary, top(2));     // SETITEM
      case 'u': return extend(Kind::dictionary, to_mark());  // SETITEMS
      case 'q': return remember(fixed(1));                   // BINPUT
      case 'r': return remember(fixed(4));                   // LONG_BINPUT
      case '\x94': return remember(memo_.size());            // MEMOIZE
      case 'h': return recall(fixed(1));                     // BINGET
      case 'j': return recall(fixed(4));                     // LONG_BINGET
      case 'c': {                                            // GLOBAL
        std::string name = line();
        return push_global(std::move(name) + "." + line());
      }
      case '\x93': {  // STACK_GLOBAL
        const std::vector<std::uint32_t> names = top(2);
        return push_global(pickle_[names[0]].text + "." + pickle_[names[1]].text);
      }
      case 'Q': {  // BINPERSID
        PickleValue value{Kind::reference};
        value.items = {pop()};
        return push(std::move(value));
      }
      case 'R':       // REDUCE
      case '\x81': {  // NEWOBJ
        PickleValue value{Kind::call};
        value.items = top(2);
        return push(std::move(value));
      }
      case 'b': pop(); return true;  // BUILD: attributes of an object, of no account here
      default:
        refuse(file_, "uses operation ", static_cast<int>(static_cast<unsigned char>(code)),
               " of Python's pickles, which is not read");
    }
  }

  std::uint64_t fixed(std::size_t count) {
    std::uint64_t value = 0;
    const std::span<const std::byte> taken = take(count);
    for (std::size_t i = count; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(taken[i]);
    return value;
  }
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size()) refuse(file_, "ends in the middle of a pickle");
    const std::span<const std::byte> taken = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(static_cast<std::size_t>(count));
    return taken;
  }
  std::string line() {
    std::string text;
    for (char c = static_cast<char>(fixed(1)); c != '\n'; c = static_cast<char>(fixed(1))) text += c;
    return text;
  }

  bool push(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    stack_.push_back(static_cast<std::uint32_t>(pickle_.values.size() - 1));
    return true;
  }
  bool push_integer(std::int64_t integer) {
    PickleValue value{Kind::integer};
    value.integer = integer;
    return push(std::move(value));
  }
  bool push_long() {
    const std::uint64_t count = fixed(1);
    if (count > 8) refuse(file_, "holds an integer of ", count, " bytes; at most 8 are read");
    const std::uint64_t bits = fixed(static_cast<std::size_t>(count));
    const unsigned unused = 64 - 8 * static_cast<unsigned>(count);
    return push_integer(count == 0 ? 0 : static_cast<std::int64_t>(bits << unused) >> unused);
  }
  bool push_number() {
    std::uint64_t bits = 0;
    for (const std::byte byte : take(8)) bits = bits << 8 | std::to_integer<std::uint64_t>(byte);
    PickleValue value{Kind::number};
    value.number = std::bit_cast<double>(bits);
    return push(std::move(value));
  }
  bool push_text(std::uint64_t count) {
    const std::span<const std::byte> taken = take(count);
    PickleValue value{Kind::text};
    value.text.assign(reinterpret_cast<const char*>(taken.data()), taken.size());
    return push(std::move(value));
  }
  bool push_global(std::string name) {
    PickleValue value{Kind::global};
    value.text = std::move(name);
    return push(std::move(value));
  }
  bool push_list(std::vector<std::uint32_t> items) {
    PickleValue value{Kind::list};
    value.items = std::move(items);
    return push(std::move(value));
  }

  std::uint32_t pop() {
    if (stack_.empty() || pickle_[stack_.back()].kind == Kind::mark) refuse(file_, "is no pickle: a value is missing");
    const std::uint32_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::vector<std::uint32_t> top(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    return values;
  }
  std::vector<std::uint32_t> to_mark() {
    std::size_t at = stack_.size();
    while (at > 0 && pickle_[stack_[at - 1]].kind != Kind::mark) --at;
    if (at == 0) refuse(file_, "is no pickle: a mark is missing");
    std::vector<std::uint32_t> values(stack_.begin() + static_cast<std::ptrdiff_t>(at), stack_.end());
    stack_.resize(at - 1);
    return values;
  }

  // Into the list or dictionary on top of the stack. An ordered dictionary stands there as the call that makes it.
  bool extend(Kind kind, const std::vector<std::uint32_t>& items) {
    if (stack_.empty()) refuse(file_, "is no pickle: there is nothing to put into");
    PickleValue& into = pickle_.values[stack_.back()];
    if (into.kind == Kind::call && kind == Kind::dictionary &&
        pickle_[into.items[0]].text == "collections.OrderedDict") {
      into = {Kind::dictionary};
    }
    if (into.kind != kind || (kind == Kind::dictionary && items.size() % 2 != 0)) {
      refuse(file_, "is no pickle: a value is put into what holds none of its kind");
    }
    into.items.insert(into.items.end(), items.begin(), items.end());
    return true;
  }

  bool remember(std::uint64_t key) {
    if (stack_.empty()) refuse(file_, "is no pickle: there is nothing to remember");
    memo_[key] = stack_.back();
    return true;
  }
  bool recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end() || pickle_[found->second].kind == Kind::mark) {
      refuse(file_, "is no pickle: value ", key, " was never remembered");
    }
    stack_.push_back(found->second);
    return true;
  }

  const std::string& file_;
  std::span<const std::byte> bytes_;
  Pickle pickle_;
  std::vector<std::uint32_t> stack_;
  std::unordered_map<std::uint64_t, std::uint32_t> memo_;
};

}  // namespace

Pickle read_pickle(const std::string& file, std::span<const std::byte> bytes) {
  return PickleMachine(file, bytes).run();
}

}  // namespace tyto::io
