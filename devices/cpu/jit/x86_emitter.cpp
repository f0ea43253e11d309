// One function: rows, along a row vectors of elements, and what is left of a row with the same body and partial loads
// and stores.
//
//   rbx the frame, r12 the element reached, r13 the columns, r14 the last element at which a vector may begin, rbp the
//   caller's stack; rax and rcx are free; the other general registers hold where operands start.
#include "devices/cpu/jit/x86_emitter.hpp"

#if defined(TYTO_HAVE_XBYAK)

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <stdexcept>

#include "devices/cpu/instruction_set.hpp"
#include "devices/cpu/jit/registers.hpp"
#include "devices/cpu/jit/x86_encoder.hpp"

namespace tyto::cpu::jit {

namespace {

using Xbyak::Label;

constexpr int most_pointers = 8;

/// The set has not registers enough, or not the instructions: the loop is interpreted.
struct NotEmitted {};

class Emitter : public X86Encoder {
 public:
  Emitter(const KernelForm& form, VectorSet set, std::span<std::byte> buffer)
      : X86Encoder(buffer, set, form.code.wide),
        form_(form),
        body_(form, has_masks),
        vectors_(body_, 0, registers),
        masks_(body_, 1, tail_mask - 1),
        slots_of_(form.code.nodes.size(), -1),
        folded_(form.code.nodes.size(), false),
        constants_(form.code.nodes.size()) {
    place_accumulators();
    choose_pins();
    emit_function();
  }

 private:
  // --- The frame on the stack: what calls are given, registers saved around them, the tail's count and masks, then
  // values that found no register. -------------------------------------------------------------------------------------

  int save_area() const { return 4 * vector_bytes; }
  int mask_area() const { return save_area() + registers * vector_bytes; }
  int pointer_area() const { return mask_area() + 64; }
  int tail_count() const { return pointer_area() + 64; }
  int tail_mask_32() const { return tail_count() + 64; }
  int tail_mask_64() const { return tail_mask_32() + 64; }
  int totals_area() const { return tail_mask_64() + 64; }
  int slot_area() const { return totals_area() + 64 * (1 + static_cast<int>(accumulators_.size()) / 4); }
  Address slot(int which) { return ptr[rsp + slot_area() + which * vector_bytes]; }
  int new_slot() {
    most_slots_ = std::max(most_slots_, next_slot_ + 1);
    return next_slot_++;
  }
  int& slot_of(Value value) { return slots_of_[static_cast<std::size_t>(value)]; }

  // --- Operands -------------------------------------------------------------------------------------------------------

  int inputs() const { return static_cast<int>(form_.inputs.size()); }
  int operand_count() const { return inputs() + static_cast<int>(form_.outputs.size()); }
  const OperandForm& form_of(int operand) const {
    return operand < inputs() ? form_.inputs[static_cast<std::size_t>(operand)]
                              : form_.outputs[static_cast<std::size_t>(operand - inputs())];
  }
  int width_of(int operand) const { return static_cast<int>(size_of(form_of(operand).stored)); }
  Address in_place(int operand, std::size_t member) {
    const std::size_t at = offsetof(Frame, places) + static_cast<std::size_t>(operand) * sizeof(OperandPlace) + member;
    return qword[rbx + static_cast<int>(at)];
  }
  Address start_of(int operand) { return in_place(operand, offsetof(OperandPlace, start)); }
  Address row_of(int operand) { return in_place(operand, offsetof(OperandPlace, row)); }
  Address column_of(int operand) { return in_place(operand, offsetof(OperandPlace, column)); }
  Address cursor_of(int operand) { return in_place(operand, offsetof(OperandPlace, cursor)); }
  Reg64 pointer_register(int which) {
    const Reg64 list[most_pointers] = {rdx, rsi, rdi, r8, r9, r10, r11, r15};
    return list[which];
  }
  /// A register that holds where a contiguous operand's row starts; rax where no other was left for it.
  Reg64 pointer(int operand) {
    const int which = pointers_[static_cast<std::size_t>(operand)];
    if (which >= 0) return pointer_register(which);
    mov(rax, start_of(operand));
    return rax;
  }
  /// The address of the vector at hand of a contiguous operand.
  Address at(int operand) {
    const int width = width_of(operand);
    return ptr[pointer(operand) + r12 * width + step_ * lanes * width];
  }

  // --- Values in registers --------------------------------------------------------------------------------------------

  Lane lane_of_value(Value value) const { return form_.code[value].lane; }
  bool is_in_mask(Value value) const { return has_masks && is_mask(lane_of_value(value)); }
  RegisterFile& file(Value value) { return is_in_mask(value) ? masks_ : vectors_; }
  Xmm vector_of(Value value, int which) const { return vector(which, lane_of_value(value)); }
  int operand_of(Value value) const { return static_cast<int>(form_.code[value].immediate); }
  Value operand(Value value, std::size_t k) const {
    return body_.root[static_cast<std::size_t>(form_.code[value].operands[k])];
  }

  /// Where a constant lies, as an operand: broadcast as it is read where the set can do that.
  Address constant_at(Value value) {
    std::unique_ptr<Label>& label = constants_[static_cast<std::size_t>(value)];
    if (label == nullptr) label = std::make_unique<Label>();
    return has_masks ? ptr_b[rip + *label] : ptr[rip + *label];
  }
  void load_constant(Value value, int which) {
    const Node& node = form_.code[value];
    if (is_in_mask(value)) {
      const Opmask mask(which);
      node.immediate != 0 ? kxnorw(mask, mask, mask) : kxorw(mask, mask, mask);
      return;
    }
    if (node.immediate == 0) return zero(which);
    constant_at(value);
    const Label& label = *constants_[static_cast<std::size_t>(value)];
    if (!has_masks) vmovups(vector_of(value, which), ptr[rip + label]);
    else if (is_wide(node.lane)) vbroadcastsd(Xbyak::Zmm(which), ptr[rip + label]);
    else vbroadcastss(vector_of(value, which), ptr[rip + label]);
  }
  void load_slot(Value value, int which) {
    if (is_in_mask(value)) kmovw(Opmask(which), slot(slot_of(value)));
    else vmovups(vector_of(value, which), slot(slot_of(value)));
  }
  void store_slot(Value value, int which) {
    if (is_in_mask(value)) kmovw(slot(slot_of(value)), Opmask(which));
    else vmovups(slot(slot_of(value)), vector_of(value, which));
  }

  /// Empties a register of a file.
  int take(RegisterFile& bank) {
    int which = bank.find_free();
    if (which < 0) {
      which = bank.farthest(position_);
      if (which < 0) throw std::logic_error("jit: an instruction wants more registers than there are");
      const Value value = bank.owner(which);
      if (slot_of(value) < 0 && !body_.is_constant(value)) {
        slot_of(value) = new_slot();
        store_slot(value, which);
      }
      bank.release(which);
    }
    bank.lock(which);
    return which;
  }
  int take_vector() { return take(vectors_); }

  int in_register(Value value) {
    RegisterFile& bank = file(value);
    const int there = bank.find(value);
    if (there >= 0) {
      bank.lock(there);
      return there;
    }
    const int which = take(bank);
    if (body_.is_constant(value)) load_constant(value, which);
    else if (slot_of(value) >= 0) load_slot(value, which);
    else if (folded_[static_cast<std::size_t>(value)]) unpack(form_of(operand_of(value)).stored, vector_of(value, which), at(operand_of(value)));
    else throw std::logic_error("jit: a value is read before it is made");
    bank.assign(value, which);
    return which;
  }
  bool is_in_register(Value value) { return file(value).find(value) >= 0; }

  /// Calls use(operand) with a vector's value in a register, or where it lies in memory.
  template <class Use>
  void with(Value value, const Use& use) {
    const int there = vectors_.find(value);
    if (there >= 0) {
      vectors_.lock(there);
      use(vector_of(value, there));
    } else if (body_.is_constant(value)) {
      use(constant_at(value));
    } else if (slot_of(value) >= 0) {
      use(slot(slot_of(value)));
    } else if (folded_[static_cast<std::size_t>(value)]) {
      use(at(operand_of(value)));
    } else {
      throw std::logic_error("jit: a value is read before it is made");
    }
  }

  /// Whether the register that holds the value may be written over by what reads it now.
  bool dies(Value value) {
    RegisterFile& bank = file(value);
    const int which = bank.find(value);
    return which >= 0 && !bank.is_pinned(which) && !body_.same_in_row[static_cast<std::size_t>(value)] &&
           bank.next_use(value, position_ + 1) == RegisterFile::never;
  }
  void let_go_of(Value value) {
    RegisterFile& bank = file(value);
    const int which = bank.find(value);
    if (which < 0 || bank.is_pinned(which) || !in_element_) return;
    if (bank.next_use(value, position_ + 1) == RegisterFile::never) bank.release(which);
  }
  int pinned_at(Value value) const {
    const auto found = pins_.find(value);
    return found == pins_.end() ? -1 : found->second;
  }
  /// A register for the result of the value at hand: its own, one of its operands' that is read no more, or another.
  int result_register(Value value, bool apart = false) {
    if (const int pinned = pinned_at(value); pinned >= 0) return pinned;
    RegisterFile& bank = file(value);
    int found = -1;
    if (!apart) {
      body_.operands(value, [&](Value read) {
        if (&file(read) == &bank && dies(read)) found = bank.find(read);
      });
    }
    return found >= 0 ? found : take(bank);
  }
  /// The result is in the register.
  void settle(Value value, int which) {
    if (pinned_at(value) >= 0) return;
    RegisterFile& bank = file(value);
    if (bank.owner(which) == value) return;
    bank.release(which);
    bank.assign(value, which);
  }
  void unlock_all() {
    vectors_.unlock_all();
    masks_.unlock_all();
  }
  void forget_all() {
    vectors_.release_all();
    masks_.release_all();
  }

  // --- The function ---------------------------------------------------------------------------------------------------

  /// Registers that the values of a body leave over hold what every vector needs.
  void choose_pins() {
    std::vector<std::pair<std::size_t, Value>> wanted;
    for (std::size_t i = 0; i < form_.code.nodes.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (body_.root[i] != value || !body_.same_in_row[i] || is_in_mask(value)) continue;
      if (!body_.readers[i].empty()) wanted.emplace_back(body_.readers[i].size(), value);
    }
    std::stable_sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr int temporaries = 3;
    const int free = registers - accumulator_count_;
    int left = free - std::min(body_.pressure, free / 2) - temporaries;
    for (const auto& [uses, value] : wanted) {
      if (left-- <= 0) break;
      const int which = registers - 1 - accumulator_count_ - static_cast<int>(pins_.size());
      pins_.emplace(value, which);
      vectors_.pin(value, which);
    }
  }

  void assign_pointers() {
    pointers_.assign(static_cast<std::size_t>(operand_count()), -1);
    int next = 0;
    for (int each = 0; each < operand_count(); ++each) {
      if (form_of(each).access == Access::contiguous && next < most_pointers) {
        pointers_[static_cast<std::size_t>(each)] = next++;
      }
    }
  }

  /// How many vectors go through the body in one turn of the loop: short bodies would wait for the loop.
  int unroll() const {
    if (!accumulators_.empty()) return copies_;
    const std::size_t work = body_.element.size() + form_.code.stores.size();
    return work <= 8 ? 4 : work <= 24 ? 2 : 1;
  }

  void emit_function() {
    assign_pointers();
    for (const Reg64& each : {rbx, rbp, r12, r13, r14, r15}) push(each);
    mov(rbp, rsp);
    mov(rbx, rdi);
    sub(rsp, 0x7fffffff);
    const std::size_t frame_size_at = getSize() - 4;
    and_(rsp, -64);
    for (const auto& [value, which] : pins_) {
      if (body_.is_constant(value)) load_constant(value, which);
    }
    const Address columns = qword[rbx + static_cast<int>(offsetof(Frame, columns))];
    mov(r13, columns);
    Label row;
    L(row);
    emit_row_start();
    if (accumulators_.empty()) {
      emit_columns();
    } else {
      Label block;
      start_totals();
      L(block);
      lea(r13, ptr[r12 + block_elements]);
      cmp(r13, columns);
      cmovg(r13, columns);
      start_accumulators();
      emit_columns();
      add_to_totals();
      // The rest of the tail's vector belongs to no block.
      mov(r12, r13);
      cmp(r12, columns);
      jl(block, T_NEAR);
      store_totals();
    }
    for (int each = 0; each < operand_count(); ++each) {
      mov(rax, row_of(each));
      add(start_of(each), rax);
    }
    dec(qword[rbx + static_cast<int>(offsetof(Frame, rows))]);
    jnz(row, T_NEAR);
    if (form_.non_temporal) sfence();
    vzeroupper();
    mov(rsp, rbp);
    for (const Reg64& each : {r15, r14, r13, r12, rbp, rbx}) pop(each);
    ret();
    for (Stub& stub : stubs_) emit_stub(stub);
    emit_constants();
    rewrite(frame_size_at, static_cast<std::uint64_t>(slot_area() + (most_slots_ + 2) * vector_bytes), 4);
  }

  void emit_row_start() {
    for (int each = 0; each < operand_count(); ++each) {
      const int which = pointers_[static_cast<std::size_t>(each)];
      if (which >= 0) mov(pointer_register(which), start_of(each));
      if (form_of(each).access != Access::strided) continue;
      mov(rax, start_of(each));
      mov(cursor_of(each), rax);
    }
    xor_(r12, r12);
    in_element_ = false;
    position_ = -1;
    for (const Value value : body_.row) {
      unlock_all();
      emit(value);
      if (pinned_at(value) < 0) {
        if (slot_of(value) < 0) slot_of(value) = new_slot();
        store_slot(value, file(value).find(value));
      }
      forget_all();
    }
  }

  /// The elements from r12 to r13.
  void emit_columns() {
    const int unrolled = unroll();
    Label end;
    if (form_.non_temporal) emit_head();
    emit_vectors(unrolled);
    if (!accumulators_.empty()) mov(qword[rsp + rest_from()], r12);
    if (unrolled > 1) emit_vectors(1);
    mov(rax, r13);
    sub(rax, r12);
    jz(end, T_NEAR);
    emit_tail();
    L(end);
  }

  /// The elements before the first output's next multiple of a vector.
  void emit_head() {
    Label aligned;
    const int width = width_of(inputs());
    mov(rax, start_of(inputs()));
    neg(rax);
    and_(rax, lanes * width - 1);
    jz(aligned, T_NEAR);
    shr(rax, std::countr_zero(static_cast<unsigned>(width)));
    cmp(rax, r13);
    cmovg(rax, r13);
    emit_tail();
    mov(eax, dword[rsp + tail_count()]);
    add(r12, rax);
    L(aligned);
  }

  void emit_vectors(int unrolled) {
    Label end, next;
    mov(r14, r13);
    sub(r14, lanes * unrolled);
    cmp(r12, r14);
    jg(end, T_NEAR);
    align(16);
    L(next);
    for (step_ = 0; step_ < unrolled; ++step_) emit_body(false);
    step_ = 0;
    if (unrolled == 1) turn_accumulators();
    add(r12, lanes * unrolled);
    cmp(r12, r14);
    jle(next, T_NEAR);
    L(end);
  }

  /// rax holds how many elements are left.
  void emit_tail() {
    mov(dword[rsp + tail_count()], eax);
    if (has_masks) {
      mov(ecx, -1);
      bzhi(ecx, ecx, eax);
      kmovd(Opmask(tail_mask), ecx);
    } else {
      lea(rcx, ptr[rip + tail_masks_]);
      neg(rax);
      // Register 0 is never pinned: pins are taken from the other end and leave some over.
      vmovups(ymm0, ptr[rcx + rax * 4 + 64]);
      vmovups(ptr[rsp + tail_mask_32()], ymm0);
      vmovups(ymm0, ptr[rcx + rax * 8 + 64]);
      vmovups(ptr[rsp + tail_mask_64()], ymm0);
    }
    emit_body(true);
  }

  void emit_body(bool partial) {
    in_element_ = true;
    partial_ = partial;
    const int slots = next_slot_;
    for (int each = 0; each < inputs() && !partial; ++each) {
      if (!form_of(each).prefetched || form_of(each).access != Access::contiguous) continue;
      const int width = width_of(each);
      for (int line = 0; line < lanes * width; line += 64) {
        if (lanes * width < 64 && (step_ * lanes * width) % 64 != 0) continue;
        prefetcht1(ptr[pointer(each) + r12 * width + step_ * lanes * width + line + prefetch_distance]);
      }
    }
    for (position_ = 0; position_ < static_cast<int>(body_.element.size()); ++position_) {
      unlock_all();
      const Value value = body_.element[static_cast<std::size_t>(position_)];
      emit(value);
      body_.operands(value, [&](Value read) { let_go_of(read); });
    }
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      unlock_all();
      accumulate(i);
      let_go_of(body_.root[static_cast<std::size_t>(form_.code.reductions[i].value)]);
      ++position_;
    }
    for (const Code::Store& store : form_.code.stores) {
      unlock_all();
      const Value value = body_.root[static_cast<std::size_t>(store.value)];
      emit_store(value, inputs() + store.operand);
      let_go_of(value);
      ++position_;
    }
    forget_all();
    for (const Value value : body_.element) slot_of(value) = -1;
    next_slot_ = slots;
    for (int each = 0; each < operand_count() && !partial; ++each) {
      if (form_of(each).access != Access::strided) continue;
      mov(rax, column_of(each));
      shl(rax, std::countr_zero(static_cast<unsigned>(lanes)));
      add(cursor_of(each), rax);
    }
    partial_ = false;
  }

  // --- Reductions -----------------------------------------------------------------------------------------------------
  //
  // Whatever the vectors' length, element i of a row goes to accumulator i modulo fold_lanes (a fixed number of them
  // stands side by side in registers), the accumulators of a block are added in pairs, each with the one half of them
  // all further on, and the blocks one after the other. Vectors of the rest of a block take turns: instead of the
  // accumulators' numbers, the accumulators themselves are turned.

  struct Accumulator {
    std::vector<int> vectors;
    int unordered = -1;  // of extremes: a mask of lanes that have met a NaN
  };
  const Code::Reduction& reduction(std::size_t i) const { return form_.code.reductions[i]; }
  Lane lane_of_reduction(std::size_t i) const { return form_.code[reduction(i).value].lane; }
  bool is_extreme(std::size_t i) const {
    return reduction(i).fold == Fold::minimum || reduction(i).fold == Fold::maximum;
  }

  void place_accumulators() {
    for (std::size_t i = 0; i < form_.code.reductions.size(); ++i) {
      if (!has_masks && lane_of_reduction(i) == Lane::i64 && reduction(i).fold != Fold::sum) throw NotEmitted();
      Accumulator made;
      const int vectors = std::max(1, fold_lanes(is_wide(lane_of_reduction(i))) / lanes);
      const auto reserve = [&] {
        const int which = registers - 1 - accumulator_count_++;
        if (which < registers / 2) throw NotEmitted();
        vectors_.reserve(which);
        return which;
      };
      for (int k = 0; k < vectors; ++k) made.vectors.push_back(reserve());
      if (is_extreme(i) && is_float(lane_of_reduction(i))) {
        if (has_masks) {
          made.unordered = tail_mask - 1 - mask_count_++;
          if (mask_count_ > 3) throw NotEmitted();
          masks_.reserve(made.unordered);
        } else {
          made.unordered = reserve();
        }
      }
      copies_ = std::max(copies_, vectors);
      accumulators_.push_back(made);
    }
  }

  std::uint64_t identity(std::size_t i) const {
    const Lane lane = lane_of_reduction(i);
    const bool wide = is_wide(lane);
    switch (reduction(i).fold) {
      case Fold::sum: return 0;
      case Fold::product: return lane == Lane::f64 ? 0x3ff0000000000000u : lane == Lane::f32 ? 0x3f800000u : 1u;
      case Fold::minimum:
        if (is_float(lane)) return wide ? 0x7ff0000000000000u : 0x7f800000u;
        return wide ? 0x7fffffffffffffffu : 0x7fffffffu;
      default:
        if (is_float(lane)) return wide ? 0xfff0000000000000u : 0xff800000u;
        return wide ? 0x8000000000000000u : 0x80000000u;
    }
  }
  Address total(std::size_t i) { return ptr[rsp + totals_area() + static_cast<int>(i) * 16]; }
  int rest_from() const { return tail_count() + 16; }
  static bool adds_wider(Fold fold, Lane lane) { return lane == Lane::f32 && (fold == Fold::sum || fold == Fold::product); }

  void start_totals() {
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      const bool one = reduction(i).fold == Fold::product && adds_wider(Fold::product, lane_of_reduction(i));
      mov(rax, one ? 0x3ff0000000000000u : identity(i));
      mov(qword[rsp + totals_area() + static_cast<int>(i) * 16], rax);
      const int unordered = accumulators_[i].unordered;
      if (unordered >= 0) has_masks ? kxorw(Opmask(unordered), Opmask(unordered), Opmask(unordered)) : zero(unordered);
    }
  }
  void start_accumulators() {
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      const std::uint64_t start = identity(i);
      for (const int which : accumulators_[i].vectors) {
        if (start == 0) zero(which);
        else repeat(start, lane_of_reduction(i), which);
      }
    }
  }
  /// A number in all lanes of a register.
  void repeat(std::uint64_t bits, Lane lane, int which) {
    mov(rax, bits);
    vmovq(Xmm(which), rax);
    if (!is_wide(lane)) vbroadcastss(vector(which, lane), Xmm(which));
    else if (has_masks) vbroadcastsd(Xbyak::Zmm(which), Xmm(which));
    else vbroadcastsd(Ymm(which), Xmm(which));
  }

  void fold_into(std::size_t i, const Xmm& to, const Xmm& a, const Operand& b) {
    const Lane lane = lane_of_reduction(i);
    switch (reduction(i).fold) {
      case Fold::sum: binary(Op::add, lane, to, a, b); return;
      case Fold::product: binary(Op::multiply, lane, to, a, b); return;
      // The value at hand first: of equal ones the accumulator stays, as it does where the value is NaN.
      case Fold::minimum: extreme(lane, false, to, static_cast<const Xmm&>(b), a); return;
      default: extreme(lane, true, to, static_cast<const Xmm&>(b), a); return;
    }
  }
  void extreme(Lane lane, bool largest, const Xmm& to, const Xmm& a, const Xmm& b) {
    switch (lane) {
      case Lane::f32: largest ? vmaxps(to, a, b) : vminps(to, a, b); return;
      case Lane::f64: largest ? vmaxpd(to, a, b) : vminpd(to, a, b); return;
      case Lane::i64:
        largest ? vpmaxsq(to, a, b) : vpminsq(to, a, b);
        return;
      default: largest ? vpmaxsd(to, a, b) : vpminsd(to, a, b); return;
    }
  }

  void accumulate(std::size_t i) {
    const Accumulator& accumulator = accumulators_[i];
    const Lane lane = lane_of_reduction(i);
    const int which = accumulator.vectors[static_cast<std::size_t>(step_) % accumulator.vectors.size()];
    const int from = in_register(body_.root[static_cast<std::size_t>(reduction(i).value)]);
    const Xmm sum = vector(which, lane);
    Xmm x = vector(from, lane);
    if (partial_ && !has_masks) {
      const int t = take_vector();
      repeat(identity(i), lane, t);
      const Xmm blended = vector(t, lane);
      const int at = is_wide(lane) ? tail_mask_64() : tail_mask_32();
      const int m = take_vector();
      vmovups(vector(m, lane), ptr[rsp + at]);
      is_wide(lane) ? vblendvpd(blended, blended, x, vector(m, lane)) : vblendvps(blended, blended, x, vector(m, lane));
      x = blended;
    }
    const Xmm some = partial_ && has_masks ? sum | Opmask(tail_mask) : sum;
    fold_into(i, some, sum, x);
    if (accumulator.unordered < 0) return;
    constexpr std::uint8_t unordered = 3;
    if (has_masks) {
      const Opmask seen(accumulator.unordered), now(take(masks_));
      const Opmask made = partial_ ? now | Opmask(tail_mask) : now;
      is_wide(lane) ? vcmppd(made, x, x, unordered) : vcmpps(made, x, x, unordered);
      korw(seen, seen, now);
    } else {
      const Xmm now = vector(take_vector(), lane), seen = vector(accumulator.unordered, lane);
      is_wide(lane) ? vcmppd(now, x, x, unordered) : vcmpps(now, x, x, unordered);
      vorps(seen, seen, now);
    }
  }

  /// The first accumulator becomes the last.
  void turn_accumulators() {
    for (std::size_t i = 0; i < accumulators_.size(); ++i) turn(i);
  }
  void turn(std::size_t i) {
    const std::vector<int>& vectors = accumulators_[i].vectors;
    if (vectors.size() == 1) return;
    const int t = vectors_.find_free();
    vmovaps(whole(t), whole(vectors[0]));
    for (std::size_t k = 0; k + 1 < vectors.size(); ++k) vmovaps(whole(vectors[k]), whole(vectors[k + 1]));
    vmovaps(whole(vectors.back()), whole(t));
  }
  /// Turns on until each accumulator has its place again: where of equals the first is taken, places matter.
  void turn_back(std::size_t i) {
    Label next, done;
    const int count = static_cast<int>(accumulators_[i].vectors.size());
    mov(rax, r12);
    sub(rax, qword[rsp + rest_from()]);
    shr(rax, std::countr_zero(static_cast<unsigned>(lanes)));
    L(next);
    test(eax, count - 1);
    jz(done, T_NEAR);
    turn(i);
    inc(rax);
    jmp(next, T_NEAR);
    L(done);
  }

  void add_to_totals() {
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      unlock_all();
      const Accumulator& accumulator = accumulators_[i];
      const Lane lane = lane_of_reduction(i);
      if (is_extreme(i)) turn_back(i);
      std::size_t count = accumulator.vectors.size();
      while (count > 1) {
        count /= 2;
        for (std::size_t k = 0; k < count; ++k) {
          const Xmm low = vector(accumulator.vectors[k], lane), high = vector(accumulator.vectors[k + count], lane);
          fold_into(i, low, low, high);
        }
      }
      const int first = accumulator.vectors[0], t = take_vector();
      const int width = is_wide(lane) ? 8 : 4;
      for (int half = lanes / 2; half > 0; half /= 2) {
        const int bytes = half * width;
        if (bytes == 32) vextracti64x4(Ymm(t), Xbyak::Zmm(first), 1);
        else if (bytes == 16) has_masks ? vextracti32x4(Xmm(t), Ymm(first), 1) : vextracti128(Xmm(t), Ymm(first), 1);
        else vpshufd(Xmm(t), Xmm(first), bytes == 8 ? 0x0e : 0x01);
        fold_into(i, sized(first, bytes), sized(first, bytes), sized(t, bytes));
      }
      const Xmm sum(first), before(t);
      vmovq(before, total(i));
      if (adds_wider(reduction(i).fold, lane)) {
        vcvtss2sd(sum, sum, sum);
        reduction(i).fold == Fold::sum ? vaddsd(before, before, sum) : vmulsd(before, before, sum);
      } else {
        fold_into(i, before, before, sum);
      }
      vmovq(total(i), before);
    }
  }

  void store_totals() {
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      const int to = inputs() + reduction(i).operand;
      const Lane lane = lane_of_reduction(i);
      const bool wide = is_wide(lane) || adds_wider(reduction(i).fold, lane);
      mov(rax, qword[rsp + totals_area() + static_cast<int>(i) * 16]);
      if (const int unordered = accumulators_[i].unordered; unordered >= 0) {
        Label numbers;
        if (has_masks) kortestw(Opmask(unordered), Opmask(unordered));
        else vtestps(vector(unordered, lane), vector(unordered, lane));
        jz(numbers);
        mov(rax, wide ? 0x7ff8000000000000u : 0x7fc00000u);
        L(numbers);
      }
      mov(rcx, start_of(to));
      wide ? mov(qword[rcx], rax) : mov(dword[rcx], eax);
    }
  }

  void emit_constants() {
    align(vector_bytes);
    for (std::size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i] == nullptr) continue;
      const Node& node = form_.code.nodes[i];
      L(*constants_[i]);
      // One a lane for AVX2; otherwise the processor repeats it.
      for (int lane = 0; lane < (has_masks ? 1 : lanes); ++lane) {
        if (is_wide(node.lane) || has_masks) dq(node.immediate);
        else dd(static_cast<std::uint32_t>(node.immediate));
      }
    }
    if (has_masks) return;
    align(vector_bytes);
    L(tail_masks_);
    for (int i = 0; i < 8; ++i) dq(~std::uint64_t{0});
    for (int i = 0; i < 8; ++i) dq(0);
  }

  // --- Values ---------------------------------------------------------------------------------------------------------

  void emit(Value value) {
    switch (form_.code[value].op) {
      case Op::load: emit_load(value); break;
      case Op::broadcast: emit_broadcast(value); break;
      case Op::call:
      case Op::call_unless: emit_call(value); break;
      case Op::multiply_add:
      case Op::multiply_subtract:
      case Op::multiply_add_negated: emit_multiply_add(value); break;
      case Op::select: emit_select(value); break;
      case Op::convert:
      case Op::resize: emit_convert(value); break;
      case Op::round_half: emit_round_half(value); break;
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal: emit_comparison(value); break;
      case Op::square_root:
      case Op::round:
      case Op::floor:
      case Op::ceil:
      case Op::trunc:
      case Op::shift_left:
      case Op::shift_right:
      case Op::shift_right_signed: emit_unary(value); break;
      default: emit_binary(value); break;
    }
  }

  void emit_unary(Value value) {
    const Node& node = form_.code[value];
    const int a = in_register(operand(value, 0));
    const int d = result_register(value);
    if (node.op == Op::shift_left || node.op == Op::shift_right || node.op == Op::shift_right_signed) {
      shift(node.op, node.lane, vector_of(value, d), vector_of(value, a), static_cast<std::uint8_t>(node.immediate));
    } else {
      unary(node.op, node.lane, vector_of(value, d), vector_of(value, a));
    }
    settle(value, d);
  }

  void emit_binary(Value value) {
    const Node& node = form_.code[value];
    Value left = operand(value, 0), right = operand(value, 1);
    const bool commutes = node.op == Op::add || node.op == Op::multiply || node.op == Op::bit_and ||
                          node.op == Op::bit_or || node.op == Op::bit_xor;
    if (commutes && !is_in_register(left) && is_in_register(right)) std::swap(left, right);
    const int a = in_register(left);
    if (is_in_mask(value)) {
      const int b = in_register(right), d = result_register(value);
      mask_binary(node.op, Opmask(d), Opmask(a), Opmask(b));
      return settle(value, d);
    }
    if (node.op == Op::multiply && node.lane == Lane::i64 && !has_masks) {
      return emit_wide_product(value, a, in_register(right));
    }
    with(right, [&](const Operand& b) {
      const int d = result_register(value);
      binary(node.op, node.lane, vector_of(value, d), vector_of(value, a), b);
      settle(value, d);
    });
  }

  /// The lower halves of 64-bit products, where there is an instruction for products of 32 bits only.
  void emit_wide_product(Value value, int a, int b) {
    const Ymm x(a), y(b), p(take_vector()), q(take_vector());
    vpsrlq(p, x, 32);
    vpmuludq(p, p, y);
    vpsrlq(q, y, 32);
    vpmuludq(q, q, x);
    vpaddq(p, p, q);
    vpsllq(p, p, 32);
    vpmuludq(q, x, y);
    const int d = result_register(value);
    vpaddq(Ymm(d), p, q);
    settle(value, d);
  }

  void emit_comparison(Value value) {
    const Node& node = form_.code[value];
    Value left = operand(value, 0), right = operand(value, 1);
    const Lane lane = form_.code[node.operands[0]].lane;
    // AVX2 knows of whole numbers only equal and greater.
    if (!has_masks && !is_float(lane) && node.op == Op::less) std::swap(left, right);
    const int a = in_register(left);
    with(right, [&](const Operand& b) {
      if (has_masks) {
        const int d = result_register(value);
        compare_masked(node.op, lane, Opmask(d), vector(a, lane), b);
        return settle(value, d);
      }
      const bool inverted = !is_float(lane) && (node.op == Op::not_equal || node.op == Op::less_equal);
      const int d = result_register(value, inverted), spare = inverted ? take_vector() : -1;
      compare(node.op, lane, vector(d, lane), vector(a, lane), b, spare);
      settle(value, d);
    });
  }

  void emit_select(Value value) {
    const Node& node = form_.code[value];
    const int mask = in_register(operand(value, 0)), no = in_register(operand(value, 2));
    const bool wide = is_wide(node.lane);
    with(operand(value, 1), [&](const Operand& yes) {
      const int d = result_register(value);
      const Xmm to = vector_of(value, d), otherwise = vector_of(value, no);
      if (has_masks && is_float(node.lane)) {
        const Xmm some = to | Opmask(mask);
        wide ? vblendmpd(some, otherwise, yes) : vblendmps(some, otherwise, yes);
      } else if (has_masks) {
        const Xmm some = to | Opmask(mask);
        wide ? vpblendmq(some, otherwise, yes) : vpblendmd(some, otherwise, yes);
      } else {
        wide ? vblendvpd(to, otherwise, yes, vector_of(value, mask)) : vblendvps(to, otherwise, yes, vector_of(value, mask));
      }
      settle(value, d);
    });
  }

  /// The result is written over one of the operands: over one that is read no more, if there is one.
  void emit_multiply_add(Value value) {
    const Node& node = form_.code[value];
    Value a = operand(value, 0), b = operand(value, 1);
    const Value c = operand(value, 2);
    const auto encode = [&](int form, int d, int x, const Operand& y) {
      fused(node.op, node.lane, form, vector_of(value, d), vector_of(value, x), y);
    };
    const auto free = [&](Value x) { return pinned_at(value) < 0 && dies(x); };
    if (free(c) && a != c && b != c) {  // c = a b + c
      if (!is_in_register(a) && is_in_register(b)) std::swap(a, b);
      const int d = in_register(c), x = in_register(a);
      with(b, [&](const Operand& y) { encode(231, d, x, y); });
      return settle(value, d);
    }
    if (!free(a) && free(b)) std::swap(a, b);
    if (free(a) && a != b && a != c) {
      const int d = in_register(a);
      if (is_in_register(b) || !is_in_register(c)) {  // a = b a + c
        const int x = in_register(b);
        with(c, [&](const Operand& z) { encode(213, d, x, z); });
      } else {  // a = a b + c
        const int z = in_register(c);
        with(b, [&](const Operand& y) { encode(132, d, z, y); });
      }
      return settle(value, d);
    }
    // A copy of one operand, preferably of one that lies in memory.
    const auto copied = [&](Value x) {
      const int pinned = pinned_at(value), d = pinned >= 0 ? pinned : take_vector();
      const int there = vectors_.find(x);
      if (there >= 0) move(vector_of(value, d), vector_of(value, there));
      else if (body_.is_constant(x)) load_constant(x, d);
      else with(x, [&](const Operand& from) { vmovups(vector_of(value, d), static_cast<const Address&>(from)); });
      return d;
    };
    if (!is_in_register(c) || is_in_register(a)) {
      if (!is_in_register(a) && is_in_register(b)) std::swap(a, b);
      const int x = in_register(a), d = copied(c);
      with(b, [&](const Operand& y) { encode(231, d, x, y); });
      return settle(value, d);
    }
    const int z = in_register(c), d = copied(a);
    with(b, [&](const Operand& y) { encode(132, d, z, y); });
    settle(value, d);
  }

  void emit_convert(Value value) {
    const Node& node = form_.code[value];
    const Lane from = form_.code[node.operands[0]].lane;
    const int a = in_register(operand(value, 0));
    const bool halves = !has_masks && is_wide(from) && !is_wide(node.lane) && !is_float(from);
    const int spare = halves ? take_vector() : -1;
    const int d = result_register(value, halves);
    convert(from, node.lane, d, a, spare);
    settle(value, d);
  }

  void emit_round_half(Value value) {
    const int a = in_register(operand(value, 0));
    const int t = take_vector();
    pack(DType::f16, t, a, -1);
    const int d = result_register(value);
    unpack(DType::f16, vector_of(value, d), whole(t));
    settle(value, d);
  }

  // --- Memory ---------------------------------------------------------------------------------------------------------

  /// What was unpacked into a vector becomes a mask where it is a boolean.
  void settle_unpacked(Value value, DType stored, int which) {
    if (stored != DType::boolean) return settle(value, which);
    const Xmm x = vector(which, Lane::i32);
    const int d = has_masks ? result_register(value) : which;
    to_mask(x, d);
    if (has_masks || pinned_at(value) < 0) return settle(value, d);
    move(vector_of(value, pinned_at(value)), x);
  }
  /// Bytes that were widened, as a mask: in a mask register, or over themselves.
  void to_mask(const Xmm& x, int d) {
    if (has_masks) return vptestmd(Opmask(d), x, x);
    const Xmm nothing = sized(spare_ >= 0 ? spare_ : take_vector(), static_cast<int>(x.getBit()) / 8);
    vpxor(nothing, nothing, nothing);
    vpcmpgtd(x, x, nothing);
  }

  void emit_broadcast(Value value) {
    const Node& node = form_.code[value];
    const int from = operand_of(value);
    const DType stored = form_of(from).stored;
    const int d = stored == DType::boolean ? take_vector() : result_register(value);
    mov(rax, start_of(from));
    const Xmm to = vector(d, stored == DType::boolean ? Lane::i32 : node.lane);
    switch (size_of(stored)) {
      case 1:
        vpbroadcastb(Xmm(d), byte[rax]);
        unpack(stored, to, Xmm(d));
        break;
      case 2:
        vpbroadcastw(sized(d, vector_bytes / 2), word[rax]);
        unpack(stored, to, whole(d));
        break;
      case 4: vbroadcastss(to, dword[rax]); break;
      default: has_masks ? vbroadcastsd(Xbyak::Zmm(d), qword[rax]) : vbroadcastsd(Ymm(d), qword[rax]); break;
    }
    settle_unpacked(value, stored, d);
  }

  void emit_load(Value value) {
    const int from = operand_of(value);
    const OperandForm& form = form_of(from);
    const std::vector<int>& readers = body_.readers[static_cast<std::size_t>(value)];
    folded_[static_cast<std::size_t>(value)] = false;
    const bool packed = is_packed(form.stored);
    const bool plain = form.access == Access::contiguous && !packed && !partial_;
    if (plain && readers.size() == 1 && readers[0] < static_cast<int>(body_.element.size())) {
      folded_[static_cast<std::size_t>(value)] = true;  // where it is read
      return;
    }
    const int d = take_vector();
    const Xmm to = vector(d, lane_of(form.stored) == Lane::mask32 ? Lane::i32 : lane_of(form.stored));
    if (form.access == Access::strided) {
      gather(from, d);
      if (packed) unpack(form.stored, to, whole(d));
    } else if (!partial_ || has_masks) {
      unpack(form.stored, to, at(from), partial_);
    } else if (packed) {
      load_part(from, d);
      unpack(form.stored, to, whole(d));
    } else if (size_of(form.stored) == 4) {
      vmovups(to, ptr[rsp + tail_mask_32()]);
      vmaskmovps(to, to, at(from));
    } else {
      vmovups(to, ptr[rsp + tail_mask_64()]);
      vmaskmovpd(to, to, at(from));
    }
    settle_unpacked(value, form.stored, d);
  }

  /// rcx = the address of what is left of the row.
  void address_of_rest(int operand) { lea(rcx, ptr[pointer(operand) + r12 * width_of(operand)]); }

  /// The bytes of what is left of a row, from the smallest power of two that their number is made of to the largest:
  /// each comes before those that are there already.
  void load_part(int from, int d) {
    const int width = width_of(from);
    const Xmm x(d);
    address_of_rest(from);
    vpxor(x, x, x);
    for (int piece = width; piece < lanes * width; piece *= 2) {
      Label skip;
      mov(eax, dword[rsp + tail_count()]);
      test(eax, piece / width);
      jz(skip, T_NEAR);
      vpslldq(x, x, static_cast<std::uint8_t>(piece));
      shl(eax, std::countr_zero(static_cast<unsigned>(width)));
      and_(eax, ~(2 * piece - 1));
      insert(x, ptr[rcx + rax], piece, 0);
      L(skip);
    }
  }
  /// The first bytes of a register, which is emptied on the way.
  void store_part(int to, int source) {
    const int width = width_of(to);
    const Xmm x(source);
    address_of_rest(to);
    for (int piece = lanes * width / 2; piece >= width; piece /= 2) {
      Label skip;
      test(dword[rsp + tail_count()], piece / width);
      jz(skip, T_NEAR);
      if (piece == 16) {
        vmovups(ptr[rcx], x);
        extract_quarter(source, source, 1);
      } else {
        extract(ptr[rcx], x, piece, 0);
        vpsrldq(x, x, static_cast<std::uint8_t>(piece));
      }
      if (piece > width) add(rcx, piece);
      L(skip);
    }
  }

  /// Calls each(16 bytes' number, lane in them) for the elements of a strided operand, rax at each.
  template <class Each>
  void each_strided(int operand, const Each& each) {
    const int in_quarter = std::min(lanes, 16 / width_of(operand));
    Label done;
    mov(rax, cursor_of(operand));
    mov(rcx, column_of(operand));
    for (int lane = 0; lane < lanes; ++lane) {
      if (lane > 0 && partial_) {
        cmp(dword[rsp + tail_count()], lane);
        jle(done, T_NEAR);
      }
      if (lane > 0) add(rax, rcx);
      each(lane / in_quarter, lane % in_quarter);
    }
    L(done);
  }
  int quarters(int operand) const { return std::max(1, lanes * width_of(operand) / 16); }
  void gather(int from, int d) {
    std::array<int, 4> parts{d};
    zero(d);
    for (int i = 1; i < quarters(from); ++i) zero(parts[static_cast<std::size_t>(i)] = take_vector());
    each_strided(from, [&](int quarter, int lane) {
      insert(Xmm(parts[static_cast<std::size_t>(quarter)]), ptr[rax], width_of(from), lane);
    });
    for (int i = 1; i < quarters(from); ++i) insert_quarter(d, parts[static_cast<std::size_t>(i)], i);
  }
  void scatter(int to, int source) {
    std::array<int, 4> parts{source};
    for (int i = 1; i < quarters(to); ++i) {
      extract_quarter(parts[static_cast<std::size_t>(i)] = take_vector(), source, i);
    }
    each_strided(to, [&](int quarter, int lane) {
      extract(ptr[rax], Xmm(parts[static_cast<std::size_t>(quarter)]), width_of(to), lane);
    });
  }

  /// Elements as stored, of a value: its own register, or another one.
  int packed_of(Value value, DType stored, int from) {
    if (!is_packed(stored)) return from;
    const int t = take_vector();
    if (stored == DType::boolean && has_masks) {
      vpmovm2b(Xmm(t), Opmask(from));
      vpabsb(Xmm(t), Xmm(t));
    } else {
      pack(stored, t, from, has_masks || stored == DType::f16 ? -1 : take_vector());
    }
    static_cast<void>(value);
    return t;
  }

  void emit_store(Value value, int to) {
    const OperandForm& form = form_of(to);
    const int from = in_register(value);
    const bool packed = is_packed(form.stored);
    const int source = packed_of(value, form.stored, from);
    if (form.access == Access::strided) return scatter(to, source);
    const int bytes = lanes * width_of(to);
    if (!partial_) {
      if (bytes == 4) vmovd(at(to), Xmm(source));
      else if (bytes == 8) vmovq(at(to), Xmm(source));
      else if (form_.non_temporal && !packed) vmovntps(at(to), sized(source, bytes));
      else vmovups(at(to), sized(source, bytes));
      return;
    }
    if (has_masks) {
      const Address some = at(to) | Opmask(tail_mask);
      switch (width_of(to)) {
        case 1: vmovdqu8(some, sized(source, bytes)); return;
        case 2: vmovdqu16(some, sized(source, bytes)); return;
        case 4: vmovups(some, sized(source, bytes)); return;
        default: vmovupd(some, sized(source, bytes)); return;
      }
    }
    const int t = packed ? source : take_vector();
    move(sized(t, bytes), sized(source, bytes));
    store_part(to, t);
  }

  // --- Calls ----------------------------------------------------------------------------------------------------------

  struct Saved {
    std::uint32_t vectors = 0, masks = 0;
  };
  /// A call beside the way, where the code at hand does not hold for all lanes.
  struct Stub {
    Label entry, back;
    Value value = no_value;
    int result = 0;
    Saved saved;
    std::array<int, 3> operands{};
  };

  void emit_call(Value value) {
    const Node& node = form_.code[value];
    const Call& call = form_.code.calls[node.immediate];
    std::array<int, 3> operands{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
      operands[k] = in_register(body_.root[static_cast<std::size_t>(call.operands[k])]);
    }
    const int pinned = pinned_at(value);
    if (node.op == Op::call) {
      const int d = pinned >= 0 ? pinned : take(file(value));
      emit_call_sequence(call, operands, d, saved_but(value, d));
      return settle(value, d);
    }
    const int near = in_register(operand(value, 0)), holds = in_register(operand(value, 1));
    const int d = pinned >= 0 ? pinned : take(file(value));
    const Lane lane = form_.code[node.operands[1]].lane;
    if (is_in_mask(value)) kmovw(Opmask(d), Opmask(near));
    else move(vector_of(value, d), vector_of(value, near));
    if (has_masks) {
      lanes == 16 ? kortestw(Opmask(holds), Opmask(holds)) : kortestb(Opmask(holds), Opmask(holds));
    } else {
      is_wide(lane) ? vmovmskpd(eax, vector(holds, lane)) : vmovmskps(eax, vector(holds, lane));
      cmp(eax, (1 << lanes) - 1);
    }
    Stub& stub = stubs_.emplace_back();
    stub.value = value;
    stub.result = d;
    stub.saved = saved_but(value, d);
    stub.operands = operands;
    has_masks ? jnc(stub.entry, T_NEAR) : jne(stub.entry, T_NEAR);
    L(stub.back);
    settle(value, d);
  }
  Saved saved_but(Value value, int which) {
    Saved saved{vectors_.used(), has_masks ? masks_.used() | 1u << tail_mask : 0};
    (is_in_mask(value) ? saved.masks : saved.vectors) &= ~(1u << which);
    return saved;
  }

  void emit_stub(Stub& stub) {
    L(stub.entry);
    emit_call_sequence(form_.code.calls[form_.code[stub.value].immediate], stub.operands, stub.result, stub.saved);
    jmp(stub.back, T_NEAR);
  }

  void emit_call_sequence(const Call& call, const std::array<int, 3>& operands, int d, Saved saved) {
    for (int i = 0; i < registers; ++i) {
      if ((saved.vectors >> i & 1u) != 0) vmovups(ptr[rsp + save_area() + i * vector_bytes], whole(i));
    }
    for (int i = 0; i <= tail_mask; ++i) {
      if ((saved.masks >> i & 1u) != 0) kmovw(ptr[rsp + mask_area() + i * 8], Opmask(i));
    }
    for (int i = 0; i < most_pointers - 1; ++i) mov(qword[rsp + pointer_area() + 8 * i], pointer_register(i));
    // All is saved: packing may use any registers but the operands'.
    std::array<int, 2> spare{};
    const auto end = operands.begin() + call.count;
    for (int i = 0, found = 0; found < 2; ++i) {
      if (std::find(operands.begin(), end, i) == end) spare[static_cast<std::size_t>(found++)] = i;
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
      const Address to = ptr[rsp + static_cast<int>(k) * vector_bytes];
      const DType stored = call.types[k];
      if (!is_packed(stored)) {
        vmovups(to, vector(operands[k], lane_of(stored)));
        continue;
      }
      if (stored == DType::boolean && has_masks) {
        vpmovm2b(Xmm(spare[0]), Opmask(operands[k]));
        vpabsb(Xmm(spare[0]), Xmm(spare[0]));
      } else {
        pack(stored, spare[0], operands[k], spare[1]);
      }
      vmovups(to, Ymm(spare[0]));
    }
    const int result = 3 * vector_bytes;
    lea(rdi, ptr[rsp + result]);
    lea(rsi, ptr[rsp]);
    lea(rdx, ptr[rsp + (call.count > 1 ? vector_bytes : 0)]);
    lea(rcx, ptr[rsp + (call.count > 2 ? 2 * vector_bytes : 0)]);
    mov(r8d, lanes);
    mov(rax, reinterpret_cast<std::uint64_t>(call.loop));
    vzeroupper();
    this->call(rax);
    for (int i = 0; i < most_pointers - 1; ++i) mov(pointer_register(i), qword[rsp + pointer_area() + 8 * i]);
    if (call.result != DType::boolean) {
      unpack(call.result, vector(d, lane_of(call.result)), ptr[rsp + result]);
    } else {
      const int t = has_masks ? 0 : d;
      unpack(call.result, vector(t, Lane::i32), ptr[rsp + result]);
      spare_ = d == 0 ? 1 : 0;
      to_mask(vector(t, Lane::i32), d);
      spare_ = -1;
    }
    for (int i = 0; i < registers; ++i) {
      if ((saved.vectors >> i & 1u) != 0) vmovups(whole(i), ptr[rsp + save_area() + i * vector_bytes]);
    }
    for (int i = 0; i <= tail_mask; ++i) {
      if ((saved.masks >> i & 1u) != 0) kmovw(Opmask(i), ptr[rsp + mask_area() + i * 8]);
    }
  }

  const KernelForm& form_;
  const Body body_;
  RegisterFile vectors_, masks_;
  std::vector<int> slots_of_;
  int next_slot_ = 0, most_slots_ = 0;
  std::vector<bool> folded_;  // loads that are done by what reads them
  std::vector<Accumulator> accumulators_;
  int accumulator_count_ = 0, mask_count_ = 0, copies_ = 1;
  std::map<Value, int> pins_;
  std::vector<int> pointers_;
  std::vector<std::unique_ptr<Label>> constants_;
  Label tail_masks_;
  std::deque<Stub> stubs_;
  int position_ = 0, step_ = 0;
  int spare_ = -1;  // a register that may be used where none can be taken
  bool in_element_ = false, partial_ = false;
};

}  // namespace

std::shared_ptr<const MachineCode> emit_x86(const KernelForm& form, VectorSet set) {
  for (std::size_t bytes = std::size_t{1} << 16;; bytes *= 4) {
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
    try {
      Emitter emitter(form, set, {buffer.get(), bytes});
      auto made = std::make_shared<const MachineCode>(std::span<const std::byte>(buffer.get(), emitter.getSize()));
      return *made ? made : nullptr;
    } catch (const NotEmitted&) {
      return nullptr;
    } catch (const Xbyak::Error& error) {
      if (static_cast<int>(error) != Xbyak::ERR_CODE_IS_TOO_BIG) throw;
    }
  }
}

}  // namespace tyto::cpu::jit

#else

namespace tyto::cpu::jit {

std::shared_ptr<const MachineCode> emit_x86(const KernelForm&, VectorSet) { return nullptr; }

}  // namespace tyto::cpu::jit

#endif
