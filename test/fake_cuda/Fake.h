// A libcuda for machines without a GPU: contexts, mapped memory, streams, events, graphs and
// modules as CUDA's manual describes them, with kernels run by the interpreter of PTX.
//
// Streams are lazy: nothing runs before somebody waits for it, and then in any legal order that the
// seed draws. Memory of devices can only be touched while work runs. What a program must not do is
// told as a fault, whether or not a real driver would notice.
#pragma once

#include "CUDA/Api.h"
#include "Control.h"
#include "Order.h"
#include "gantry/PTX/Machine.h"

#include <array>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fake {

using namespace gantry::runtime::cuda;
namespace ptx = gantry::ptx;

struct Stream;
struct Capture;

// ---- objects ----

struct Device {
  int number = 0;
  uint64_t used = 0;                    ///< bytes of its memory
  ptx::Memory memory;                   ///< what its kernels may touch
  std::map<uint64_t, uint64_t> regions; ///< as they are in `memory`: begin to size
};

struct Context {
  Device *device = nullptr;
  int retained = 0;
  Result error = Result::success; ///< that lost it
};

struct Module {
  Context *context = nullptr;
  std::unique_ptr<ptx::Image> image;
};

struct Function {
  Module *module = nullptr;
  std::string name;
  const ptx::KernelInfo *info = nullptr;
};

struct Touched {
  uint64_t begin, bytes;
  bool isWritten;
};

/// What a library has to do later, and the memory that it will touch.
struct LibraryWork {
  virtual ~LibraryWork() = default;
  virtual std::vector<Touched> touches() const = 0;
  virtual void run() const = 0;
};

/// A copy, a fill, a launch or a library's work, with what it needs to run later.
struct Work {
  enum class Kind { launch, copy, fill, library, nothing } kind = Kind::nothing;
  Context *context = nullptr;
  uint64_t to = 0, from = 0, bytes = 0; ///< copy, fill
  uint8_t value = 0;
  Function *function = nullptr;
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t sharedBytes = 0;
  std::vector<std::byte> arguments;
  std::shared_ptr<const LibraryWork> inLibrary;
  std::string name;
};

struct Event {
  Context *context = nullptr;
  uint64_t recorded = 0, reached = 0;
  Clock clock;
  Capture *capture = nullptr; ///< that it was recorded in last
  std::set<size_t> frontier;  ///< nodes of that capture
};

struct Node {
  Work work;
  std::set<size_t> after;
  size_t lane = 0;
};

struct Graph {
  std::vector<Node> nodes;
  size_t lanes = 0;
};

struct GraphExec {
  Context *context = nullptr;
  Graph graph;
  std::vector<size_t> actors; ///< by lane
};

/// What waits in a stream.
struct Op {
  enum class Kind { work, record, wait, graph } kind = Kind::work;
  uint64_t number = 0; ///< in the order of all calls
  Doer doer;
  Work work;
  Event *event = nullptr;
  uint64_t ticket = 0;
  std::vector<Node> nodes; ///< of a graph's launch, with who does them
  std::vector<Doer> doers;
  std::vector<bool> isDone;
};

struct Stream {
  Context *context = nullptr;
  size_t actor = 0;
  Clock clock;
  std::deque<Op> ops;
  Capture *capture = nullptr;
  std::set<size_t> frontier; ///< nodes that the next one comes after
  size_t lane = 0;
};

struct Capture {
  Stream *origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  Graph graph;
  std::vector<Stream *> streams;
  bool isBroken = false;
};

/// A piece of a device's memory, and where it is mapped.
struct Chunk {
  Device *device = nullptr;
  uint64_t bytes = 0;
  int file = -1;
  bool isReleased = false; ///< goes when it is unmapped
  int mappings = 0;
};
struct Mapping {
  uint64_t bytes = 0;
  Chunk *chunk = nullptr;
  std::set<int> readers; ///< numbers of devices
};

// ---- everything ----

struct State {
  std::recursive_mutex mutex;
  fake_cuda_options_t options{};
  bool isStarted = false;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<int> visible;                       ///< ordinals to numbers
  std::vector<std::unique_ptr<Context>> contexts; ///< by device
  std::set<Module *> modules;
  std::deque<std::shared_ptr<ptx::Code>> recent; ///< code of modules that may be loaded again
  std::set<Function *> functions;
  std::set<Stream *> streams;
  std::map<std::pair<Context *, std::thread::id>, Stream *> defaults; ///< legacy: of no thread
  std::set<Event *> events;
  std::set<Graph *> graphs;
  std::set<GraphExec *> execs;
  std::set<Capture *> captures;
  std::set<const void *> ofLibraries;  ///< handles and descriptions
  std::map<uint64_t, uint64_t> pinned; ///< host memory that CUDA knows
  std::map<uint64_t, uint64_t> reservations;
  std::map<AllocationHandle, std::unique_ptr<Chunk>> chunks;
  std::map<uint64_t, Mapping> mappings;
  std::map<uint64_t, std::pair<uint64_t, Device *>> wholes; ///< cuMemAlloc
  AllocationHandle nextHandle = 1;
  size_t nextActor = 1; ///< 0 is the host
  uint64_t nextOp = 0;
  Clock host;
  Order order;
  std::mt19937_64 random;

  std::map<std::string, uint64_t> calls;
  uint64_t allCalls = 0, failAt = 0, untilFailure = 0;
  Result failure = Result::success;
  std::string failsIn; ///< the function whose calls `failAt` counts; empty: all
  std::string failedIn;
  std::vector<std::string> faults;
};

State &state();
void fault(std::string text);
uint64_t bits(const void *pointer);

// Calls.cpp
/// What a call does first: counts, fails where it is told to, and finds the context.
class Call {
public:
  /// `makes`: a failure leaves nothing behind; `frees`: it frees all the same; `waits`: may not be
  /// called for what is captured.
  enum class Kind { asks, makes, frees, inContext };
  Call(const char *name, Kind kind);

  bool isOver() const { return over; }
  Result result() const { return outcome; }
  /// The outcome of what was done, unless a failure was asked for.
  Result end(Result done = Result::success) const {
    return outcome != Result::success ? outcome : done;
  }

private:
  std::unique_lock<std::recursive_mutex> lock;
  bool over = false;
  Result outcome = Result::success;
};
Context *currentContext();
void lose(Context &context, Result error);

// Memory.cpp
Device *deviceOf(uint64_t address, uint64_t bytes);
bool isPinned(uint64_t address, uint64_t bytes);
bool mayTouch(const Device &device, uint64_t address, uint64_t bytes);
/// Lets the process touch the memory of devices, all of it or where a range lies, until it is
/// closed.
void openAll();
void open(uint64_t address, uint64_t bytes);
void close();
std::string describeMemoryLeaks();
void freeEverything();

// Streams.cpp
void dropDefaultStreams(Context &context);
void enqueue(Stream &stream, Work work);
Result drain(Stream &stream);
Result drain(Event &event, uint64_t ticket);
Result recordEvent(Event &event, Stream &stream);
Result waitEvent(Stream &stream, Event &event);
/// Before an event goes.
void forgetEvent(Event &event);
bool capturesHere();
void breakCapture(Capture &capture);

// CublasLt.cpp
const char *tileOfLastProduct();

// Run.cpp
/// Runs a piece of work; a failure that loses its context is in the context.
void perform(const Work &work, const Doer &doer);

} // namespace fake

/// Heads an exported function, and begins it: one that was chosen to fail is over here.
#define FAKE_CUDA extern "C" __attribute__((visibility("default"))) Result
#define FAKE_BEGIN(kind)                                                                           \
  Call call(__func__, kind);                                                                       \
  if (call.isOver())                                                                               \
  return call.result()
