// One function: rows, along a row vectors of elements, and what is left of a row with the same body and partial loads
// and stores.
//
//   rbx the frame, r12 the element reached, r13 the columns, r14 the last element at which a vector may begin, rbp the
//   caller's stack; rax and rcx are free; the other general registers hold where operands start.
#include "devices/cpu/jit/x86_emitter.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <stdexcept>

#if defined(TYTO_HAVE_XBYAK)
#define XBYAK_NO_OP_NAMES
#include <xbyak/xbyak.h>
#endif

#include "devices/cpu/jit/registers.hpp"

namespace tyto::cpu::jit {

#if defined(TYTO_HAVE_XBYAK)

namespace {

using Xbyak::Address;
using Xbyak::Label;
using Xbyak::Operand;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;

constexpr int stack_unit = 32;
constexpr int most_pointers = 8;

class Emitter : public Xbyak::CodeGenerator {
 public:
  Emitter(const KernelForm& form, std::span<std::byte> buffer)
      : CodeGenerator(buffer.size(), buffer.data()),
        form_(form),
        body_(form),
        registers_(body_),
        lanes_(form.code.wide ? 4 : 8) {
    constants_.resize(form.code.nodes.size());
    folded_.assign(form.code.nodes.size(), false);
    choose_pins();
    emit_function();
  }

 private:
  // The frame on the stack: what calls are given, registers saved around them, the tail's count and masks, then values
  // that found no register.
  static constexpr int call_area = 0, save_area = call_area + 4 * stack_unit,
                       pointer_area = save_area + Registers::count * stack_unit,
                       tail_count = pointer_area + 2 * stack_unit, tail_mask_32 = tail_count + stack_unit,
                       tail_mask_64 = tail_mask_32 + stack_unit, slot_area = tail_mask_64 + stack_unit;

  // --- operands ----------------------------------------------------------------------------------------------------

  int inputs() const { return static_cast<int>(form_.inputs.size()); }
  const OperandForm& form_of(int operand) const {
    return operand < inputs() ? form_.inputs[static_cast<std::size_t>(operand)]
                              : form_.outputs[static_cast<std::size_t>(operand - inputs())];
  }
  int operand_count() const { return inputs() + static_cast<int>(form_.outputs.size()); }
  static int place_of(int operand) {
    return static_cast<int>(offsetof(Frame, places) + static_cast<std::size_t>(operand) * sizeof(OperandPlace));
  }
  Address start_of(int operand) { return qword[rbx + place_of(operand) + static_cast<int>(offsetof(OperandPlace, start))]; }
  Address row_of(int operand) { return qword[rbx + place_of(operand) + static_cast<int>(offsetof(OperandPlace, row))]; }
  Address column_of(int operand) {
    return qword[rbx + place_of(operand) + static_cast<int>(offsetof(OperandPlace, column))];
  }
  Address cursor_of(int operand) {
    return qword[rbx + place_of(operand) + static_cast<int>(offsetof(OperandPlace, cursor))];
  }
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
    const int width = static_cast<int>(size_of(form_of(operand).stored));
    return ptr[pointer(operand) + r12 * width + step_ * lanes_ * width];
  }

  // --- vectors -----------------------------------------------------------------------------------------------------

  int bytes_of(Lane lane) const { return lanes_ * (is_wide(lane) ? 8 : 4); }
  static Xmm sized(int which, int bytes) { return bytes > 16 ? Xmm(Operand::YMM, which) : Xmm(which); }
  Xmm vector(int which, Lane lane) const { return sized(which, bytes_of(lane)); }
  Lane lane_of_value(Value value) const { return form_.code[value].lane; }
  Address slot(int which) { return ptr[rsp + slot_area + which * stack_unit]; }

  void move(const Xmm& to, const Operand& from) {
    if (from.isMEM() || from.getIdx() != to.getIdx()) {
      if (from.isMEM()) vmovups(to, static_cast<const Address&>(from));
      else vmovaps(to, from);
    }
  }

  Address constant_at(Value value) {
    Label*& label = constants_[static_cast<std::size_t>(value)];
    if (label == nullptr) {
      labels_.emplace_back(value, std::make_unique<Label>());
      label = labels_.back().second.get();
    }
    return ptr[rip + *label];
  }

  /// Empties a register.
  int take() {
    int which = registers_.find_free();
    if (which < 0) {
      which = registers_.farthest(position_);
      if (which < 0) throw std::logic_error("jit: an instruction wants more registers than there are");
      spill(which);
    }
    registers_.lock(which);
    return which;
  }
  void spill(int which) {
    const Value value = registers_.owner(which);
    Registers::Home& home = registers_.home(value);
    if (home.slot < 0 && !body_.is_constant(value)) {
      home.slot = registers_.new_slot();
      vmovups(slot(home.slot), vector(which, lane_of_value(value)));
    }
    registers_.release(which);
  }
  /// The value in a register.
  int in_register(Value value) {
    const Registers::Home home = registers_.home(value);
    if (home.register_ >= 0) {
      registers_.lock(home.register_);
      return home.register_;
    }
    const int which = take();
    const Lane lane = lane_of_value(value);
    if (body_.is_constant(value)) move(vector(which, lane), constant_at(value));
    else if (home.slot >= 0) move(vector(which, lane), slot(home.slot));
    else if (folded_[static_cast<std::size_t>(value)]) move(vector(which, lane), at(operand_of(value)));
    else throw std::logic_error("jit: a value is read before it is made");
    registers_.assign(value, which);
    return which;
  }
  int operand_of(Value value) const { return static_cast<int>(form_.code[value].immediate); }
  bool is_in_register(Value value) { return registers_.home(value).register_ >= 0; }

  /// Calls use(operand) with the value in a register, or where it lies in memory.
  template <class Use>
  void with(Value value, const Use& use) {
    const Registers::Home home = registers_.home(value);
    if (home.register_ >= 0) {
      registers_.lock(home.register_);
      use(vector(home.register_, lane_of_value(value)));
    } else if (body_.is_constant(value)) {
      use(constant_at(value));
    } else if (home.slot >= 0) {
      use(slot(home.slot));
    } else if (folded_[static_cast<std::size_t>(value)]) {
      use(at(operand_of(value)));
    } else {
      throw std::logic_error("jit: a value is read before it is made");
    }
  }

  bool is_last_use(Value value) const {
    return !body_.same_in_row[static_cast<std::size_t>(value)] && registers_.next_use(value, position_ + 1) == 1 << 30;
  }
  /// Registers of values that nobody reads after this position become free.
  void let_go(Value value) {
    body_.operands(value, [&](Value operand) { let_go_of(operand); });
  }
  void let_go_of(Value operand) {
    const int which = registers_.home(operand).register_;
    if (which >= 0 && !registers_.is_pinned(which) && in_element_ && registers_.next_use(operand, position_ + 1) == 1 << 30) {
      registers_.release(which);
    }
  }
  /// A register for the result of the value at hand: one of its operands' that is read no more, or another.
  int result_register(Value value, bool apart = false) {
    if (const int pinned = pinned_at(value); pinned >= 0) return pinned;
    if (!apart) {
      int found = -1;
      body_.operands(value, [&](Value operand) {
        const int which = registers_.home(operand).register_;
        if (which >= 0 && !registers_.is_pinned(which) && is_last_use(operand)) found = which;
      });
      if (found >= 0) return found;
    }
    return take();
  }
  int pinned_at(Value value) const {
    const auto found = pins_.find(value);
    return found == pins_.end() ? -1 : found->second;
  }
  void settle(Value value, int which) {
    if (pinned_at(value) >= 0) return;
    if (registers_.owner(which) != value) {
      if (registers_.owner(which) != no_value) registers_.release(which);
      registers_.assign(value, which);
    }
  }

  // --- the function ------------------------------------------------------------------------------------------------

  /// Registers that the values of a body leave over hold what every vector needs.
  void choose_pins() {
    std::vector<std::pair<std::size_t, Value>> wanted;
    for (std::size_t i = 0; i < form_.code.nodes.size(); ++i) {
      const auto value = static_cast<Value>(i);
      if (body_.root[i] != value || !body_.same_in_row[i]) continue;
      const std::size_t uses = body_.readers[i].size();
      if (uses > 0) wanted.emplace_back(uses, value);
    }
    std::stable_sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr int temporaries = 3;
    int left = Registers::count - std::min(body_.pressure, 8) - temporaries;
    for (const auto& [uses, value] : wanted) {
      if (left-- <= 0) break;
      const int which = Registers::count - 1 - static_cast<int>(pins_.size());
      pins_.emplace(value, which);
      registers_.pin(value, which);
    }
  }

  void assign_pointers() {
    pointers_.assign(static_cast<std::size_t>(operand_count()), -1);
    int next = 0;
    for (int operand = 0; operand < operand_count(); ++operand) {
      if (form_of(operand).access == Access::contiguous && next < most_pointers) {
        pointers_[static_cast<std::size_t>(operand)] = next++;
      }
    }
  }

  /// How many vectors go through the body at once: short bodies would wait for the loop.
  int unroll() const {
    const std::size_t work = body_.element.size() + form_.code.stores.size();
    return work <= 8 ? 4 : work <= 24 ? 2 : 1;
  }

  void emit_function() {
    assign_pointers();
    push(rbx);
    push(rbp);
    push(r12);
    push(r13);
    push(r14);
    push(r15);
    mov(rbp, rsp);
    mov(rbx, rdi);
    sub(rsp, 0x7fffffff);
    const std::size_t frame_size_at = getSize() - 4;
    and_(rsp, -64);
    for (const auto& [value, which] : pins_) {
      if (body_.is_constant(value)) move(vector(which, lane_of_value(value)), constant_at(value));
    }
    mov(r13, qword[rbx + static_cast<int>(offsetof(Frame, columns))]);
    const int unrolled = unroll();
    Label row, tail, end_of_row;
    L(row);
    emit_row_start();
    emit_vectors(unrolled, tail);
    L(tail);
    if (unrolled > 1) {
      Label last;
      emit_vectors(1, last);
      L(last);
    }
    mov(rax, r13);
    sub(rax, r12);
    jz(end_of_row, T_NEAR);
    emit_tail();
    L(end_of_row);
    for (int operand = 0; operand < operand_count(); ++operand) {
      mov(rax, row_of(operand));
      add(start_of(operand), rax);
    }
    dec(qword[rbx + static_cast<int>(offsetof(Frame, rows))]);
    jnz(row, T_NEAR);
    if (form_.non_temporal) sfence();
    vzeroupper();
    mov(rsp, rbp);
    pop(r15);
    pop(r14);
    pop(r13);
    pop(r12);
    pop(rbp);
    pop(rbx);
    ret();
    for (Stub& stub : stubs_) emit_stub(stub);
    emit_constants();
    const int frame_size = slot_area + (registers_.slots() + 1) * stack_unit + 64;
    rewrite(frame_size_at, static_cast<std::uint64_t>(frame_size), 4);
  }

  void emit_row_start() {
    for (int operand = 0; operand < operand_count(); ++operand) {
      const int which = pointers_[static_cast<std::size_t>(operand)];
      if (which >= 0) mov(pointer_register(which), start_of(operand));
      if (form_of(operand).access == Access::strided) {
        mov(rax, start_of(operand));
        mov(cursor_of(operand), rax);
      }
    }
    xor_(r12, r12);
    in_element_ = false;
    position_ = -1;
    for (const Value value : body_.row) {
      registers_.unlock_all();
      emit(value);
      if (pinned_at(value) < 0) {
        Registers::Home& home = registers_.home(value);
        if (home.slot < 0) home.slot = registers_.new_slot();
        vmovups(slot(home.slot), vector(home.register_, lane_of_value(value)));
      }
      drop_all();
    }
  }

  /// Forgets what is in registers but is not pinned.
  void drop_all() {
    registers_.unlock_all();
    for (int i = 0; i < Registers::count; ++i) {
      if (registers_.owner(i) != no_value && !registers_.is_pinned(i)) registers_.release(i);
    }
  }

  void emit_vectors(int unrolled, Label& end) {
    mov(r14, r13);
    sub(r14, lanes_ * unrolled);
    cmp(r12, r14);
    jg(end, T_NEAR);
    align(16);
    Label next;
    L(next);
    for (step_ = 0; step_ < unrolled; ++step_) emit_body(false);
    step_ = 0;
    add(r12, lanes_ * unrolled);
    cmp(r12, r14);
    jle(next, T_NEAR);
  }

  void emit_tail() {
    mov(dword[rsp + tail_count], eax);
    bool narrow_mask = false, wide_mask = false;
    for (const OperandForm& input : form_.inputs) {
      if (input.access != Access::contiguous) continue;
      narrow_mask = narrow_mask || size_of(input.stored) == 4;
      wide_mask = wide_mask || size_of(input.stored) == 8;
    }
    if (narrow_mask || wide_mask) {
      lea(rcx, ptr[rip + tail_masks_]);
      neg(rax);
    }
    if (narrow_mask) {
      vmovups(ymm0, ptr[rcx + rax * 4 + 64]);
      save_tail_mask(tail_mask_32);
    }
    if (wide_mask) {
      vmovups(ymm0, ptr[rcx + rax * 8 + 64]);
      save_tail_mask(tail_mask_64);
    }
    emit_body(true);
  }
  void save_tail_mask(int where) {
    // Register 0 is never pinned: pins are taken from the other end and leave some over.
    vmovups(ptr[rsp + where], ymm0);
  }

  void emit_body(bool partial) {
    in_element_ = true;
    partial_ = partial;
    const int slots = registers_.next_slot();
    for (std::size_t i = 0; i < body_.element.size(); ++i) {
      registers_.unlock_all();
      position_ = static_cast<int>(i);
      emit(body_.element[i]);
      let_go(body_.element[i]);
    }
    for (const Code::Store& store : form_.code.stores) {
      registers_.unlock_all();
      position_ = static_cast<int>(body_.element.size()) + static_cast<int>(&store - form_.code.stores.data());
      const Value value = body_.root[static_cast<std::size_t>(store.value)];
      emit_store(value, inputs() + store.operand);
      let_go_of(value);
    }
    drop_all();
    for (const Value value : body_.element) registers_.home(value).slot = -1;
    registers_.reuse_slots_from(slots);
    if (!partial) {
      for (int operand = 0; operand < operand_count(); ++operand) {
        if (form_of(operand).access != Access::strided) continue;
        mov(rax, column_of(operand));
        shl(rax, std::countr_zero(static_cast<unsigned>(lanes_)));
        add(cursor_of(operand), rax);
      }
    }
    partial_ = false;
  }

  void emit_constants() {
    align(32);
    for (const auto& [value, label] : labels_) {
      const Node& node = form_.code[value];
      L(*label);
      for (int lane = 0; lane < lanes_; ++lane) {
        if (is_wide(node.lane)) dq(node.immediate);
        else dd(static_cast<std::uint32_t>(node.immediate));
      }
    }
    align(32);
    L(tail_masks_);
    for (int i = 0; i < 8; ++i) dq(~std::uint64_t{0});
    for (int i = 0; i < 8; ++i) dq(0);
  }

  // --- values ------------------------------------------------------------------------------------------------------

  void emit(Value value) {
    const Node& node = form_.code[value];
    switch (node.op) {
      case Op::load: emit_load(value); break;
      case Op::broadcast: emit_broadcast(value); break;
      case Op::call:
      case Op::call_unless: emit_call(value); break;
      case Op::multiply_add:
      case Op::multiply_subtract:
      case Op::multiply_add_negated: emit_multiply_add(value); break;
      case Op::select: emit_select(value); break;
      case Op::convert:
      case Op::resize:
      case Op::round_half: emit_convert(value); break;
      case Op::square_root:
      case Op::round:
      case Op::floor:
      case Op::ceil:
      case Op::trunc: emit_unary(value); break;
      case Op::shift_left:
      case Op::shift_right:
      case Op::shift_right_signed: emit_shift(value); break;
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal: emit_comparison(value); break;
      default: emit_binary(value); break;
    }
  }
  Value operand(Value value, std::size_t k) const {
    return body_.root[static_cast<std::size_t>(form_.code[value].operands[k])];
  }

  void emit_unary(Value value) {
    const Node& node = form_.code[value];
    const int a = in_register(operand(value, 0));
    const int d = result_register(value);
    const Xmm to = vector(d, node.lane), from = vector(a, node.lane);
    const bool wide = is_wide(node.lane);
    constexpr int no_exception = 8;
    const auto round = [&](std::uint8_t mode) {
      if (wide) vroundpd(to, from, static_cast<std::uint8_t>(mode | no_exception));
      else vroundps(to, from, static_cast<std::uint8_t>(mode | no_exception));
    };
    switch (node.op) {
      case Op::square_root:
        if (wide) vsqrtpd(to, from);
        else vsqrtps(to, from);
        break;
      case Op::round: round(0); break;
      case Op::floor: round(1); break;
      case Op::ceil: round(2); break;
      default: round(3); break;
    }
    settle(value, d);
  }

  void emit_binary(Value value) {
    const Node& node = form_.code[value];
    Value left = operand(value, 0), right = operand(value, 1);
    const bool commutes = node.op == Op::add || node.op == Op::multiply || node.op == Op::bit_and ||
                          node.op == Op::bit_or || node.op == Op::bit_xor;
    // A NaN is taken from the first of two: the order matters for which one where floats are added.
    if (commutes && !is_in_register(left) && is_in_register(right)) std::swap(left, right);
    const int a = in_register(left);
    if (node.op == Op::multiply && node.lane == Lane::i64) {
      emit_wide_product(value, a, in_register(right));
      return;
    }
    with(right, [&](const Operand& b) {
      const int d = result_register(value);
      encode(node.op, node.lane, vector(d, node.lane), vector(a, node.lane), b);
      settle(value, d);
    });
  }

  void encode(Op op, Lane lane, const Xmm& d, const Xmm& a, const Operand& b) {
    switch (op) {
      case Op::add:
        switch (lane) {
          case Lane::f32: vaddps(d, a, b); return;
          case Lane::f64: vaddpd(d, a, b); return;
          case Lane::i64: vpaddq(d, a, b); return;
          default: vpaddd(d, a, b); return;
        }
      case Op::subtract:
        switch (lane) {
          case Lane::f32: vsubps(d, a, b); return;
          case Lane::f64: vsubpd(d, a, b); return;
          case Lane::i64: vpsubq(d, a, b); return;
          default: vpsubd(d, a, b); return;
        }
      case Op::multiply:
        switch (lane) {
          case Lane::f32: vmulps(d, a, b); return;
          case Lane::f64: vmulpd(d, a, b); return;
          default: vpmulld(d, a, b); return;
        }
      case Op::divide:
        if (lane == Lane::f32) vdivps(d, a, b);
        else vdivpd(d, a, b);
        return;
      case Op::minimum:
        if (lane == Lane::f32) vminps(d, a, b);
        else vminpd(d, a, b);
        return;
      case Op::maximum:
        if (lane == Lane::f32) vmaxps(d, a, b);
        else vmaxpd(d, a, b);
        return;
      case Op::bit_and:
        if (is_float(lane)) vandps(d, a, b);
        else vpand(d, a, b);
        return;
      case Op::bit_or:
        if (is_float(lane)) vorps(d, a, b);
        else vpor(d, a, b);
        return;
      case Op::bit_xor:
        if (is_float(lane)) vxorps(d, a, b);
        else vpxor(d, a, b);
        return;
      case Op::shift_left_by:
        if (is_wide(lane)) vpsllvq(d, a, b);
        else vpsllvd(d, a, b);
        return;
      case Op::shift_right_signed_by: vpsravd(d, a, b); return;
      default: throw std::logic_error("jit: an operation has no instruction");
    }
  }

  /// The lower halves of 64-bit products: there is an instruction for products of 32 bits only.
  void emit_wide_product(Value value, int a, int b) {
    const int t = take(), u = take();
    const Ymm x(a), y(b), p(t), q(u);
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

  void emit_shift(Value value) {
    const Node& node = form_.code[value];
    const int a = in_register(operand(value, 0));
    const int d = result_register(value);
    const Xmm to = vector(d, node.lane), from = vector(a, node.lane);
    const auto count = static_cast<std::uint8_t>(node.immediate);
    const bool wide = is_wide(node.lane);
    if (node.op == Op::shift_left) {
      if (wide) vpsllq(to, from, count);
      else vpslld(to, from, count);
    } else if (node.op == Op::shift_right) {
      if (wide) vpsrlq(to, from, count);
      else vpsrld(to, from, count);
    } else {
      if (wide) throw std::logic_error("jit: AVX2 does not shift 64-bit numbers with their sign");
      vpsrad(to, from, count);
    }
    settle(value, d);
  }

  void emit_comparison(Value value) {
    const Node& node = form_.code[value];
    Value left = operand(value, 0), right = operand(value, 1);
    const Lane lane = form_.code[form_.code[value].operands[0]].lane;
    if (is_float(lane)) {
      const std::uint8_t predicate = node.op == Op::equal       ? 0
                                     : node.op == Op::not_equal ? 4
                                     : node.op == Op::less      ? 17
                                                                : 18;
      const int a = in_register(left);
      with(right, [&](const Operand& b) {
        const int d = result_register(value);
        if (is_wide(lane)) vcmppd(vector(d, lane), vector(a, lane), b, predicate);
        else vcmpps(vector(d, lane), vector(a, lane), b, predicate);
        settle(value, d);
      });
      return;
    }
    // Whole numbers: a < b is b > a, and a <= b is not a > b.
    if (node.op == Op::less) std::swap(left, right);
    const int a = in_register(left);
    const bool inverted = node.op == Op::not_equal || node.op == Op::less_equal;
    with(right, [&](const Operand& b) {
      const int d = inverted ? take() : result_register(value);
      const Xmm to = vector(d, lane), from = vector(a, lane);
      if (node.op == Op::equal || node.op == Op::not_equal) {
        if (is_wide(lane)) vpcmpeqq(to, from, b);
        else vpcmpeqd(to, from, b);
      } else if (is_wide(lane)) {
        vpcmpgtq(to, from, b);
      } else {
        vpcmpgtd(to, from, b);
      }
      if (inverted) {
        const int ones = take();
        vpcmpeqd(vector(ones, lane), vector(ones, lane), vector(ones, lane));
        vpxor(to, to, vector(ones, lane));
      }
      settle(value, d);
    });
  }

  void emit_select(Value value) {
    const Node& node = form_.code[value];
    const int mask = in_register(operand(value, 0)), no = in_register(operand(value, 2));
    with(operand(value, 1), [&](const Operand& yes) {
      const int d = result_register(value);
      if (is_wide(node.lane)) vblendvpd(vector(d, node.lane), vector(no, node.lane), yes, vector(mask, node.lane));
      else vblendvps(vector(d, node.lane), vector(no, node.lane), yes, vector(mask, node.lane));
      settle(value, d);
    });
  }

  /// The result is written over one of the operands: over one that is read no more, if there is one.
  void emit_multiply_add(Value value) {
    const Node& node = form_.code[value];
    Value a = operand(value, 0), b = operand(value, 1);
    const Value c = operand(value, 2);
    const Lane lane = node.lane;
    const auto dies = [&](Value x) {
      const int which = registers_.home(x).register_;
      return which >= 0 && !registers_.is_pinned(which) && is_last_use(x) && pinned_at(value) < 0;
    };
    const auto encode_fma = [&](int form, const Xmm& x, const Xmm& y, const Operand& z) {
      const bool wide = is_wide(lane);
      switch (node.op) {
        case Op::multiply_add:
          if (form == 231) wide ? vfmadd231pd(x, y, z) : vfmadd231ps(x, y, z);
          else if (form == 213) wide ? vfmadd213pd(x, y, z) : vfmadd213ps(x, y, z);
          else wide ? vfmadd132pd(x, y, z) : vfmadd132ps(x, y, z);
          return;
        case Op::multiply_subtract:
          if (form == 231) wide ? vfmsub231pd(x, y, z) : vfmsub231ps(x, y, z);
          else if (form == 213) wide ? vfmsub213pd(x, y, z) : vfmsub213ps(x, y, z);
          else wide ? vfmsub132pd(x, y, z) : vfmsub132ps(x, y, z);
          return;
        default:
          if (form == 231) wide ? vfnmadd231pd(x, y, z) : vfnmadd231ps(x, y, z);
          else if (form == 213) wide ? vfnmadd213pd(x, y, z) : vfnmadd213ps(x, y, z);
          else wide ? vfnmadd132pd(x, y, z) : vfnmadd132ps(x, y, z);
          return;
      }
    };
    if (dies(c) && a != c && b != c) {  // c = a b + c
      if (!is_in_register(a) && is_in_register(b)) std::swap(a, b);
      const int d = in_register(c), x = in_register(a);
      with(b, [&](const Operand& y) { encode_fma(231, vector(d, lane), vector(x, lane), y); });
      settle(value, d);
      return;
    }
    if (!dies(a) && dies(b)) std::swap(a, b);
    if (dies(a) && a != b && a != c) {
      const int d = in_register(a);
      if (is_in_register(b) || !is_in_register(c)) {  // a = b a + c
        const int x = in_register(b);
        with(c, [&](const Operand& z) { encode_fma(213, vector(d, lane), vector(x, lane), z); });
      } else {  // a = a b + c
        const int z = in_register(c);
        with(b, [&](const Operand& y) { encode_fma(132, vector(d, lane), vector(z, lane), y); });
      }
      settle(value, d);
      return;
    }
    // A copy of one operand, preferably one that lies in memory.
    if (!is_in_register(c) || is_in_register(a)) {
      if (!is_in_register(a) && is_in_register(b)) std::swap(a, b);
      const int x = in_register(a);
      const int pinned = pinned_at(value), d = pinned >= 0 ? pinned : take();
      with(c, [&](const Operand& z) { move(vector(d, lane), z); });
      with(b, [&](const Operand& y) { encode_fma(231, vector(d, lane), vector(x, lane), y); });
      settle(value, d);
      return;
    }
    const int z = in_register(c);
    const int pinned = pinned_at(value), d = pinned >= 0 ? pinned : take();
    with(a, [&](const Operand& x) { move(vector(d, lane), x); });
    with(b, [&](const Operand& y) { encode_fma(132, vector(d, lane), vector(z, lane), y); });
    settle(value, d);
  }

  void emit_convert(Value value) {
    const Node& node = form_.code[value];
    const Lane from = form_.code[node.operands[0]].lane, to = node.lane;
    const int a = in_register(operand(value, 0));
    const bool halves = (is_wide(from) && !is_wide(to) && !is_float(from));  // the low halves of 64-bit lanes
    const int d = halves || node.op == Op::round_half ? take() : result_register(value);
    const Xmm x = vector(a, from), y = vector(d, to);
    if (node.op == Op::round_half) {
      vcvtps2ph(Xmm(d), x, 0);
      vcvtph2ps(y, Xmm(d));
    } else if (halves) {
      vextracti128(Xmm(d), Ymm(a), 1);
      vshufps(Xmm(d), Xmm(a), Xmm(d), 0x88);
    } else if (from == Lane::f32 && to == Lane::f64) {
      vcvtps2pd(y, x);
    } else if (from == Lane::f64 && to == Lane::f32) {
      vcvtpd2ps(y, x);
    } else if (from == Lane::i32 && to == Lane::f32) {
      vcvtdq2ps(y, x);
    } else if (from == Lane::i32 && to == Lane::f64) {
      vcvtdq2pd(y, x);
    } else if (from == Lane::f32 && to == Lane::i32) {
      vcvttps2dq(y, x);
    } else if (from == Lane::f64 && to == Lane::i32) {
      vcvttpd2dq(y, x);
    } else if (is_wide(to) && !is_float(from) && !is_float(to)) {
      vpmovsxdq(y, x);
    } else {
      throw std::logic_error("jit: a conversion has no instruction");
    }
    if (halves || node.op == Op::round_half) {
      if (const int pinned = pinned_at(value); pinned >= 0) move(vector(pinned, to), vector(d, to));
    }
    settle(value, d);
  }

  // --- memory ------------------------------------------------------------------------------------------------------

  /// From elements as stored, side by side, to lanes.
  void unpack(DType stored, const Xmm& to, const Operand& from) {
    switch (stored) {
      case DType::f16:
        if (from.isMEM()) vcvtph2ps(to, from);
        else vcvtph2ps(to, Xmm(from.getIdx()));
        break;
      case DType::bf16:
        vpmovzxwd(to, from);
        vpslld(to, to, 16);
        break;
      case DType::boolean: {
        vpmovzxbd(to, from);
        const int zero = take();
        vpxor(sized(zero, to.getBit() / 8), sized(zero, to.getBit() / 8), sized(zero, to.getBit() / 8));
        vpcmpgtd(to, to, sized(zero, to.getBit() / 8));
        break;
      }
      case DType::u8: vpmovzxbd(to, from); break;
      case DType::i8: vpmovsxbd(to, from); break;
      case DType::i16: vpmovsxwd(to, from); break;
      default: move(to, from); break;
    }
  }
  static Xmm lower(const Xmm& x) { return Xmm(x.getIdx()); }

  /// From lanes to elements as stored, side by side, in `t`, which is not `from`'s register.
  void pack(DType stored, int t, int from) {
    const Lane lane = lane_of(stored);
    const Xmm x = vector(from, lane);
    const auto to_words = [&](int source, bool without_sign) {
      if (lanes_ == 8) {
        const int u = spare_ >= 0 ? spare_ : take();
        vextracti128(Xmm(u), Ymm(source), 1);
        without_sign ? vpackusdw(Xmm(t), Xmm(source), Xmm(u)) : vpackssdw(Xmm(t), Xmm(source), Xmm(u));
      } else {
        without_sign ? vpackusdw(Xmm(t), Xmm(source), Xmm(source)) : vpackssdw(Xmm(t), Xmm(source), Xmm(source));
      }
    };
    switch (stored) {
      case DType::f16: vcvtps2ph(Xmm(t), x, 0); break;
      case DType::bf16:
        vpsrld(vector(t, lane), x, 16);
        to_words(t, true);
        break;
      case DType::boolean:
        vpsrld(vector(t, lane), x, 31);
        to_words(t, false);
        vpackuswb(Xmm(t), Xmm(t), Xmm(t));
        break;
      case DType::u8:
        to_words(from, false);
        vpackuswb(Xmm(t), Xmm(t), Xmm(t));
        break;
      case DType::i8:
        to_words(from, false);
        vpacksswb(Xmm(t), Xmm(t), Xmm(t));
        break;
      case DType::i16: to_words(from, false); break;
      default: move(vector(t, lane), x); break;
    }
  }
  static bool is_packed(DType stored) { return size_of(stored) < 4; }

  void emit_broadcast(Value value) {
    const Node& node = form_.code[value];
    const int operand = operand_of(value);
    const DType stored = form_of(operand).stored;
    const int d = result_register(value);
    mov(rax, start_of(operand));
    const Xmm to = vector(d, node.lane);
    switch (size_of(stored)) {
      case 1:
        vpbroadcastb(Xmm(d), byte[rax]);
        unpack(stored, to, Xmm(d));
        break;
      case 2:
        vpbroadcastw(Xmm(d), word[rax]);
        unpack(stored, to, Xmm(d));
        break;
      case 4: vbroadcastss(to, dword[rax]); break;
      default: vbroadcastsd(Ymm(d), qword[rax]); break;
    }
    settle(value, d);
  }

  void emit_load(Value value) {
    const Node& node = form_.code[value];
    const int operand = operand_of(value);
    const OperandForm& form = form_of(operand);
    const std::vector<int>& readers = body_.readers[static_cast<std::size_t>(value)];
    folded_[static_cast<std::size_t>(value)] = false;
    const bool plain = form.access == Access::contiguous && !is_packed(form.stored) && !partial_;
    if (plain && readers.size() == 1 && readers[0] < static_cast<int>(body_.element.size())) {
      folded_[static_cast<std::size_t>(value)] = true;  // where it is read
      return;
    }
    const int d = take();
    const Xmm to = vector(d, node.lane);
    if (form.access == Access::strided) {
      gather(operand, d);
      if (is_packed(form.stored)) unpack(form.stored, to, Xmm(d));
    } else if (!partial_) {
      unpack(form.stored, to, at(operand));
    } else if (is_packed(form.stored)) {
      load_part(operand, d);
      unpack(form.stored, to, Xmm(d));
    } else if (size_of(form.stored) == 4) {
      vmovups(to, ptr[rsp + tail_mask_32]);
      vmaskmovps(to, to, at(operand));
    } else {
      vmovups(to, ptr[rsp + tail_mask_64]);
      vmaskmovpd(to, to, at(operand));
    }
    settle(value, d);
  }

  /// rcx = the address of what is left of the row.
  void address_of_rest(int operand) {
    const int width = static_cast<int>(size_of(form_of(operand).stored));
    lea(rcx, ptr[pointer(operand) + r12 * width]);
  }

  /// The bytes of what is left of a row, from the smallest power of two that their number is made of to the largest:
  /// each comes before those that are there already.
  void load_part(int operand, int d) {
    const int width = static_cast<int>(size_of(form_of(operand).stored));
    const Xmm x(d);
    address_of_rest(operand);
    vpxor(x, x, x);
    for (int piece = width; piece < lanes_ * width; piece *= 2) {
      Label skip;
      mov(eax, dword[rsp + tail_count]);
      test(eax, piece / width);
      jz(skip, T_NEAR);
      vpslldq(x, x, static_cast<std::uint8_t>(piece));
      shl(eax, std::countr_zero(static_cast<unsigned>(width)));
      and_(eax, ~(2 * piece - 1));
      insert(x, ptr[rcx + rax], piece, 0);
      L(skip);
    }
  }
  void insert(const Xmm& x, const Address& from, int width, int lane) {
    const auto index = static_cast<std::uint8_t>(lane);
    switch (width) {
      case 1: vpinsrb(x, x, from, index); break;
      case 2: vpinsrw(x, x, from, index); break;
      case 4: vpinsrd(x, x, from, index); break;
      default: vpinsrq(x, x, from, index); break;
    }
  }
  void extract(const Address& to, const Xmm& x, int width, int lane) {
    const auto index = static_cast<std::uint8_t>(lane);
    switch (width) {
      case 1: vpextrb(to, x, index); break;
      case 2: vpextrw(to, x, index); break;
      case 4: vpextrd(to, x, index); break;
      default: vpextrq(to, x, index); break;
    }
  }

  /// Calls each(lane of the 128 bits, first or second 128 bits) for the elements of a strided operand, rax at each.
  template <class Each>
  void each_strided(int operand, const Each& each) {
    const int width = static_cast<int>(size_of(form_of(operand).stored));
    const int in_half = std::min(lanes_, 16 / width);
    Label done;
    mov(rax, cursor_of(operand));
    mov(rcx, column_of(operand));
    for (int lane = 0; lane < lanes_; ++lane) {
      if (lane > 0) {
        if (partial_) {
          cmp(dword[rsp + tail_count], lane);
          jle(done, T_NEAR);
        }
        add(rax, rcx);
      }
      each(lane % in_half, lane / in_half, width);
    }
    L(done);
  }
  void gather(int operand, int d) {
    const int width = static_cast<int>(size_of(form_of(operand).stored));
    const bool two = lanes_ * width > 16;
    const int t = two ? take() : d;
    vpxor(Xmm(d), Xmm(d), Xmm(d));
    if (two) vpxor(Xmm(t), Xmm(t), Xmm(t));
    each_strided(operand, [&](int lane, int half, int size) { insert(Xmm(half == 0 ? d : t), ptr[rax], size, lane); });
    if (two) vinserti128(Ymm(d), Ymm(d), Xmm(t), 1);
  }
  void scatter(int operand, int from) {
    const int width = static_cast<int>(size_of(form_of(operand).stored));
    const bool two = lanes_ * width > 16;
    const int t = two ? take() : from;
    if (two) vextracti128(Xmm(t), Ymm(from), 1);
    each_strided(operand, [&](int lane, int half, int size) { extract(ptr[rax], Xmm(half == 0 ? from : t), size, lane); });
  }

  void emit_store(Value value, int operand) {
    const OperandForm& form = form_of(operand);
    const int from = in_register(value);
    const Xmm x = vector(from, lane_of(form.stored));
    const bool packed = is_packed(form.stored);
    const int width = static_cast<int>(size_of(form.stored));
    if (!partial_ && form.access == Access::contiguous && !packed) {
      if (form_.non_temporal) vmovntps(at(operand), x);
      else vmovups(at(operand), x);
      return;
    }
    int source = from;
    if (packed) {
      source = take();
      pack(form.stored, source, from);
    }
    if (form.access == Access::strided) return scatter(operand, source);
    if (partial_) {
      if (!packed) {
        source = take();
        move(vector(source, lane_of(form.stored)), x);
      }
      return store_part(operand, source, width);
    }
    switch (lanes_ * width) {
      case 4: vmovd(at(operand), Xmm(source)); break;
      case 8: vmovq(at(operand), Xmm(source)); break;
      default: vmovups(at(operand), Xmm(source)); break;
    }
  }

  /// The first bytes of a register, which is emptied on the way.
  void store_part(int operand, int source, int width) {
    const Xmm x(source);
    address_of_rest(operand);
    for (int piece = lanes_ * width / 2; piece >= width; piece /= 2) {
      Label skip;
      test(dword[rsp + tail_count], piece / width);
      jz(skip, T_NEAR);
      if (piece == 16) {
        vmovups(ptr[rcx], x);
        vextracti128(x, Ymm(source), 1);
      } else {
        extract(ptr[rcx], x, piece, 0);
        vpsrldq(x, x, static_cast<std::uint8_t>(piece));
      }
      if (piece > width) add(rcx, piece);
      L(skip);
    }
  }

  // --- calls -------------------------------------------------------------------------------------------------------

  /// A call beside the way, where the code at hand does not hold for all lanes.
  struct Stub {
    Label entry, back;
    Value value = no_value;
    int result = 0;
    std::uint32_t saved = 0;
    std::array<int, 3> operands{};
  };

  void emit_call(Value value) {
    const Node& node = form_.code[value];
    const Call& call = form_.code.calls[node.immediate];
    std::array<int, 3> operands{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
      operands[k] = in_register(body_.root[static_cast<std::size_t>(call.operands[k])]);
    }
    if (node.op == Op::call) {
      const int pinned = pinned_at(value), d = pinned >= 0 ? pinned : take();
      emit_call_sequence(call, operands, d, registers_.used() & ~(1u << d));
      settle(value, d);
      return;
    }
    const int near = in_register(operand(value, 0)), holds = in_register(operand(value, 1));
    const int pinned = pinned_at(value), d = pinned >= 0 ? pinned : take();
    move(vector(d, node.lane), vector(near, node.lane));
    const Lane lane = form_.code[node.operands[1]].lane;
    if (is_wide(lane)) vmovmskpd(eax, vector(holds, lane));
    else vmovmskps(eax, vector(holds, lane));
    cmp(eax, (1 << lanes_) - 1);
    stubs_.push_back({});
    Stub& stub = stubs_.back();
    stub.value = value;
    stub.result = d;
    stub.saved = registers_.used() & ~(1u << d);
    stub.operands = operands;
    jne(stub.entry, T_NEAR);
    L(stub.back);
    settle(value, d);
  }

  void emit_stub(Stub& stub) {
    L(stub.entry);
    registers_.unlock_all();
    emit_call_sequence(form_.code.calls[form_.code[stub.value].immediate], stub.operands, stub.result, stub.saved);
    jmp(stub.back, T_NEAR);
  }

  void emit_call_sequence(const Call& call, const std::array<int, 3>& operands, int d, std::uint32_t saved) {
    for (int i = 0; i < Registers::count; ++i) {
      if ((saved >> i & 1u) != 0) vmovups(ptr[rsp + save_area + i * stack_unit], Ymm(i));
    }
    for (int i = 0; i < most_pointers - 1; ++i) mov(qword[rsp + pointer_area + 8 * i], pointer_register(i));
    // Everything is saved: what packing needs may be any register but the operands'.
    for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
      const Address to = ptr[rsp + call_area + static_cast<int>(k) * stack_unit];
      const Lane lane = lane_of(call.types[k]);
      if (!is_packed(call.types[k])) {
        vmovups(to, vector(operands[k], lane));
        continue;
      }
      int free[2], found = 0;
      for (int i = 0; found < 2; ++i) {
        if (std::find(operands.begin(), operands.begin() + call.count, i) == operands.begin() + call.count) free[found++] = i;
      }
      pack_apart(call.types[k], free[0], free[1], operands[k]);
      vmovups(to, Xmm(free[0]));
    }
    lea(rdi, ptr[rsp + call_area + 3 * stack_unit]);
    lea(rsi, ptr[rsp + call_area]);
    lea(rdx, ptr[rsp + call_area + (call.count > 1 ? stack_unit : 0)]);
    lea(rcx, ptr[rsp + call_area + (call.count > 2 ? 2 * stack_unit : 0)]);
    mov(r8d, lanes_);
    mov(rax, reinterpret_cast<std::uint64_t>(call.loop));
    vzeroupper();
    this->call(rax);
    for (int i = 0; i < most_pointers - 1; ++i) mov(pointer_register(i), qword[rsp + pointer_area + 8 * i]);
    const Lane lane = lane_of(call.result);
    const int other = d == 0 ? 1 : 0;
    unpack_apart(call.result, vector(d, lane), ptr[rsp + call_area + 3 * stack_unit], other);
    for (int i = 0; i < Registers::count; ++i) {
      if ((saved >> i & 1u) != 0 && i != d) vmovups(Ymm(i), ptr[rsp + save_area + i * stack_unit]);
    }
  }
  /// pack and unpack with a given spare register in place of one that is taken.
  void pack_apart(DType stored, int t, int spare, int from) {
    spare_ = spare;
    pack(stored, t, from);
    spare_ = -1;
  }
  void unpack_apart(DType stored, const Xmm& to, const Operand& from, int spare) {
    if (stored == DType::boolean) {
      vpmovzxbd(to, from);
      const Xmm zero = sized(spare, to.getBit() / 8);
      vpxor(zero, zero, zero);
      vpcmpgtd(to, to, zero);
    } else {
      unpack(stored, to, from);
    }
  }

  const KernelForm& form_;
  const Body body_;
  Registers registers_;
  int lanes_;
  std::map<Value, int> pins_;
  std::vector<int> pointers_;
  std::vector<Label*> constants_;
  std::vector<std::pair<Value, std::unique_ptr<Label>>> labels_;
  std::vector<bool> folded_;
  std::deque<Stub> stubs_;
  Label tail_masks_;
  int position_ = 0, step_ = 0, spare_ = -1;
  bool in_element_ = false, partial_ = false;
};

}  // namespace

std::shared_ptr<const MachineCode> emit_x86(const KernelForm& form) {
  for (std::size_t bytes = std::size_t{1} << 16;; bytes *= 4) {
    std::vector<std::byte> buffer(bytes);
    try {
      Emitter emitter(form, buffer);
      auto made = std::make_shared<const MachineCode>(std::span(buffer).first(emitter.getSize()));
      return *made ? made : nullptr;
    } catch (const Xbyak::Error& error) {
      if (static_cast<int>(error) != Xbyak::ERR_CODE_IS_TOO_BIG) throw;
    }
  }
}

#else

std::shared_ptr<const MachineCode> emit_x86(const KernelForm&) { return nullptr; }

#endif

}  // namespace tyto::cpu::jit
