// What moves bytes between the processes of a job: messages and collectives of bytes in lanes, and
// small texts that all are told.
//
// A transport only moves. Sums, orders and sizes are the plan's; so the bytes that arrive are the
// same with any transport.
#pragma once

#include "gantry/Runtime/Queue.h"
#include "gantry/Support/Status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gantry::runtime {

enum class Movement : uint8_t { send, receive, broadcast, allGather, allToAll };

/// One member's part in what moves between processes. What it points to must live until the
/// Completion of Lane::begin is told; source and destination are apart.
struct Exchange {
  Movement movement = Movement::send;
  uint32_t group = 0; ///< of collectives: which of the lane's groups
  uint32_t peer = 0;  ///< send, receive: a rank; broadcast: the place in the group of who has it
  const void *source = nullptr;
  void *destination = nullptr;
  /// Bytes, the same for all members. send, receive, broadcast: one size. allGather: what each
  /// member brings, joined in the group's order. allToAll: what each member gets from every one;
  /// the source has them one behind the other, the destination one for each member.
  std::span<const uint64_t> sizes;
};

/// Exchanges that are told apart from those of other lanes. Belongs to one thread at a time.
class Lane {
public:
  virtual ~Lane() = default;
  /// Begins a part, in the order of calls, and returns. Messages between two processes meet in that
  /// order, as do the collectives of a group. `done` is told once, from any thread. Failures are
  /// told there: INVALID_ARGUMENT for a part that cannot be, INTERNAL with the library's words.
  virtual void begin(const Exchange &exchange, Completion &done) = 0;
};

/// Ranks of a lane's members, in the order of their places.
using Group = std::vector<uint32_t>;

/// One for each process of a job. From any thread, but collective calls are made by all processes
/// in the same order.
class Transport {
public:
  virtual ~Transport() = default;

  /// As people know it: "Open MPI 4.1.4 (libmpi.so.40)".
  virtual std::string description() const = 0;
  virtual uint32_t rank() const = 0;
  virtual uint32_t ranks() const = 0;

  /// Collective: the texts of all processes, by rank. UNAVAILABLE with the ranks that have not come
  /// within `timeout`; nothing else can be asked of the job then but its end.
  virtual Expected<std::vector<std::string>> tellAll(std::string mine,
                                                     std::chrono::milliseconds timeout) = 0;

  /// Collective, also for processes that are in no group. Each group's ranks differ.
  virtual Expected<std::unique_ptr<Lane>> openLane(std::span<const Group> groups) = 0;

  /// Ends all processes of the job as soon as the launcher can, this one with `exitStatus`.
  [[noreturn]] virtual void abort(int exitStatus) noexcept = 0;
};

} // namespace gantry::runtime
