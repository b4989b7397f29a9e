// What every transport promises, tried between the processes of a job, or between threads.
//
// Usage: transport-program threads N | mpi [--most-bytes N] [--ahead N] [--missing RANK]
//
// Rank 0 prints `right: NAME` for each check, or `wrong: NAME: rank R: …`; the exit status is 1
// when one is wrong, 2 where no job can be started, and 3 where --missing keeps a rank away.

#include "gantry/Transports/MPI.h"
#include "gantry/Transports/Process.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gantry;
using namespace gantry::runtime;

namespace {

constexpr std::chrono::milliseconds kTimeout{60000};
uint64_t ahead = 2000;

/// The byte at `offset` of what `from` sends to `to` as number `number`.
char byteOf(uint32_t from, uint32_t to, uint32_t number, uint64_t offset) {
  return static_cast<char>((from * 31 + to * 17 + number * 7 + offset * 13 + offset / 251) & 0xff);
}

std::vector<char> bytesOf(uint32_t from, uint32_t to, uint32_t number, uint64_t size) {
  std::vector<char> bytes(size);
  for (uint64_t i = 0; i < size; ++i)
    bytes[i] = byteOf(from, to, number, i);
  return bytes;
}

/// Parts that have begun, with their bytes.
class Parts {
public:
  explicit Parts(Lane &lane) : lane(lane) {}

  std::vector<char> &begin(Exchange exchange, std::vector<char> source, uint64_t received) {
    Part &part = parts.emplace_back();
    part.source = std::move(source);
    part.destination.assign(received, 0);
    part.sizes.assign(exchange.sizes.begin(), exchange.sizes.end());
    exchange.sizes = part.sizes;
    exchange.source = part.source.data();
    exchange.destination = part.destination.data();
    lane.begin(exchange, part);
    return part.destination;
  }

  /// The first failure of all.
  Status wait() {
    Status status;
    for (Part &part : parts)
      if (Status own = part.wait(); !own.ok() && status.ok())
        status = own;
    return status;
  }

private:
  struct Part final : Completion {
    void finished(Outcome outcome) override {
      std::lock_guard<std::mutex> lock(mutex);
      status = std::move(outcome.status);
      isOver = true;
      told.notify_all();
    }
    Status wait() {
      std::unique_lock<std::mutex> lock(mutex);
      told.wait(lock, [&] { return isOver; });
      return status;
    }
    std::vector<char> source, destination;
    std::vector<uint64_t> sizes;
    std::mutex mutex;
    std::condition_variable told;
    Status status;
    bool isOver = false;
  };

  Lane &lane;
  std::deque<Part> parts;
};

Exchange exchangeOf(Movement movement, uint32_t group, uint32_t peer,
                    std::span<const uint64_t> sizes) {
  Exchange exchange;
  exchange.movement = movement;
  exchange.group = group;
  exchange.peer = peer;
  exchange.sizes = sizes;
  return exchange;
}

/// What is wrong; empty when nothing is.
using Check = std::string (*)(Transport &);

std::string why(const Status &status) { return status.ok() ? "" : status.message(); }

/// All ranks; in other orders; half of them; one.
std::vector<Group> groupsOf(uint32_t ranks) {
  Group all(ranks), odd;
  std::iota(all.begin(), all.end(), 0);
  Group reversed(all.rbegin(), all.rend());
  for (uint32_t rank = 1; rank < ranks; rank += 2)
    odd.push_back(rank);
  std::vector<Group> groups{all, reversed, {0}};
  if (!odd.empty())
    groups.push_back(odd);
  return groups;
}

std::string tellsAll(Transport &transport) {
  for (uint64_t size : {0, 1, 100000}) {
    auto textOf = [&](uint32_t rank) { return std::string(size * rank, char('a' + rank)); };
    auto texts = transport.tellAll(textOf(transport.rank()), kTimeout);
    if (!texts)
      return texts.status().message();
    for (uint32_t rank = 0; rank < transport.ranks(); ++rank)
      if ((*texts)[rank] != textOf(rank))
        return "the text of rank " + std::to_string(rank) + " is another";
  }
  return "";
}

std::string sendsMessages(Transport &transport) {
  auto lane = transport.openLane({});
  if (!lane)
    return lane.status().message();
  const std::vector<uint64_t> sizes{0, 1, 17, 65536, 3000001, 5, 4};
  const uint32_t self = transport.rank();
  std::vector<std::pair<std::vector<char> *, std::vector<char>>> expected;
  Parts parts(**lane);
  for (uint32_t number = 0; number < 30; ++number)
    for (uint32_t step = 1; step < transport.ranks(); ++step) {
      const uint32_t to = (self + step) % transport.ranks();
      const uint32_t from = (self + transport.ranks() - step) % transport.ranks();
      const uint64_t size = sizes[number % sizes.size()];
      expected.emplace_back(
          &parts.begin(exchangeOf(Movement::receive, 0, from, {&size, 1}), {}, size),
          bytesOf(from, self, number, size));
      parts.begin(exchangeOf(Movement::send, 0, to, {&size, 1}), bytesOf(self, to, number, size),
                  0);
    }
  if (Status status = parts.wait(); !status.ok())
    return status.message();
  for (auto &[got, wanted] : expected)
    if (*got != wanted)
      return "a message of " + std::to_string(wanted.size()) + " bytes has others";
  return "";
}

std::string broadcasts(Transport &transport) {
  const std::vector<Group> groups = groupsOf(transport.ranks());
  auto lane = transport.openLane(groups);
  if (!lane)
    return lane.status().message();
  const uint32_t self = transport.rank();
  Parts parts(**lane);
  std::vector<std::pair<std::vector<char> *, std::vector<char>>> expected;
  for (uint32_t number = 0; number < 40; ++number)
    for (uint32_t group = 0; group < groups.size(); ++group) {
      const Group &members = groups[group];
      if (std::find(members.begin(), members.end(), self) == members.end())
        continue;
      const uint32_t root = number % static_cast<uint32_t>(members.size());
      const uint64_t size = std::vector<uint64_t>{0, 1, 4097, 100003}[number % 4];
      std::vector<char> bytes = bytesOf(members[root], group, number, size);
      const bool isRoot = members[root] == self;
      std::vector<char> &got = parts.begin(exchangeOf(Movement::broadcast, group, root, {&size, 1}),
                                           isRoot ? bytes : std::vector<char>(), isRoot ? 0 : size);
      if (!isRoot)
        expected.emplace_back(&got, std::move(bytes));
    }
  if (Status status = parts.wait(); !status.ok())
    return status.message();
  for (auto &[got, wanted] : expected)
    if (*got != wanted)
      return "a broadcast of " + std::to_string(wanted.size()) + " bytes has others";
  return "";
}

/// Sizes that differ, with zeros.
std::vector<uint64_t> unevenSizes(size_t members, uint32_t number) {
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < members; ++i)
    sizes.push_back((i * 7919 + number * 104729) % 5 == 0 ? 0 : (i + 1) * 1000 + number * 37);
  return sizes;
}

std::string gathers(Transport &transport) {
  const std::vector<Group> groups = groupsOf(transport.ranks());
  auto lane = transport.openLane(groups);
  if (!lane)
    return lane.status().message();
  const uint32_t self = transport.rank();
  for (uint32_t number = 0; number < 25; ++number)
    for (uint32_t group = 0; group < groups.size(); ++group) {
      const Group &members = groups[group];
      const auto place =
          static_cast<size_t>(std::find(members.begin(), members.end(), self) - members.begin());
      if (place == members.size())
        continue;
      const std::vector<uint64_t> sizes = unevenSizes(members.size(), number);
      std::vector<char> wanted;
      for (size_t i = 0; i < members.size(); ++i) {
        std::vector<char> part = bytesOf(members[i], group, number, sizes[i]);
        wanted.insert(wanted.end(), part.begin(), part.end());
      }
      Parts parts(**lane);
      std::vector<char> &got =
          parts.begin(exchangeOf(Movement::allGather, group, 0, sizes),
                      bytesOf(self, group, number, sizes[place]), wanted.size());
      if (Status status = parts.wait(); !status.ok())
        return status.message();
      if (got != wanted)
        return "gathered bytes are others";
    }
  return "";
}

std::string exchangesAll(Transport &transport) {
  const std::vector<Group> groups = groupsOf(transport.ranks());
  auto lane = transport.openLane(groups);
  if (!lane)
    return lane.status().message();
  const uint32_t self = transport.rank();
  for (uint32_t number = 0; number < 25; ++number)
    for (uint32_t group = 0; group < groups.size(); ++group) {
      const Group &members = groups[group];
      const auto place =
          static_cast<size_t>(std::find(members.begin(), members.end(), self) - members.begin());
      if (place == members.size())
        continue;
      const std::vector<uint64_t> sizes = unevenSizes(members.size(), number);
      std::vector<char> source, wanted;
      for (size_t i = 0; i < members.size(); ++i) {
        std::vector<char> out = bytesOf(self, members[i], number, sizes[i]);
        std::vector<char> in = bytesOf(members[i], self, number, sizes[place]);
        source.insert(source.end(), out.begin(), out.end());
        wanted.insert(wanted.end(), in.begin(), in.end());
      }
      Parts parts(**lane);
      std::vector<char> &got =
          parts.begin(exchangeOf(Movement::allToAll, group, 0, sizes), source, wanted.size());
      if (Status status = parts.wait(); !status.ok())
        return status.message();
      if (got != wanted)
        return "bytes of an all-to-all are others";
    }
  return "";
}

/// What one lane waits for does not hold up another.
std::string keepsLanesApart(Transport &transport) {
  auto first = transport.openLane({}), second = transport.openLane({});
  if (!first || !second)
    return (first ? second : first).status().message();
  if (transport.rank() > 1 || transport.ranks() < 2)
    return "";
  const uint32_t self = transport.rank(), peer = 1 - self;
  const uint64_t size = 1000;
  Parts one(**first), two(**second);
  if (self == 0) {
    two.begin(exchangeOf(Movement::send, 0, peer, {&size, 1}), bytesOf(0, 1, 2, size), 0);
    std::vector<char> &go = two.begin(exchangeOf(Movement::receive, 0, peer, {&size, 1}), {}, size);
    if (Status status = two.wait(); !status.ok())
      return status.message();
    if (go != bytesOf(1, 0, 3, size))
      return "the answer on the second lane is another";
    one.begin(exchangeOf(Movement::send, 0, peer, {&size, 1}), bytesOf(0, 1, 1, size), 0);
    return why(one.wait());
  }
  std::vector<char> &late = one.begin(exchangeOf(Movement::receive, 0, peer, {&size, 1}), {}, size);
  std::vector<char> &early =
      two.begin(exchangeOf(Movement::receive, 0, peer, {&size, 1}), {}, size);
  if (Status status = two.wait(); !status.ok())
    return status.message();
  Parts answer(**second);
  answer.begin(exchangeOf(Movement::send, 0, peer, {&size, 1}), bytesOf(1, 0, 3, size), 0);
  Status status = answer.wait();
  if (Status own = one.wait(); status.ok())
    status = own;
  if (!status.ok())
    return status.message();
  return late == bytesOf(0, 1, 1, size) && early == bytesOf(0, 1, 2, size)
             ? ""
             : "messages of two lanes were mixed up";
}

std::string opensManyLanes(Transport &transport) {
  for (int round = 0; round < 60; ++round) {
    const std::vector<Group> groups = groupsOf(transport.ranks());
    auto lane = transport.openLane(groups);
    if (!lane)
      return lane.status().message();
    const std::vector<uint64_t> sizes(transport.ranks(), 8);
    Parts parts(**lane);
    parts.begin(exchangeOf(Movement::allGather, 0, 0, sizes), std::vector<char>(8, 'x'),
                8 * sizes.size());
    if (Status status = parts.wait(); !status.ok())
      return status.message();
  }
  return "";
}

std::string refusesWrongParts(Transport &transport) {
  const std::vector<Group> groups{{0}};
  auto lane = transport.openLane(groups);
  if (!lane)
    return lane.status().message();
  const std::vector<uint64_t> sizes(3, 8);
  const Exchange wrong[] = {
      exchangeOf(Movement::send, 0, transport.rank(), {sizes.data(), 1}),
      exchangeOf(Movement::receive, 0, transport.ranks(), {sizes.data(), 1}),
      exchangeOf(Movement::send, 0, 1 - std::min(transport.rank(), 1U), {sizes.data(), 2}),
      exchangeOf(Movement::broadcast, 1, 0, {sizes.data(), 1}),
      exchangeOf(Movement::broadcast, 0, 1, {sizes.data(), 1}),
      exchangeOf(Movement::allGather, 0, 0, {sizes.data(), 3}),
      exchangeOf(Movement::allToAll, 0, 0, {sizes.data(), 0}),
  };
  for (const Exchange &exchange : wrong) {
    Parts parts(**lane);
    parts.begin(exchange, std::vector<char>(64), 64);
    if (parts.wait().code() != StatusCode::invalidArgument)
      return "a part that cannot be is not refused";
  }
  const std::vector<Group> twice{{0, 0}}, absent{{transport.ranks()}};
  if (transport.openLane(twice) || transport.openLane(absent))
    return "a group that cannot be is not refused";
  return "";
}

uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Messages to a process that asks for them late stay with their sender, also while its transport
/// looks for others.
std::string staysInMemory(Transport &transport) {
  auto lane = transport.openLane({}), other = transport.openLane({});
  if (!lane || !other)
    return (lane ? other : lane).status().message();
  const uint32_t self = transport.rank();
  if (self > 1 || transport.ranks() < 2)
    return "";
  const uint64_t size = 2048, one = 1;
  Parts last(**other);
  const uint64_t before = residentBytes();
  if (self == 1) {
    last.begin(exchangeOf(Movement::receive, 0, 0, {&one, 1}), {}, 1);
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  uint64_t most = std::max(before, residentBytes());
  std::vector<char> bytes(size, 'm');
  for (uint64_t number = 0; number < ahead; number += 64) {
    Parts parts(**lane);
    for (int i = 0; i < 64; ++i)
      parts.begin(exchangeOf(self ? Movement::receive : Movement::send, 0, 1 - self, {&size, 1}),
                  self ? std::vector<char>() : bytes, self ? size : 0);
    if (Status status = parts.wait(); !status.ok())
      return status.message();
    most = std::max(most, residentBytes());
  }
  if (self == 0)
    last.begin(exchangeOf(Movement::send, 0, 1, {&one, 1}), {'z'}, 0);
  if (Status status = last.wait(); !status.ok())
    return status.message();
  const uint64_t grown = most - before;
  return grown < (uint64_t(16) << 20) ? ""
                                      : "memory grew by " + std::to_string(grown >> 20) + " MiB";
}

constexpr std::pair<const char *, Check> kChecks[] = {
    {"texts", tellsAll},
    {"messages", sendsMessages},
    {"broadcasts", broadcasts},
    {"all-gather", gathers},
    {"all-to-all", exchangesAll},
    {"lanes apart", keepsLanesApart},
    {"many lanes", opensManyLanes},
    {"wrong parts", refusesWrongParts},
    {"memory", staysInMemory},
};

/// Whether all are right on all ranks.
bool runChecks(Transport &transport) {
  bool right = true;
  for (auto [name, check] : kChecks) {
    auto told = transport.tellAll(check(transport), kTimeout);
    if (!told) {
      std::printf("wrong: %s: %s\n", name, told.status().message().c_str());
      return false;
    }
    bool isRight = true;
    for (uint32_t rank = 0; rank < transport.ranks(); ++rank)
      if (!(*told)[rank].empty()) {
        isRight = false;
        if (transport.rank() == 0)
          std::printf("wrong: %s: rank %u: %s\n", name, rank, (*told)[rank].c_str());
      }
    if (isRight && transport.rank() == 0)
      std::printf("right: %s\n", name);
    right = right && isRight;
  }
  return right;
}

int runThreads(uint32_t ranks) {
  std::vector<std::unique_ptr<Transport>> transports = makeProcessTransports(ranks);
  std::vector<std::thread> threads;
  std::atomic<bool> right = true;
  for (std::unique_ptr<Transport> &transport : transports)
    threads.emplace_back([&right, &transport] {
      if (!runChecks(*transport))
        right = false;
    });
  for (std::thread &thread : threads)
    thread.join();
  return right ? 0 : 1;
}

/// A child that was forked lets go of what its parent has, and waits for nobody.
bool letsGoInAChild(std::unique_ptr<Transport> &transport) {
  if (transport->rank() != 0)
    return true;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    transport.reset();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  std::printf("%s: forked child\n", status == 0 ? "right" : "wrong");
  return status == 0;
}

int runMPI(const MPIOptions &options, int missing) {
  Expected<std::unique_ptr<Transport>> transport = startMPI(options);
  if (!transport) {
    std::printf("no job: %s\n", transport.status().message().c_str());
    return 2;
  }
  Transport &job = **transport;
  if (job.rank() == 0)
    std::printf("%s, %u ranks\n", job.description().c_str(), job.ranks());
  if (missing < 0)
    return runChecks(job) && letsGoInAChild(*transport) ? 0 : 1;
  if (job.rank() == static_cast<uint32_t>(missing))
    std::this_thread::sleep_for(std::chrono::seconds(60));
  auto told = job.tellAll("here", std::chrono::milliseconds(500));
  std::printf("rank %u: %s\n", job.rank(), told ? "all came" : told.status().message().c_str());
  std::fflush(stdout);
  if (job.rank() == 0)
    job.abort(3);
  std::this_thread::sleep_for(std::chrono::seconds(60));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  MPIOptions options;
  int missing = -1;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--most-bytes")
      options.mostBytes = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--ahead")
      ahead = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--missing")
      missing = std::atoi(argv[i + 1]);
  }
  if (argc > 2 && std::string(argv[1]) == "threads")
    return runThreads(static_cast<uint32_t>(std::atoi(argv[2])));
  if (argc > 1 && std::string(argv[1]) == "mpi")
    return runMPI(options, missing);
  std::fprintf(stderr, "usage: transport-program threads N | mpi [--most-bytes N] [--ahead N] "
                       "[--missing RANK]\n");
  return 2;
}
