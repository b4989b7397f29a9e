// The public instances of the MiniMalloc paper, hard ones on purpose: each fills its capacity to
// the last byte, and the second round of the portfolio finds how.
#include "gantry/Packing/Packing.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {
using namespace gantry;
using namespace gantry::packing;

/// Lines "id,lower,upper,size" under a header; life spans are half-open.
Problem readInstance(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  Problem problem;
  while (std::getline(file, line)) {
    unsigned first, last;
    unsigned long size;
    if (std::sscanf(line.c_str(), "%*[^,],%u,%u,%lu", &first, &last, &size) == 3)
      problem.buffers.push_back({size, first, last, 1, {}});
  }
  return problem;
}

TEST(MiniMalloc, EveryInstanceIsSolved) {
  std::filesystem::path folder = GANTRY_SHARED_DIR "/data/minimalloc";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "no instances at " << folder;
  unsigned count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    Problem problem = readInstance(entry.path());
    ASSERT_FALSE(problem.buffers.empty()) << entry.path();
    Expected<Solution> solution = pack(problem, {.rounds = 3});
    ASSERT_TRUE(solution.ok()) << entry.path() << ": " << solution.status().message();
    EXPECT_EQ(solution->peak, solution->lowerBound) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 0u);
}

} // namespace
