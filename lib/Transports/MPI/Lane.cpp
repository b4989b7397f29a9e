#include "Lane.h"

#include "Exchange.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace gantry;
using namespace gantry::runtime;
using namespace gantry::runtime::mpi;

namespace {

constexpr size_t kMostUnderWay = 16;
/// A sender that nothing holds back fills the memory of a slow receiver with what it has not asked
/// for yet: every so many messages to a peer, and broadcasts in a group, wait for the others.
constexpr uint32_t kAhead = 16;
constexpr int kTagInGroups = 1;

uint64_t sumOf(std::span<const uint64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
}

/// Counts and offsets as MPI 3 takes them.
struct Counts {
  std::vector<int> counts, offsets;

  explicit Counts(std::span<const uint64_t> sizes) {
    uint64_t offset = 0;
    for (uint64_t size : sizes) {
      counts.push_back(static_cast<int>(size));
      offsets.push_back(static_cast<int>(offset));
      offset += size;
    }
  }
};

} // namespace

/// Sizes are copied: MPI reads counts until an exchange is over.
struct MPILane::Part {
  Exchange exchange;
  Operation operation;
  std::vector<uint64_t> sizes;
  std::optional<Counts> counts, arriving;
  char token = 0;
  std::vector<char> tokens;
};

MPILane::MPILane(Wire wire, Channel channel, std::function<void(uint32_t)> closed)
    : wire(wire), channel(std::move(channel)), closed(std::move(closed)) {}

MPILane::~MPILane() {
  {
    std::unique_lock<std::mutex> lock(mutex);
    isIdle.wait(lock, [&] { return unfinished == 0; });
  }
  (void)wire.progress.perform([] { return Status(); }); // behind the last admit()
  closed(channel.number);
}

void MPILane::begin(const Exchange &exchange, Completion &done) {
  if (Status status = checkExchange(exchange, wire.rank, wire.ranks, channel.members); !status.ok())
    return done.finished({std::move(status), 0});
  auto part = std::make_unique<Part>();
  part->exchange = exchange;
  part->sizes.assign(exchange.sizes.begin(), exchange.sizes.end());
  part->exchange.sizes = part->sizes;
  part->operation.done = &done;
  {
    std::lock_guard<std::mutex> lock(mutex);
    waiting.push_back(std::move(part));
    ++unfinished;
  }
  wire.progress.post([this] { admit(); });
}

void MPILane::admit() {
  while (underWay < kMostUnderWay) {
    Part *part = nullptr;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (waiting.empty())
        return;
      part = waiting.front().release();
      waiting.pop_front();
    }
    ++underWay;
    start(*part);
  }
}

void MPILane::start(Part &part) {
  part.operation.ended = [this, &part] { ended(part); };
  switch (part.exchange.movement) {
  case Movement::send:
  case Movement::receive:
    startMessage(part);
    break;
  case Movement::broadcast:
    startBroadcast(part);
    break;
  case Movement::allGather:
    startAllGather(part);
    break;
  case Movement::allToAll:
    startAllToAll(part);
    break;
  }
  wire.progress.finish(part.operation);
}

void MPILane::ended(Part &part) {
  std::unique_ptr<Part> owned(&part);
  --underWay;
  wire.progress.post([this] { admit(); });
  // The last word: whoever destroys the lane may go on.
  std::lock_guard<std::mutex> lock(mutex);
  if (--unfinished == 0)
    isIdle.notify_all();
}

void MPILane::forPieces(uint64_t bytes, const std::function<void(uint64_t, int)> &piece) const {
  uint64_t offset = 0;
  do {
    const uint64_t size = std::min(bytes - offset, wire.mostBytes);
    piece(offset, static_cast<int>(size));
    offset += size;
  } while (offset < bytes);
}

int MPILane::tagOf(Handle on) const {
  return on == channel.messages ? static_cast<int>(channel.number) : kTagInGroups;
}

void MPILane::send(Operation &operation, const char *data, uint64_t bytes, uint32_t peer, Handle on,
                   bool isSynchronous) {
  auto call = isSynchronous ? wire.library.issend : wire.library.isend;
  forPieces(bytes, [&](uint64_t offset, int count) {
    wire.progress.add(operation, isSynchronous ? "MPI_Issend" : "MPI_Isend", [&](void *request) {
      return call(data + offset, count, wire.library.abi.byte, static_cast<int>(peer), tagOf(on),
                  on, request);
    });
  });
}

void MPILane::receive(Operation &operation, char *data, uint64_t bytes, uint32_t peer, Handle on) {
  forPieces(bytes, [&](uint64_t offset, int count) {
    wire.progress.add(operation, "MPI_Irecv", [&](void *request) {
      return wire.library.irecv(data + offset, count, wire.library.abi.byte, static_cast<int>(peer),
                                tagOf(on), on, request);
    });
  });
}

void MPILane::startMessage(Part &part) {
  const Exchange &exchange = part.exchange;
  if (exchange.movement == Movement::receive)
    return receive(part.operation, at(exchange.destination, 0), exchange.sizes[0], exchange.peer,
                   channel.messages);
  const bool isSynchronous = ++messagesTo[exchange.peer] % kAhead == 0;
  send(part.operation, at(exchange.source, 0), exchange.sizes[0], exchange.peer, channel.messages,
       isSynchronous);
}

void MPILane::startBroadcast(Part &part) {
  const Exchange &exchange = part.exchange;
  const Handle on = channel.groups[exchange.group];
  const Group &group = channel.members[exchange.group];
  const bool isRoot = placeIn(group, wire.rank) == exchange.peer;
  char *data = isRoot ? const_cast<char *>(at(exchange.source, 0)) : at(exchange.destination, 0);
  forPieces(exchange.sizes[0], [&](uint64_t offset, int count) {
    wire.progress.add(part.operation, "MPI_Ibcast", [&](void *request) {
      return wire.library.ibcast(data + offset, count, wire.library.abi.byte,
                                 static_cast<int>(exchange.peer), on, request);
    });
  });
  if (++broadcastsIn[exchange.group] % kAhead)
    return;
  const std::vector<uint64_t> ones(group.size(), 1);
  part.counts.emplace(ones);
  part.tokens.resize(group.size());
  wire.progress.add(part.operation, "MPI_Iallgatherv", [&](void *request) {
    return wire.library.iallgatherv(&part.token, 1, wire.library.abi.byte, part.tokens.data(),
                                    part.counts->counts.data(), part.counts->offsets.data(),
                                    wire.library.abi.byte, on, request);
  });
}

void MPILane::startAllGather(Part &part) {
  const Exchange &exchange = part.exchange;
  if (sumOf(exchange.sizes) > wire.mostBytes)
    return startByMessages(part);
  const Group &group = channel.members[exchange.group];
  part.counts.emplace(exchange.sizes);
  const int own = part.counts->counts[placeIn(group, wire.rank)];
  wire.progress.add(part.operation, "MPI_Iallgatherv", [&](void *request) {
    return wire.library.iallgatherv(exchange.source, own, wire.library.abi.byte,
                                    exchange.destination, part.counts->counts.data(),
                                    part.counts->offsets.data(), wire.library.abi.byte,
                                    channel.groups[exchange.group], request);
  });
}

void MPILane::startAllToAll(Part &part) {
  const Exchange &exchange = part.exchange;
  const Group &group = channel.members[exchange.group];
  // All members must go the same way, so it is asked what the one with the most to do has.
  const uint64_t most = *std::max_element(exchange.sizes.begin(), exchange.sizes.end());
  if (std::max(sumOf(exchange.sizes), most * group.size()) > wire.mostBytes)
    return startByMessages(part);
  part.counts.emplace(exchange.sizes);
  part.arriving.emplace(
      std::vector<uint64_t>(group.size(), exchange.sizes[placeIn(group, wire.rank)]));
  wire.progress.add(part.operation, "MPI_Ialltoallv", [&](void *request) {
    return wire.library.ialltoallv(exchange.source, part.counts->counts.data(),
                                   part.counts->offsets.data(), wire.library.abi.byte,
                                   exchange.destination, part.arriving->counts.data(),
                                   part.arriving->offsets.data(), wire.library.abi.byte,
                                   channel.groups[exchange.group], request);
  });
}

void MPILane::startByMessages(Part &part) {
  const Exchange &exchange = part.exchange;
  const Handle on = channel.groups[exchange.group];
  const Group &group = channel.members[exchange.group];
  const size_t members = group.size(), own = placeIn(group, wire.rank);
  const bool isGather = exchange.movement == Movement::allGather;
  std::vector<uint64_t> begins(members + 1);
  std::partial_sum(exchange.sizes.begin(), exchange.sizes.end(), begins.begin() + 1);
  // A gather sends its own bytes to all and puts each member's behind one another; an all-to-all
  // sends a part to each and gets as much from all.
  auto source = [&](size_t to) { return at(exchange.source, isGather ? 0 : begins[to]); };
  auto destination = [&](size_t from) {
    return at(exchange.destination, isGather ? begins[from] : exchange.sizes[own] * from);
  };
  std::copy_n(source(own), exchange.sizes[own], destination(own));
  for (size_t step = 1; step < members; ++step) {
    const size_t from = (own + members - step) % members, to = (own + step) % members;
    receive(part.operation, destination(from), exchange.sizes[isGather ? from : own],
            static_cast<uint32_t>(from), on);
    send(part.operation, source(to), exchange.sizes[isGather ? own : to], static_cast<uint32_t>(to),
         on, false);
  }
}
