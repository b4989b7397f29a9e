// Tries plans whose metadata was changed and whose checksums are right: they are opened, told of,
// and run where they still can be. None may end the process by a signal, nor take over 20 seconds.
//
//   MutatePlans PLAN [--count=N] [--first=N] [--seed=N] [--jobs=N] [--emulate] [--keep=FILE]
//                    [--compiler=LIBRARY]
//
// Many mutations go to a process; one that dies is replaced, and the mutation is told by its
// number: `--first=NUMBER --count=1` does it again, in this process. A mutation follows from plan,
// seed and number. Runs are cancelled after half a second: a loop without an end is no defect
// (docs/Errors.md).
#include "Mutation.h"
#include "Trial.h"

#include "gantry/Support/File.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gantry;
using namespace gantry::plan::test;
using namespace gantry::runtime::test;

namespace {

constexpr double cancelAfter = 0.5, killAfter = 20; // seconds
constexpr size_t numStages = std::size(stageNames);

struct Options {
  std::string plan, keep, compiler;
  uint64_t count = 1000, first = 0, seed = 1, jobs = 2;
  bool emulate = false;
};

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// What a worker and its parent both see.
struct Shared {
  std::atomic<uint64_t> number{0}; ///< of the mutation at hand
  std::atomic<double> started{0};
  std::atomic<Stage> stage{Stage::open};
  Cancel cancel;
  std::array<std::atomic<uint64_t>, numStages> ended{}; ///< by stage
};

struct Sweep {
  const Options &options;
  AlignedBuffer original;
  Mutator mutator;
  TextReader reader;

  Outcome tryOne(uint64_t number, const Cancel &cancel, std::atomic<Stage> &stage) const {
    const Mutator::Mutant mutant = mutator.make(options.seed, number);
    return tryPlan(mutant.bytes, {options.emulate, number % 8 == 0, number, reader}, cancel, stage);
  }

  std::string describe(uint64_t number) const {
    std::string text = "mutation " + std::to_string(number);
    for (const std::string &change : mutator.make(options.seed, number).changes)
      text += "\n    " + change;
    return text;
  }
};

/// A process that tries every mutation of its residue by the number of jobs.
struct Worker {
  Shared *shared = nullptr;
  pid_t process = 0;
  bool isDone = false;
};

void work(const Sweep &sweep, Shared &shared, uint64_t from) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (uint64_t number = from; number < sweep.options.first + sweep.options.count;
       number += sweep.options.jobs) {
    shared.cancel.reset();
    shared.number = number;
    shared.started = now();
    const Outcome outcome = sweep.tryOne(number, shared.cancel, shared.stage);
    ++shared.ended[static_cast<size_t>(outcome.stage)];
  }
}

void start(const Sweep &sweep, Worker &worker, uint64_t from) {
  worker.shared->started = now();
  worker.shared->number = from;
  std::fflush(stdout);
  worker.process = ::fork();
  if (worker.process != 0)
    return;
  work(sweep, *worker.shared, from);
  std::fflush(stdout);
  ::_exit(0);
}

class Parent {
public:
  explicit Parent(const Sweep &sweep) : sweep(sweep) {}

  int run() {
    const Options &options = sweep.options;
    for (uint64_t job = 0; job < options.jobs; ++job) {
      void *memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      workers.push_back({new (memory) Shared});
      start(sweep, workers.back(), options.first + job);
    }
    while (lookAtAll())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return report();
  }

private:
  const Sweep &sweep;
  std::vector<Worker> workers;
  uint64_t signals = 0, hangs = 0;

  /// Whether one goes on.
  bool lookAtAll() {
    bool goesOn = false;
    for (Worker &worker : workers)
      goesOn |= !worker.isDone && lookAt(worker);
    return goesOn;
  }

  bool lookAt(Worker &worker) {
    const double seconds = now() - worker.shared->started;
    if (seconds > cancelAfter && worker.shared->stage == Stage::run)
      worker.shared->cancel.set();
    const bool hangs = seconds > killAfter;
    if (hangs)
      ::kill(worker.process, SIGKILL);
    int status = 0;
    if (::waitpid(worker.process, &status, hangs ? 0 : WNOHANG) == 0)
      return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      worker.isDone = true;
      return false;
    }
    tellOf(worker, status, hangs);
    start(sweep, worker, worker.shared->number + sweep.options.jobs);
    return true;
  }

  void tellOf(const Worker &worker, int status, bool hung) {
    ++(hung ? hangs : signals);
    const std::string how = hung ? "took over 20 s"
                            : WIFSIGNALED(status)
                                ? std::string("SIG") + ::sigabbrev_np(WTERMSIG(status))
                                : "ended with status " + std::to_string(WEXITSTATUS(status));
    std::printf("DEFECT %s (%s): %s\n", how.c_str(),
                stageNames[static_cast<size_t>(worker.shared->stage.load())],
                sweep.describe(worker.shared->number).c_str());
  }

  int report() const {
    uint64_t ended[numStages] = {};
    for (const Worker &worker : workers)
      for (size_t i = 0; i < numStages; ++i)
        ended[i] += worker.shared->ended[i];
    auto at = [&](Stage stage) { return (unsigned long)ended[static_cast<size_t>(stage)]; };
    std::printf("%lu mutations of %s: %lu refused when opened, %lu when loaded, %lu ended in a "
                "run, %lu ran; %lu by a signal, %lu over 20 s\n",
                (unsigned long)sweep.options.count, sweep.options.plan.c_str(), at(Stage::open),
                at(Stage::load) + at(Stage::session) + at(Stage::bind), at(Stage::run),
                at(Stage::done), (unsigned long)signals, (unsigned long)hangs);
    return signals + hangs == 0 ? 0 : 1;
  }
};

/// In this process, so that a debugger can look.
int tryAlone(const Sweep &sweep) {
  const uint64_t number = sweep.options.first;
  std::printf("%s\n", sweep.describe(number).c_str());
  std::fflush(stdout);
  if (!sweep.options.keep.empty()) {
    const Mutator::Mutant mutant = sweep.mutator.make(sweep.options.seed, number);
    std::FILE *file = std::fopen(sweep.options.keep.c_str(), "wb");
    if (!file ||
        std::fwrite(mutant.bytes.data(), 1, mutant.bytes.size(), file) != mutant.bytes.size())
      return 2;
    std::fclose(file);
  }
  Cancel cancel;
  std::atomic<Stage> stage;
  std::thread watch([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(cancelAfter));
    cancel.set();
  });
  watch.detach();
  const Outcome outcome = sweep.tryOne(number, cancel, stage);
  std::printf("%s: %s\n", stageNames[static_cast<size_t>(outcome.stage)], outcome.message.c_str());
  std::fflush(stdout);
  ::_exit(0);
}

/// Ends the program where the library cannot be used.
TextReader openReader(const std::string &path) {
  void *library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    if (path.empty())
      return {};
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(2);
  }
  return {
      reinterpret_cast<decltype(TextReader::read)>(::dlsym(library, "gantry_plan_to_text")),
      reinterpret_cast<decltype(TextReader::destroy)>(::dlsym(library, "gantry_artifact_destroy"))};
}

bool readOptions(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    auto number = [&](std::string_view flag, uint64_t &value) {
      if (!word.starts_with(flag))
        return false;
      value = std::strtoull(argv[i] + flag.size(), nullptr, 10);
      return true;
    };
    if (word == "--emulate")
      options.emulate = true;
    else if (word.starts_with("--keep="))
      options.keep = word.substr(7);
    else if (word.starts_with("--compiler="))
      options.compiler = word.substr(11);
    else if (!number("--count=", options.count) && !number("--first=", options.first) &&
             !number("--seed=", options.seed) && !number("--jobs=", options.jobs)) {
      if (word.starts_with("--") || !options.plan.empty())
        return false;
      options.plan = word;
    }
  }
  return !options.plan.empty() && options.jobs != 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!readOptions(argc, argv, options)) {
    std::fprintf(stderr, "usage: MutatePlans PLAN [--count=N] [--first=N] [--seed=N] [--jobs=N] "
                         "[--emulate] [--keep=FILE] [--compiler=LIBRARY]\n");
    return 2;
  }
  Expected<MappedFile> file = MappedFile::open(options.plan);
  Expected<MappedFile> schema = MappedFile::open(GANTRY_PLAN_SCHEMA);
  if (!file || !schema) {
    std::fprintf(stderr, "%s\n", (file ? schema : file).status().message().c_str());
    return 2;
  }
  AlignedBuffer bytes = AlignedBuffer::copyOf(file->bytes());
  const Mutator mutator(bytes.bytes(), schema->bytes());
  const Sweep sweep{options, std::move(bytes), mutator, openReader(options.compiler)};
  return options.count == 1 ? tryAlone(sweep) : Parent(sweep).run();
}
