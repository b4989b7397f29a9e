// Files of weights beside a model. A model names them by paths of its own choosing, and a hostile
// one would name /etc/shadow: only regular files inside the model's folder are ever opened, reached
// without symbolic links and without a second (hard) link, and only bytes inside them are read.
// Model hubs keep files as links to a store beside the folder: links are followed when they end
// below a folder that the user names.
#pragma once

#include "gantry/Support/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::onnx {

/// A file mapped read-only.
struct Mapping {
  const char *data = nullptr;
  uint64_t size = 0;
  ~Mapping();
};

class ExternalData {
public:
  /// `folder` is the model's; empty is the current one.
  explicit ExternalData(std::string folder) : folder(std::move(folder)) {}

  /// Lets links lead to any file below `folder`; empty: to none.
  void allowLinksBelow(std::string folder) { root = std::move(folder); }

  /// The whole file `location`, a relative path with '/' between its parts. Each file is mapped
  /// once. Errors: INVALID_ARGUMENT (the path leaves the folder, is no regular file, is linked
  /// twice), NOT_FOUND.
  Expected<std::shared_ptr<const Mapping>> open(std::string_view location);

  /// Paths of the files that were opened.
  std::vector<std::string> paths() const;

private:
  std::string folder, root;
  std::map<std::string, std::shared_ptr<const Mapping>, std::less<>> files;
};

} // namespace gantry::onnx
