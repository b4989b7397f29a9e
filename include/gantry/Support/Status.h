// Status and Expected<T>: how a function of the shared and runtime layers says that it failed.
// No exception crosses a library border.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace gantry {

/// What kind of failure it is; the tools' exit status and the C API's code follow from it.
enum class StatusCode : int {
  ok = 0,
  invalidArgument = 1,    ///< the caller's input is wrong: a name, a shape, a flag
  notFound = 2,           ///< a file, device, function or tensor of that name does not exist
  corrupt = 3,            ///< bytes of a file do not hold together
  unsupported = 4,        ///< known, but not supported here (CPU feature, version, element type)
  doesNotFit = 5,         ///< memory limit exceeded
  unavailable = 6,        ///< a library or driver is missing on this machine
  failedPrecondition = 7, ///< right call, wrong time
  internal = 8,           ///< a defect of Gantry
  cancelled = 9,          ///< the caller asked for it to stop
};

/// Success, or a code with a message. One pointer; null is success.
/// Messages are lower case without a final period (docs/Errors.md).
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : failure(std::make_unique<Failure>(Failure{code, std::move(message)})) {
    assert(code != StatusCode::ok && "a failure needs a code");
  }
  Status(const Status &other)
      : failure(other.failure ? std::make_unique<Failure>(*other.failure) : nullptr) {}
  Status(Status &&) = default;
  Status &operator=(Status &&) = default;
  Status &operator=(const Status &other) { return *this = Status(other); }

  static Status invalidArgument(std::string m) {
    return {StatusCode::invalidArgument, std::move(m)};
  }
  static Status notFound(std::string m) { return {StatusCode::notFound, std::move(m)}; }
  static Status corrupt(std::string m) { return {StatusCode::corrupt, std::move(m)}; }
  static Status unsupported(std::string m) { return {StatusCode::unsupported, std::move(m)}; }
  static Status doesNotFit(std::string m) { return {StatusCode::doesNotFit, std::move(m)}; }
  static Status unavailable(std::string m) { return {StatusCode::unavailable, std::move(m)}; }
  static Status failedPrecondition(std::string m) {
    return {StatusCode::failedPrecondition, std::move(m)};
  }
  static Status cancelled(std::string m) { return {StatusCode::cancelled, std::move(m)}; }
  static Status internal(std::string m) { return {StatusCode::internal, std::move(m)}; }

  bool ok() const { return !failure; }
  StatusCode code() const { return failure ? failure->code : StatusCode::ok; }
  const std::string &message() const {
    static const std::string none;
    return failure ? failure->message : none;
  }

private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Failure> failure;
};

/// A T, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : value(std::move(value)) {}
  Expected(Status status) : failure(std::move(status)) {
    assert(!failure.ok() && "an Expected without a value needs a failure");
  }

  bool ok() const { return value.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return failure; }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  /// Moves the value out; call once, when ok().
  T take() { return std::move(*value); }

private:
  std::optional<T> value;
  Status failure;
};

} // namespace gantry

/// Returns the failure of `expr` from the enclosing function.
#define GANTRY_RETURN_IF_ERROR(expr)                                                               \
  do {                                                                                             \
    if (::gantry::Status gantryStatus = (expr); !gantryStatus.ok())                                \
      return gantryStatus;                                                                         \
  } while (false)
