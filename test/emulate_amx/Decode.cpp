#include "Decode.h"

#include <cstring>

namespace amx {

const char *const kNames[kOps] = {"ldtilecfg", "sttilecfg",   "tilerelease", "tilezero",
                                  "tileloadd", "tileloaddt1", "tilestored",  "tdpbf16ps",
                                  "tdpbssd",   "tdpbsud",     "tdpbusd",     "tdpbuud"};

namespace {

/// The prefix that VEX stands for.
enum Prefix : uint8_t { none, x66, xF3, xF2 };

struct Vex {
  bool r, x, b;  ///< fourth bits of register numbers
  uint8_t third; ///< VEX.vvvv
  Prefix prefix;
};

/// Three bytes in front of an opcode of the map 0F38, with W0 and 128 bits.
std::optional<Vex> vexOf(const uint8_t *code) {
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0)
    return std::nullopt;
  return Vex{!(code[1] & 0x80), !(code[1] & 0x40), !(code[1] & 0x20), uint8_t(~code[2] >> 3 & 15),
             Prefix(code[2] & 3)};
}

struct Memory {
  uint64_t start = 0;  ///< base and displacement
  uint64_t index = 0;  ///< scaled
  unsigned length = 0; ///< of ModRM and what belongs to it
  bool hasSib = false;
};

int64_t displacement(const uint8_t *at, unsigned bytes) {
  if (bytes == 1)
    return static_cast<int8_t>(*at);
  int32_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

/// The operand in memory that ModRM tells of; relative to the next instruction, it is last in this.
Memory memoryAt(const uint8_t *modrm, const Vex &vex, const Registers &registers) {
  Memory memory{0, 0, 1, (*modrm & 7) == 4};
  const unsigned mod = *modrm >> 6;
  unsigned base = (*modrm & 7) | unsigned(vex.b) << 3;
  if (memory.hasSib) {
    const uint8_t sib = modrm[memory.length++];
    const unsigned index = (sib >> 3 & 7) | unsigned(vex.x) << 3;
    base = (sib & 7) | unsigned(vex.b) << 3;
    if (index != 4)
      memory.index = registers.general[index] << (sib >> 6);
  }
  unsigned bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  const bool noBase = mod == 0 && (base & 7) == 5;
  if (noBase)
    bytes = 4;
  memory.start = bytes ? uint64_t(displacement(modrm + memory.length, bytes)) : 0;
  memory.length += bytes;
  if (!noBase)
    memory.start += registers.general[base];
  else if (!memory.hasSib)
    memory.start += reinterpret_cast<uint64_t>(modrm + memory.length);
  return memory;
}

std::optional<Op> configOp(Prefix prefix, bool isMemory, unsigned reg, unsigned rm) {
  if (isMemory && reg == 0 && prefix <= x66)
    return prefix == none ? Op::ldtilecfg : Op::sttilecfg;
  if (!isMemory && prefix == none && reg == 0 && rm == 0)
    return Op::tilerelease;
  if (!isMemory && prefix == xF2 && rm == 0)
    return Op::tilezero;
  return std::nullopt;
}

std::optional<Op> opOf(uint8_t opcode, Prefix prefix, bool isMemory, unsigned reg, unsigned rm) {
  constexpr Op moves[] = {Op::tileloadd, Op::tileloaddt1, Op::tilestored, Op::tileloadd};
  constexpr Op bytes[] = {Op::tdpbuud, Op::tdpbusd, Op::tdpbsud, Op::tdpbssd};
  if (opcode == 0x49)
    return configOp(prefix, isMemory, reg, rm);
  if (opcode == 0x4b && isMemory && rm == 4 && prefix != none)
    return moves[prefix];
  if (opcode == 0x5c && !isMemory && prefix == xF3)
    return Op::tdpbf16ps;
  if (opcode == 0x5e && !isMemory)
    return bytes[prefix];
  return std::nullopt;
}

} // namespace

std::optional<Instruction> decode(const uint8_t *code, const Registers &registers) {
  const std::optional<Vex> vex = vexOf(code);
  if (!vex)
    return std::nullopt;
  const uint8_t *modrm = code + 4;
  const bool isMemory = *modrm >> 6 != 3;
  const unsigned reg = *modrm >> 3 & 7, rm = *modrm & 7;
  const std::optional<Op> op = opOf(code[3], vex->prefix, isMemory, reg, rm);
  if (!op)
    return std::nullopt;
  Instruction found{*op, 5};
  found.target = reg;
  found.first = rm;
  found.second = vex->third;
  if (isMemory) {
    const Memory memory = memoryAt(modrm, *vex, registers);
    found.length = 4 + memory.length;
    // Of whole tiles the index is the distance of rows.
    const bool isTile = code[3] == 0x4b;
    found.address = memory.start + (isTile ? 0 : memory.index);
    found.stride = memory.index;
  }
  return found;
}

} // namespace amx
