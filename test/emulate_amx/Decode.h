// AMX's instructions in the bytes of a program (Intel SDM volume 2A, 2.3.12 on VEX; each
// instruction's page on its opcode).
#pragma once

#include <cstdint>
#include <optional>

namespace amx {

enum class Op : uint8_t {
  ldtilecfg,
  sttilecfg,
  tilerelease,
  tilezero,
  tileloadd,
  tileloaddt1,
  tilestored,
  tdpbf16ps,
  tdpbssd,
  tdpbsud,
  tdpbusd,
  tdpbuud,
};
inline constexpr unsigned kOps = 12;
extern const char *const kNames[kOps];

/// General registers by their numbers in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8,
/// ...
struct Registers {
  uint64_t general[16];
};

struct Instruction {
  Op op;
  unsigned length;                            ///< bytes
  unsigned target = 0, first = 0, second = 0; ///< tiles: target += first * second
  uint64_t address = 0; ///< of the operand in memory, or of the first row of one
  uint64_t stride = 0;  ///< from a row to the next one
};

/// The instruction at `code`; nothing if it is none of AMX's.
std::optional<Instruction> decode(const uint8_t *code, const Registers &registers);

} // namespace amx
