#include "HelpFormatter.h"

#include "EverydayFlags.h"

#include <sstream>

namespace gantry::tool {

namespace {
constexpr size_t lineWidth = 100;

std::string wrapped(const std::string &text, size_t width) {
  std::istringstream words(text);
  std::string out, word;
  size_t used = 0;
  while (words >> word) {
    const bool fits = used + 1 + word.size() <= width;
    out += (used == 0 ? "" : fits ? " " : "\n") + word;
    used = (fits && used ? used + 1 : 0) + word.size();
  }
  return out;
}
} // namespace

std::string HelpFormatter::make_help(const CLI::App *app, std::string name,
                                     CLI::AppFormatMode mode) const {
  everydayOf = mode == CLI::AppFormatMode::Normal ? app : nullptr;
  left = 0;
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  // Between groups, of which one may be left out as a whole.
  for (size_t at; (at = text.find("\n\n\n")) != text.npos;)
    text.erase(at, 1);
  if (left)
    text +=
        "\n" + std::to_string(left) + " more flags: gantry " + app->get_name() + " --help-all\n";
  return text;
}
std::string HelpFormatter::make_group(std::string group, bool isPositional,
                                      std::vector<const CLI::Option *> options) const {
  if (everydayOf && !isPositional)
    left += std::erase_if(options, [&](const CLI::Option *option) {
      return !isEveryday(everydayOf->get_name(), option->get_lnames().front());
    });
  return options.empty() ? "" : CLI::Formatter::make_group(std::move(group), isPositional, options);
}
std::string HelpFormatter::make_option_name(const CLI::Option *option, bool isPositional) const {
  std::string name = CLI::Formatter::make_option_name(option, isPositional);
  return name.substr(0, name.find('{')); // the default of a flag without a value
}
std::string HelpFormatter::make_option_desc(const CLI::Option *option) const {
  return wrapped(option->get_description(), lineWidth - nameColumn);
}
std::string HelpFormatter::make_option_opts(const CLI::Option *option) const {
  return option->get_positional() ? "" : CLI::Formatter::make_option_opts(option);
}
std::string HelpFormatter::make_subcommand(const CLI::App *sub) const {
  std::ostringstream out;
  CLI::detail::format_help(out, sub->get_name(),
                           wrapped(sub->get_description(), lineWidth - nameColumn), nameColumn);
  return out.str();
}

} // namespace gantry::tool
