#include "Exchange.h"
#include "Lane.h"
#include "gantry/Transports/MPI.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <unistd.h>

using namespace gantry;
using namespace gantry::runtime;
using namespace gantry::runtime::mpi;

namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr uint32_t kMostLanes = 32767;            // MPI's least largest tag
constexpr size_t kMostCommunicators = 1500;       // MPICH has 2046
constexpr uint64_t kMostText = uint64_t(1) << 30; // of what one process tells

/// A part whose caller waits for it, for a time. What it points to may outlive the wait: a part
/// that nobody answered stays under way until the job ends.
class Waited final : public Completion {
public:
  void finished(Outcome outcome) override {
    std::lock_guard<std::mutex> lock(mutex);
    result = std::move(outcome.status);
    isOver.notify_all();
  }

  /// Nothing, where it is not over in time.
  std::optional<Status> wait(Deadline until) {
    std::unique_lock<std::mutex> lock(mutex);
    isOver.wait_until(lock, until, [&] { return result.has_value(); });
    return result;
  }

  std::vector<char> bytes;
  uint64_t size = 0;

private:
  std::mutex mutex;
  std::condition_variable isOver;
  std::optional<Status> result;
};

class MPITransport : public Transport {
public:
  MPITransport(std::unique_ptr<Library> library, const MPIOptions &options)
      : library(std::move(library)), options(options), owner(::getpid()) {}
  ~MPITransport() override;

  Status start();

  std::string description() const override { return library->description(); }
  uint32_t rank() const override { return self; }
  uint32_t ranks() const override { return count; }
  Expected<std::vector<std::string>> tellAll(std::string mine,
                                             std::chrono::milliseconds timeout) override;
  Expected<std::unique_ptr<Lane>> openLane(std::span<const Group> groups) override;
  [[noreturn]] void abort(int exitStatus) noexcept override;

private:
  Status startMPI();
  Status startLibrary();
  Status checkLauncher() const;
  Expected<Handle> makeCommunicator(int color, int key);

  Waited &beginControl(Movement movement, uint32_t peer, const void *data, uint64_t bytes);
  /// Receives a text from each of `peers`: its length, then itself.
  Expected<std::vector<std::string>> receiveTexts(const std::vector<uint32_t> &peers,
                                                  Deadline until);
  Status sendText(uint32_t peer, const std::string &text, Deadline until);
  Expected<uint32_t> chooseLane();

  std::unique_ptr<Library> library;
  MPIOptions options;
  pid_t owner;
  uint32_t self = 0, count = 1;
  bool isOurs = false; ///< whether MPI was started here
  std::unique_ptr<Progress> progress;
  std::unique_ptr<MPILane> control;
  std::vector<std::unique_ptr<Waited>> unanswered;

  std::mutex mutex;
  std::set<uint32_t> open; ///< numbers of lanes
  /// Communicators are made once for each lane and list of groups, since none is ever freed.
  std::map<std::pair<uint32_t, std::vector<Group>>, std::vector<Handle>> communicators;
  size_t numCommunicators = 0;
};

std::string listRanks(const std::vector<uint32_t> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

Status notInTime(const std::vector<uint32_t> &missing) {
  return Status::unavailable(listRanks(missing) + (missing.size() == 1 ? " has" : " have") +
                             " not come in time");
}

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

Status MPITransport::start() {
  progress = std::make_unique<Progress>(*library);
  GANTRY_RETURN_IF_ERROR(progress->perform([this] { return startMPI(); }));
  Wire wire{*library, *progress, self, count, options.mostBytes};
  open.insert(0);
  control =
      std::make_unique<MPILane>(wire, Channel{0, library->abi.world, {}, {}}, [](uint32_t) {});
  return {};
}

Status MPITransport::startLibrary() {
  int is = 0;
  GANTRY_RETURN_IF_ERROR(library->check(library->finalized(&is), "MPI_Finalized"));
  if (is)
    return Status::failedPrecondition("MPI was ended in this process, and cannot be started again");
  GANTRY_RETURN_IF_ERROR(library->check(library->initialized(&is), "MPI_Initialized"));
  int given = 0;
  if (is) {
    GANTRY_RETURN_IF_ERROR(library->check(library->queryThread(&given), "MPI_Query_thread"));
    if (given >= multiple)
      return {};
    return Status::failedPrecondition(
        "the program has started MPI for calls from one thread: start it with "
        "MPI_THREAD_MULTIPLE (mpi4py's default), or after Gantry");
  }
  const int wanted = options.isShared ? multiple : funneled;
  GANTRY_RETURN_IF_ERROR(
      library->check(library->initThread(nullptr, nullptr, wanted, &given), "MPI_Init_thread"));
  isOurs = true;
  if (given < wanted)
    return Status::unavailable(library->description() +
                               " cannot be called from several threads: another build of it is "
                               "needed (--enable-mpi-threads, MPI_THREAD_MULTIPLE)");
  return {};
}

Status MPITransport::startMPI() {
  GANTRY_RETURN_IF_ERROR(startLibrary());
  // Errors are returned, not the end: they get our words first.
  GANTRY_RETURN_IF_ERROR(
      library->check(library->commSetErrhandler(library->abi.world, library->abi.errorsReturn),
                     "MPI_Comm_set_errhandler"));
  int rank = 0, size = 1;
  GANTRY_RETURN_IF_ERROR(
      library->check(library->commRank(library->abi.world, &rank), "MPI_Comm_rank"));
  GANTRY_RETURN_IF_ERROR(
      library->check(library->commSize(library->abi.world, &size), "MPI_Comm_size"));
  self = static_cast<uint32_t>(rank);
  count = static_cast<uint32_t>(size);
  return checkLauncher();
}

/// A library under a launcher of another make believes that it is alone, and says nothing.
Status MPITransport::checkLauncher() const {
  const uint32_t told = ranksOfLauncher();
  if (told == 0 || told == count || count != 1)
    return {};
  return Status::unavailable(
      "the launcher has started " + std::to_string(told) + " processes, of which " +
      library->description() +
      " sees one: it is the library of another make. Start with its own launcher (Open MPI: "
      "mpirun.openmpi or srun --mpi=pmix; MPICH: mpirun.mpich or srun --mpi=pmi2), or name the "
      "launcher's library by GANTRY_MPI_LIB");
}

MPITransport::~MPITransport() {
  if (owner != ::getpid()) { // a forked child has no such thread, and nobody to wait for
    (void)control.release();
    (void)progress.release();
    return;
  }
  if (!unanswered.empty())
    abort(EXIT_FAILURE);
  control.reset();
  if (isOurs && progress)
    (void)progress->perform([this] { return library->check(library->finalize(), "MPI_Finalize"); });
  progress.reset();
}

void MPITransport::abort(int exitStatus) noexcept {
  // Hydra drops what it has not read of a process when that ends the job.
  std::fflush(nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // From this thread: that of Progress may be inside of MPI for ever.
  library->abort(library->abi.world, exitStatus);
  std::_Exit(exitStatus);
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

Waited &MPITransport::beginControl(Movement movement, uint32_t peer, const void *data,
                                   uint64_t bytes) {
  auto waited = std::make_unique<Waited>();
  waited->size = bytes;
  waited->bytes.resize(bytes);
  if (movement == Movement::send)
    std::memcpy(waited->bytes.data(), data, bytes);
  Exchange exchange;
  exchange.movement = movement;
  exchange.peer = peer;
  exchange.source = exchange.destination = waited->bytes.data();
  exchange.sizes = {&waited->size, 1};
  control->begin(exchange, *waited);
  return *unanswered.emplace_back(std::move(waited));
}

Expected<std::vector<std::string>> MPITransport::receiveTexts(const std::vector<uint32_t> &peers,
                                                              Deadline until) {
  std::vector<std::string> texts;
  std::vector<Waited *> lengths, bodies;
  for (uint32_t peer : peers)
    lengths.push_back(&beginControl(Movement::receive, peer, nullptr, sizeof(uint64_t)));
  std::vector<uint32_t> missing;
  for (size_t i = 0; i < peers.size(); ++i) {
    std::optional<Status> status = lengths[i]->wait(until);
    if (!status) {
      missing.push_back(peers[i]);
      continue;
    }
    GANTRY_RETURN_IF_ERROR(*status);
    uint64_t bytes = 0;
    std::memcpy(&bytes, lengths[i]->bytes.data(), sizeof bytes);
    if (bytes > kMostText)
      return Status::corrupt("rank " + std::to_string(peers[i]) + " tells a text of " +
                             std::to_string(bytes) + " bytes");
    bodies.push_back(&beginControl(Movement::receive, peers[i], nullptr, bytes));
  }
  if (!missing.empty())
    return notInTime(missing);
  for (size_t i = 0; i < peers.size(); ++i) {
    std::optional<Status> status = bodies[i]->wait(until);
    if (!status)
      return notInTime({peers[i]});
    GANTRY_RETURN_IF_ERROR(*status);
    texts.emplace_back(bodies[i]->bytes.data(), bodies[i]->bytes.size());
  }
  return texts;
}

Status MPITransport::sendText(uint32_t peer, const std::string &text, Deadline until) {
  const uint64_t bytes = text.size();
  Waited &length = beginControl(Movement::send, peer, &bytes, sizeof bytes);
  Waited &body = beginControl(Movement::send, peer, text.data(), bytes);
  for (Waited *waited : {&length, &body}) {
    std::optional<Status> status = waited->wait(until);
    if (!status)
      return notInTime({peer});
    GANTRY_RETURN_IF_ERROR(*status);
  }
  return {};
}

/// Lengths of all, then the texts one behind the other.
std::string join(const std::vector<std::string> &texts) {
  std::string all;
  for (const std::string &text : texts) {
    const uint64_t bytes = text.size();
    all.append(reinterpret_cast<const char *>(&bytes), sizeof bytes);
  }
  for (const std::string &text : texts)
    all += text;
  return all;
}

Expected<std::vector<std::string>> split(const std::string &all, size_t count) {
  std::vector<std::string> texts;
  uint64_t offset = count * sizeof(uint64_t);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bytes = 0;
    if (all.size() < count * sizeof bytes)
      return Status::corrupt("rank 0 tells less than it should");
    std::memcpy(&bytes, all.data() + i * sizeof bytes, sizeof bytes);
    if (bytes > all.size() - offset)
      return Status::corrupt("rank 0 tells less than it should");
    texts.push_back(all.substr(offset, bytes));
    offset += bytes;
  }
  return texts;
}

Expected<std::vector<std::string>> MPITransport::tellAll(std::string mine,
                                                         std::chrono::milliseconds timeout) {
  const Deadline until = std::chrono::steady_clock::now() + timeout;
  std::vector<std::string> texts;
  if (self == 0) {
    std::vector<uint32_t> others(count - 1);
    for (uint32_t i = 1; i < count; ++i)
      others[i - 1] = i;
    Expected<std::vector<std::string>> received = receiveTexts(others, until);
    if (!received)
      return received.status();
    texts = received.take();
    texts.insert(texts.begin(), std::move(mine));
    const std::string all = join(texts);
    for (uint32_t peer : others)
      GANTRY_RETURN_IF_ERROR(sendText(peer, all, until));
  } else {
    GANTRY_RETURN_IF_ERROR(sendText(0, mine, until));
    Expected<std::vector<std::string>> received = receiveTexts({0}, until);
    if (!received)
      return received.status();
    Expected<std::vector<std::string>> all = split(received->front(), count);
    if (!all)
      return all.status();
    texts = all.take();
  }
  unanswered.clear();
  return texts;
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// The least number that no process has in use.
Expected<uint32_t> MPITransport::chooseLane() {
  std::string mine;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (uint32_t number : open)
      mine += std::to_string(number) + " ";
  }
  Expected<std::vector<std::string>> told = tellAll(std::move(mine), std::chrono::hours(24));
  if (!told)
    return told.status();
  std::set<uint32_t> used;
  for (const std::string &text : *told)
    for (size_t at = 0; at < text.size(); at = text.find(' ', at) + 1)
      used.insert(static_cast<uint32_t>(std::strtoul(text.c_str() + at, nullptr, 10)));
  uint32_t number = 1;
  while (used.contains(number))
    ++number;
  if (number > kMostLanes)
    return Status::unavailable(std::to_string(number) + " sessions are open at once");
  return number;
}

Expected<Handle> MPITransport::makeCommunicator(int color, int key) {
  Handle made = 0;
  GANTRY_RETURN_IF_ERROR(
      library->check(library->commSplit(library->abi.world, color, key, &made), "MPI_Comm_split"));
  if (color == undefined)
    return made;
  GANTRY_RETURN_IF_ERROR(library->check(library->commSetErrhandler(made, library->abi.errorsReturn),
                                        "MPI_Comm_set_errhandler"));
  return made;
}

Expected<std::unique_ptr<Lane>> MPITransport::openLane(std::span<const Group> groups) {
  GANTRY_RETURN_IF_ERROR(checkGroups(groups, count));
  Expected<uint32_t> number = chooseLane();
  if (!number)
    return number.status();
  Channel channel{*number, library->abi.world, {}, {groups.begin(), groups.end()}};
  std::vector<Handle> &made = communicators[{*number, channel.members}];
  if (made.empty() && !groups.empty()) {
    if (numCommunicators + groups.size() > kMostCommunicators)
      return Status::unavailable(std::to_string(numCommunicators) + " communicators of " +
                                 std::to_string(communicators.size()) + " lanes are there, and " +
                                 std::to_string(groups.size()) + " more are asked for: at most " +
                                 std::to_string(kMostCommunicators) +
                                 " are made. Close sessions to use theirs again");
    GANTRY_RETURN_IF_ERROR(progress->perform([&]() -> Status {
      for (const Group &group : groups) {
        const size_t place = placeIn(group, self);
        const bool isMember = place < group.size();
        Expected<Handle> handle =
            makeCommunicator(isMember ? 0 : undefined, static_cast<int>(place));
        if (!handle)
          return handle.status();
        made.push_back(*handle);
      }
      return {};
    }));
    numCommunicators += groups.size();
  }
  channel.groups = made;
  {
    std::lock_guard<std::mutex> lock(mutex);
    open.insert(*number);
  }
  auto closed = [this](uint32_t number) {
    std::lock_guard<std::mutex> lock(mutex);
    open.erase(number);
  };
  Wire wire{*library, *progress, self, count, options.mostBytes};
  return std::unique_ptr<Lane>(std::make_unique<MPILane>(wire, std::move(channel), closed));
}

} // namespace

Expected<std::unique_ptr<Transport>> runtime::startMPI(const MPIOptions &options) {
  Expected<std::unique_ptr<Library>> library = Library::open();
  if (!library)
    return library.status();
  auto transport = std::make_unique<MPITransport>(library.take(), options);
  if (Status status = transport->start(); !status.ok())
    return status;
  return std::unique_ptr<Transport>(std::move(transport));
}
