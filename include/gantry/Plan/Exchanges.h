// Exchanges between tasks: who is in them, and their bytes by member.
//
// Of a plan that was validated, or whose tables of groups and exchanges were.
#pragma once

#include "gantry/Plan/Views.h"

#include <cstdint>

namespace gantry::plan {

/// The exchange of a send, receive or part.
inline const fb::Exchange &exchangeOf(const fb::Plan &plan, const fb::Command &command) {
  return *plan.exchanges()->Get(command.exchange());
}

/// Devices of its members, by rank.
inline const flatbuffers::Vector<uint32_t> &membersOf(const fb::Plan &plan,
                                                      const fb::Exchange &exchange) {
  return *plan.groups()->Get(exchange.group())->devices();
}

/// "message", "all_gather", "all_to_all", "broadcast".
std::string_view exchangeKindName(fb::ExchangeKind kind);

/// Whether each member brings something and gets something; else the first has what the others get.
inline bool isMutual(fb::ExchangeKind kind) {
  return kind == fb::ExchangeKind::allGather || kind == fb::ExchangeKind::allToAll;
}

/// How many bytes the members of an exchange have and move. Made in O(members), asked in O(1).
class ExchangeBytes {
public:
  ExchangeBytes(const fb::Plan &plan, const fb::Exchange &exchange);

  /// Of what a member brings, and of what it gets; of a message and a broadcast each member has
  /// one of the two.
  uint64_t source(uint32_t rank) const;
  uint64_t destination(uint32_t rank) const;

  /// Whether bytes of one member go to another, or with all-gather and all-to-all to itself, and
  /// how many: in the order of members they are what these have in their destinations.
  bool moves(uint32_t from, uint32_t to) const;
  uint64_t between(uint32_t from, uint32_t to) const;

  /// Whether anything leaves its task or enters it, be it no bytes; and how many bytes.
  bool gives(uint32_t rank) const { return isMutual(exchange.kind()) || rank == 0; }
  bool gets(uint32_t rank) const { return isMutual(exchange.kind()) || rank != 0; }
  uint64_t sent(uint32_t rank) const;
  uint64_t received(uint32_t rank) const;

private:
  uint64_t rowsOf(uint32_t rank) const;

  const fb::Exchange &exchange;
  uint64_t members;
  uint64_t sizes = 0; ///< all of them together
  uint64_t rows = 0;
};

} // namespace gantry::plan
