// Programs by posix_spawn, which is safe in a process of many threads.
#include "gantry/Support/ExternalProgram.h"

#include "gantry/Support/Environment.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gantry {

namespace {
Status cannotStart(const std::string &program, int error) {
  return Status::unavailable("cannot run '" + program + "': " + std::strerror(error));
}

/// The two ends of a pipe, closed at the latest with the object.
struct Pipe {
  int ends[2] = {-1, -1};

  bool open() { return ::pipe2(ends, O_CLOEXEC) == 0; }
  void close(int end) {
    if (ends[end] >= 0)
      ::close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() { close(0), close(1); }
};

/// What the program sees of this process: nothing to read, one place to write to, and the
/// descriptors it was given, which are made to stay open over exec there and there alone.
struct Actions {
  posix_spawn_file_actions_t list;

  Actions(int output, std::span<const int> descriptors) {
    ::posix_spawn_file_actions_init(&list);
    ::posix_spawn_file_actions_addopen(&list, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&list, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&list, output, STDERR_FILENO);
    for (int descriptor : descriptors)
      ::posix_spawn_file_actions_adddup2(&list, descriptor, descriptor);
  }
  Actions(const Actions &) = delete;
  ~Actions() { ::posix_spawn_file_actions_destroy(&list); }
};

std::string readToEnd(int descriptor) {
  std::string text;
  char block[4096];
  for (ssize_t size; (size = ::read(descriptor, block, sizeof block)) != 0;)
    if (size > 0)
      text.append(block, static_cast<size_t>(size));
    else if (errno != EINTR)
      break;
  return text;
}

bool isProgram(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}
} // namespace

std::string Finished::describe() const {
  return signal ? "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")"
                : "exit status " + std::to_string(exitCode);
}

Expected<Finished> runProgram(const std::vector<std::string> &command,
                              std::span<const int> descriptors) {
  Pipe output;
  if (!output.open())
    return cannotStart(command.front(), errno);
  std::vector<char *> arguments;
  for (const std::string &word : command)
    arguments.push_back(const_cast<char *>(word.c_str())); // exec does not write there
  arguments.push_back(nullptr);
  pid_t child;
  const Actions actions(output.ends[1], descriptors);
  if (int error = ::posix_spawn(&child, command.front().c_str(), &actions.list, nullptr,
                                arguments.data(), environ))
    return cannotStart(command.front(), error);
  output.close(1); // or its end would never be seen
  Finished finished;
  finished.output = readToEnd(output.ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return cannotStart(command.front(), errno);
  finished.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  finished.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return finished;
}

Expected<std::string> findPtxas() {
  if (std::string given = environment("GANTRY_PTXAS"); !given.empty())
    return isProgram(given) ? Expected<std::string>(given)
                            : Status::notFound("GANTRY_PTXAS: '" + given + "' is no program");
  std::string folders = environment("PATH");
  if (const std::string toolkit = environment("CUDA_HOME"); !toolkit.empty())
    folders += ":" + toolkit + "/bin";
  folders += ":/usr/local/cuda/bin";
  for (std::string_view rest = folders; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    // An empty folder, or ".", would mean this one, and what lies here is nobody's toolkit.
    if (std::string path = std::string(folder) + "/ptxas"; path.starts_with('/') && isProgram(path))
      return path;
  }
  return std::string();
}

} // namespace gantry
