#include "gantry/Support/File.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {
using namespace gantry;
namespace fs = std::filesystem;

std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

class FileTest : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::path(testing::TempDir()) / ("gantry-file-test." + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const char *name) const { return (folder / name).string(); }
  std::string contents(const std::string &file) const {
    Expected<MappedFile> mapped = MappedFile::open(file);
    return mapped ? std::string(mapped->bytes().begin(), mapped->bytes().end())
                  : mapped.status().message();
  }
  size_t numFiles() const { return std::distance(fs::directory_iterator(folder), {}); }

  fs::path folder;
};

TEST_F(FileTest, WritesAndMaps) {
  ASSERT_TRUE(writeFileAtomically(path("a"), bytesOf("hello")).ok());
  EXPECT_EQ(contents(path("a")), "hello");
  EXPECT_EQ(numFiles(), 1u);
}

TEST_F(FileTest, AnEmptyFileIsAnEmptySpan) {
  ASSERT_TRUE(writeFileAtomically(path("a"), {}).ok());
  Expected<MappedFile> mapped = MappedFile::open(path("a"));
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_TRUE(mapped->bytes().empty());
}

TEST_F(FileTest, AMappingMovesWithItsOwner) {
  ASSERT_TRUE(writeFileAtomically(path("a"), bytesOf("hello")).ok());
  Expected<MappedFile> mapped = MappedFile::open(path("a"));
  MappedFile moved = mapped.take();
  MappedFile again = std::move(moved);
  EXPECT_EQ(again.bytes().size(), 5u);
  EXPECT_TRUE(moved.bytes().empty());
}

TEST_F(FileTest, WhatIsNotCommittedLeavesTheOldFile) {
  ASSERT_TRUE(writeFileAtomically(path("a"), bytesOf("old")).ok());
  {
    Expected<AtomicFile> file = AtomicFile::create(path("a"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(bytesOf("half")).ok());
    EXPECT_EQ(contents(path("a")), "old");
    EXPECT_EQ(numFiles(), 1u) << "what is being written has a name";
  }
  EXPECT_EQ(contents(path("a")), "old");
  EXPECT_EQ(numFiles(), 1u);
}

TEST_F(FileTest, KeepsTheModeOfTheFileThatItReplaces) {
  ASSERT_TRUE(writeFileAtomically(path("a"), bytesOf("old")).ok());
  ASSERT_EQ(::chmod(path("a").c_str(), 0640), 0);
  ASSERT_TRUE(writeFileAtomically(path("a"), bytesOf("new")).ok());
  struct stat info;
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(FileTest, WritesThroughASymbolicLink) {
  ASSERT_TRUE(writeFileAtomically(path("a"), bytesOf("old")).ok());
  fs::create_symlink("a", path("link"));
  ASSERT_TRUE(writeFileAtomically(path("link"), bytesOf("new")).ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("a")), "new");
}

TEST_F(FileTest, WritesIntoAPipeWithoutReplacingIt) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(writeFileAtomically(path("pipe"), bytesOf("hello")).ok());
  char text[8] = {};
  EXPECT_EQ(::read(reader, text, sizeof text), 5);
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(FileTest, WritesIntoAnOpenFileThatHasNoNameAnyMore) {
  int descriptor = ::open(path("gone").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "something longer", 16), 16);
  fs::remove(path("gone"));
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  EXPECT_TRUE(writeFileAtomically(link, bytesOf("hello")).ok());
  EXPECT_EQ(contents(link), "hello");
  EXPECT_TRUE(fs::is_empty(folder));
  ::close(descriptor);
}

TEST_F(FileTest, SaysWhatIsWrong) {
  EXPECT_EQ(contents(path("none")), "cannot open '" + path("none") + "': no such file or folder");
  EXPECT_EQ(contents(folder.string()),
            "cannot map '" + folder.string() + "': it is not a regular file");
  EXPECT_EQ(writeFileAtomically(folder.string(), {}).message(),
            "cannot write '" + folder.string() + "': it is a folder");
  EXPECT_EQ(writeFileAtomically(path("no/where"), {}).code(), StatusCode::notFound);
  EXPECT_EQ(MappedFile::open(path("none")).status().code(), StatusCode::notFound);
}

TEST_F(FileTest, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full here";
  Status status = writeFileAtomically("/dev/full", bytesOf("hello"));
  EXPECT_EQ(status.message(), "cannot write '/dev/full': no space left on device");
}

/// TMPDIR for as long as it lives.
struct Temporary {
  explicit Temporary(const std::string &folder) {
    if (const char *before = std::getenv("TMPDIR"))
      kept = before;
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  ~Temporary() { kept ? ::setenv("TMPDIR", kept->c_str(), 1) : ::unsetenv("TMPDIR"); }
  std::optional<std::string> kept;
};

TEST_F(FileTest, ANamelessFileLeavesNothingBehind) {
  Temporary there(folder.string());
  Expected<MappedFile> mapped = Status::internal("not mapped");
  {
    Expected<NamelessFile> file = NamelessFile::create();
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_TRUE(fs::is_empty(folder));
    EXPECT_TRUE(file->write(bytesOf("hello ")).ok());
    EXPECT_TRUE(file->write(bytesOf("world")).ok());
    mapped = file->map();
  }
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_EQ(std::string(mapped->bytes().begin(), mapped->bytes().end()), "hello world");
}

TEST_F(FileTest, ANamelessFileCanBeOpenedByItsPath) {
  Expected<NamelessFile> file = NamelessFile::inMemory();
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->write(bytesOf("hello")).ok());
  EXPECT_EQ(contents(file->path()), "hello");
}

TEST_F(FileTest, ANamelessFileSaysWhereItCannotBe) {
  Temporary nowhere("/nonexistent");
  EXPECT_EQ(NamelessFile::create().status().message(),
            "cannot write a temporary file in '/nonexistent': no such file or folder");
}

TEST_F(FileTest, ANamelessFileSaysWhereMoreRoomIsWanted) {
  Temporary there(folder.string());
  Expected<NamelessFile> file = NamelessFile::create();
  ASSERT_TRUE(file.ok());
  // Stands for a full disk.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = file->write(bytesOf("hello"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.message(), "cannot write a temporary file in '" + folder.string() +
                                  "': file too large; set TMPDIR to a folder with more room");
}

} // namespace
