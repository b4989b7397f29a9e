#include "gantry/Support/Format.h"

#include <cstdio>

#include <locale.h>

namespace gantry {

namespace {
/// This thread's locale is "C" as long as it lives; other threads see nothing of it.
class PlainLocale {
public:
  PlainLocale() : before(::uselocale(plain())) {}
  ~PlainLocale() { ::uselocale(before); }
  PlainLocale(const PlainLocale &) = delete;
  PlainLocale &operator=(const PlainLocale &) = delete;

private:
  static locale_t plain() {
    static const locale_t made = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return made;
  }

  locale_t before;
};
} // namespace

std::string formatList(const char *pattern, va_list arguments) {
  const PlainLocale plain;
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, pattern, again);
  va_end(again);
  std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
  return text;
}

std::string format(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = formatList(pattern, arguments);
  va_end(arguments);
  return text;
}

} // namespace gantry
