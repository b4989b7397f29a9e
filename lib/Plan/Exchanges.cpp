#include "gantry/Plan/Exchanges.h"

namespace gantry::plan {

std::string_view exchangeKindName(fb::ExchangeKind kind) {
  switch (kind) {
  case fb::ExchangeKind::message:
    return "message";
  case fb::ExchangeKind::allGather:
    return "all_gather";
  case fb::ExchangeKind::allToAll:
    return "all_to_all";
  case fb::ExchangeKind::broadcast:
    return "broadcast";
  }
  return "";
}

ExchangeBytes::ExchangeBytes(const fb::Plan &plan, const fb::Exchange &exchange)
    : exchange(exchange), members(membersOf(plan, exchange).size()) {
  for (uint64_t size : each(exchange.sizes()))
    sizes += size;
  for (uint32_t brought : each(exchange.rows()))
    rows += brought;
  if (countOf(exchange.rows()) == 0)
    rows = members;
}

uint64_t ExchangeBytes::rowsOf(uint32_t rank) const {
  return countOf(exchange.rows()) == 0 ? 1 : exchange.rows()->Get(rank);
}

uint64_t ExchangeBytes::source(uint32_t rank) const {
  switch (exchange.kind()) {
  case fb::ExchangeKind::allGather:
    return exchange.sizes()->Get(rank);
  case fb::ExchangeKind::allToAll:
    return rowsOf(rank) * sizes;
  default:
    return rank == 0 ? sizes : 0;
  }
}

uint64_t ExchangeBytes::destination(uint32_t rank) const {
  switch (exchange.kind()) {
  case fb::ExchangeKind::allGather:
    return sizes;
  case fb::ExchangeKind::allToAll:
    return rows * exchange.sizes()->Get(rank);
  default:
    return rank == 0 ? 0 : sizes;
  }
}

bool ExchangeBytes::moves(uint32_t from, uint32_t to) const {
  return isMutual(exchange.kind()) || (from == 0 && to != 0);
}

uint64_t ExchangeBytes::between(uint32_t from, uint32_t to) const {
  return exchange.kind() == fb::ExchangeKind::allToAll ? rowsOf(from) * exchange.sizes()->Get(to)
                                                       : source(from);
}

uint64_t ExchangeBytes::sent(uint32_t rank) const {
  if (exchange.kind() == fb::ExchangeKind::allToAll)
    return rowsOf(rank) * (sizes - exchange.sizes()->Get(rank));
  return (members - 1) * source(rank);
}

uint64_t ExchangeBytes::received(uint32_t rank) const {
  switch (exchange.kind()) {
  case fb::ExchangeKind::allGather:
    return sizes - exchange.sizes()->Get(rank);
  case fb::ExchangeKind::allToAll:
    return (rows - rowsOf(rank)) * exchange.sizes()->Get(rank);
  default:
    return destination(rank);
  }
}

} // namespace gantry::plan
