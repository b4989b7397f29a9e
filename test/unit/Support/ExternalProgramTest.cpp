#include "gantry/Support/ExternalProgram.h"

#include "../TemporaryFolder.h"
#include "gantry/Support/File.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {
using namespace gantry;

Finished shell(const std::string &script, std::span<const int> descriptors = {}) {
  Expected<Finished> finished = runProgram({"/bin/sh", "-c", script}, descriptors);
  EXPECT_TRUE(finished.ok()) << finished.status().message();
  return finished ? finished.take() : Finished();
}

TEST(Program, answersWithBothOutputsMixed) {
  const Finished finished = shell("echo out; echo err >&2; cat");
  EXPECT_TRUE(finished.isGood());
  EXPECT_EQ(finished.output, "out\nerr\n");
}

TEST(Program, saysHowItEnded) {
  EXPECT_EQ(shell("exit 3").describe(), "exit status 3");
  EXPECT_EQ(shell("kill -9 $$").describe(), "signal 9 (Killed)");
  EXPECT_FALSE(shell("kill -9 $$").isGood());
}

TEST(Program, thatIsNotThereIsAnError) {
  Expected<Finished> finished = runProgram({"/nowhere/ptxas"});
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.status().code(), StatusCode::unavailable);
  EXPECT_EQ(finished.status().message(), "cannot run '/nowhere/ptxas': No such file or directory");
}

TEST(Program, inheritsTheFilesThatItIsGivenAndNoOthers) {
  Expected<NamelessFile> given = NamelessFile::inMemory(), kept = NamelessFile::inMemory();
  ASSERT_TRUE(given.ok() && kept.ok());
  const int descriptors[] = {given->number()};
  const Finished finished =
      shell("echo text > " + given->path() + "; test ! -e " + kept->path(), descriptors);
  EXPECT_TRUE(finished.isGood()) << finished.describe() << finished.output;
  Expected<MappedFile> written = given->map();
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(std::string(written->bytes().begin(), written->bytes().end()), "text\n");
}

class FindPtxas : public testing::Test {
protected:
  void SetUp() override {
    for (const char *name : {"GANTRY_PTXAS", "PATH", "CUDA_HOME"}) {
      const char *value = std::getenv(name);
      before.emplace_back(name, value ? value : "");
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto &[name, value] : before)
      ::setenv(name.c_str(), value.c_str(), 1);
  }
  /// A program of that name in the folder.
  std::string make(const std::string &name) {
    const std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  std::string inFolder(const std::string &name) const { return folder / name; }

  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> before;
};

TEST_F(FindPtxas, inPathThenInTheToolkit) {
  const std::string second = make("cuda/bin/ptxas");
  ::setenv("CUDA_HOME", inFolder("cuda").c_str(), 1);
  EXPECT_EQ(*findPtxas(), second);
  const std::string first = make("bin/ptxas");
  ::setenv("PATH", ("/nowhere::" + inFolder("bin")).c_str(), 1);
  EXPECT_EQ(*findPtxas(), first);
}

TEST_F(FindPtxas, neverInTheCurrentFolder) {
  make("bin/ptxas");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(inFolder("bin"));
  for (const char *path : {"", ".", "./", ":", "../bin", "./."}) {
    ::setenv("PATH", path, 1);
    EXPECT_NE(*findPtxas(), std::string(path) + "/ptxas");
    EXPECT_TRUE(findPtxas()->empty() || findPtxas()->starts_with("/usr/local/cuda/")) << path;
  }
  ::setenv("CUDA_HOME", "..", 1);
  EXPECT_TRUE(findPtxas()->empty() || findPtxas()->starts_with("/usr/local/cuda/"));
  std::filesystem::current_path(before);
}

TEST_F(FindPtxas, whereItIsSaidToBe) {
  ::setenv("PATH", std::filesystem::path(make("bin/ptxas")).parent_path().c_str(), 1);
  ::setenv("GANTRY_PTXAS", make("mine").c_str(), 1);
  EXPECT_EQ(*findPtxas(), inFolder("mine"));
  ::setenv("GANTRY_PTXAS", inFolder("none").c_str(), 1);
  EXPECT_EQ(findPtxas().status().message(),
            "GANTRY_PTXAS: '" + inFolder("none") + "' is no program");
}
} // namespace
