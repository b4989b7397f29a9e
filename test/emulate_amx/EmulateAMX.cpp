// Carries AMX's instructions out in software: a processor without them raises SIGILL, and what they
// do is done to registers of the thread's own (Intel SDM volume 2; the pseudo code of each page).
//
// On a processor that has AMX nothing is done. GANTRY_AMX_COUNTS names a file to which the process
// adds, when it ends, how often each instruction was met: "tdpbf16ps 1234" on a line each, or the
// line "hardware".

#include "Decode.h"

#include <atomic>
#include <cpuid.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <ucontext.h>

using amx::Instruction;
using amx::Op;

namespace {

constexpr unsigned kTiles = 8, kRows = 16, kRowBytes = 64;

struct State {
  bool configured = false;
  uint8_t config[64] = {};
  alignas(64) uint8_t tiles[kTiles][kRows][kRowBytes] = {};

  unsigned rows(unsigned tile) const { return config[48 + tile]; }
  unsigned rowBytes(unsigned tile) const {
    return config[16 + 2 * tile] | unsigned(config[17 + 2 * tile]) << 8;
  }
};

thread_local State state;
std::atomic<uint64_t> counts[amx::kOps];

//===----------------------------------------------------------------------===//
// Instructions; each says whether the processor would have carried it out
//===----------------------------------------------------------------------===//

bool loadConfig(const void *from) {
  State next;
  std::memcpy(next.config, from, sizeof next.config);
  next.configured = next.config[0] == 1;
  for (unsigned t = 0; next.configured && t < kTiles; ++t)
    if (next.rows(t) > kRows || next.rowBytes(t) > kRowBytes ||
        (next.rows(t) == 0) != (next.rowBytes(t) == 0))
      return false;
  state = next;
  return next.config[0] <= 1;
}

bool isThere(unsigned tile) { return state.configured && tile < kTiles && state.rows(tile) != 0; }

bool load(unsigned tile, uint64_t address, uint64_t stride) {
  if (!isThere(tile))
    return false;
  std::memset(state.tiles[tile], 0, sizeof state.tiles[tile]);
  for (unsigned r = 0; r < state.rows(tile); ++r)
    std::memcpy(state.tiles[tile][r], reinterpret_cast<const void *>(address + r * stride),
                state.rowBytes(tile));
  return true;
}

bool store(unsigned tile, uint64_t address, uint64_t stride) {
  if (!isThere(tile))
    return false;
  for (unsigned r = 0; r < state.rows(tile); ++r)
    std::memcpy(reinterpret_cast<void *>(address + r * stride), state.tiles[tile][r],
                state.rowBytes(tile));
  return true;
}

/// Whether target (m x n) += first (m x k) * second (k x n) fits.
bool fits(const Instruction &i) {
  return isThere(i.target) && isThere(i.first) && isThere(i.second) && i.target != i.first &&
         i.target != i.second && i.first != i.second &&
         state.rows(i.target) == state.rows(i.first) &&
         state.rowBytes(i.target) == state.rowBytes(i.second) &&
         state.rowBytes(i.first) == 4 * state.rows(i.second);
}

/// Subnormal numbers are zeros, and sums are rounded to the nearest, whatever the program's MXCSR.
class RoundingOfAMX {
public:
  RoundingOfAMX() : saved(_mm_getcsr()) { _mm_setcsr(0x9fc0); }
  ~RoundingOfAMX() { _mm_setcsr(saved); }

private:
  unsigned saved;
};

/// The rest of this is for any processor, so that a program can ask what it runs on.
#define WITH_VECTORS [[gnu::target("avx512f")]]

WITH_VECTORS __m512 evenOf(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
}
WITH_VECTORS __m512 oddOf(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(int(0xffff0000U))));
}

WITH_VECTORS bool multiplyBF16(const Instruction &i) {
  if (!fits(i))
    return false;
  const RoundingOfAMX rounding;
  const unsigned columns = state.rowBytes(i.target) / 4;
  for (unsigned m = 0; m < state.rows(i.target); ++m) {
    __m512 evens = _mm512_setzero_ps(), odds = _mm512_setzero_ps();
    for (unsigned k = 0; k < state.rows(i.second); ++k) {
      int pair = 0;
      std::memcpy(&pair, state.tiles[i.first][m] + std::size_t(4) * k, sizeof pair);
      const __m512i x = _mm512_set1_epi32(pair), y = _mm512_load_si512(state.tiles[i.second][k]);
      evens = _mm512_fmadd_ps(evenOf(x), evenOf(y), evens);
      odds = _mm512_fmadd_ps(oddOf(x), oddOf(y), odds);
    }
    float *sums = reinterpret_cast<float *>(state.tiles[i.target][m]);
    const __m512 sum = _mm512_add_ps(_mm512_load_ps(sums), _mm512_add_ps(evens, odds));
    _mm512_mask_store_ps(sums, __mmask16((1U << columns) - 1), sum);
  }
  return true;
}

template <typename Left, typename Right>
bool multiplyBytes(const Instruction &i) {
  if (!fits(i))
    return false;
  for (unsigned m = 0; m < state.rows(i.target); ++m) {
    auto *sums = reinterpret_cast<uint32_t *>(state.tiles[i.target][m]);
    for (unsigned k = 0; k < state.rows(i.second); ++k) {
      const auto *left =
          reinterpret_cast<const Left *>(state.tiles[i.first][m]) + std::size_t(4) * k;
      const auto *right = reinterpret_cast<const Right *>(state.tiles[i.second][k]);
      for (unsigned n = 0; n < state.rowBytes(i.target) / 4; ++n)
        for (unsigned j = 0; j < 4; ++j)
          sums[n] += uint32_t(int32_t(left[j]) * int32_t(right[4 * n + j]));
    }
  }
  return true;
}

bool carryOut(const Instruction &i) {
  switch (i.op) {
  case Op::ldtilecfg:
    return loadConfig(reinterpret_cast<const void *>(i.address));
  case Op::sttilecfg:
    std::memcpy(reinterpret_cast<void *>(i.address), state.config, sizeof state.config);
    return true;
  case Op::tilerelease:
    state = State();
    return true;
  case Op::tilezero:
    std::memset(state.tiles[i.target], 0, sizeof state.tiles[i.target]);
    return isThere(i.target);
  case Op::tileloadd:
  case Op::tileloaddt1:
    return load(i.target, i.address, i.stride);
  case Op::tilestored:
    return store(i.target, i.address, i.stride);
  case Op::tdpbf16ps:
    return multiplyBF16(i);
  case Op::tdpbssd:
    return multiplyBytes<int8_t, int8_t>(i);
  case Op::tdpbsud:
    return multiplyBytes<int8_t, uint8_t>(i);
  case Op::tdpbusd:
    return multiplyBytes<uint8_t, int8_t>(i);
  case Op::tdpbuud:
    return multiplyBytes<uint8_t, uint8_t>(i);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// The signal
//===----------------------------------------------------------------------===//

/// In the order of Registers.
constexpr int kSaved[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                          REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

/// All of AMX's instructions from there on; another one goes on as it would have without this.
void onIllegalInstruction(int signal, siginfo_t *, void *context) {
  greg_t *saved = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  amx::Registers registers;
  for (unsigned r = 0; r < 16; ++r)
    registers.general[r] = uint64_t(saved[kSaved[r]]);
  bool any = false;
  for (;;) {
    const auto found = amx::decode(reinterpret_cast<const uint8_t *>(saved[REG_RIP]), registers);
    if (!found || !carryOut(*found))
      break;
    counts[unsigned(found->op)].fetch_add(1, std::memory_order_relaxed);
    saved[REG_RIP] += found->length;
    any = true;
  }
  if (!any)
    std::signal(signal, SIG_DFL);
}

bool hasAMX() {
  constexpr unsigned amxTile = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amxTile) != 0;
}

[[gnu::constructor]] void begin() {
  if (hasAMX())
    return;
  struct sigaction action = {};
  action.sa_sigaction = onIllegalInstruction;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
}

[[gnu::destructor]] void end() {
  const char *path = std::getenv("GANTRY_AMX_COUNTS");
  std::FILE *file = path ? std::fopen(path, "a") : nullptr;
  if (!file)
    return;
  if (hasAMX())
    std::fputs("hardware\n", file);
  for (unsigned op = 0; op < amx::kOps; ++op)
    if (const uint64_t count = counts[op])
      std::fprintf(file, "%s %llu\n", amx::kNames[op], static_cast<unsigned long long>(count));
  std::fclose(file);
}

} // namespace

/// How often an instruction was met; nothing is known of a processor that has AMX: -1.
extern "C" [[gnu::visibility("default")]] int64_t gantry_emulated_amx_count(const char *name) {
  for (unsigned op = 0; op < amx::kOps; ++op)
    if (std::strcmp(name, amx::kNames[op]) == 0 && !hasAMX())
      return int64_t(counts[op].load());
  return -1;
}

/// Asked by the runtime: what the processor has beside its own.
extern "C" [[gnu::visibility("default")]] const char *gantry_emulated_cpu_features() {
  return hasAMX() ? "" : "amx_bf16,amx_int8,amx_tile";
}
