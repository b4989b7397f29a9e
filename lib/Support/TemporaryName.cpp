// The names are in an array that a signal handler can read: it may neither allocate nor lock. The
// handlers are there only as long as a name is.
#include "TemporaryName.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>
#include <random>
#include <unistd.h>
#include <utility>

namespace gantry {

namespace {
struct Slot {
  std::atomic<bool> used;
  char name[PATH_MAX];
};
Slot slots[8]; // more names at once than these are not found by signals
std::atomic<pid_t> owner;

/// What ends a process from outside, and what a write to a pipe or a full quota sends.
constexpr int endingSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ};

/// Registered with SA_RESETHAND: the signal, raised again, is held back until this returns and then
/// ends the process the way it does by default, so that whoever waits for it sees the signal.
void removeNames(int signal) {
  if (owner == ::getpid()) // the names of a parent are its own
    for (Slot &slot : slots)
      if (slot.used)
        ::unlink(slot.name);
  ::raise(signal);
}

std::mutex mutex; ///< over handlers and who has which slot

void installHandlers() {
  owner = ::getpid();
  for (int signal : endingSignals) {
    struct sigaction now = {}, ours = {};
    ours.sa_handler = removeNames;
    ours.sa_flags = SA_RESETHAND;
    if (::sigaction(signal, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == SIG_DFL)
      ::sigaction(signal, &ours, nullptr);
  }
}

void removeHandlers() {
  for (int signal : endingSignals) {
    struct sigaction now = {}, byDefault = {};
    byDefault.sa_handler = SIG_DFL;
    if (::sigaction(signal, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
        now.sa_handler == removeNames)
      ::sigaction(signal, &byDefault, nullptr);
  }
}

bool anyUsed() {
  return std::any_of(std::begin(slots), std::end(slots),
                     [](const Slot &slot) -> bool { return slot.used; });
}

int takeSlot(const std::string &name) {
  std::lock_guard lock(mutex);
  const auto free =
      std::find_if(std::begin(slots), std::end(slots), [](const Slot &slot) { return !slot.used; });
  if (free == std::end(slots) || name.size() >= sizeof free->name)
    return -1;
  if (!anyUsed())
    installHandlers();
  std::memcpy(free->name, name.c_str(), name.size() + 1);
  free->used = true;
  return static_cast<int>(free - slots);
}

void giveBack(int slot) {
  if (slot < 0)
    return;
  std::lock_guard lock(mutex);
  slots[slot].used = false;
  if (!anyUsed())
    removeHandlers();
}
} // namespace

TemporaryName::TemporaryName(std::string given) : name(std::move(given)), slot(takeSlot(name)) {}

TemporaryName TemporaryName::beside(const std::string &prefix) {
  std::random_device random;
  constexpr char digits[] = "0123456789abcdef";
  std::string name = prefix + ".tmp.";
  for (int i = 0; i < 16; ++i)
    name += digits[random() % 16];
  return TemporaryName(std::move(name));
}

TemporaryName::TemporaryName(TemporaryName &&other) noexcept
    : name(std::exchange(other.name, {})), slot(std::exchange(other.slot, -1)) {}

TemporaryName &TemporaryName::operator=(TemporaryName &&other) noexcept {
  std::swap(name, other.name);
  std::swap(slot, other.slot);
  return *this;
}

void TemporaryName::remove() {
  if (!name.empty())
    ::unlink(name.c_str());
  forget();
}

void TemporaryName::forget() {
  name.clear();
  giveBack(std::exchange(slot, -1));
}

} // namespace gantry
