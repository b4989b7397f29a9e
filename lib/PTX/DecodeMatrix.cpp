// Matrix instructions: fragments that the lanes of a warp hold together.
#include "Decoder.h"

#include "gantry/Support/Names.h"

#include <algorithm>
#include <charconv>

using namespace gantry;
using namespace gantry::ptx;

namespace {

/// "m16n8k16"
bool parseShape(std::string_view text, MatrixDetail &detail) {
  uint8_t *parts[] = {&detail.m, &detail.n, &detail.k};
  const char *at = text.data(), *end = at + text.size();
  for (int i = 0; i < 3; ++i) {
    if (at == end || *at != "mnk"[i])
      return false;
    auto [next, error] = std::from_chars(at + 1, end, *parts[i]);
    if (error != std::errc())
      return false;
    at = next;
  }
  return at == end;
}

bool takeShape(Opcode &opcode, MatrixDetail &detail) {
  constexpr std::string_view shapes[] = {"m16n8k16", "m16n8k8", "m16n8k4",   "m16n8k32",
                                         "m8n8k4",   "m8n8k16", "m16n16k16", "m8n32k16",
                                         "m32n8k16", "m16n16k8"};
  for (std::string_view shape : shapes)
    if (opcode.take(shape))
      return parseShape(shape, detail);
  return false;
}

unsigned elementBits(Type type) { return type == Type::tf32 ? 32 : typeBits(type); }

} // namespace

std::vector<Slot> Decoder::fragment(const Operand &operand, unsigned bytes) {
  std::vector<Slot> slots;
  const Operand *first = operand.kind == Operand::Kind::vector ? operand.elements.data() : &operand;
  size_t count = operand.kind == Operand::Kind::vector ? operand.elements.size() : 1;
  for (size_t i = 0; i < count && !failed(); ++i)
    slots.push_back({use(first[i], bytes == 8 ? Type::b64 : Type::b32), uint8_t(bytes)});
  return slots;
}

/// ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16 {…}, [p]
void Decoder::decodeLoadMatrix() {
  MatrixDetail detail;
  bool store = opcode.name == "stmatrix";
  opcode.take("sync");
  opcode.take("aligned");
  if (!opcode.take("m8n8"))
    return failOpcode();
  auto count = opcode.takeOneOf({"x1", "x2", "x4"});
  if (!count)
    return failOpcode();
  detail.matrices = uint8_t(1u << *count);
  detail.transposed = opcode.take("trans");
  if (!expectOperands(2, 2))
    return;
  detail.access = takeAccess(operand(store ? 0 : 1));
  opcode.take("b16");
  detail.access.width = 16;
  detail.regs = fragment(operand(store ? 1 : 0), 4);
  if (failed())
    return;
  if (detail.regs.size() != detail.matrices)
    return fail("'" + printable(current->opcode) + "' takes " + std::to_string(detail.matrices) +
                    " registers",
                StatusCode::invalidArgument);
  noteAccess(detail.access);
  emitMatrix(store ? OpKind::storeMatrix : OpKind::loadMatrix, detail);
}

void Decoder::decodeStoreMatrix() { decodeLoadMatrix(); }

/// mma.sync.aligned.shape.row.col.d.a.b.c d, a, b, c
void Decoder::decodeMma() {
  MatrixDetail detail;
  opcode.take("sync");
  opcode.take("aligned");
  if (!takeShape(opcode, detail) || !opcode.take("row") || !opcode.take("col"))
    return failOpcode();
  detail.saturate = opcode.take("satfinite");
  detail.d = opcode.takeType();
  detail.a = opcode.takeType();
  detail.b = opcode.takeType();
  detail.c = opcode.takeType();
  if (!expectOperands(4, 4))
    return;
  auto is8 = [](Type type) { return type == Type::s8 || type == Type::u8; };
  auto isFp8 = [](Type type) { return type == Type::e4m3 || type == Type::e5m2; };
  bool known = (detail.a == detail.b && (detail.a == Type::f16 || detail.a == Type::bf16 ||
                                         detail.a == Type::tf32 || detail.a == Type::f64)) ||
               (is8(detail.a) && is8(detail.b)) || (isFp8(detail.a) && isFp8(detail.b));
  bool sums = detail.c == detail.d && (is8(detail.a)           ? detail.d == Type::s32
                                       : detail.a == Type::f64 ? detail.d == Type::f64
                                       : detail.a == Type::f16 || isFp8(detail.a)
                                           ? detail.d == Type::f32 || detail.d == Type::f16
                                           : detail.d == Type::f32);
  if (!known || !sums || (detail.m == 8 && detail.a == Type::f16))
    return failOpcode();
  unsigned bits = elementBits(detail.a), sumBits = elementBits(detail.d),
           regBits = std::max(32u, bits);
  unsigned sumReg = std::max(32u, sumBits);
  detail.dRegs = fragment(operand(0), sumReg / 8);
  detail.aRegs = fragment(operand(1), regBits / 8);
  detail.bRegs = fragment(operand(2), regBits / 8);
  detail.cRegs = fragment(operand(3), sumReg / 8);
  if (failed())
    return;
  auto wanted = [&](unsigned rows, unsigned columns, unsigned each, unsigned reg) {
    return size_t(rows * columns * each / (warpSize * reg));
  };
  if (detail.aRegs.size() != wanted(detail.m, detail.k, bits, regBits) ||
      detail.bRegs.size() != wanted(detail.k, detail.n, bits, regBits) ||
      detail.dRegs.size() != wanted(detail.m, detail.n, sumBits, sumReg) ||
      detail.cRegs.size() != detail.dRegs.size() || detail.aRegs.empty() || detail.bRegs.empty())
    return fail("the fragments of '" + printable(current->opcode) +
                    "' have other numbers of registers",
                StatusCode::invalidArgument);
  detail.multiply = computeTable().findMultiplier(detail);
  if (detail.multiply) {
    auto copy = [](const std::vector<Slot> &from, uint32_t *to) {
      for (const Slot &slot : from)
        *to++ = slot.offset;
    };
    copy(detail.dRegs, detail.slots.d);
    copy(detail.aRegs, detail.slots.a);
    copy(detail.bRegs, detail.slots.b);
    copy(detail.cRegs, detail.slots.c);
  }
  emitMatrix(OpKind::multiplyMatrices, detail);
}

/// wmma.load, wmma.store and wmma.mma. Which lane holds which element is left open by PTX: here
/// lane by lane, row by row.
void Decoder::decodeWmma() {
  MatrixDetail detail;
  detail.wmma = true;
  auto what = opcode.takeOneOf({"load", "store", "mma"});
  if (!what)
    return failOpcode();
  opcode.take("sync");
  opcode.take("aligned");
  if (!takeShape(opcode, detail))
    return failOpcode();
  if (*what == 2)
    decodeWmmaMultiply(detail);
  else
    decodeWmmaMove(detail, *what == 1 ? OpKind::storeMatrix : OpKind::loadMatrix);
}

/// wmma.mma.sync.aligned.row.col.m16n16k16.d{.a.b}.c d, a, b, c: without a and b these are of f16.
void Decoder::decodeWmmaMultiply(MatrixDetail &detail) {
  detail.rowA = opcode.takeOneOf({"row", "col"}).value_or(0) == 0;
  detail.rowB = opcode.takeOneOf({"row", "col"}).value_or(0) == 0;
  detail.saturate = opcode.take("satfinite");
  std::vector<Type> types;
  for (Type type = opcode.takeType(); type != Type::none && types.size() < 4;
       type = opcode.takeType())
    types.push_back(type);
  if (!expectOperands(4, 4))
    return;
  if (types.size() != 2 && types.size() != 4)
    return failOpcode();
  detail.d = types.front();
  detail.c = types.back();
  if (types.size() == 4) {
    detail.a = types[1];
    detail.b = types[2];
  }
  auto isSum = [](Type type) {
    return type == Type::f32 || type == Type::f16 || type == Type::s32;
  };
  bool known = detail.a == Type::f16 || detail.a == Type::bf16 || detail.a == Type::tf32 ||
               detail.a == Type::s8 || detail.a == Type::u8;
  if (!known || !isSum(detail.d) || !isSum(detail.c) || detail.a != detail.b)
    return failOpcode();
  detail.dRegs = fragment(operand(0), 4);
  detail.aRegs = fragment(operand(1), 4);
  detail.bRegs = fragment(operand(2), 4);
  detail.cRegs = fragment(operand(3), 4);
  if (failed())
    return;
  if (detail.aRegs.empty() || detail.bRegs.empty() || detail.dRegs.empty() || detail.cRegs.empty())
    return failOpcode();
  emitMatrix(OpKind::multiplyMatrices, detail);
}

/// wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {…}, [p]{, stride}, and wmma.store.d.
void Decoder::decodeWmmaMove(MatrixDetail &detail, OpKind kind) {
  const bool store = kind == OpKind::storeMatrix;
  auto part = opcode.takeOneOf({"a", "b", "c", "d"});
  detail.rowMajor = opcode.takeOneOf({"row", "col"}).value_or(0) == 0;
  if (!part)
    return failOpcode();
  detail.fragment = MatrixDetail::Fragment(std::min(*part, 2u));
  if (!expectOperands(2, 3))
    return;
  detail.access = takeAccess(operand(store ? 0 : 1));
  detail.a = opcode.takeType();
  detail.access.width = uint8_t(elementBits(detail.a) / 8);
  if (detail.access.width == 0 || detail.access.width > 4)
    return failOpcode();
  detail.regs = fragment(operand(store ? 1 : 0), 4);
  if (operands() == 3)
    detail.stride = {use(2, Type::u32), 4};
  if (failed())
    return;
  if (detail.regs.empty())
    return failOpcode();
  noteAccess(detail.access);
  emitMatrix(kind, detail);
}

std::span<const OpcodeEntry> gantry::ptx::matrixOpcodes() {
  using D = Decoder;
  static constexpr OpcodeEntry entries[] = {
      {"ldmatrix", &D::decodeLoadMatrix},
      {"stmatrix", &D::decodeStoreMatrix},
      {"mma", &D::decodeMma},
      {"wmma", &D::decodeWmma},
  };
  return entries;
}
