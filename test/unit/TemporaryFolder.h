// A folder that is there for one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gantry {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gantry-test-XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::string operator/(const std::string &name) const { return (folder / name).string(); }
  std::string path() const { return folder.string(); }

private:
  std::filesystem::path folder;
};

} // namespace gantry
