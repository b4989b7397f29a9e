#include "gantry/Transports/Process.h"

#include "Exchange.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

using namespace gantry;
using namespace gantry::runtime;

namespace {

/// A part that has begun; sizes are copied, the bytes are the caller's.
struct Part {
  Exchange exchange;
  std::vector<uint64_t> sizes;
  Completion *done;
};

/// Texts of one tellAll.
struct Round {
  std::vector<std::optional<std::string>> texts;
  uint32_t come = 0, gone = 0;
};

/// What the threads share.
class Hub {
public:
  explicit Hub(uint32_t ranks) : ranks(ranks), rounds(ranks) {}

  Expected<std::vector<std::string>> tellAll(uint32_t rank, std::string mine,
                                             std::chrono::milliseconds timeout);
  void message(uint32_t lane, uint32_t rank, Part part);
  void collective(uint32_t lane, uint32_t rank, const Group &group, Part part);
  /// Lanes have the same numbers everywhere, as opening one is collective.
  uint32_t openLane(uint32_t rank);

  const uint32_t ranks;

private:
  using Pair = std::tuple<uint32_t, uint32_t, uint32_t>; ///< lane, from, to
  using Call = std::tuple<uint32_t, uint32_t, uint64_t>; ///< lane, group, number of the call

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<uint64_t> rounds; ///< by rank: how many it has told
  std::map<uint64_t, Round> told;
  std::map<Pair, std::deque<Part>> sends, receives;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> calls; ///< lane, group, rank
  std::map<Call, std::vector<std::optional<Part>>> begun;
  std::map<uint32_t, uint64_t> lanesOf;
};

void tell(const Part &part, Status status = {}) { part.done->finished({std::move(status), 0}); }

/// Copies what all members of a collective have brought.
void moveBytes(std::span<const std::optional<Part>> parts) {
  const Exchange &first = parts[0]->exchange;
  for (size_t to = 0; to < parts.size(); ++to) {
    void *destination = parts[to]->exchange.destination;
    uint64_t offset = 0, from = 0;
    for (size_t before = 0; before < to; ++before)
      from += parts[to]->sizes[first.movement == Movement::broadcast ? 0 : before];
    for (size_t member = 0; member < parts.size(); ++member) {
      const void *source = parts[member]->exchange.source;
      if (first.movement == Movement::broadcast) {
        if (member == first.peer && to != member)
          std::copy_n(at(source, 0), parts[to]->sizes[0], at(destination, 0));
      } else if (first.movement == Movement::allGather) {
        std::copy_n(at(source, 0), parts[to]->sizes[member], at(destination, offset));
        offset += parts[to]->sizes[member];
      } else {
        std::copy_n(at(source, from), parts[to]->sizes[to], at(destination, offset));
        offset += parts[to]->sizes[to];
      }
    }
  }
}

Status checkAlike(std::span<const std::optional<Part>> parts) {
  for (const std::optional<Part> &part : parts)
    if (part->exchange.movement != parts[0]->exchange.movement || part->sizes != parts[0]->sizes ||
        (part->exchange.movement == Movement::broadcast &&
         part->exchange.peer != parts[0]->exchange.peer))
      return Status::internal("members of a collective have other movements, sizes or roots");
  return {};
}

Expected<std::vector<std::string>> Hub::tellAll(uint32_t rank, std::string mine,
                                                std::chrono::milliseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex);
  const uint64_t number = rounds[rank]++;
  Round &round = told[number];
  round.texts.resize(ranks);
  round.texts[rank] = std::move(mine);
  ++round.come;
  changed.notify_all();
  if (!changed.wait_for(lock, timeout, [&] { return round.come == ranks; })) {
    std::string missing;
    for (uint32_t i = 0; i < ranks; ++i)
      if (!round.texts[i])
        missing += (missing.empty() ? "rank " : ", ") + std::to_string(i);
    return Status::unavailable(missing + " has not come in time");
  }
  std::vector<std::string> texts;
  for (const std::optional<std::string> &text : round.texts)
    texts.push_back(*text);
  if (++round.gone == ranks)
    told.erase(number);
  return texts;
}

void Hub::message(uint32_t lane, uint32_t rank, Part part) {
  const bool isSend = part.exchange.movement == Movement::send;
  const uint32_t peer = part.exchange.peer;
  const Pair pair = isSend ? Pair{lane, rank, peer} : Pair{lane, peer, rank};
  std::unique_lock<std::mutex> lock(mutex);
  std::deque<Part> &own = (isSend ? sends : receives)[pair];
  std::deque<Part> &others = (isSend ? receives : sends)[pair];
  if (others.empty())
    return own.push_back(std::move(part));
  Part other = std::move(others.front());
  others.pop_front();
  lock.unlock();
  const Part &from = isSend ? part : other, &to = isSend ? other : part;
  Status status;
  if (from.sizes[0] == to.sizes[0])
    std::copy_n(at(from.exchange.source, 0), from.sizes[0], at(to.exchange.destination, 0));
  else
    status = Status::internal("a message has other sizes on its ends");
  tell(from, status);
  tell(to, status);
}

void Hub::collective(uint32_t lane, uint32_t rank, const Group &group, Part part) {
  std::unique_lock<std::mutex> lock(mutex);
  const uint32_t number = part.exchange.group;
  const uint64_t call = calls[{lane, number, rank}]++;
  auto entry = begun.try_emplace(Call{lane, number, call}, group.size()).first;
  entry->second[placeIn(group, rank)] = std::move(part);
  if (std::any_of(entry->second.begin(), entry->second.end(),
                  [](const std::optional<Part> &member) { return !member; }))
    return;
  std::vector<std::optional<Part>> parts = std::move(entry->second);
  begun.erase(entry);
  lock.unlock();
  Status status = checkAlike(parts);
  if (status.ok())
    moveBytes(parts);
  for (const std::optional<Part> &member : parts)
    tell(*member, status);
}

uint32_t Hub::openLane(uint32_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  return static_cast<uint32_t>(lanesOf[rank]++);
}

class ProcessLane : public Lane {
public:
  ProcessLane(std::shared_ptr<Hub> hub, uint32_t number, uint32_t rank, std::vector<Group> groups)
      : hub(std::move(hub)), number(number), rank(rank), groups(std::move(groups)) {}

  void begin(const Exchange &exchange, Completion &done) override {
    if (Status status = checkExchange(exchange, rank, hub->ranks, groups); !status.ok())
      return done.finished({std::move(status), 0});
    Part part{exchange, {exchange.sizes.begin(), exchange.sizes.end()}, &done};
    if (exchange.movement == Movement::send || exchange.movement == Movement::receive)
      return hub->message(number, rank, std::move(part));
    hub->collective(number, rank, groups[exchange.group], std::move(part));
  }

private:
  std::shared_ptr<Hub> hub;
  uint32_t number, rank;
  std::vector<Group> groups;
};

class ProcessTransport : public Transport {
public:
  ProcessTransport(std::shared_ptr<Hub> hub, uint32_t rank) : hub(std::move(hub)), self(rank) {}

  std::string description() const override { return "threads of one process"; }
  uint32_t rank() const override { return self; }
  uint32_t ranks() const override { return hub->ranks; }

  Expected<std::vector<std::string>> tellAll(std::string mine,
                                             std::chrono::milliseconds timeout) override {
    return hub->tellAll(self, std::move(mine), timeout);
  }

  Expected<std::unique_ptr<Lane>> openLane(std::span<const Group> groups) override {
    GANTRY_RETURN_IF_ERROR(checkGroups(groups, hub->ranks));
    return std::unique_ptr<Lane>(std::make_unique<ProcessLane>(
        hub, hub->openLane(self), self, std::vector<Group>(groups.begin(), groups.end())));
  }

  [[noreturn]] void abort(int exitStatus) noexcept override { std::_Exit(exitStatus); }

private:
  std::shared_ptr<Hub> hub;
  uint32_t self;
};

} // namespace

std::vector<std::unique_ptr<Transport>> runtime::makeProcessTransports(uint32_t ranks) {
  auto hub = std::make_shared<Hub>(ranks);
  std::vector<std::unique_ptr<Transport>> made;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    made.push_back(std::make_unique<ProcessTransport>(hub, rank));
  return made;
}
