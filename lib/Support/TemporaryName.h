// A name in the file system that is not to outlive its owner, also when a signal ends the process.
//
// Files are written without a name where the system can do that; this is for where it cannot, and
// for the moment between a file's getting a name and its getting the right one. While there is such
// a name, the signals that end a process by default remove it first and then end the process as
// they would have. Signals that the program handles or ignores stay as they are.
#pragma once

#include <string>

namespace gantry {

class TemporaryName {
public:
  /// The empty name: nothing to remove.
  TemporaryName() = default;
  /// `prefix`, ".tmp." and random digits: nobody else has this name. Nothing is there yet.
  static TemporaryName beside(const std::string &prefix);

  TemporaryName(TemporaryName &&other) noexcept;
  TemporaryName &operator=(TemporaryName &&other) noexcept;
  ~TemporaryName() { remove(); }

  bool empty() const { return name.empty(); }
  const char *c_str() const { return name.c_str(); }
  /// Removes what has the name; there may be nothing.
  void remove();
  /// What had the name has another one now.
  void forget();

private:
  explicit TemporaryName(std::string name);
  std::string name;
  int slot = -1; ///< where signal handlers find it; -1: they do not
};

} // namespace gantry
