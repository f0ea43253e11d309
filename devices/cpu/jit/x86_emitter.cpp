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
  int slot_area() const { return tail_mask_64() + 64; }
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
    int left = registers - std::min(body_.pressure, registers / 2) - temporaries;
    for (const auto& [uses, value] : wanted) {
      if (left-- <= 0) break;
      const int which = registers - 1 - static_cast<int>(pins_.size());
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
    mov(r13, qword[rbx + static_cast<int>(offsetof(Frame, columns))]);
    const int unrolled = unroll();
    Label row, end_of_row;
    L(row);
    emit_row_start();
    emit_vectors(unrolled);
    if (unrolled > 1) emit_vectors(1);
    mov(rax, r13);
    sub(rax, r12);
    jz(end_of_row, T_NEAR);
    emit_tail();
    L(end_of_row);
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
    for (position_ = 0; position_ < static_cast<int>(body_.element.size()); ++position_) {
      unlock_all();
      const Value value = body_.element[static_cast<std::size_t>(position_)];
      emit(value);
      body_.operands(value, [&](Value read) { let_go_of(read); });
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
