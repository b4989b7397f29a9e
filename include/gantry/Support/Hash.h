// XXH3-64, the checksum of plan files and the content address of constants. Not cryptographic: it
// finds damage, not malice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace gantry {

/// XXH3-64 of the bytes, seed 0: what `xxhsum -H3` prints.
uint64_t hashBytes(std::span<const uint8_t> bytes);

/// The same hash over bytes that come in pieces.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(Hasher &&) noexcept;
  Hasher &operator=(Hasher &&) noexcept;

  void update(std::span<const uint8_t> bytes);
  /// Hash of everything so far; more may follow.
  uint64_t digest() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace gantry
