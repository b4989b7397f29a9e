// Libraries are parts of programs that have set a locale, one with commas in numbers.
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"
#include "gantry/Support/Seconds.h"

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace gantry;

namespace {
/// The locale of this test has commas and nothing else, and is made for it: machines have few.
class CommaLocale : public testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/source") << "comment_char %\nescape_char /\nLC_NUMERIC\n"
                                         "decimal_point \"<U002C>\"\nthousands_sep \"\"\n"
                                         "grouping -1\nEND LC_NUMERIC\n";
    // The other parts are missing, which it complains about; whether there is one shows below.
    const std::string make =
        "localedef -c -i '" + folder + "/source' '" + folder + "/comma' >/dev/null 2>&1";
    (void)!std::system(make.c_str());
    ::setenv("LOCPATH", folder.c_str(), 1);
    if (!std::setlocale(LC_NUMERIC, "comma"))
      GTEST_SKIP() << "localedef (package libc-bin) cannot make a locale";
    ASSERT_STREQ(std::localeconv()->decimal_point, ",");
  }
  void TearDown() override {
    std::setlocale(LC_ALL, "C");
    std::filesystem::remove_all(folder);
  }

  std::string folder = testing::TempDir() + "gantry-locale";
};

TEST_F(CommaLocale, NumbersHaveAPointAndTheProgramsLocaleStays) {
  EXPECT_EQ(format("%.3f %d", 1.5, 2), "1.500 2");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes(24 << 10), "24 KiB");
  EXPECT_EQ(formatSeconds(0.00125), "1.25 ms");
  EXPECT_STREQ(std::localeconv()->decimal_point, ",");
}

} // namespace
