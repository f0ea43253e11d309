// SPDX-License-Identifier: MIT
// Draws a random nest as a tree, emits it as flat steps, computes lifetimes by dataflow, and checks plans by running
// it.
#include "tests/memory/region_programs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tyto::memory_tests {
namespace {

struct Item;
using Sequence = std::vector<Item>;

// Carries of a loop: parameters that hand their values on, the first taking a fresh value or, in a cycle, the last's.
struct Chain {
  std::vector<int> inits;
  std::vector<int> parameters;
  std::vector<int> results;
  int fresh = -1;  // -1: a cycle
};

struct Item {
  enum class Kind { operation, loop, branch } kind = Kind::operation;
  std::vector<int> inputs;
  int output = -1;
  std::vector<Sequence> bodies;
  std::vector<Chain> chains;
  int trips = 0;
  int row = -1;  // the value of the body that is stacked, and the stack
  int stack = -1;
  std::vector<std::vector<int>> arm_results;
  std::vector<int> results;
};

class Drawing {
 public:
  Drawing(std::uint64_t seed, int depth) : random_(seed), depth_(depth) {
    input = value(size());
    std::vector<int> visible{input};
    std::vector<int> made;
    program = sequence(visible, between(4, 14), 0, made);
    result = made.back();
  }

  Sequence program;
  std::vector<int> size_of;  // by value
  int input;
  int result;

 private:
  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  // Log-normal by hand: the library's distributions differ between platforms.
  int size() {
    double normal = -6;
    for (int k = 0; k < 12; ++k) normal += static_cast<double>(random_() >> 11) * 0x1.0p-53;
    return std::clamp(static_cast<int>(std::exp(2.5 + 1.1 * normal)), 1, 200);
  }
  int value(int bytes) {
    size_of.push_back(bytes);
    return static_cast<int>(size_of.size()) - 1;
  }
  int recent(const std::vector<int>& visible) {
    const int count = static_cast<int>(visible.size());
    return visible[static_cast<std::size_t>(count - 1 - std::min(count - 1, between(0, between(0, 7))))];
  }
  static Item operation(std::vector<int> inputs, int output) {
    Item item;
    item.inputs = std::move(inputs);
    item.output = output;
    return item;
  }

  Sequence sequence(std::vector<int> visible, int count, int depth, std::vector<int>& made) {
    Sequence items;
    const auto make = [&](std::vector<int> inputs, int bytes) {
      const int output = value(bytes);
      items.push_back(operation(std::move(inputs), output));
      visible.push_back(output);
      made.push_back(output);
      return output;
    };
    for (int k = 0; k < count; ++k) {
      const int what = depth < depth_ ? between(0, 9) : 0;
      if (what < 7) {
        std::vector<int> inputs;
        for (int left = between(1, 3); left > 0; --left) inputs.push_back(recent(visible));
        make(std::move(inputs), size());
        continue;
      }
      Item item = what < 9 ? loop(visible, depth, make) : branch(visible, depth);
      for (const Chain& chain : item.chains) {
        for (const int out : chain.results) item.results.push_back(out);
      }
      if (item.stack >= 0) item.results.push_back(item.stack);
      visible.insert(visible.end(), item.results.begin(), item.results.end());
      made.insert(made.end(), item.results.begin(), item.results.end());
      items.push_back(std::move(item));
    }
    return items;
  }

  template <typename Make>
  Item loop(const std::vector<int>& visible, int depth, Make&& make) {
    Item item;
    item.kind = Item::Kind::loop;
    item.trips = between(1, 7);
    std::vector<int> inner;
    const auto chain = [&](int length, bool cycle) {
      Chain drawn;
      const int bytes = size();
      for (int k = 0; k < length; ++k) {
        drawn.inits.push_back(make({recent(visible)}, bytes));
        drawn.parameters.push_back(value(bytes));
        drawn.results.push_back(value(bytes));
        inner.push_back(drawn.parameters.back());
      }
      if (!cycle) drawn.fresh = value(bytes);
      item.chains.push_back(std::move(drawn));
    };
    for (int left = between(1, 2); left > 0; --left) chain(between(0, 9) < 6 ? 1 : between(2, 4), false);
    if (between(0, 5) == 0) chain(2, true);
    std::vector<int> seen = visible;
    seen.insert(seen.end(), inner.begin(), inner.end());
    std::vector<int> made;
    Sequence body = sequence(seen, between(1, 6), depth + 1, made);
    for (const Chain& each : item.chains) {
      if (each.fresh < 0) continue;
      if (between(0, 2) == 0) {
        body.insert(body.begin() + between(0, static_cast<int>(body.size())),
                    operation({each.parameters.back()}, each.fresh));
      } else {
        body.push_back(operation({each.parameters.back(), made.back()}, each.fresh));
      }
    }
    if (between(0, 1) == 1) {
      item.row = value(between(1, 20));
      body.push_back(operation({made.back()}, item.row));
      item.stack = value(size_of[static_cast<std::size_t>(item.row)] * item.trips);
    }
    item.bodies.push_back(std::move(body));
    return item;
  }

  Item branch(const std::vector<int>& visible, int depth) {
    Item item;
    item.kind = Item::Kind::branch;
    item.inputs = {recent(visible)};
    const int arms = between(2, 3);
    for (int left = between(1, 2); left > 0; --left) item.results.push_back(value(size()));
    for (int arm = 0; arm < arms; ++arm) {
      std::vector<int> made;
      Sequence body = sequence(visible, between(1, 6), depth + 1, made);
      std::vector<int> results;
      for (const int out : item.results) {
        results.push_back(value(size_of[static_cast<std::size_t>(out)]));
        body.push_back(operation({made.back()}, results.back()));
      }
      item.bodies.push_back(std::move(body));
      item.arm_results.push_back(std::move(results));
    }
    return item;
  }

  std::mt19937_64 random_;
  int depth_;
};

bool reads(const Item& item, int value) {
  const auto holds = [&](const std::vector<int>& list) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (holds(item.inputs)) return true;
  for (const Chain& chain : item.chains) {
    if (holds(chain.inits)) return true;
  }
  return std::any_of(item.bodies.begin(), item.bodies.end(), [&](const Sequence& body) {
    return std::any_of(body.begin(), body.end(), [&](const Item& inner) { return reads(inner, value); });
  });
}

int floor_mod(int value, int by) { return ((value % by) + by) % by; }

}  // namespace

class RegionEmitter {
 public:
  using Place = RegionProgram::Place;
  using Step = RegionProgram::Step;
  using Kind = RegionProgram::Kind;
  using Places = std::map<int, Place>;

  RegionEmitter(const Drawing& drawing, Bodies bodies, RegionProgram& program)
      : size_of_(drawing.size_of), bodies_(bodies), p_(program) {
    p_.values_ = static_cast<int>(drawing.size_of.size());
    Places places{{drawing.input, Place{storage(bytes(drawing.input))}}};
    Step first;
    first.writes = {{drawing.input, places[drawing.input]}};
    add(first);
    emit(drawing.program, places, {}, -1, {});
    Step last;
    last.reads = {{drawing.result, places.at(drawing.result)}};
    add(last);
  }

 private:
  int bytes(int value) const { return size_of_[static_cast<std::size_t>(value)]; }

  int storage(int size, bool stack = false) {
    p_.sizes_.push_back(size);
    p_.is_stack_.push_back(stack ? 1 : 0);
    return static_cast<int>(p_.sizes_.size()) - 1;
  }

  // The step before runs into this one, unless it was told to go elsewhere.
  int add(Step step) {
    const int index = static_cast<int>(p_.steps_.size());
    if (before_ >= 0) p_.steps_[static_cast<std::size_t>(before_)].next.push_back(index);
    before_ = index;
    p_.steps_.push_back(std::move(step));
    return index;
  }

  // `wanted`: where certain values are to be made. `row` goes into the row of `stack` that its loop counts.
  void emit(const Sequence& items, Places& places, const Places& wanted, int row, RegionProgram::Row stack) {
    for (const Item& item : items) {
      switch (item.kind) {
        case Item::Kind::operation: {
          Step step;
          for (const int in : item.inputs) step.reads.push_back({in, places.at(in)});
          if (item.output == row) {
            step.rows = {stack};
          } else {
            const auto given = wanted.find(item.output);
            places[item.output] = given != wanted.end() ? given->second : Place{storage(bytes(item.output))};
            step.writes = {{item.output, places[item.output]}};
          }
          add(std::move(step));
          break;
        }
        case Item::Kind::loop: emit_loop(item, places); break;
        case Item::Kind::branch: emit_branch(item, places); break;
      }
    }
  }

  // A chain of k needs a slot more where its last value is still read when, or after, the fresh one is made.
  static int slots_of(const Chain& chain, const Sequence& body) {
    const int length = static_cast<int>(chain.parameters.size());
    if (chain.fresh < 0) return length;
    int made = 0;
    int last_read = -1;
    for (int at = 0; at < static_cast<int>(body.size()); ++at) {
      if (body[static_cast<std::size_t>(at)].output == chain.fresh) made = at;
      if (reads(body[static_cast<std::size_t>(at)], chain.parameters.back())) last_read = at;
    }
    return last_read < made ? length : length + 1;
  }

  void emit_loop(const Item& item, Places& places) {
    const Sequence& body = item.bodies.front();
    std::vector<int> need;
    int copies = 1;
    int cycles = 1;
    for (const Chain& chain : item.chains) {
      need.push_back(slots_of(chain, body));
      if (chain.fresh < 0) cycles = std::lcm(cycles, need.back());
      copies = std::max(copies, need.back());
    }
    if (bodies_ == Bodies::once) {
      copies = 1;
    } else {
      copies = (copies + cycles - 1) / cycles * cycles;
      for (int& each : need) {
        while (copies % each != 0) ++each;
      }
    }
    const int loop = p_.loops_++;
    Step enter;
    enter.kind = Kind::enter;
    enter.loop = loop;
    std::vector<int> rings;
    for (std::size_t c = 0; c < item.chains.size(); ++c) {
      const Chain& chain = item.chains[c];
      RegionProgram::Ring ring{loop, {}};
      for (int k = 0; k < need[c]; ++k) ring.slots.push_back(storage(bytes(chain.parameters.front())));
      std::vector<char> filled(ring.slots.size(), 0);
      for (int k = 0; k < static_cast<int>(chain.parameters.size()); ++k) {
        const auto slot = static_cast<std::size_t>(floor_mod(-k - 1, need[c]));
        filled[slot] = 1;
        const int init = chain.inits[static_cast<std::size_t>(k)];
        Step copy;
        copy.reads = {{init, places.at(init)}};
        copy.writes = {{chain.parameters[static_cast<std::size_t>(k)], Place{ring.slots[slot]}}};
        add(std::move(copy));
      }
      for (std::size_t k = 0; k < filled.size(); ++k) {
        if (filled[k] == 0 && bodies_ == Bodies::once) enter.cleared.push_back(ring.slots[k]);
      }
      rings.push_back(static_cast<int>(p_.rings_.size()));
      p_.rings_.push_back(std::move(ring));
    }
    RegionProgram::Row stack{-1, loop, 0};
    if (item.stack >= 0) {
      stack = {storage(bytes(item.stack), true), loop, bytes(item.row)};
      enter.cleared.push_back(stack.stack);
    }
    add(std::move(enter));
    const int begin = static_cast<int>(p_.steps_.size());
    std::vector<int> ends;
    for (int copy = 0; copy < copies; ++copy) {
      // Slot of what is `shift` iterations old, in this copy.
      const auto slot = [&](std::size_t c, int shift) {
        if (bodies_ == Bodies::once) return Place{-1, rings[c], shift};
        return Place{p_.rings_[static_cast<std::size_t>(rings[c])]
                         .slots[static_cast<std::size_t>(floor_mod(copy - shift, need[c]))]};
      };
      Places inner = places;
      Places wanted;
      Step again;
      again.kind = Kind::again;
      again.loop = loop;
      again.trips = item.trips;
      for (std::size_t c = 0; c < item.chains.size(); ++c) {
        const Chain& chain = item.chains[c];
        for (std::size_t k = 0; k < chain.parameters.size(); ++k) {
          inner[chain.parameters[k]] = slot(c, static_cast<int>(k) + 1);
          const int next = k > 0 ? chain.parameters[k - 1] : chain.fresh >= 0 ? chain.fresh : chain.parameters.back();
          again.go_on.push_back({chain.parameters[k], next});
          again.leave.push_back({chain.results[k], next});
        }
        if (chain.fresh >= 0) wanted[chain.fresh] = slot(c, 0);
      }
      emit(body, inner, wanted, item.row, stack);
      ends.push_back(add(std::move(again)));
    }
    p_.steps_[static_cast<std::size_t>(ends.back())].next.push_back(begin);
    before_ = ends[static_cast<std::size_t>((item.trips - 1) % copies)];
    add(Step{});
    for (std::size_t c = 0; c < item.chains.size(); ++c) {
      const std::vector<int>& slots = p_.rings_[static_cast<std::size_t>(rings[c])].slots;
      for (std::size_t k = 0; k < item.chains[c].results.size(); ++k) {
        places[item.chains[c].results[k]] =
            Place{slots[static_cast<std::size_t>(floor_mod(item.trips - static_cast<int>(k) - 1, need[c]))]};
      }
    }
    if (item.stack >= 0) places[item.stack] = Place{stack.stack};
  }

  void emit_branch(const Item& item, Places& places) {
    Step choose;
    choose.kind = Kind::choose;
    for (const int in : item.inputs) choose.reads.push_back({in, places.at(in)});
    const int head = add(std::move(choose));
    std::vector<Place> into;
    for (const int result : item.results) into.push_back(Place{storage(bytes(result))});
    std::vector<int> ends;
    for (std::size_t arm = 0; arm < item.bodies.size(); ++arm) {
      Places inner = places;
      Places wanted;
      Step end;
      for (std::size_t r = 0; r < into.size(); ++r) {
        wanted[item.arm_results[arm][r]] = into[r];
        end.leave.push_back({item.results[r], item.arm_results[arm][r]});
      }
      before_ = head;
      emit(item.bodies[arm], inner, wanted, -1, {});
      ends.push_back(add(std::move(end)));
    }
    before_ = -1;
    const int join = add(Step{});
    for (const int end : ends) p_.steps_[static_cast<std::size_t>(end)].next = {join};
    for (std::size_t r = 0; r < into.size(); ++r) places[item.results[r]] = into[r];
  }

  const std::vector<int>& size_of_;
  Bodies bodies_;
  RegionProgram& p_;
  int before_ = -1;
};

RegionProgram::RegionProgram(std::uint64_t seed, int depth, Bodies bodies) {
  const Drawing drawing(seed, depth);
  RegionEmitter(drawing, bodies, *this);
  find_lifetimes();
}

// Classic liveness: alive where some path leads to a read without a full write before, and where it is touched.
void RegionProgram::find_lifetimes() {
  const std::size_t count = steps_.size();
  const std::size_t storages = sizes_.size();
  std::vector<std::vector<char>> uses(count, std::vector<char>(storages, 0));
  std::vector<std::vector<char>> kills(count, std::vector<char>(storages, 0));
  const auto touch = [&](std::size_t at, const Place& place, bool write) {
    if (place.ring < 0) {
      (write ? kills : uses)[at][static_cast<std::size_t>(place.storage)] = 1;
      return;
    }
    for (const int slot : rings_[static_cast<std::size_t>(place.ring)].slots)
      uses[at][static_cast<std::size_t>(slot)] = 1;
  };
  for (std::size_t at = 0; at < count; ++at) {
    for (const Access& read : steps_[at].reads) touch(at, read.place, false);
    for (const Access& write : steps_[at].writes) touch(at, write.place, true);
    for (const Row& row : steps_[at].rows) uses[at][static_cast<std::size_t>(row.stack)] = 1;
    for (const int cleared : steps_[at].cleared) kills[at][static_cast<std::size_t>(cleared)] = 1;
  }
  std::vector<std::vector<char>> in = uses;
  std::vector<std::vector<char>> out(count, std::vector<char>(storages, 0));
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t at = count; at-- > 0;) {
      for (const int next : steps_[at].next) {
        for (std::size_t s = 0; s < storages; ++s) out[at][s] |= in[static_cast<std::size_t>(next)][s];
      }
      for (std::size_t s = 0; s < storages; ++s) {
        const char live = uses[at][s] != 0 || (out[at][s] != 0 && kills[at][s] == 0) ? 1 : 0;
        changed = changed || live != in[at][s];
        in[at][s] = live;
      }
    }
  }
  spans_.resize(storages);
  for (std::size_t s = 0; s < storages; ++s) {
    std::vector<Span>& spans = spans_[s];
    for (std::size_t at = 0; at < count; ++at) {
      if (out[at][s] == 0 && uses[at][s] == 0 && kills[at][s] == 0) continue;
      const auto step = static_cast<std::int64_t>(at);
      if (!spans.empty() && spans.back().upper == step) {
        spans.back().upper = step + 1;
      } else {
        spans.push_back({step, step + 1});
      }
    }
  }
  for (std::size_t s = 0; s < storages; ++s) {
    blocks_.push_back({.id = static_cast<std::int64_t>(s),
                       .lower = spans_[s].front().lower,
                       .upper = spans_[s].back().upper,
                       .size = sizes_[s],
                       .spans = spans_[s]});
  }
}

std::int64_t RegionProgram::load() const {
  std::vector<std::int64_t> load(steps_.size(), 0);
  for (const Block& block : blocks_) {
    for (const Span& span : block.spans) {
      for (std::int64_t step = span.lower; step < span.upper; ++step)
        load[static_cast<std::size_t>(step)] += block.size;
    }
  }
  return *std::max_element(load.begin(), load.end());
}

std::string RegionProgram::judge(const std::vector<std::int64_t>& offsets, int traces, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  std::int64_t height = 0;
  for (std::size_t s = 0; s < sizes_.size(); ++s) height = std::max(height, offsets[s] + sizes_[s]);
  for (int trace = 0; trace < traces; ++trace) {
    std::vector<int> memory(static_cast<std::size_t>(height), 0);
    std::vector<int> value(static_cast<std::size_t>(values_), 0);
    std::vector<int> count(static_cast<std::size_t>(loops_), 0);
    std::vector<std::vector<int>> stacked(sizes_.size());
    int tokens = 0;
    const auto storage_of = [&](const Place& place) {
      if (place.ring < 0) return static_cast<std::size_t>(place.storage);
      const Ring& ring = rings_[static_cast<std::size_t>(place.ring)];
      const int slots = static_cast<int>(ring.slots.size());
      const int at = floor_mod(count[static_cast<std::size_t>(ring.loop)] - place.shift, slots);
      return static_cast<std::size_t>(ring.slots[static_cast<std::size_t>(at)]);
    };
    const auto begin_of = [&](std::size_t storage) { return memory.begin() + offsets[storage]; };
    const auto stack_holds = [&](std::size_t storage) {
      return std::equal(stacked[storage].begin(), stacked[storage].end(), begin_of(storage));
    };
    const auto rename = [&](const std::vector<Rename>& names) {
      std::vector<int> taken;
      for (const Rename& name : names) taken.push_back(value[static_cast<std::size_t>(name.from)]);
      for (std::size_t k = 0; k < names.size(); ++k) value[static_cast<std::size_t>(names[k].to)] = taken[k];
    };
    for (int at = 0; at >= 0;) {
      const Step& step = steps_[static_cast<std::size_t>(at)];
      const std::string where = " at step " + std::to_string(at);
      for (const Access& read : step.reads) {
        const std::size_t s = storage_of(read.place);
        if (is_stack_[s] != 0) {
          if (stacked[s].size() != static_cast<std::size_t>(sizes_[s]) || !stack_holds(s)) {
            return "a stack was overwritten before its read" + where;
          }
          continue;
        }
        const int wanted = value[static_cast<std::size_t>(read.value)];
        const auto begin = begin_of(s);
        if (wanted == 0 || !std::all_of(begin, begin + sizes_[s], [&](int token) { return token == wanted; })) {
          return "value " + std::to_string(read.value) + " is not in its storage" + where;
        }
      }
      for (const int cleared : step.cleared) stacked[static_cast<std::size_t>(cleared)].clear();
      if (step.kind == Kind::enter) count[static_cast<std::size_t>(step.loop)] = 0;
      for (const Access& write : step.writes) {
        const std::size_t s = storage_of(write.place);
        std::fill(begin_of(s), begin_of(s) + sizes_[s], ++tokens);
        value[static_cast<std::size_t>(write.value)] = tokens;
      }
      for (const Row& row : step.rows) {
        const auto s = static_cast<std::size_t>(row.stack);
        if (!stack_holds(s)) return "a stack was overwritten between its rows" + where;
        stacked[s].insert(stacked[s].end(), static_cast<std::size_t>(row.bytes), ++tokens);
        std::copy(stacked[s].begin(), stacked[s].end(), begin_of(s));
      }
      std::size_t way = 0;
      if (step.kind == Kind::choose) {
        way = random() % step.next.size();
      } else if (step.kind == Kind::again) {
        way = ++count[static_cast<std::size_t>(step.loop)] < step.trips ? 0 : 1;
        rename(way == 0 ? step.go_on : step.leave);
        if (way == step.next.size()) return "a loop ends in a copy without an exit" + where;
      } else {
        rename(step.leave);
      }
      at = step.next.empty() ? -1 : step.next[way];
    }
  }
  return "";
}

}  // namespace tyto::memory_tests
