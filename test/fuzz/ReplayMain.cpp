// A main for fuzz targets that were built without libFuzzer: runs each file given, and each file in
// the folders given, once. A finding is a crash, as under the fuzzer. "--random=RUNS,SEED" runs on
// bytes drawn at random instead: without coverage to steer by or sanitizers, but many times as
// fast. There a run of over 10 s of the processor is a finding, and so are 2 GiB of memory.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sys/resource.h>
#include <sys/time.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {
namespace fs = std::filesystem;

void replay(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  // Before the run, so that the log ends with the file that crashed.
  std::printf("%s (%zu bytes)\n", path.c_str(), bytes.size());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
}
/// Ends with the number of the run that was at fault, which --random=1,SEED+N repeats.
[[noreturn]] void report(const char *what, unsigned long long seed) {
  std::fprintf(stderr, "%s in run --random=1,%llu\n", what, seed);
  std::abort();
}

unsigned long long current = 0;

void runRandom(unsigned long long runs, unsigned long long seed) {
  constexpr unsigned secondsPerRun = 10;
  constexpr long maxKiB = long(2) << 20;
  std::signal(SIGPROF, [](int) { report("over 10 s", current); });
  // On a stack of its own: that it ran out of stack is what a crash may be.
  static char stack[1 << 16];
  stack_t own = {stack, 0, sizeof stack};
  sigaltstack(&own, nullptr);
  struct sigaction onCrash = {};
  onCrash.sa_handler = [](int) { report("a crash", current); };
  onCrash.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &onCrash, nullptr);
  sigaction(SIGBUS, &onCrash, nullptr);
  sigaction(SIGILL, &onCrash, nullptr);
  sigaction(SIGFPE, &onCrash, nullptr);
  std::signal(SIGABRT, [](int) {
    std::signal(SIGABRT, SIG_DFL);
    report("an abort", current);
  });
  std::vector<uint8_t> bytes;
  for (current = seed; current < seed + runs; ++current) {
    std::mt19937_64 generator(current);
    bytes.resize(generator() % 400);
    for (uint8_t &byte : bytes)
      byte = uint8_t(generator() >> 32);
    const itimerval limit = {{0, 0}, {secondsPerRun, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    rusage usage;
    if (current % 64 == 0 && getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > maxKiB)
      report("over 2 GiB", current);
    if (current % 100000 == 99999)
      std::fprintf(stderr, "run %llu\n", current + 1);
  }
  const itimerval off = {};
  setitimer(ITIMER_PROF, &off, nullptr);
  std::printf("%llu random runs\n", runs);
}
} // namespace

int main(int argc, char **argv) {
  unsigned count = 0;
  for (int i = 1; i < argc; ++i) {
    unsigned long long runs, seed;
    if (std::sscanf(argv[i], "--random=%llu,%llu", &runs, &seed) == 2) {
      runRandom(runs, seed);
      ++count;
      continue;
    }
    if (!fs::is_directory(argv[i])) {
      replay(argv[i]);
      ++count;
      continue;
    }
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file()) {
        replay(entry.path());
        ++count;
      }
  }
  std::printf("%u files\n", count);
  return count == 0; // a corpus that is not there is a failure
}
