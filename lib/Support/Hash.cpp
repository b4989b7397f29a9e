// The only file that sees xxhash: its implementation is inlined here, so nothing is linked.
#define XXH_INLINE_ALL
#include "gantry/Support/Hash.h"

#include <xxhash.h>

namespace gantry {

struct Hasher::State {
  XXH3_state_t xxh;
};

uint64_t hashBytes(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hasher::Hasher() : state(new State) { XXH3_64bits_reset(&state->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher &&) noexcept = default;
Hasher &Hasher::operator=(Hasher &&) noexcept = default;

void Hasher::update(std::span<const uint8_t> bytes) {
  if (!bytes.empty())
    XXH3_64bits_update(&state->xxh, bytes.data(), bytes.size());
}
uint64_t Hasher::digest() const { return XXH3_64bits_digest(&state->xxh); }

} // namespace gantry
